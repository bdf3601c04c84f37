"""Labels over HTTP: authored in the builder, published, labeled by a worker, stored."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import label_fields, tasks
from annotation.models import Answer, Task
from annotation.work.actions import answers
from annotation.work.selectors.answer_words import answer_paragraphs
from crowdqc.errors import Invalid
from tests.support import factories
from tests.support.pages import html_of
from tests.support.studies import labels

pytestmark = pytest.mark.django_db


@pytest.fixture
def requester(client: Client) -> Any:
    project = factories.make_project()
    client.force_login(project.owner)
    client.project = project  # type: ignore[attr-defined]
    return client


def post(client: Client, name: str, task: Task, query: str = "", **data: Any) -> int:
    url = reverse(name, args=[task.project_id, task.pk]) + query
    return client.post(url, data).status_code


def fields_of(task: Task) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = task.versions.latest("number").settings["fields"]
    return rows


def test_fields_are_authored_in_the_builder_row_by_row(requester: Any) -> None:
    project = requester.project
    task = tasks.create_task(by=project.owner, project=project, type="labels", title="Leaves")
    here = "?part=fields&question=label"
    page = html_of(requester.get(reverse("task_build", args=[project.pk, task.pk])))
    assert "Field 1 needs two options" in page and "The task has no items" in page
    post(requester, "task_build_field", task, here, question="What is the main damage?")
    post(requester, "task_build_field_step", task, here, to="option")
    post(requester, "task_build_field", task, here, **{"label-0": "Bro"})
    post(requester, "task_build_field", task, here, **{"label-0": "Brown spots"})
    post(
        requester, "task_build_field_step", task, here,
        to="paste", pasted="Holes\nok | None of these | the leaf looks healthy\n",
    )  # fmt: skip
    post(requester, "task_build_field", task, here, unsure="1", has_unsure="1")
    assert [(o["value"], o["label"]) for o in fields_of(task)[0]["options"]] == [
        ("brown_spots", "Brown spots"), ("holes", "Holes"), ("ok", "None of these"),
    ]  # fmt: skip
    post(requester, "task_build_field_step", task, "?part=fields", to="add", new="What else?")
    also = "?part=fields&question=what_else"
    post(requester, "task_build_field", task, also, kind="short_text")
    post(requester, "task_build_field_step", task, also, to="condition")
    post(requester, "task_build_field", task, also, **{"is-0": "none_of"})
    post(requester, "task_build_field", task, also, **{"values-0": ["ok", "unsure"]})
    assert fields_of(task)[1]["ask_if"] == [
        {"field": "label", "is": "none_of", "values": ["ok", "unsure"]}
    ]
    post(requester, "task_build_field", task, here, **{"value-2": "healthy"})
    assert fields_of(task)[1]["ask_if"][0]["values"] == ["healthy", "unsure"]
    assert post(requester, "task_build_field_step", task, also, to="up") == 422
    page = html_of(requester.get(reverse("task_build", args=[project.pk, task.pk]) + also))
    assert "is none of None of these, Unsure" in page
    post(requester, "task_build_add", task, "?part=text")
    item = task.items.get()
    post(requester, "task_build_question", task, f"?part=text&question={item.key}", question="Leaf")
    for part in ("text", "fields", "known", "order", "time"):
        assert "Leaf" in html_of(
            requester.get(reverse("task_build", args=[project.pk, task.pk]), {"part": part})
        )
    assert post(requester, "task_publish", task) == 302
    task.refresh_from_db()
    assert task.current is not None


def test_fields_are_copied_from_another_task_with_what_they_depend_on(requester: Any) -> None:
    project = requester.project
    source = labels.make_labels(project)
    task = tasks.create_task(by=project.owner, project=project, type="labels", title="Again")
    url = reverse("task_build", args=[project.pk, task.pk]) + "?part=fields"
    assert "Copy fields from another task" in html_of(requester.get(url))
    step = "task_build_field_step"
    assert post(requester, step, task, to="copy", source=source.pk) == 302
    assert fields_of(task) == fields_of(source)
    post(requester, step, task, to="copy", source=source.pk)
    assert [row["name"] for row in fields_of(task)] == ["damage", "more", "damage_2", "more_2"]
    assert fields_of(task)[3]["ask_if"][0]["field"] == "damage_2"
    elsewhere = labels.make_labels(factories.make_project())
    assert post(requester, step, task, to="copy", source=elsewhere.pk) == 422


def test_removing_an_option_or_a_field_takes_it_out_of_conditions() -> None:
    project = factories.make_project()
    task = labels.make_labels(project, publish=False)
    by = project.owner
    label_fields.remove_option(by=by, task=task, name="damage", number="2")
    assert fields_of(task)[1]["ask_if"][0]["values"] == ["unsure"]
    with pytest.raises(Invalid, match="depends on 'unsure'"):
        label_fields.edit_field(by=by, task=task, name="damage", fields={"unsure": ""})
    label_fields.remove_field(by=by, task=task, name="damage")
    assert [row["name"] for row in fields_of(task)] == ["more"]
    assert fields_of(task)[0]["ask_if"] == []


def test_a_worker_labels_items_and_the_field_that_does_not_apply_stores_nothing() -> None:
    world = factories.make_world(1)
    task = labels.make_labels(world.project, labels.TEXTS[:2])
    held = factories.claim(task, world.worker)
    client = Client()
    client.force_login(world.worker.user)

    def said(name: str, *args: Any, form: dict[str, Any] | None = None) -> str:
        url = reverse(name, args=args)
        answer = client.get(url) if form is None else client.post(url, form, follow=True)
        assert answer.status_code == 200
        return html_of(answer)

    shown = said("work_item", held.pk, 1)
    assert "A leaf with brown spots." in shown and "Item 1 of 2" in shown
    stays = said("work_item", held.pk, 1, form={"go": "next", "seq": 1, "l-damage": "spots"})
    assert "“What else do you see?” is not answered yet." in stays
    assert "asked because you chose “Brown spots”" in stays
    form = {"go": "next", "seq": 2, "l-damage": "spots", "l-more.curled": "yes"}
    assert "Item 2 of 2" in said("work_item", held.pk, 1, form=form)
    form = {"go": "next", "seq": 1, "l-damage": "none", "l-more.curled": "yes"}
    listed = said("work_item", held.pk, 2, form=form)
    words = "What is the main damage? Brown spots; What else do you see? Curled edges"
    assert words in listed
    said("work_submit", held.pk, form={"key": uuid.uuid4()})
    stored = {
        answer.item.key: list(answer.choices.order_by("pk").values_list("field", "code", "ordinal"))
        for answer in Answer.objects.filter(item__task=task).select_related("item")
    }
    assert stored == {
        "leaf-1": [("damage", "spots", 0), ("more.yellow", "no", 0), ("more.curled", "yes", 1)],
        "leaf-2": [("damage", "none", 2)],
    }
    assert "What is the main damage? None of these" in said("work_record_assignment", held.pk)
    first = Answer.objects.get(item__task=task, item__key="leaf-1")
    assert answer_paragraphs(first) == words.replace("; ", "\n")


def test_above_twenty_items_a_bar_says_how_many_are_done() -> None:
    world = factories.make_world(1)
    client = Client()
    client.force_login(world.worker.user)

    def shown(count: int) -> str:
        task = labels.make_labels(world.project, [f"Leaf {n}." for n in range(count)])
        held = factories.claim(task, world.worker)
        form = {"go": "next", "seq": 1, "l-damage": "none"}
        return html_of(client.post(reverse("work_item", args=[held.pk, 1]), form, follow=True))

    assert "1 of 21</a>" in shown(21)
    page = shown(20)
    assert '<ol class="segments"' in page and "1 of 20</a>" not in page


def test_spans_are_checked_against_the_text_of_their_item() -> None:
    world = factories.make_world(1)
    task = labels.make_labels(world.project, ["In Bonn 🙂 on Monday"], fields=[labels.PLACES])
    held = factories.claim(task, world.worker)
    client = Client()
    client.force_login(world.worker.user)
    url = reverse("work_item", args=[held.pk, 1])
    wrong = {"go": "next", "seq": 1, "l-places": '[[3, 25, "place"]]'}
    assert "has a mark from 3 to 25" in html_of(client.post(url, wrong, follow=True))
    good = {"go": "next", "seq": 2, "l-places": '[[13, 19, "date"], [3, 7, "place"]]'}
    client.post(url, good)
    client.post(reverse("work_submit", args=[held.pk]), {"key": uuid.uuid4()})
    answer = Answer.objects.get(item__task=task)
    assert list(answer.spans.values_list("target", "start", "end")) == [
        ("place", 3, 7), ("date", 13, 19),
    ]  # fmt: skip


def test_items_with_a_known_answer_are_mixed_in_and_never_count(requester: Any) -> None:
    project = requester.project
    task = labels.make_labels(project, settings={"gold_per_assignment": 1}, publish=False)
    assert post(requester, "task_build_known", task, key="leaf-3") == 422
    assert post(requester, "task_build_known", task, key="leaf-3", **{"k-damage": "rust"}) == 422
    post(requester, "task_build_known", task, "?part=known", key="leaf-3", **{"k-damage": "none"})
    tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    assert task.items.get(key="leaf-3").expected == {"damage": "none"}
    worker = factories.make_worker(project)
    held = factories.claim(task, worker)
    assert sorted(entry.item.key for entry in held.entries.all()) == ["leaf-1", "leaf-2", "leaf-3"]
    drafts = {entry.item_id: {"l-damage": "none"} for entry in held.entries.all()}
    answers.submit_assignment(by=worker.user, assignment=held, key=uuid.uuid4(), drafts=drafts)
    counts = Answer.objects.filter(item__task=task).values_list("item__key", "counts")
    assert dict(counts) == {"leaf-1": True, "leaf-2": True, "leaf-3": False}
    page = html_of(requester.get(reverse("task_build", args=[project.pk, task.pk]) + "?part=known"))
    assert "A green leaf" in page and "None of these" in page
