"""Two conversations under judgment: what both begin with stands once."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import tasks
from annotation.chats.model import Chat, Turn, text_part
from annotation.chats.page import shared_turns
from annotation.chats.readers import pairs
from annotation.chats.storage import keep_chat
from annotation.chats.text import plain_text
from annotation.models import Item, Project, Task
from tests.support.factories import claim, make_project, make_worker, session_of
from tests.support.studies.judging import make_candidate


def chat_of(*texts: str) -> Chat:
    """User and assistant in turn."""
    roles = ("user", "assistant")
    return Chat(
        turns=tuple(
            Turn(role=roles[at % 2], parts=(text_part(text),), model=f"m{at}")
            for at, text in enumerate(texts)
        )
    )


def test_shared_turns_ignore_models_and_end_at_the_first_difference() -> None:
    first, second = chat_of("Hi", "Hello", "Bye"), chat_of("Hi", "Hello", "Wait", "Yes?")
    assert shared_turns(first, second) == 2
    assert shared_turns(first, first) == 3
    assert shared_turns(chat_of("A"), chat_of("B")) == 0


def make_chat_pair(project: Project, first: Chat, second: Chat) -> Task:
    """A published task of one pair of conversations."""
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="pairwise", title="Which is better?")
    fields = {"redundancy": 2, "items_per_assignment": 1, "order": "fixed", "pay": "0.70"}
    tasks.edit_draft(by=by, task=task, fields=fields)
    group = tasks.save_group(by=by, task=task, key="orders")
    texts = [
        make_candidate(project, plain_text(chat), "orders", chat=keep_chat(project, chat))
        for chat in (first, second)
    ]
    Item.objects.create(
        task=task, group=group, key="pair-1", question="Orders", since=1, side=1,
        first=texts[0], second=texts[1],
    )  # fmt: skip
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


@pytest.mark.django_db
def test_page_folds_the_same_turns_and_names_the_first_difference() -> None:
    project = make_project()
    first, second = chat_of("Hi", "Hello", "Bye"), chat_of("Hi", "Hello", "Wait", "Yes?")
    task = make_chat_pair(project, first, second)
    worker = make_worker(project)
    found = claim(task, worker)
    client = Client()
    client.cookies["sessionid"] = session_of(worker.user)
    page = client.get(reverse("work_item", args=[found.pk, 1])).content.decode()
    folded, _, sides = page.partition("chat-pair")
    assert folded.count('data-turn="') == 2 and "data-shared" in folded
    assert sides.count('data-turn="') == 3
    assert sides.count('class="first-difference"') == 2
    assert "m1" not in page  # the models would unblind


def test_a_side_is_read_from_the_field_that_holds_text() -> None:
    part = {"type": "text", "text": "Hello"}
    own = [{"role": "user", "content": [part]}, {"role": "assistant", "content": [part]}]
    empty = {"user": {"role": "user", "content": []}, "model_side_a": {}, "model_side_b": {}}
    raw = {"conversation_a": own, "full_conversation": [empty]}
    assert len(pairs.read_side(raw, "a").turns) == 2
    assert pairs.read_side(raw, "a") == pairs.conversation(own)


@pytest.mark.parametrize(
    ("said", "winner", "judge"),
    [
        ({"model": "rm", "scores_chosen": 1.5, "scores_rejected": 0.5}, "model_a", "rm"),
        ({"model": "rm", "scores_chosen": 0.5, "scores_rejected": 1.5}, "model_b", "rm"),
        ({"model": "rm", "results": 0}, "model_b", "rm"),
        ({"model": "rm", "results": 0.5}, "tie", "rm"),
        ({"model": "rm"}, "model_a", ""),
        ({"results": 0}, "model_a", ""),
    ],
)
def test_a_model_that_judged_a_preference_gave_the_vote(
    said: dict[str, Any], winner: str, judge: str
) -> None:
    record = pairs.read_preference({"prompt": "P", "chosen": "C", "rejected": "R", **said}, ())
    assert record.pair is not None
    assert (record.pair.winner, record.pair.judge) == (winner, judge)
    assert record.target == ("chosen" if judge else "")
