"""Conversations and announcements over the API, under the rules of the browser."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from annotation.models import Assignment, AuditEntry, Message, User
from crowdqc import limits
from tests.annotation.conversations.test_conversations import notices_of
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db


class Caller:
    """A program with somebody's token."""

    def __init__(self, user: User | None, key: str = "") -> None:
        assert user is not None
        token = key or factories.api_token(user)
        self.client = Client(headers={"Authorization": f"Token {token}"})

    def get(self, path: str) -> Any:
        return self.client.get(f"/api/{path}")

    def post(self, path: str, **body: Any) -> Any:
        return self.client.post(f"/api/{path}", body, content_type="application/json")


@pytest.fixture
def world() -> World:
    made = factories.make_world(3, redundancy=5)
    made.requester.display_name = "Rita Own"
    made.requester.save()
    return made


@pytest.fixture
def held(world: World) -> Assignment:
    return factories.claim(world.task, world.worker)


def test_a_question_is_asked_answered_and_read_without_a_name(
    world: World, held: Assignment
) -> None:
    works, staff = Caller(world.worker.user), Caller(world.requester)
    asked = {"text": "Is this a stork?", "number": 2, "key": str(uuid4())}
    for _ in range(2):  # sent again
        sent = works.post(f"work/assignments/{held.pk}/messages/", **asked)
        assert sent.status_code == 201
    assert Message.objects.count() == 1
    assert notices_of(world.requester) == ["message.worker"]
    own, there = f"work/conversations/{sent.json()['id']}/", f"tasks/{world.task.pk}/conversations/"
    [listed] = staff.get(f"{there}?show=waiting").json()["results"]
    assert listed["waits"] and listed["worker"] == world.worker.pseudonym
    found = f"{there}{listed['id']}/"
    [line] = staff.get(found).json()["messages"]
    assert (line["by"], line["number"]) == (world.worker.pseudonym, 2)
    assert notices_of(world.requester) == ["message.worker"]  # reading marks nothing
    assert staff.post(f"{found}read/").status_code == 204
    assert notices_of(world.requester) == []
    answered = staff.post(f"{found}messages/", text="A stork.")
    assert answered.status_code == 201 and answered.json()["messages"][-1]["by"] == "Rita Own"
    assert staff.get(f"{there}?show=waiting").json()["results"] == []
    [mine] = works.get("work/conversations/").json()["results"]
    assert mine["new"] == 1
    told = works.get(own)
    assert "A stork." in told.content.decode() and "Rita" not in told.content.decode()
    works.post(f"{own}read/", upto=told.json()["messages"][-1]["id"])
    assert works.get(own).json()["new"] == 0 and notices_of(world.worker.user) == []
    assert AuditEntry.objects.filter(action="message.send").count() == 2


def test_limits_moderation_and_other_people_s_conversations_are_as_in_the_browser(
    world: World, held: Assignment
) -> None:
    works, staff, manager = (
        Caller(user) for user in (world.worker.user, world.requester, world.manager)
    )
    stranger = Caller(factories.make_worker(world.project).user)
    ask = f"work/assignments/{held.pk}/messages/"
    assert works.post(ask, text=" ").status_code == 422
    assert works.post(ask, text="Hm?", number=99).status_code == 422
    sent = works.post(ask, text="Storks!").json()
    own, found = (
        f"{begin}conversations/{sent['id']}/" for begin in ("work/", f"tasks/{world.task.pk}/")
    )
    assert stranger.get(own).status_code == stranger.post(ask, text="Me too.").status_code == 404
    assert stranger.get(found).status_code == 403
    other = factories.make_task(world.project, 1)
    assert staff.get(f"tasks/{other.pk}/conversations/{sent['id']}/").status_code == 404
    number = sent["messages"][0]["id"]
    assert staff.post(f"{found}report/", message=number).json()["messages"][0]["reported_at"]
    assert staff.post(f"{found}moderate/", step="remove", message=number).status_code == 403
    removed = manager.post(f"{found}moderate/", step="remove", message=number)
    assert removed.json()["messages"][0]["text"] == ""
    assert manager.post(f"{found}moderate/", step="close").json()["closed_at"]
    assert works.post(f"{own}messages/", text="Why?").status_code == 409
    manager.post(f"{found}moderate/", step="open")
    late = [works.post(f"{own}messages/", text="Why?") for _ in range(limits.MESSAGES.most)][-1]
    assert late.status_code == 429


def test_an_announcement_reaches_who_started_and_its_author_or_a_manager_removes_it(
    world: World, held: Assignment
) -> None:
    works, staff = Caller(world.worker.user), Caller(world.requester)
    there = f"tasks/{world.task.pk}/announcements/"
    made = staff.post(there, text="The task ends on Friday.")
    assert made.status_code == 201 and made.json()["workers"] == 1
    [mine] = works.get("work/conversations/").json()["results"]
    [line] = works.get(f"work/conversations/{mine['id']}/").json()["messages"]
    assert (line["text"], line["announcement"]) == ("The task ends on Friday.", made.json()["id"])
    another = Caller(factories.make_member(world.project, "requester").user)
    address = f"/api/{there}{made.json()['id']}/"
    assert another.client.delete(address).status_code == 403
    assert Caller(world.manager).client.delete(address).status_code == 204
    assert staff.get(there).json()["results"][0]["text"] == ""


def test_a_token_of_one_project_opens_no_conversation_of_another(
    world: World, held: Assignment
) -> None:
    user = world.worker.user
    sent = Caller(user).post(f"work/assignments/{held.pk}/messages/", text="Storks?").json()
    elsewhere = factories.make_worker(factories.make_project(), user).project
    bound = Caller(user, factories.api_token(user, project=elsewhere))  # type: ignore[arg-type]
    assert bound.get("work/conversations/").json()["results"] == []
    assert bound.get(f"work/conversations/{sent['id']}/").status_code == 404
