"""Documents and ratings from files: what is read, what is refused, what comes back."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from annotation.authoring.actions import drafts, tasks
from annotation.formats.actions.imports import import_content
from annotation.formats.exports.pairwise import get_export
from annotation.models import Answer, Task
from crowdqc.errors import Invalid
from tests.support import factories
from tests.support.studies import ratings

pytestmark = pytest.mark.django_db


def made(project: Any = None, **settings: Any) -> Task:
    """A draft of a task that rates answers beside documents."""
    project = project or factories.make_project()
    task = tasks.create_task(by=project.owner, project=project, type="rating", title="Answers")
    drafts.edit_draft(
        by=project.owner, task=task, fields={"settings": {**ratings.SETTINGS, **settings}}
    )
    return task


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def taken(task: Task, kind: str, content: bytes) -> tuple[int, int]:
    report = import_content(
        by=task.project.owner, task=task, kind=kind, content=content, name=f"{kind}.csv"
    )
    return report.new, report.there


def exported(task: Task, what: str, form: str = "csv") -> bytes:
    parts = get_export(task, what, form).lines(task, form, "")
    return "".join(str(part) for part in parts).encode()


def test_documents_come_in_once_with_anchors_and_sentences() -> None:
    task = made()
    content = as_csv(ratings.rows(2, 3))
    assert taken(task, "documents", content) == (6, 0)
    assert taken(task, "documents", content) == (0, 6)
    item = task.items.select_related("group", "first__system").get(key="doc-2-a1")
    assert (item.settings["anchor"], item.settings["sentences"]) == (3, 7)
    assert item.group.passage == ratings.DOCUMENT
    assert (item.first.text, str(item.first.system)) == (ratings.ANSWERS[1], "model 1")


@pytest.mark.parametrize(
    ("change", "column", "wrong"),
    [
        ({"sentence": 8}, "sentence", "no such sentence"),
        ({"sentence": "9" * 5000}, "sentence", "no such sentence"),  # (B18)
        ({"question": "Another one?"}, "question", "Differs from the question"),
        ({"document": "Another text."}, "document", "Differs from the document"),
        ({"answer": ""}, "answer", "There is no answer"),
        ({"system": ""}, "system", "There is no system"),
    ],
)
def test_a_bad_row_of_documents_is_named_and_nothing_is_written(
    change: dict[str, Any], column: str, wrong: str
) -> None:
    task, rows = made(), ratings.rows(1, 3)
    rows[1] |= change
    with pytest.raises(Invalid) as caught:
        taken(task, "documents", as_csv(rows))
    assert caught.value.rows[0]["line"] > 1
    assert column in caught.value.rows[0]["column"]
    assert wrong in caught.value.rows[0]["wrong"]
    assert not task.items.exists()


def rated(**changes: Any) -> dict[str, Any]:
    return {
        "item_id": "doc-1-a0",
        "worker_id": "w1",
        "label": "70",
        "explanation": ratings.WHY,
        "evidence": "1, 3-4",
        "correct": "true",
        **changes,
    }


def test_ratings_keep_labels_words_sentences_and_a_second_rating_of_the_same_answer() -> None:
    task = ratings.make_documents(factories.make_project())
    rows = [
        rated(),
        rated(label="complete", explanation="All of it is there.", evidence="", correct="1"),
        rated(worker_id="w2", label="0", correct="incorrect"),
    ]
    assert taken(task, "ratings", as_csv(rows)) == (3, 0)
    assert taken(task, "ratings", as_csv(rows)) == (0, 3)
    first = Answer.objects.filter(item__task=task, worker__external_id="w1").order_by("pk")
    assert [dict(a.choices.values_list("field", "ordinal")) for a in first] == [
        {"completeness": 70, "correctness": 1},
        {"completeness": 100, "correctness": 1},
    ]
    assert len(set(first.values_list("assignment", flat=True))) == 2
    assert list(first[0].spans.values_list("start", flat=True)) == [1, 3, 4]


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"item_id": "doc-1-a9"}, "item_id"),
        ({"label": "50"}, "label"),
        ({"correct": "perhaps"}, "correct"),
        ({"evidence": "12"}, "evidence"),
        ({"worker_id": ""}, "worker_id"),
    ],
)
def test_a_bad_rating_is_named_and_nothing_is_written(change: dict[str, Any], column: str) -> None:
    task = ratings.make_documents(factories.make_project())
    with pytest.raises(Invalid) as caught:
        taken(task, "ratings", as_csv([rated(), rated(**change)]))
    assert [row["column"] for row in caught.value.rows] == [column]
    assert not Answer.objects.exists()


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_is_exported_comes_back_in_another_project(form: str) -> None:
    project = factories.make_project()
    task = ratings.make_documents(project, 2, 2, order="random")
    for _ in range(2):
        ratings.submit(factories.claim(task, factories.make_worker(project)), feedback="Clear.")
    files = {what: exported(task, what, form) for what in ("documents", "ratings")}
    twin = made()
    for what, content in files.items():
        import_content(
            by=twin.project.owner, task=twin, kind=what, content=content, name=f"{what}.{form}"
        )
        if twin.current_id is None:
            tasks.publish(by=twin.project.owner, task=twin)
            twin.refresh_from_db()
    assert exported(twin, "documents", form) == files["documents"]
    assert sorted(_heart(exported(twin, "ratings", "csv"))) == sorted(
        _heart(exported(task, "ratings", "csv"))
    )


def _heart(content: bytes) -> list[tuple[str, ...]]:
    names = ("item_id", "worker_id", "label", "explanation", "evidence", "correct")
    return [
        tuple(row[name] for name in names) for row in csv.DictReader(io.StringIO(content.decode()))
    ]
