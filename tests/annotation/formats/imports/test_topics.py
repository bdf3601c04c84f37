"""Topics with their passages from files and rows: every shape taken, every bad row named."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from annotation.authoring.actions import tasks
from annotation.files.reading.importer import CheckedRows, guess
from annotation.files.reading.sheet import read
from annotation.formats.actions.imports import import_content
from annotation.formats.imports.writing.topics import KnownTopics, content_of
from annotation.formats.registry import FORMATS
from annotation.models import Task
from tests.support import factories
from tests.support.uploads import work

PASSAGES = [
    {"key": "d1", "title": "Tides", "text": "The moon pulls the sea."},
    {"key": "d2", "title": "", "text": "The sun pulls it less."},
]
TOPIC = {"topic": "t1", "query": "Why tides?", "passages": PASSAGES}
HEAD = ("topic", "query", "rank", "passage_key", "title", "passage")


def jsonl(*rows: dict[str, Any]) -> str:
    return "\n".join(json.dumps(row) for row in rows)


def rows_of(*rows: tuple[Any, ...]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([HEAD, *rows])
    return out.getvalue()


def check(text: str, known: KnownTopics | None = None) -> CheckedRows:
    sheet, importer = read(text.encode(), "a.csv"), FORMATS["topics"]
    return importer.check(sheet.rows, guess(sheet.columns, importer.fields), known or KnownTopics())


def wrong(checked: CheckedRows) -> list[tuple[int | None, str, str]]:
    return [(one.line, one.column, one.wrong) for one in checked.problems]


def test_a_topic_a_line_is_taken_in_our_own_shape_and_in_the_published_one() -> None:
    published = {
        "topic": "t1",
        "query": "Why tides?",
        "references_ids": ["d1", "d2"],
        "references_texts": [one["text"] for one in PASSAGES],
    }
    plain = {
        "topic": "t1",
        "query": "Why tides?",
        "documents": ["The moon.", {"docid": 7, "segment": "The sun."}],
    }
    assert check(jsonl(TOPIC)).good == [TOPIC]
    (found,) = check(jsonl(published)).good
    assert [one["key"] for one in found["passages"]] == ["d1", "d2"]
    (found,) = check(jsonl(plain)).good
    assert [(one["key"], one["text"]) for one in found["passages"]] == [
        ("", "The moon."),
        ("7", "The sun."),
    ]
    assert check(jsonl(TOPIC)).facts == ["1 topic", "2 passages"]


def test_a_passage_a_row_is_put_together_by_rank() -> None:
    text = rows_of(
        ("t1", "Why tides?", 2, "d2", "", "The sun pulls it less."),
        ("t2", "Why wind?", "", "", "", "Warm air rises."),
        ("t1", "", 1, "d1", "Tides", "The moon pulls the sea."),
        ("t3", "No passages yet?", "", "", "", ""),
    )
    checked = check(text)
    assert not checked.problems and checked.good[0] == TOPIC
    assert [one["topic"] for one in checked.good] == ["t1", "t2", "t3"]


def test_bad_rows_of_a_file_of_passages_are_named_by_line_and_column() -> None:
    text = rows_of(
        ("t1", "Why tides?", 1, "d1", "", "The moon."),
        ("", "Whose?", 1, "d1", "", "Nobody's."),
        ("t1", "Another query?", 2, "d2", "", "The sun."),
        ("t1", "Why tides?", 1, "d3", "", "The wind."),
        ("t1", "Why tides?", 3, "d1", "", "The moon again."),
        ("t1", "Why tides?", "third", "d4", "", "Third."),
        ("t1", "Why tides?", 5, "d5", "", ""),
        ("t1", "Why tides?", 6, "d6", "", "x" * 20_001),
        ("t9", "", 1, "d1", "", "No query."),
    )
    assert wrong(check(text)) == [
        (3, "topic", "A topic needs an id."),
        (4, "topic, query", "This topic has another query on line 2."),
        (5, "topic, rank", "Passage 1 of this topic is there already."),
        (6, "topic, passage_key", "This passage of the topic is there already."),
        (7, "rank", "This is not a whole number."),
        (8, "passage", "The passage has no text."),
        (9, "passage", "20,001 characters; 20,000 is the most for a passage."),
        (10, "query", "The topic has no query."),
    ]


@pytest.mark.parametrize(
    ("row", "column", "said"),
    [
        ({"passages": "no list"}, "passages", "This is no list."),
        ({"passages": [{"text": "x"}] * 201}, "passages", "201 passages; 200 is the most"),
        ({"passages": [{"key": "d1"}]}, "passages", "Passage 1: there is no text."),
        ({"passages": [*PASSAGES, PASSAGES[0]]}, "passages", "Passage 3: d1 is there twice."),
        ({"passages": [{"text": "x" * 20_001}]}, "passages", "20,000 is the most."),
        (
            {"references_texts": ["a", "b"], "references_ids": ["1"]},
            "references_ids",
            "1 ids for 2 passages.",
        ),
        ({"topic": "t" * 40, "passages": PASSAGES}, "topic", "39 is the most for a topic's id"),
    ],
)
def test_what_is_wrong_with_a_topic_on_one_line_is_said(
    row: dict[str, Any], column: str, said: str
) -> None:
    checked = check(jsonl({"topic": "t1", "query": "Why?", **row}))
    ((line, where, what),) = wrong(checked)
    assert (line, where) == (1, column) and said in what and not checked.good


def test_a_topic_that_is_there_is_left_and_one_that_differs_is_refused() -> None:
    known = KnownTopics({"t1": content_of("Why tides?", PASSAGES)})
    nameless = {**TOPIC, "passages": [{**one, "key": ""} for one in PASSAGES]}
    assert check(jsonl(TOPIC), known).there == 1
    assert check(jsonl(nameless), known).there == 1
    other = {**TOPIC, "passages": PASSAGES[::-1]}
    assert wrong(check(jsonl(other), known)) == [
        (1, "topic", "The task has this topic with other passages.")
    ]
    twice = check(jsonl(TOPIC, TOPIC, other))
    assert [one.line for one in twice.repeats] == [2]
    assert wrong(twice) == [(3, "topic", "Given twice, first on line 1.")]


# Into a task -----------------------------------------------------------------------------------


@pytest.fixture
def task() -> Task:
    project = factories.make_project()
    return tasks.create_task(by=project.owner, project=project, type="writing", title="Tides")


@pytest.mark.django_db
def test_a_file_is_seen_imported_and_not_imported_twice(task: Task) -> None:
    client = Client()
    client.force_login(task.project.owner)
    path = reverse("task_import", args=[task.project_id, task.pk, "topics"])
    text = rows_of(*[("t1", "Why tides?", n, f"d{n}", "", f"Passage {n}.") for n in (2, 1, 3)])
    answer = client.post(path, {"file": SimpleUploadedFile("a.csv", text.encode())})
    work()
    page = client.get(answer["Location"]).content.decode()
    assert "1 new topic in 3 rows." in page and "Import 1 topic" in page
    client.post(answer["Location"], {"do": "import"})
    work()
    done = client.get(answer["Location"]).content.decode()
    assert "1 new topic from 3 rows." in done
    assert [one["key"] for one in task.groups.get().passages] == ["d1", "d2", "d3"]
    assert task.items.count() == 3
    again = import_content(
        by=task.project.owner, task=task, kind="topics", content=text.encode(), name="a.csv"
    )
    assert (again.new, again.there) == (0, 3) and task.groups.count() == 1


@pytest.mark.django_db
def test_topics_come_in_and_go_out_over_the_api(task: Task) -> None:
    client = APIClient(HTTP_AUTHORIZATION=f"Token {factories.api_token(task.project.owner)}")
    path = reverse("api_topics", args=[task.pk])
    assert client.post(path, {"rows": [TOPIC]}, format="json").json() == {
        "rows": 1,
        "new": 1,
        "used": 1,
        "left_out": {},
        "notes": [],
    }
    assert client.post(path, {"rows": [TOPIC]}, format="json").json() == {
        "rows": 1,
        "new": 0,
        "used": 0,
        "left_out": {"there": 1},
        "notes": [],
    }
    (row,) = client.get(path).json()["results"]
    assert (row["topic"], row["query"], row["passages"]) == ("t1", "Why tides?", PASSAGES)
    bad = client.post(path, {"rows": [{"topic": "t2", "passages": PASSAGES}]}, format="json")
    assert bad.status_code == 422
    styles = {"settings": {"styles": [{"label": "Verse"}]}}
    client.patch(reverse("api_task", args=[task.pk]), styles, format="json")
    assert [item.key for item in task.items.all()] == ["t1-verse"]
