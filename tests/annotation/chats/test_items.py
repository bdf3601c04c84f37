"""Conversations as items of a labels task: fields are asked about each turn."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client
from django.urls import reverse

from annotation.api.work import assignment_payload
from annotation.chats.model import Chat, Turn, text_part
from annotation.chats.units import units_of
from annotation.gallery.actions.duplicates import duplicate_project
from annotation.models import Answer, ChatContent, ChoiceValue
from annotation.work.actions import answers
from crowdqc.errors import Invalid
from tests.annotation.chats.made import FIELDS, make_chat, make_chat_task
from tests.support.factories import claim, make_worker, session_of

pytestmark = pytest.mark.django_db

DRAFT = {
    "l-helpful@3": "5",
    "l-problem@3": "none",
    "l-helpful@5": "1",
    "l-problem@5": "made_up",
    "l-solved": "no",
}


def test_worker_answers_each_assistant_turn_and_the_whole() -> None:
    task = make_chat_task(n=1)
    worker = make_worker(task.project)
    found = claim(task, worker)
    entry = found.entries.select_related("item").get()
    with pytest.raises(Invalid) as missing:
        answers.submit_assignment(
            by=worker.user,
            assignment=found,
            key=uuid.uuid4(),
            drafts={entry.item_id: {**DRAFT, "l-helpful@5": ""}},
        )
    assert "[5]" in missing.value.message
    answers.submit_assignment(
        by=worker.user, assignment=found, key=uuid.uuid4(), drafts={entry.item_id: DRAFT}
    )
    stored = ChoiceValue.objects.filter(answer__item__task=task).values_list("field", "code")
    assert dict(stored) == {name.removeprefix("l-"): code for name, code in DRAFT.items()}


def test_page_shows_turns_with_their_fields_and_opens_failed_calls() -> None:
    task = make_chat_task(n=1)
    worker = make_worker(task.project)
    found = claim(task, worker)
    client = Client()
    client.cookies["sessionid"] = session_of(worker.user)
    page = client.get(reverse("work_item", args=[found.pk, 1])).content.decode()
    assert page.count('data-turn="') == 5
    assert page.count('name="l-helpful@') == 10  # five points at two turns
    assert '<details class="tool failed" id="call-5c1" data-call open>' in page
    assert '<details class="tool" id="call-3c1" data-call>' in page
    assert "<strong>way</strong>" in page


def test_field_of_a_turn_that_is_not_there_is_refused() -> None:
    task = make_chat_task(n=1)
    worker = make_worker(task.project)
    found = claim(task, worker)
    entry = found.entries.get()
    with pytest.raises(Invalid):
        answers.submit_assignment(
            by=worker.user,
            assignment=found,
            key=uuid.uuid4(),
            drafts={entry.item_id: {**DRAFT, "l-helpful@4": "3"}},
        )
    assert not Answer.objects.filter(item__task=task).exists()


def test_same_conversation_is_stored_once() -> None:
    task = make_chat_task(n=2, chats=[make_chat(1), make_chat(1)])
    assert ChatContent.objects.filter(project=task.project).count() == 1
    assert task.items.filter(chat__isnull=False).count() == 2


def test_field_about_the_whole_cannot_depend_on_one_about_turns() -> None:
    solved = {**FIELDS[2], "ask_if": [{"field": "problem", "is": "is", "values": ["fact"]}]}
    with pytest.raises(Invalid):
        make_chat_task(n=1, fields=[*FIELDS[:2], solved])


def test_units_skip_system_turns_and_name_calls() -> None:
    assert units_of(make_chat()) == {
        "turns": ["2", "3", "4", "5"],
        "assistant": ["3", "5"],
        "last": ["5"],
        "calls": ["3c1", "5c1"],
    }
    silent = Chat(turns=(Turn(role="user", parts=(text_part("Hello?"),)),))
    assert units_of(silent) == {"turns": ["1"]}


def test_copy_of_a_project_keeps_its_conversations() -> None:
    task = make_chat_task(n=1)
    copy, _copied = duplicate_project(by=task.project.owner, project=task.project)
    item = copy.tasks.get().items.get()
    assert item.chat is not None and item.chat.project == copy
    assert item.chat.digest == task.items.get().chat.digest  # type: ignore[union-attr]
    assert item.settings["units"]["calls"] == ["3c1", "5c1"]


def test_program_gets_the_messages_of_its_item() -> None:
    task = make_chat_task(n=1)
    worker = make_worker(task.project)
    (entry,) = assignment_payload(claim(task, worker))["entries"]
    roles = [one["role"] for one in entry["conversation"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user", "assistant",
                     "tool", "assistant"]  # fmt: skip
