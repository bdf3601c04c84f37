"""Names of fields: changed in a draft, kept once published, and never read by workers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.authoring.actions import tasks
from annotation.authoring.actions.known import set_known
from annotation.authoring.actions.label_fields import (
    add_field,
    add_option,
    edit_field,
    remove_field,
    rename_field,
)
from annotation.models import Task
from annotation.task_types import get_type
from crowdqc.errors import Invalid
from tests.annotation.pairs.pair_studies import HTMX, signed_in, url
from tests.support.factories import World, make_world
from tests.support.studies.labels import begin_leaves

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world(1, publish=False)


@pytest.fixture
def task(world: World) -> Task:
    return begin_leaves(world.project)


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
    assert b'<code id="open-name">disease</code>' in page.content


def test_workers_read_the_question_and_not_the_name_of_a_template(world: World, task: Task) -> None:
    edit_field(by=world.requester, task=task, name="damage", fields={"question": "How is it?"})
    first = fields(task)[0]
    settings = task.versions.latest("number").settings
    option = first["options"][0]
    said = get_type("labels").in_words({f"l-{first['name']}": option["value"]}, settings)
    assert said.startswith(f"How is it? {option['label']}")


@pytest.mark.parametrize("kind", ["choose_one", "choose_several", "rank", "spans"])
def test_values_that_nobody_wrote_follow_their_labels(world: World, task: Task, kind: str) -> None:
    remove_field(by=world.requester, task=task, name="extent")
    words = {"kind": kind, "label-0": "Square", "label-2": "Circle"}
    edit_field(by=world.requester, task=task, name="damage", fields=words)
    values = [option["value"] for option in fields(task)[0]["options"]]
    assert values == ["square", "holes", "circle"]


def test_conditions_and_known_answers_follow_what_follows(world: World, task: Task) -> None:
    given = {"damage": {"value": "spots"}}
    item = set_known(by=world.requester, task=task, key="template-example-1", given=given)
    words = {"question": "Which shape?", "label-0": "Square", "label-2": "Circle"}
    name = edit_field(by=world.requester, task=task, name="damage", fields=words)
    first, second = fields(task)[:2]
    assert (name, first["name"], first["label"]) == ("which_shape", "which_shape", "Which shape?")
    assert second["ask_if"][0]["field"] == name
    assert second["ask_if"][0]["values"] == ["circle", "unsure"]
    item.refresh_from_db()
    assert item.expected == {name: "square"}
    assert tasks.problems(task, task.versions.get()) == []


def test_what_was_written_by_hand_stays(world: World, task: Task) -> None:
    def edit(name: str, **words: str) -> str:
        given = {key.replace("_", "-"): value for key, value in words.items()}
        return edit_field(by=world.requester, task=task, name=name, fields=given)

    edit("damage", value_0="sq")
    edit("damage", label_0="Square")
    assert fields(task)[0]["options"][0]["value"] == "sq"
    name = rename_field(by=world.requester, task=task, name="damage", label="Shape")
    assert edit(name, question="Which one?") == "shape"
    assert fields(task)[0]["label"] == "Shape"


def test_what_is_published_never_changes_by_itself(world: World, task: Task) -> None:
    tasks.publish(by=world.requester, task=task)
    edited = {"question": "Which shape?", "label-0": "Square"}
    assert edit_field(by=world.requester, task=task, name="damage", fields=edited) == "damage"
    field = fields(task)[0]
    assert (field["name"], field["options"][0]["value"]) == ("damage", "spots")
    add_option(by=world.requester, task=task, name="damage")
    edit_field(by=world.requester, task=task, name="damage", fields={"label-3": "Circ"})
    edit_field(by=world.requester, task=task, name="damage", fields={"label-3": "Circle"})
    assert fields(task)[0]["options"][3]["value"] == "circle"


def test_points_of_a_scale_are_its_values(world: World, task: Task) -> None:
    add_option(by=world.requester, task=task, name="extent")
    edit_field(by=world.requester, task=task, name="extent", fields={"label-0": "None"})
    edit_field(by=world.requester, task=task, name="extent", fields={"label-2": "Some"})
    options = fields(task)[1]["options"]
    assert [option["value"] for option in options] == ["1", "5", "2"]


def test_the_page_is_told_what_followed(world: World, task: Task) -> None:
    path = url("task_build_field", task, part="fields", question="damage")
    client = signed_in(world.requester)
    page = client.post(path, {"question": "Which shape?"}, headers=HTMX)
    assert json.loads(page["HX-Trigger"])["followed"] == {
        "before": "damage",
        "now": "which_shape",
        "fields": {"label": "Which shape?"},
    }
    path = url("task_build_field", task, part="fields", question="which_shape")
    page = client.post(path, {"label-0": "Square"}, headers=HTMX)
    assert json.loads(page["HX-Trigger"])["followed"]["fields"] == {"value-0": "square"}
