"""The builder of think-aloud and checklist tasks: what it saves, refuses and shows."""

from __future__ import annotations

import html as entities
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.authoring.actions import drafts, tasks
from annotation.formats.actions.imports import import_rows
from annotation.models import Candidate, Task
from tests.support import factories
from tests.support.studies import thinking

pytestmark = [pytest.mark.django_db]
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(1)


@pytest.fixture
def client(world: factories.World) -> Client:
    found = Client()
    found.force_login(world.requester)
    return found


def url(name: str, task: Task, query: str = "") -> str:
    return reverse(name, args=[task.project_id, task.pk]) + query


def build(client: Client, task: Task, query: str = "") -> str:
    answer = client.get(url("task_build", task, query))
    assert answer.status_code == 200
    return entities.unescape(answer.content.decode())


def post(client: Client, view: str, task: Task, query: str, **data: Any) -> Any:
    return client.post(url(view, task, query), data, **HTMX)


def begun(world: factories.World, type: str) -> Task:
    return tasks.create_task(by=world.requester, project=world.project, type=type, title="New")


def test_a_dimension_is_written_field_by_field_and_published(
    world: factories.World, client: Client
) -> None:
    task = begun(world, "think_aloud")
    assert "No dimension yet" in build(client, task)
    post(client, "task_build_dimension_step", task, "?part=dimensions", to="add")
    group = task.groups.get()
    here = f"?part=dimensions&text={group.key}"
    assert "has no name" in build(client, task, here)
    saved = post(client, "task_build_dimension", task, here, name="Coherence")
    assert "Coherence" in saved.content.decode()
    post(client, "task_build_dimension", task, here, rubric="Does it hold together?")
    post(client, "task_build_dimension_step", task, here, to="sample-add")
    sample = f"{here}&question=s1"
    refused = post(client, "task_build_dimension", task, sample, sample_score="good")
    assert refused.status_code == 422
    assert "A number." in refused.content.decode()
    for name, value in (("score", "2.5"), ("text", "A text."), ("source", "Its source.")):
        post(client, "task_build_dimension", task, sample, **{f"sample_{name}": value})
    shown = build(client, task, here)
    assert "It can be published." in shown
    assert "score 2.5" in shown  # the preview
    client.post(url("task_publish", task))
    task.refresh_from_db()
    group.refresh_from_db()
    assert task.state == "open"
    assert group.passages == [
        {"key": "s1", "title": "", "text": "A text.", "source": "Its source.", "score": "2.5"}
    ]


def test_dimensions_and_samples_move_and_go(world: factories.World, client: Client) -> None:
    task = thinking.make_think(world.project, ("A", "B"), publish=False)
    second = task.groups.order_by("position").last()
    here = f"?part=dimensions&text={second.key}"
    post(client, "task_build_dimension_step", task, here, to="up")
    assert list(task.groups.order_by("position").values_list("title", flat=True)) == ["B", "A"]
    post(client, "task_build_dimension_step", task, f"{here}&question=s3", to="sample-up")
    post(client, "task_build_dimension_step", task, f"{here}&question=s1", to="sample-remove")
    second.refresh_from_db()
    assert [one["key"] for one in second.passages] == ["s3", "s2", "s4"]
    post(client, "task_build_dimension_step", task, here, to="remove")
    assert list(task.items.values_list("question", flat=True)) == ["A"]
    odd = post(client, "task_build_dimension_step", task, "?part=dimensions", to="sideways")
    assert odd.status_code == 422


def test_questions_are_added_by_line_and_changed_in_place(
    world: factories.World, client: Client
) -> None:
    task = begun(world, "checklist")
    assert "No question yet" in build(client, task)
    new = "Does it begin well?\nDoes it end well?"
    post(
        client,
        "task_build_line_step",
        task,
        "?part=asked",
        to="add",
        new=new,
        new_component="Frame",
    )
    here = "?part=asked&question=q2"
    saved = post(client, "task_build_line", task, here, label="Does it stop well?")
    assert "Does it stop well?" in saved.content.decode()
    post(client, "task_build_line", task, here, component="Ends")
    post(client, "task_build_line_step", task, here, to="up")
    rows = task.versions.get().settings["questions"]
    assert [(row["name"], row["label"], row["component"]) for row in rows] == [
        ("q2", "Does it stop well?", "Ends"),
        ("q1", "Does it begin well?", "Frame"),
    ]
    refused = post(client, "task_build_line", task, here, label=" ")
    assert refused.status_code == 422
    refused = post(client, "task_build_line_step", task, "?part=asked", to="add", new=" ")
    assert refused.status_code == 422
    for twice in ("Does it stop well?", "Is it new?\nIs it new?"):
        asked = post(client, "task_build_line_step", task, "?part=asked", to="add", new=twice)
        assert asked.status_code == 422
    post(client, "task_build_line_step", task, here, to="remove")
    assert [row["name"] for row in task.versions.get().settings["questions"]] == ["q1"]


