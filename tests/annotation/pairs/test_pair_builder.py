"""Building a study of judgments in the browser: dimensions, scales, texts, and its pages."""

from __future__ import annotations

import json

import pytest

from annotation.formats.actions.imports import import_content
from annotation.models import Candidate, Task
from annotation.pairs.actions import pair_items, topics
from annotation.task_types.pairwise import type as pairwise
from annotation.work.snapshots.judgments import item_metadata
from crowdqc.errors import Invalid
from tests.annotation.pairs.pair_studies import ROW, begun, save, signed_in, url, with_texts
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return factories.make_world(3, publish=False)


@pytest.fixture
def task(world: World) -> Task:
    return begun(world)


@pytest.mark.parametrize("part", ["text", "asked", "texts", "pairs", "time", "consent"])
def test_every_part_opens_empty_and_full(world: World, task: Task, part: str) -> None:
    client = signed_in(world.requester)
    assert client.get(url("task_build", task, part=part)).status_code == 200
    with_texts(world, task)
    pair_items.make_pairs(by=world.requester, task=task)
    page = client.get(url("task_build", task, part=part))
    assert page.status_code == 200 and b"Which one is better?" in page.content
    assert client.get(url("task_preview", task)).status_code == 200
    assert client.get(url("task", task)).status_code == 200
    assert client.get(url("task_precision", task)).status_code == 200


# Dimensions and scales --------------------------------------------------------------------------


def names(task: Task) -> list[str]:
    version = task.versions.latest("number")
    return [
        row["name"] for row in version.settings.get("dimensions", version.settings.get("scales"))
    ]


def test_the_seven_come_by_one_button_and_each_is_edited_in_its_place(
    world: World, task: Task
) -> None:
    save(world, task, "task_build_asked_step", {"to": "template"}, part="asked")
    assert task.versions.get().settings["dimensions"] == list(pairwise.TEMPLATE)
    answer = save(
        world,
        task,
        "task_build_asked",
        {"label": "Breadth"},
        part="asked",
        question="coverage_broad",
    )
    assert "question=coverage_broad" in answer["HX-Replace-Url"]
    assert b"Breadth" in answer.content
    save(
        world,
        task,
        "task_build_asked",
        {"has_neutral": "1"},
        part="asked",
        question="coverage_broad",
    )
    row = task.versions.get().settings["dimensions"][3]
    assert (row["name"], row["label"], row["neutral"]) == ("coverage_broad", "Breadth", False)
    assert (
        "forced choice"
        in signed_in(world.requester).get(url("task_build", task, part="asked")).content.decode()
    )


def test_a_free_dimension_is_added_moved_and_removed(world: World, task: Task) -> None:
    answer = save(
        world, task, "task_build_asked_step", {"to": "add", "new": "Reads well"}, part="asked"
    )
    assert "question=reads_well" in answer["HX-Replace-Url"]
    assert names(task) == ["quality_overall", "reads_well"]
    sent = {"label": "Reads better"}
    answer = save(world, task, "task_build_asked", sent, part="asked", question="reads_well")
    assert "question=reads_better" in answer["HX-Replace-Url"]
    sent = {"label": "Reads well"}
    save(world, task, "task_build_asked", sent, part="asked", question="reads_better")
    save(world, task, "task_build_asked_step", {"to": "up"}, part="asked", question="reads_well")
    assert names(task) == ["reads_well", "quality_overall"]
    save(
        world,
        task,
        "task_build_asked_step",
        {"to": "remove"},
        part="asked",
        question="quality_overall",
    )
    assert names(task) == ["reads_well"]
    last = save(
        world, task, "task_build_asked_step", {"to": "remove"}, part="asked", question="reads_well"
    )
    assert last.status_code == 409 and names(task) == ["reads_well"]


REFUSED = [
    ("task_build_asked_step", {"to": "add", "new": " "}, "Write a name.", "#new-note"),
    ("task_build_texts", {"to": "answers"}, "Choose a task of this project.", "#texts-note"),
    ("task_build_pairs", {"to": "make"}, "two texts", "#make-note"),
    ("task_build_attention", {}, "Choose two texts.", "#attention-note"),
    ("task_build_pairs", {"pairs_per_topic": "many"}, "A whole number, please.", None),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[0]}-{case[3]}")
def test_what_is_refused_is_told_in_its_place(
    world: World, task: Task, case: tuple[str, dict[str, str], str, str | None]
) -> None:
    name, data, words, into = case
    answer = save(world, task, name, data, part="pairs")
    assert answer.status_code == 422 and words in answer.content.decode()
    assert answer.headers.get("HX-Retarget") == into


def test_points_of_a_scale_are_worded_added_and_taken_away(world: World) -> None:
    task = begun(world, "rating")
    place = {"part": "asked", "question": "quality_overall"}
    save(world, task, "task_build_asked", {"point-3": "neither"}, **place)
    save(world, task, "task_build_asked_step", {"to": "more"}, **place)
    save(world, task, "task_build_asked", {"point-6": "excellent"}, **place)
    points = task.versions.get().settings["scales"][0]["points"]
    assert [point["value"] for point in points] == [1, 2, 3, 4, 5, 6]
    assert (points[2]["label"], points[5]["label"]) == ("neither", "excellent")
    save(world, task, "task_build_asked_step", {"to": "fewer"}, **place)
    assert len(task.versions.get().settings["scales"][0]["points"]) == 5


