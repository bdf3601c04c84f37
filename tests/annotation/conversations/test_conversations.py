"""Messages between workers and requesters: who reads what, how often it is told, and its limits."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation.accounts.projects import actions as people
from annotation.conversations import actions
from annotation.models import (
    Announcement,
    Assignment,
    AuditEntry,
    Conversation,
    Membership,
    Message,
    Notice,
    User,
)
from annotation.work.actions import leases
from crowdqc import limits
from crowdqc.errors import Conflict, NotAllowed
from tests.support import factories
from tests.support.factories import World
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    made = factories.make_world(3, redundancy=5)
    made.worker.user.display_name = "Wanda Real"  # type: ignore[union-attr]
    made.worker.user.save()  # type: ignore[union-attr]
    made.requester.display_name = "Rita Own"
    made.requester.save()
    return made


@pytest.fixture
def held(world: World) -> Assignment:
    return factories.claim(world.task, world.worker)


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def notices_of(user: User | None) -> list[str]:
    rows = Notice.objects.filter(user=user, read_at=None, kind__startswith="message.")
    return list(rows.order_by("pk").values_list("kind", flat=True))


def ask(world: World, text: str = "Is it?", **more: Any) -> Conversation:
    told = {"worker": world.worker, "task": world.task, "key": uuid4(), **more}
    return actions.write_as_worker(by=world.worker.user, text=text, **told)  # type: ignore[arg-type]


def test_a_question_is_answered_under_a_pseudonym_and_the_project_s_name(
    world: World, held: Assignment
) -> None:
    works, staff = signed_in(world.worker.user), signed_in(world.requester)
    address = reverse("work_ask", args=[held.pk]) + "?item=2"
    form = {"text": "Is <b>this</b> a stork?", "key": str(uuid4())}
    for _ in range(2):  # a double click
        assert works.post(address, form).status_code == 302
    works.post(address, {"text": "Or a heron?", "key": str(uuid4())})
    assert Message.objects.count() == 2 and Message.objects.first().item is not None  # type: ignore[union-attr]
    assert notices_of(world.requester) == notices_of(world.manager) == ["message.worker"]
    found = Conversation.objects.get()
    there = reverse("conversation", args=[world.project.pk, found.pk])
    page = html_of(staff.get(there))
    assert "Is &lt;b&gt;this&lt;/b&gt; a stork?" in page and "about question 2" in page
    assert world.worker.pseudonym in page and "Wanda" not in page
    assert notices_of(world.requester) == []
    listed = reverse("message_list", args=[world.project.pk])
    assert world.worker.pseudonym in html_of(staff.get(listed))
    staff.post(there, {"text": "A stork.", "key": str(uuid4())})
    assert "No conversation awaits an answer" in html_of(staff.get(listed))
    assert notices_of(world.worker.user) == ["message.staff"]
    home = html_of(works.get(reverse("work_home")))
    assert "1 new" in home and "A stork." in home
    read = html_of(works.get(reverse("work_messages") + "?task=" + str(world.task.pk), follow=True))
    assert "Requester of Birds" in read and "A stork." in read
    assert "Rita" not in read and world.requester.username not in read
    assert notices_of(world.worker.user) == []
    assert "1 new" not in html_of(works.get(reverse("work_home")))
    said = AuditEntry.objects.filter(action="message.send")
    assert said.count() == 3 and "stork" not in str(list(said.values_list("detail", flat=True)))


def test_feedback_names_the_answer_and_nobody_writes_to_who_left(world: World) -> None:
    done = factories.claim_and_submit(world.task, world.worker)
    answer = done.answers.order_by("item__key")[1]
    staff = signed_in(world.manager)
    address = reverse("message_new", args=[world.project.pk, done.pk]) + f"?answer={answer.pk}"
    assert "About question 2" in html_of(staff.get(address))
    staff.post(address, {"text": "Well said.", "key": str(uuid4())})
    assert Message.objects.get().item_id == answer.item_id
    people.remove_member(by=world.requester, member=world.worker)
    late = staff.post(address, {"text": "And thank you.", "key": str(uuid4())})
    assert late.status_code == 409 and Message.objects.count() == 1
    found = Conversation.objects.get()
    gone = signed_in(world.worker.user).get(reverse("work_conversation", args=[found.pk]))
    assert gone.status_code == 404


def test_limits_keep_what_was_typed_and_moderation_ends_a_quarrel(
    world: World, held: Assignment
) -> None:
    works, manager = signed_in(world.worker.user), signed_in(world.manager)
    with pytest.raises(NotAllowed, match="started"):
        ask(world, task=factories.make_task(world.project, 1))
    found = ask(world, "You are all storks.")
    own = reverse("work_conversation", args=[found.pk])
    long = works.post(own, {"text": "x" * 2001, "key": str(uuid4())})
    assert long.status_code == 422 and "x" * 2001 in html_of(long)
    for _ in range(limits.MESSAGES.most):
        last = works.post(own, {"text": "Storks!", "key": str(uuid4())})
    assert last.status_code == 429 and "Storks!</textarea>" in html_of(last)
    first = found.messages.order_by("pk")[0]
    reports = reverse("conversation_report", args=[world.project.pk, found.pk])
    signed_in(world.requester).post(reports, {"message": first.pk})
    assert notices_of(world.manager) == ["message.worker", "message.reported"]
    steps = reverse("conversation_moderate", args=[world.project.pk, found.pk])
    assert signed_in(world.requester).post(steps, {"step": "block"}).status_code == 403
    manager.post(steps, {"step": "remove", "message": first.pk})
    assert "You are all storks" not in html_of(works.get(own))
    assert not Message.objects.filter(text__contains="all storks").exists()
    manager.post(steps, {"step": "close"})
    with pytest.raises(Conflict, match="closed"):
        ask(world)
    manager.post(steps, {"step": "open"})
    manager.post(steps, {"step": "block"})
    world.worker.refresh_from_db()
    with pytest.raises(NotAllowed, match="blocked"):
        ask(world)
    stranger = signed_in(factories.make_worker(world.project).user)
    assert stranger.get(own).status_code == 404


def test_an_announcement_reaches_whoever_started_the_task_once(
    world: World, held: Assignment
) -> None:
    visitor = factories.make_worker(world.project)  # no address, as people from elsewhere
    factories.claim_and_submit(world.task, visitor)
    back = factories.make_worker(world.project)
    leases.return_assignment(by=back.user, assignment=factories.claim(world.task, back))
    bystander = factories.make_worker(world.project)
    staff = signed_in(world.requester)
    address = reverse("announcements", args=[world.project.pk, world.task.pk])
    form = {"text": "The task closes on Friday.", "key": str(uuid4())}
    for _ in range(2):
        assert staff.post(address, form).status_code == 302
    told = Announcement.objects.get()
    assert told.workers == Message.objects.count() == 2
    for one, number in ((world.worker, 1), (visitor, 1), (back, 0), (bystander, 0)):
        assert len(notices_of(one.user)) == number
        page = html_of(signed_in(one.user).get(reverse("work_messages")))
        assert ("closes on Friday" in page) is bool(number)
    listed = reverse("message_list", args=[world.project.pk]) + "?show=all"
    assert "No worker has written yet" in html_of(staff.get(listed))
    args = [world.project.pk, world.task.pk, told.pk]
    staff.post(reverse("announcement_remove", args=args))
    page = html_of(signed_in(visitor.user).get(reverse("work_messages")))
    assert "closes on Friday" not in page
    assert Membership.objects.filter(conversations__isnull=False).count() == 2