def test_texts_of_the_project_come_in_and_can_be_left_out(
    world: factories.World, client: Client
) -> None:
    task = begun(world, "checklist")
    first, second = thinking.make_texts(world.project, 2)
    post(client, "task_build_texts", task, "?part=texts", to="topics")
    assert task.items.count() == 2
    post(client, "task_build_texts", task, "?part=texts", leave=str(first.pk))
    assert task.items.get().first_id == second.pk
    shown = build(client, task, "?part=texts")
    assert "Take in" in shown
    assert "The checklist has no question" in shown


def test_a_file_of_texts_brings_the_sources_that_stand_beside_them(
    world: factories.World, client: Client
) -> None:
    task = begun(world, "checklist")
    rows = [
        {"topic": "t1", "text": f"Summary {n}", "origin": "human", "context": thinking.SOURCE}
        for n in (1, 2)
    ]
    assert import_rows(by=world.requester, task=task, kind="candidates", rows=rows) == 2
    assert task.groups.get().passage == thinking.SOURCE
    assert Candidate.objects.filter(project=world.project, topic="t1").count() == 2
    assert task.items.count() == 2


@pytest.mark.parametrize("part", ["text", "dimensions", "order", "time", "consent"])
def test_every_part_of_a_think_aloud_opens(
    world: factories.World, client: Client, part: str
) -> None:
    task = thinking.make_think(world.project)
    assert "Think aloud" in build(client, task, f"?part={part}")


@pytest.mark.parametrize("part", ["text", "asked", "texts", "time", "consent"])
def test_every_part_of_a_checklist_opens(world: factories.World, client: Client, part: str) -> None:
    task = thinking.make_checklist(world.project)
    assert "Check summaries" in build(client, task, f"?part={part}")


def test_preview_task_page_and_publishing_summary_know_both_types(
    world: factories.World, client: Client
) -> None:
    think, check = thinking.make_think(world.project), thinking.make_checklist(world.project)
    shown = entities.unescape(client.get(url("task_preview", think)).content.decode())
    assert "What would you look at?" in shown
    shown = entities.unescape(client.get(url("task_preview", check)).content.decode())
    assert "Do names stay the same?" in shown
    assert "a garden on the roof" in shown
    for task, nouns in ((think, "Sessions"), (check, "Checklists")):
        assert nouns in client.get(url("task", task)).content.decode()
        assert client.get(url("task_build_pairs", task)).status_code == 200
        assert client.get(reverse("task_list", args=[task.project_id])).status_code == 200
    drafts.edit_draft(by=world.requester, task=think, fields={"pay": "1.00"})
    assert "per dimension" in client.get(url("task_publish", think)).content.decode()


def test_no_setting_names_a_frozen_list_by_hand(world: factories.World, client: Client) -> None:
    task = begun(world, "checklist")
    client.post(url("task_build", task, "?part=text"), {"version": "7", "dimension": "Coherence"})
    settings = task.versions.get().settings
    assert (settings["version"], settings["dimension"]) == (0, "Coherence")


def test_the_builder_asks_the_database_as_often_for_many_rows_as_for_few(
    world: factories.World, client: Client
) -> None:
    counts = []
    for n in (1, 6):
        names = [f"Dimension {m}" for m in range(n)]
        questions = [{"name": f"q{m}", "label": f"Is it {m}?"} for m in range(n)]
        think = thinking.make_think(world.project, names, publish=False)
        check = thinking.make_checklist(
            factories.make_project(owner=world.requester), n, questions=questions, publish=False
        )
        for task, part in ((think, "dimensions"), (check, "asked"), (check, "texts")):
            build(client, task, f"?part={part}")
            with CaptureQueriesContext(connection) as asked:
                build(client, task, f"?part={part}")
            counts.append(len(asked))
    assert counts[:3] == counts[3:]
