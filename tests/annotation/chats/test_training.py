"""Judged conversations leave as data to train on."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from annotation.formats.exports.pairwise import count_left_out, get_export
from annotation.models import Task
from annotation.work.actions import answers
from tests.annotation.chats.made import HELPFUL, PROBLEM, make_chat_task
from tests.annotation.chats.test_pairs import chat_of, make_chat_pair
from tests.support.factories import claim, make_project, make_worker

pytestmark = pytest.mark.django_db
BETTER = {
    "name": "better",
    "question": "Write the better answer",
    "label": "Better",
    "kind": "long_text",
    "per": "last",
    "corrects": True,
    "required": False,
}


def lines(task: Task, what: str) -> list[dict[str, Any]]:
    """The rows of an export as JSONL."""
    text = "".join(get_export(task, what, "jsonl").lines(task, "jsonl"))
    return [json.loads(line) for line in text.splitlines()]


def submit(task: Task, draft: dict[str, str]) -> None:
    """One more worker's answer to the task's only item."""
    worker = make_worker(task.project)
    found = claim(task, worker)
    entry = found.entries.get()
    answers.submit_assignment(
        by=worker.user, assignment=found, key=uuid.uuid4(), drafts={entry.item_id: draft}
    )


def test_preferences_have_the_common_turns_as_prompt() -> None:
    project = make_project()
    first, second = chat_of("Hi", "Hello", "Bye"), chat_of("Hi", "Hello", "Wait", "Yes?")
    task = make_chat_pair(project, first, second)
    for side in ("right", "right"):
        submit(task, {"d-quality_overall": side, "seen": "left right"})
    (row,) = lines(task, "preferences")
    assert [one["content"] for one in row["prompt"]] == ["Hi", "Hello"]
    assert [one["content"] for one in row["chosen"]] == ["Wait", "Yes?"]
    assert [one["content"] for one in row["rejected"]] == ["Bye"]
    assert (row["margin"], row["votes"], row["ties"]) == (1.0, 2, 0)
    assert [one["label"] for one in lines(task, "kto")] == [True, False]
    (openai,) = lines(task, "openai-preferences")
    assert openai["preferred_output"] == row["chosen"]


def test_pairs_without_a_majority_are_counted_as_left_out() -> None:
    project = make_project()
    task = make_chat_pair(project, chat_of("Hi", "A"), chat_of("Hi", "B"))
    for side in ("right", "left"):
        submit(task, {"d-quality_overall": side, "seen": "left right"})
    assert lines(task, "preferences") == []
    assert count_left_out(task, "preferences")["no_majority"] == 1


def test_steps_and_corrections_hold_what_people_wrote() -> None:
    task = make_chat_task(n=1, fields=[HELPFUL, PROBLEM, BETTER])
    draft = {
        "l-helpful@3": "5",
        "l-problem@3": "none",
        "l-helpful@5": "1",
        "l-problem@5": "made_up",
    }
    submit(task, {**draft, "l-better@5": "I could not change it. Please call us."})
    submit(task, {**draft, "l-better@5": "Done."})  # the same as before: no correction
    (step,) = lines(task, "steps")
    assert step["labels"] == [True, False]
    assert step["completions"] == ["It is on its **way**.", "Done."]
    (row,) = lines(task, "corrections")
    assert row["messages"][-1]["content"].startswith("I could not")
    call = row["messages"][2]["tool_calls"][0]["function"]
    assert call == {"name": "find_order", "arguments": {"order": 40718}}
    assert row["messages"][3] == {
        "role": "tool",
        "name": "find_order",
        "content": '{"status": "in transit"}',
    }
