"""The builder in the browser: fields that save themselves, and pages that stay quick."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.authoring.actions import items
from annotation.authoring.actions.known import set_known
from annotation.models import Assignment, EventBatch, ItemGroup, Task, User
from annotation.models.tasks import TaskState
from tests.support import factories
from tests.support.factories import World
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def world() -> World:
    return factories.make_world(3, publish=False)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def url(name: str, task: Task, **query: str) -> str:
    path = reverse(name, args=[task.project_id, task.pk])
    return path + ("?" + "&".join(f"{k}={v}" for k, v in query.items()) if query else "")


def save(world: World, name: str, data: dict[str, Any], **query: str) -> Any:
    client = signed_in(world.requester)
    return client.post(url(name, world.task, **query), data, headers=HTMX)


def test_a_field_saves_itself_and_the_answer_carries_state_preview_and_cost(world: World) -> None:
    answer = save(world, "task_build", {"pay": "2,40"}, part="time")
    text = answer.content.decode()
    assert answer.status_code == 200
    for part in ("page-head", "preview", "costline"):
        assert f'id="{part}" ' in text or f'id="{part}"' in text
    assert "€2.40" in text and 'hx-swap-oob="true"' in text
    world.task.refresh_from_db()
    assert str(world.task.versions.get().pay) == "2.40"


@pytest.mark.parametrize(
    ("data", "part", "words"),
    [
        ({"pay": "a lot"}, "time", "An amount, as 1.80."),
        ({"title": "  "}, "text", "Write a title."),
        ({"redundancy": "0"}, "order", "1 to 500."),
        ({"min_words": "9", "max_words": "3"}, "order", "At least 9."),
    ],
)
def test_a_refused_field_says_why_in_its_place_and_is_not_saved(
    world: World, data: dict[str, str], part: str, words: str
) -> None:
    before = world.task.versions.values().get()
    answer = save(world, "task_build", data, part=part)
    assert answer.status_code == 422 and words in answer.content.decode()
    assert world.task.versions.values().get() == before


def test_without_scripts_the_whole_form_is_saved_and_the_page_comes_back(world: World) -> None:
    answer = signed_in(world.requester).post(
        url("task_build", world.task, part="time"), {"pay": "3", "lease_minutes": "20"}
    )
    assert answer.status_code == 302 and "part=time" in answer["Location"]
    assert world.task.versions.get().lease_minutes == 20


def test_a_question_is_added_written_set_moved_and_removed(world: World) -> None:
    answer = save(world, "task_build_add", {})
    assert answer.status_code == 200 and "question=q-004" in answer["HX-Replace-Url"]
    assert b"Question 4 has no text" in answer.content
    save(world, "task_build_question", {"question": "Why do they leave?"}, question="q-004")
    save(
        world,
        "task_build_question",
        {"min_words": "8", "max_words": "60", "has_dont_know": "1"},
        question="q-004",
    )
    item = world.task.items.get(key="q-004")
    assert item.question == "Why do they leave?"
    assert item.settings == {
        "min_words": 8,
        "max_words": 60,
        "dont_know": False,
        "skippable": False,
    }
    save(world, "task_build_move", {"to": "up"}, question="q-004")
    save(world, "task_build_move", {"key": "q-004", "beside": "q-001"})
    first = world.task.items.first()
    assert first is not None and first.key == "q-004"
    save(world, "task_build_remove", {}, question="q-004")
    assert not world.task.items.filter(key="q-004").exists()


def test_editing_a_published_question_by_its_key_goes_on_in_the_new_version(world: World) -> None:
    task = factories.make_task(world.project, 2)
    client = signed_in(world.requester)
    path = url("task_build_question", task, question="q-001")
    for text in ("A", "An", "And now?"):
        assert client.post(path, {"question": text}, headers=HTMX).status_code == 200
    assert task.versions.count() == 2
    live = task.items.get(key="q-001", until=None)
    assert (live.question, live.since) == ("And now?", 2)
    dialog = client.get(url("task_publish", task)).content.decode()
    assert "Version 2: 1 question changed." in dialog


def test_the_first_passage_makes_one_text_however_often_it_is_saved(world: World) -> None:
    from annotation.authoring.actions import tasks

    task = tasks.create_task(
        by=world.requester, project=world.project, type="free_text", title="New"
    )
    client = signed_in(world.requester)
    for passage in ("One", "One two", "One two\r\nthree"):
        client.post(url("task_build_text", task), {"passage": passage}, headers=HTMX)
    assert ItemGroup.objects.get(task=task).passage == "One two\nthree"
    client.post(url("task_build_text", task), {"look_back": "0"}, headers=HTMX)
    assert ItemGroup.objects.get(task=task).look_back is False


def test_a_saved_field_of_a_text_answers_with_its_own_note(world: World) -> None:
    group = world.task.groups.get()
    path, client = url("task_build_text", world.task, text=group.key), signed_in(world.requester)
    notes = {
        name: client.post(path, {name: "1"}, headers=HTMX).context["note"]
        for name in ("group_title", "passage", "look_back")
    }
    assert notes == {name: name for name in notes}


def test_texts_are_added_moved_and_taken_out_with_their_questions(world: World) -> None:
    first = world.task.groups.get()
    save(world, "task_build_text_step", {"to": "add"}, part="text")
    second = world.task.groups.exclude(pk=first.pk).get()
    save(world, "task_build_text_step", {"to": "up"}, part="text", text=second.key)
    assert [group.pk for group in world.task.groups.all()] == [second.pk, first.pk]
    save(world, "task_build_text_step", {"to": "remove"}, part="text", text=first.key)
    assert [group.pk for group in world.task.groups.all()] == [second.pk]
    assert not world.task.items.exists()


def test_publishing_is_held_with_its_reason_until_nothing_is_missing(world: World) -> None:
    items.save_item(by=world.requester, task=world.task, question="")
    client = signed_in(world.requester)
    page = client.get(url("task_build", world.task)).content.decode()
    assert "One thing is missing before you can publish." in page
    dialog = client.get(url("task_publish", world.task)).content.decode()
    assert "Publish, 1 thing missing" in dialog and "question=q-004" in dialog
    assert client.post(url("task_publish", world.task)).status_code == 422
    save(world, "task_build_question", {"question": "Now it has."}, question="q-004")
    assert client.post(url("task_publish", world.task)).status_code == 302
    world.task.refresh_from_db()
    assert world.task.state == TaskState.OPEN


def test_what_people_write_is_never_markup(world: World) -> None:
    save(world, "task_build", {"title": "<img src=x onerror=alert(1)>"})
    save(world, "task_build_question", {"question": "<script>x</script>"}, question="q-001")
    for name in ("task_build", "task_preview", "task"):
        text = signed_in(world.requester).get(url(name, world.task)).content.decode()
        assert "<img src=x" not in text and "<script>x" not in text


def test_checking_as_a_worker_records_nothing(world: World) -> None:
    client = signed_in(world.requester)
    for number in ("1", "3", "999", "x", "-1"):
        page = client.get(url("task_preview", world.task, n=number))
        assert page.status_code == 200 and b"Nothing you type here is kept" in page.content
    assert not Assignment.objects.exists() and not EventBatch.objects.exists()


def test_the_preview_leads_back_to_the_part_that_one_came_from(world: World) -> None:
    client = signed_in(world.requester)
    built = client.get(url("task_build", world.task, part="time")).content.decode()
    assert f'href="{url("task_preview", world.task, part="time")}"' in built
    for number in ("1", "2"):
        page = client.get(url("task_preview", world.task, n=number, part="time")).content.decode()
        assert f'href="{url("task_build", world.task, part="time")}"' in page
        assert "&amp;part=time" in page
    other = client.get(url("task_preview", world.task, part="nowhere")).content.decode()
    assert "nowhere" not in other


@pytest.mark.parametrize(
    ("name", "method", "manager"),
    [
        ("task", "get", 200),
        ("task_build", "get", 403),
        ("task_build", "post", 403),
        ("task_build_question", "post", 403),
        ("task_build_add", "post", 403),
        ("task_build_remove", "post", 403),
        ("task_build_move", "post", 403),
        ("task_build_text", "post", 403),
        ("task_build_text_step", "post", 403),
        ("task_publish", "post", 403),
        ("task_move", "post", 403),
        ("task_preview", "get", 200),
    ],
)
def test_outsiders_learn_nothing_and_weak_roles_are_told(
    world: World, name: str, method: str, manager: int
) -> None:
    path = url(name, world.task)
    assert getattr(signed_in(world.outsider), method)(path).status_code == 404
    assert getattr(signed_in(world.worker.user), method)(path).status_code == 403
    assert getattr(signed_in(world.manager), method)(path).status_code == manager
    wrong = (
        "put" if name in ("task_build", "task_publish") else {"get": "post", "post": "get"}[method]
    )
    assert getattr(signed_in(world.requester), wrong)(path).status_code == 405
    other = factories.make_project(owner=world.requester)
    path = reverse(name, args=[other.pk, world.task.pk])
    assert getattr(signed_in(world.requester), method)(path).status_code == 404


def queries(client: Client, path: str) -> int:
    client.get(path)
    with CaptureQueriesContext(connection) as caught:
        assert client.get(path).status_code == 200
    return len(caught)


def test_pages_ask_the_database_no_more_often_when_there_are_more_rows() -> None:
    def count(size: int) -> dict[str, int]:
        project = factories.make_project()
        task = factories.make_task(project, size * 3, groups=size)
        for _ in range(size):
            factories.claim_and_submit(factories.make_task(project, 2))
        client = signed_in(project.owner)
        items.save_item(by=project.owner, task=task, question="One more?")
        paths = {
            "tasks": reverse("task_list", args=[project.pk]),
            "people": reverse("people", args=[project.pk]),
            "task": url("task", task),
            "build": url("task_build", task),
            "open": url("task_build", task, question="q-002"),
            "texts": url("task_build", task, part="text"),
            "preview": url("task_preview", task),
            "projects": reverse("project_list"),
        }
        return {name: queries(client, path) for name, path in paths.items()}

    assert count(1) == count(3)


def test_the_table_of_questions_is_paginated(world: World) -> None:
    rows = [{"item_id": f"k{n}", "question": f"Number {n}?"} for n in range(250)]
    items.import_items(by=world.requester, task=world.task, rows=rows)
    client = signed_in(world.requester)
    page = client.get(url("task_build", world.task))
    assert len(page.context["rows"]) == 100
    opened = client.get(url("task_build", world.task, question="k240"))
    assert opened.context["page"].number == 3
    assert "Number 240?" in opened.content.decode()


def test_the_builder_says_how_many_known_answers_are_enough_to_stay_hidden() -> None:
    """8 questions are asked, 4 in an assignment with 1 known answer."""
    project = factories.make_project()
    task = factories.make_task(
        project, 9, settings={"gold_per_assignment": 1}, publish=False, redundancy=5,
        items_per_assignment=4,
    )  # fmt: skip
    set_known(by=project.owner, task=task, key="q-001", given={"answer": "x"})
    client = Client()
    client.force_login(project.owner)
    url = reverse("task_build", args=[project.pk, task.pk]) + "?part=known"
    page = html_of(client.get(url))
    assert "shown to about 10 workers, the others to 5" in page
    assert "2 known answers are enough" in page
    set_known(by=project.owner, task=task, key="q-002", given={"answer": "x"})
    assert "are enough" not in html_of(client.get(url))
