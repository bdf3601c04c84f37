"""Every row of a file is used, or left out for a reason that is said; the database adds up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotation.formats.actions.imports import import_content
from annotation.models import Answer, ImportFile, Task
from tests.annotation.formats.imports.test_pages import upload
from tests.support import factories as make
from tests.support.factories import World
from tests.support.studies import thinking
from tests.support.studies.judging import make_pairs
from tests.support.studies.writing import make_writing
from tests.support.uploads import work

pytestmark = [pytest.mark.django_db, pytest.mark.db]


@pytest.fixture
def world() -> World:
    return make.make_world(3)


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def sums(report: dict[str, Any]) -> bool:
    return bool(report["came"] == report["used"] + sum(report["left_out"].values()))


def judged(task: Task, *rows: dict[str, Any], **options: Any) -> dict[str, Any]:
    report = import_content(
        by=task.project.owner,
        task=task,
        kind="judgments",
        name="a.jsonl",
        content=lines(*rows),
        **options,
    )
    return report.as_dict()


def test_a_row_given_twice_in_a_file_is_not_said_to_be_in_an_empty_task() -> None:
    """A review found: 118 of 320 rows were there already in a task that held nothing."""
    task = make_pairs(make.make_project())
    row = {"item_id": "item-001", "worker": "ann", "quality_overall": "first"}
    found = judged(
        task,
        row,
        dict(row),
        {**row, "quality_overall": "second"},
        {**row, "item_id": "nothing"},
        {**row, "worker": "bo"},
        leave_out_bad=True,
    )
    assert (found["came"], found["used"]) == (5, 2)
    assert found["left_out"] == {
        "twice": 1,
        "Given twice, with another judgment.": 1,
        "The task has nothing with this id.": 1,
    }
    assert Answer.objects.filter(item__task=task).count() == 2
    again = judged(task, row, dict(row))
    assert (again["used"], again["left_out"]) == (0, {"there": 1, "twice": 1})


def test_a_later_judgment_of_the_same_pair_comes_in_where_the_file_says_when() -> None:
    task = make_pairs(make.make_project())
    row = {"item_id": "item-001", "worker": "ann", "quality_overall": "first"}
    rows = [
        {**row, "answered_at": "2026-03-01T10:00:00Z"},
        {**row, "answered_at": "2026-03-08T10:00:00Z"},
        {**row, "answered_at": "2026-03-15T10:00:00Z", "quality_overall": "second"},
        {**row, "answered_at": "2026-03-15T10:00:00Z", "quality_overall": "second"},
    ]
    found = judged(task, *rows)
    assert (found["used"], found["left_out"]) == (3, {"twice": 1})
    assert Answer.objects.filter(item__task=task).count() == 3
    again = judged(task, *reversed(rows))
    assert (again["used"], again["left_out"]) == (0, {"there": 3, "twice": 1})


def test_the_page_lists_the_rows_left_out_before_and_after_the_import(world: World) -> None:
    text = (
        "item_id,worker_id,answer\nq-001,w1,One\nq-001,w1,One\nq-002,w1,Two\nq-009,w1,No\n"
        "q-002,w1,Other\n"
    )
    client, answer = upload(world, "answers", text)
    path = answer["Location"]
    page = client.get(path).content.decode()
    assert "given twice in the file" in page and "line 3" in page
    rows = reverse(
        "task_import_bad_rows", args=[world.project.pk, world.task.pk, ImportFile.objects.get().pk]
    )
    told = b"".join(client.get(rows).streaming_content).decode().splitlines()  # type: ignore[arg-type]
    assert sorted(int(line.split(",")[0]) for line in told[1:]) == [3, 5, 6]
    client.post(path, {"do": "import", "leave_out": "1"})
    work()
    done = client.get(path).content.decode()
    assert "<b>2 of 5 rows</b> were used" in done and "Given twice in the file" in done
    assert "No question has this id." in done and "there already" not in done


def test_the_database_refuses_an_import_whose_rows_do_not_add_up(world: World) -> None:
    client, answer = upload(world, "items", "item_id,question\nn1,One?\nn2,Two?\n")
    client.post(answer["Location"], {"do": "import"})
    work()
    file = ImportFile.objects.get()
    assert file.report["came"] == file.report["used"] == 2 and sums(file.report)
    for wrong in (
        {**file.report, "used": 1},
        {**file.report, "left_out": {"there": 1}},
        {**file.report, "used": -1, "left_out": {"there": 3}},
        {},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            ImportFile.objects.filter(pk=file.pk).update(report=wrong)


THOUGHT = {"dimension": "Coherence", "system": "model a", "attribute": "One."}


@pytest.mark.parametrize(
    ("kind", "rows", "used", "left_out"),
    [
        ("attributes", [THOUGHT, {**THOUGHT, "attribute": "Two."}], 2, {}),
        (
            "attributes",
            [THOUGHT, {**THOUGHT, "index": "x"}, {**THOUGHT, "system": "model b"}],
            1,
            {
                "This is not a whole number from 0.": 1,
                "Another row of this answer cannot be read.": 1,
            },
        ),
        (
            "attributes",
            [{**THOUGHT, "start": "0", "end": "9"}, {**THOUGHT, "attribute": "Two."}],
            0,
            {
                "A stretch ends at 9; the transcript has 0 characters.": 1,
                "Another row of this answer cannot be read.": 1,
            },
        ),
    ],
)
def test_rows_that_make_one_answer_together_are_each_accounted_for(
    kind: str, rows: list[dict[str, Any]], used: int, left_out: dict[str, int]
) -> None:
    task = thinking.make_think(make.make_project())
    found = import_content(
        by=task.project.owner,
        task=task,
        kind=kind,
        content=lines(*rows),
        name="a.jsonl",
        leave_out_bad=True,
    ).as_dict()
    assert (found["came"], found["used"], found["left_out"]) == (len(rows), used, left_out)
    if used == len(rows):
        again = import_content(
            by=task.project.owner, task=task, kind=kind, content=lines(*rows), name="a.jsonl"
        ).as_dict()
        assert (again["used"], again["left_out"]) == (0, {"there": len(rows)})


def test_all_passages_of_a_topic_that_cannot_be_taken_are_listed(world: World) -> None:
    task = make_writing(world.project, publish=False)
    rows = [
        {"topic": "t9", "passage": "One.", "rank": 1},
        {"topic": "t9", "passage": "Two.", "rank": 2},
        {"topic": "t8", "query": "Why?", "passage": "One."},
        {"topic": "t8", "query": "Why?", "passage": "Two."},
    ]
    found = import_content(
        by=world.requester,
        task=task,
        kind="topics",
        content=lines(*rows),
        name="a.jsonl",
        leave_out_bad=True,
    ).as_dict()
    assert (found["came"], found["used"], found["new"]) == (4, 2, 1)
    assert found["left_out"] == {
        "The topic has no query.": 1,
        "Another row of this topic cannot be read.": 1,
    }