# Texts ------------------------------------------------------------------------------------------


@pytest.fixture
def answered(world: World) -> Task:
    """A free-text task of two questions with three people's and one system's answers each."""
    task = factories.make_task(world.project, 2, redundancy=5)
    by_worker = {
        f"w{n}": {"q-001": f"One, says {n}.", "q-002": f"Two, says {n}."} for n in range(3)
    }
    factories.make_answers(task, by_worker)
    factories.make_system_answers(task, {"Halcyon": {"q-001": "It is one.", "q-002": "It is two."}})
    return task


def test_answers_of_an_earlier_task_and_a_file_meet_on_the_same_topics(
    world: World, task: Task, answered: Task
) -> None:
    form = {
        "to": "answers",
        "source": str(answered.pk),
        "by": "item",
        "most": "2",
        "people": "1",
        "systems": "1",
        "style": "prose",
    }
    save(world, task, "task_build_texts", form, part="texts")
    groups = task.groups.order_by("position")
    assert list(groups.values_list("key", "title")) == [
        ("q-001", "What is question 1 about?"),
        ("q-002", "What is question 2 about?"),
    ]
    assert groups[0].passage == factories.PASSAGE  # what its writers had before them
    rows = "\n".join(
        ROW.format(
            topic=f"q-00{n}",
            query=f"What is question {n} about?",
            system="Orrery",
            text=f"From a file, {n}.",
        )
        for n in (1, 2)
    )
    import_content(
        by=world.requester, task=task, kind="candidates", name="a.jsonl", content=rows.encode()
    )
    # Two people's, one system's and the file's text a topic: six pairs, a third asked again.
    assert task.items.count() == 16
    assert task.items.filter(repeat=False).count() == 12
    texts = Candidate.objects.filter(topic="q-001").order_by("pk")
    assert [text.origin for text in texts] == ["human"] * 3 + ["llm", ""]
    assert texts[0].author is not None and texts[0].style == "prose"
    again = save(world, task, "task_build_texts", form, part="texts")
    assert b"Nothing new" in again.content and texts.count() == 5


def test_topics_have_categories_from_a_file_or_the_builder_which_split_their_pairs(
    world: World, task: Task
) -> None:
    rows = [
        {
            "topic": f"t-{n}",
            "query": f"What is {n}?",
            "system": system,
            "text": f"{system} on {n}",
            "category": ("Trees", "")[n],
        }
        for n in range(2)
        for system in ("Orrery", "Halcyon")
    ]
    lines = "\n".join(map(json.dumps, rows)).encode()
    import_content(by=world.requester, task=task, kind="candidates", name="a.jsonl", content=lines)
    pair_items.make_pairs(by=world.requester, task=task)
    save(world, task, "task_build_text", {"category": " Birds "}, part="texts", text="t-1")
    page = signed_in(world.requester).get(url("task_build", task, part="texts"))
    assert 'value="Trees"' in page.content.decode() and 'value="Birds"' in page.content.decode()
    known = item_metadata(task)
    by_topic = dict(task.items.values_list("pk", "group__key"))
    assert {(by_topic[pk], one["category"]) for pk, one in known.items()} == {
        ("t-0", "Trees"),
        ("t-1", "Birds"),
    }
    rows[1]["category"] = "Shrubs"
    wrong = "\n".join(map(json.dumps, rows)).encode()
    with pytest.raises(Invalid) as refused:
        import_content(
            by=world.requester, task=task, kind="candidates", name="b.jsonl", content=wrong
        )
    assert "This topic is “Trees” in another row." in str(refused.value.rows)


def test_a_topic_never_mixes_answers_to_two_questions(
    world: World, task: Task, answered: Task
) -> None:
    topics.add_answers(by=world.requester, task=task, source=answered)
    other = factories.make_task(world.project, 1, questions=["Something else?"])
    factories.claim_and_submit(other, world.worker)
    with pytest.raises(Invalid, match="answer another question"):
        topics.add_answers(by=world.requester, task=task, source=other)


def test_a_text_left_out_is_in_no_pair_and_can_be_taken_in_again(world: World, task: Task) -> None:
    with_texts(world, task, n=1)
    pair_items.make_pairs(by=world.requester, task=task)
    first = Candidate.objects.order_by("pk")[0]
    page = save(world, task, "task_build_texts", {"leave": str(first.pk)}, part="texts")
    assert b"2 of 3 texts" in page.content
    assert not task.items.filter(first=first).exists() and task.items.count() == 1
    save(world, task, "task_build_texts", {"take": str(first.pk)}, part="texts")
    assert task.items.filter(repeat=False).count() == 3


def test_texts_of_the_project_are_taken_by_another_task(world: World, task: Task) -> None:
    with_texts(world, task)
    other = begun(world, title="Again")
    assert (
        b"12 texts on 4 topics"
        in signed_in(world.requester).get(url("task_build", other, part="texts")).content
    )
    save(world, other, "task_build_texts", {"to": "topics"}, part="texts")
    assert other.groups.count() == 4
    key = other.groups.order_by("position")[0].key
    save(world, other, "task_build_texts", {"to": "drop", "topic": key}, part="texts")
    assert not other.groups.filter(key=key).exists() and task.groups.filter(key=key).exists()
