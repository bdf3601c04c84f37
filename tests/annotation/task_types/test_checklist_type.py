"""Checklists: what is stored of their lines, what is refused, which answers are pooled."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.authoring.actions import tasks
from annotation.models import ItemGroup
from annotation.pairs.actions import checklist_items
from annotation.task_types import get_type
from annotation.work.snapshots import checks
from crowdqc.errors import Invalid
from tests.support import factories
from tests.support.studies import thinking

TYPE = get_type("checklist")
SETTINGS = TYPE.clean_settings({"questions": [dict(row) for row in thinking.QUESTIONS]})


def checked(raw: dict[str, Any], **settings: Any) -> Any:
    return TYPE.check(TYPE.clean_draft(raw), {**SETTINGS, **settings})


def test_every_line_becomes_a_choice_in_the_order_of_the_list() -> None:
    values = checked(thinking.YES)
    assert values.choices == [("links", "yes", 1), ("time", "no", 0), ("names", "yes", 1)]
    assert not values.texts
    assert not values.spans


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({}, "3 of 3 lines are not answered yet, the first is line 1."),
        ({"c-links": "yes", "c-names": "no"}, "Line 2 of 3 is not answered yet."),
        ({**thinking.YES, "c-other": "yes"}, "no question 'other'"),
        ({"c-links": "maybe"}, "c-links is 'maybe'"),
        ({"c-links": 1}, "c-links is '1'"),
    ],
)
def test_an_open_or_unknown_line_is_refused_and_named(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked(raw)
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"label": ""}, "asks nothing"),
        ({"label": "x" * 601}, "too long"),
        ({"label": "Why?", "name": "No Name"}, "cannot be a short name"),
        ({"label": "Why?", "name": "links"}, "there twice"),
        ({"label": "Why?", "attributes": [{"text": "a", "kind": "parrot"}]}, "whose attribute"),
        ({"label": "Why?", "attributes": "none"}, "attributes is not a list"),
    ],
)
def test_a_question_that_cannot_be_asked_is_named(row: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        TYPE.clean_settings({"questions": [dict(thinking.QUESTIONS[0]), row]})
    assert said in refused.value.message


def test_questions_keep_the_attributes_they_came_from_and_get_names() -> None:
    questions = TYPE.clean_settings(
        {"questions": [{"label": "Why?", "component": "Order"}, dict(thinking.QUESTIONS[0])]}
    )["questions"]
    assert [row["name"] for row in questions] == ["q1", "links"]
    assert questions[1]["attributes"] == thinking.QUESTIONS[0]["attributes"]


@pytest.mark.django_db
def test_a_task_of_a_frozen_list_holds_the_given_texts_beside_their_source_alone() -> None:
    project = factories.make_project()
    by = project.owner
    source = tasks.create_task(by=by, project=project, type="rating", title="Earlier")
    tasks.save_group(by=by, task=source, key="library", passage=thinking.SOURCE)
    first, second, other = thinking.make_texts(project, 3)
    origin = {"text": "holds", "author": "model a", "kind": "model"}
    frozen = [
        {
            "name": "links",
            "text": "Does it hold together?",
            "component": "Links",
            "attributes": [origin],
        }
    ]
    task = checklist_items.make_task(
        by=by,
        project=project,
        title="Check",
        dimension="Coherence",
        questions=frozen,
        version=7,
        texts=[first, second],
    )
    settings = task.versions.get().settings
    assert (settings["version"], settings["dimension"]) == (7, "Coherence")
    assert settings["questions"][0]["label"] == "Does it hold together?"
    assert settings["questions"][0]["attributes"][0]["kind"] == "model"
    assert set(task.items.values_list("first", flat=True)) == {first.pk, second.pk}
    assert ItemGroup.objects.get(task=task).passage == thinking.SOURCE
    assert settings["left_out"] == [other.pk]
    assert task.current is None
    assert get_type(task.type).missing(task, task.versions.get()) == []


@pytest.mark.django_db
def test_a_changed_line_makes_the_list_one_of_its_own() -> None:
    project = factories.make_project()
    by = project.owner
    task = thinking.make_checklist(project, publish=False)
    tasks.edit_draft(by=by, task=task, fields={"settings": {"version": 7}})
    checklist_items.edit_question(by=by, task=task, name="time", fields={"component": "Links"})
    assert task.versions.get().settings["version"] == 7
    names = checklist_items.add_questions(by=by, task=task, text="Is it short?\n\nIs it calm?\n")
    assert names == ["q1", "q2"]
    checklist_items.move_question(by=by, task=task, name="q1", step=-3)
    checklist_items.remove_question(by=by, task=task, name="links")
    settings = task.versions.get().settings
    assert [row["name"] for row in settings["questions"]] == ["q1", "time", "names", "q2"]
    assert settings["version"] == 0
    with pytest.raises(Invalid, match="asks something"):
        checklist_items.edit_question(by=by, task=task, name="time", fields={"label": " "})


@pytest.mark.django_db
def test_answers_to_changed_questions_are_not_pooled_and_every_text_is_asked_anew() -> None:
    world = factories.make_world(1)
    by, task = world.requester, thinking.make_checklist(world.project)
    thinking.submit(factories.claim(task, world.worker), thinking.YES)
    before = checks.counting_checks(task)
    assert [(row.name, row.yes) for row in before[:3]] == [
        ("links", True),
        ("time", False),
        ("names", True),
    ]
    assert len(before) == 6
    tasks.edit_draft(by=by, task=task, fields={"pay": "2.00"})
    checklist_items.move_question(by=by, task=task, name="names", step=-1)
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    assert len(checks.counting_checks(task)) == 6  # pay and order alone: the same list
    checklist_items.edit_question(by=by, task=task, name="time", fields={"label": "Is it in time?"})
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    assert checks.counting_checks(task) == []
    asked = task.items.in_version(task.current.number)
    assert [(item.held, item.redundancy) for item in asked] == [(0, 2), (0, 2)]
    thinking.submit(factories.claim(task, world.worker), thinking.YES)
    assert len(checks.counting_checks(task)) == 6


@pytest.mark.django_db
def test_who_wrote_a_text_is_not_asked_to_check_it() -> None:
    world = factories.make_world(1)
    task = thinking.make_checklist(world.project, publish=False)
    text = task.items.order_by("position").first().first
    text.author = world.worker
    text.save(update_fields=["author"])
    tasks.publish(by=world.requester, task=task)
    task.refresh_from_db()
    held = factories.claim(task, world.worker)
    assert [entry.item.first_id for entry in held.entries.all()] != [text.pk]
    assert held.entries.count() == 1
