"""Names of fields: changed in a draft, kept once published, and never read by workers."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.authoring.actions import tasks
from annotation.authoring.actions.known import set_known
from annotation.authoring.actions.label_fields import add_field, edit_field, rename_field
from annotation.gallery.actions.examples import begin_task
from annotation.gallery.templates import get_template
from annotation.models import Task
from annotation.task_types import get_type
from crowdqc.errors import Invalid
from tests.annotation.pairs.pair_studies import HTMX, signed_in, url
from tests.support.factories import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world(1, publish=False)


@pytest.fixture
def task(world: World) -> Task:
    return begin_task(by=world.requester, project=world.project, template=get_template("image"))


def fields(task: Task) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = task.versions.latest("number").settings["fields"]
    return found


def test_a_new_name_is_exported_and_conditions_and_known_answers_follow(
    world: World, task: Task
) -> None:
    first, second = fields(task)[:2]
    assert second["ask_if"][0]["field"] == first["name"]
    code = first["options"][0]["value"]
    given = {first["name"]: {"value": code}}
    item = set_known(by=world.requester, task=task, key="template-example-1", given=given)
    name = rename_field(by=world.requester, task=task, name=first["name"], label="Leaf disease")
    assert name == "leaf_disease"
    first, second = fields(task)[:2]
    assert (first["name"], first["label"]) == ("leaf_disease", "Leaf disease")
    assert second["ask_if"][0]["field"] == "leaf_disease"
    item.refresh_from_db()
    assert item.expected == {"leaf_disease": code}
    assert tasks.problems(task, task.versions.get()) == []


def test_a_published_field_keeps_the_name_of_its_answers(world: World, task: Task) -> None:
    tasks.publish(by=world.requester, task=task)
    before = fields(task)[0]["name"]
    name = rename_field(by=world.requester, task=task, name=before, label="Another")
    assert name == before
    assert (fields(task)[0]["name"], fields(task)[0]["label"]) == (before, "Another")


def test_two_fields_never_share_a_name_and_an_empty_one_is_refused(
    world: World, task: Task
) -> None:
    first = fields(task)[0]
    other = add_field(by=world.requester, task=task, question="Anything else?")
    name = rename_field(by=world.requester, task=task, name=other, label=first["label"])
    assert name not in ("", first["name"])
    with pytest.raises(Invalid):
        rename_field(by=world.requester, task=task, name=name, label=" ")


def test_the_builder_goes_on_with_the_renamed_field(world: World, task: Task) -> None:
    name = fields(task)[0]["name"]
    path = url("task_build_field", task, part="fields", question=name)
    page = signed_in(world.requester).post(path, {"label": "Disease"}, headers=HTMX)
    assert page.status_code == 200
    assert "question=disease" in page["HX-Replace-Url"]
    assert b"<code>disease</code>" in page.content


def test_workers_read_the_question_and_not_the_name_of_a_template(world: World, task: Task) -> None:
    first = fields(task)[0]
    edit_field(by=world.requester, task=task, name=first["name"], fields={"question": "How is it?"})
    settings = task.versions.latest("number").settings
    option = first["options"][0]
    said = get_type("labels").in_words({f"l-{first['name']}": option["value"]}, settings)
    assert said.startswith(f"How is it? {option['label']}")
