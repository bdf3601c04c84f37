"""Known answers from a file: any type's items, row by row, and bad rows named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import pytest

from annotation.authoring.actions import tasks
from annotation.authoring.actions.known import set_known
from annotation.files.reading.importer import CheckedRows, Row
from annotation.formats.actions.imports import import_content
from annotation.formats.registry import format_for
from annotation.models import Answer, Task
from annotation.pairs.actions.pair_items import make_texts
from annotation.work.actions.answers import submit_assignment
from annotation.work.selectors.known import mark_answers, mark_assignment
from crowdqc.errors import Invalid
from tests.evaluation.corpora import checks as checklists
from tests.evaluation.corpora import pairs
from tests.support import factories
from tests.support.studies import ratings

pytestmark = pytest.mark.django_db


def checked(task: Task, *rows: Mapping[str, str]) -> CheckedRows:
    one = format_for(task, "known_answers")
    names = {name for row in rows for name in row}
    lines = [Row(number, dict(row)) for number, row in enumerate(rows, 2)]
    return one.check(lines, {name: name for name in names}, one.known_of(task))


def taken(task: Task, *rows: Mapping[str, str]) -> int:
    found = checked(task, *rows)
    assert not list(found.problems)
    written: int = format_for(task, "known_answers").write(
        by=task.project.owner, task=task, rows=found.good, name="known.csv"
    )
    return written


def expected_of(task: Task) -> dict[str, Any]:
    return dict(
        task.items.filter(expected__isnull=False, until=None).values_list("key", "expected")
    )


def test_accepted_words_a_number_and_an_explanation_come_in_once() -> None:
    task = factories.make_task(n=3, publish=False)
    rows = [
        {"item": "q-001", "answer": "stork | a stork", "within": "", "explanation": "Line 1."},
        {"item": "q-002", "answer": "7", "within": "0.5", "explanation": ""},
    ]
    assert taken(task, *rows) == 2
    assert expected_of(task) == {
        "q-001": {"answer": {"accept": ["stork", "a stork"]}},
        "q-002": {"answer": {"value": "7", "within": "0.5"}},
    }
    assert task.items.get(key="q-001").known_why == "Line 1."
    assert taken(task, *rows) == 0


def test_an_item_is_named_by_its_text_where_one_item_has_it() -> None:
    task = factories.make_task(n=3, publish=False)
    texts = dict(task.items.values_list("key", "question"))
    assert taken(task, {"item": texts["q-002"], "answer": "7"}) == 1
    assert list(expected_of(task)) == ["q-002"]
    task.items.update(question="The same")
    assert not checked(task, {"item": "The same", "answer": "7"}).good


def test_a_rating_is_known_by_scale_and_leaves_its_slots() -> None:
    task = ratings.make_documents(factories.make_project())
    item = task.items.order_by("pk")[0]
    row = {"item": item.key, "field": "completeness", "answer": "100", "within": "30"}
    assert taken(task, row) == 1
    assert expected_of(task) == {item.key: {"completeness": {"value": "100", "within": "30"}}}
    tasks.edit_draft(
        by=task.project.owner, task=task, fields={"settings": {"gold_per_assignment": 1}}
    )
    tasks.publish(by=task.project.owner, task=task)
    task.refresh_from_db()
    held = factories.claim(task, factories.make_worker(task.project))
    assert held.entries.filter(holds=True).count() == 2 and held.entries.count() == 3
    done = ratings.submit(held)  # 70 is within 30 of 100
    known = task.items.get(key=item.key, until=None)
    assert mark_assignment(done) == {known.pk: True}
    assert not Answer.objects.get(assignment=done, item=known).counts


def test_rows_that_fit_nothing_are_named_and_nothing_else_is_lost() -> None:
    task = factories.make_task(n=2, publish=False)
    found = checked(
        task,
        {"item": "q-001", "answer": "stork"},
        {"item": "q-00", "answer": "stork"},
        {"item": "q-002", "answer": "a few", "within": "1"},
        {"item": "q-001", "answer": "heron"},
    )
    assert len(found.good) == 1
    told = [(one.line, one.wrong) for one in found.problems]
    assert [line for line, _ in told] == [3, 4, 5]
    assert "no such item" in told[0][1] and "is no number" in told[1][1]
    assert "known answer on line 2" in told[2][1]


def test_a_pair_has_its_attention_pairs_and_takes_no_file_of_known_answers() -> None:
    task = pairs.make_task(topics=1, sources=2)
    with pytest.raises(Invalid):
        format_for(task, "known_answers")
    with pytest.raises(Invalid, match="take no known answers"):
        set_known(by=task.project.owner, task=task, key="x", given={"overall": "first"})


def test_a_checklist_is_known_question_by_question_and_its_text_is_asked_no_more() -> None:
    task = checklists.make_task(factories.make_project(), topics=2)
    by = task.project.owner
    item = task.items.select_related("first").order_by("pk")[0]
    known = {"q1": "yes", "q2": "no"}
    rows = [{"item": item.key, "field": name, "answer": code} for name, code in known.items()]
    assert taken(task, *rows) == 1
    tasks.edit_draft(by=by, task=task, fields={"settings": {"gold_per_assignment": 1}})
    make_texts(by=by, task=task)
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    assert [one.expected for one in task.items.filter(first=item.first, until=None)] == [known]
    held = factories.claim(task, factories.make_worker(task.project))
    draft = {"c-q1": "yes", "c-q2": "yes", "c-q3": "no", "c-q4": "no"}
    drafts = dict.fromkeys(held.entries.values_list("item", flat=True), draft)
    done = submit_assignment(by=held.worker.user, assignment=held, key=uuid4(), drafts=drafts)
    assert list(mark_assignment(done).values()) == [False]
    [row] = mark_answers(Answer.objects.filter(assignment=done))
    assert row.item == task.items.get(expected__isnull=False, until=None).pk


def test_a_file_of_questions_tells_known_answers_too() -> None:
    task = factories.make_task(n=1, publish=False)
    rows = "old-1,When?,1932,1\nold-2,Who?,stork | a stork,\nold-3,Why?,,\n"
    content = f"id,question,gold,tolerance\n{rows}"
    taken_in(task, "items", content)
    assert expected_of(task) == {
        "old-1": {"answer": {"value": "1932", "within": "1"}},
        "old-2": {"answer": {"accept": ["stork", "a stork"]}},
    }
    with pytest.raises(Invalid) as refused:
        taken_in(task, "items", "id,question,gold,tolerance\nold-4,When?,soon,1\n")
    assert "is no number" in str(refused.value.rows)


def test_a_file_of_texts_tells_known_ratings_where_one_thing_is_asked() -> None:
    project = factories.make_project()
    task = tasks.create_task(by=project.owner, project=project, type="rating", title="Texts")
    scale = {**task.versions.get().settings["scales"][0], "name": "quality"}
    settings = {"settings": {"scales": [scale]}}
    tasks.edit_draft(by=project.owner, task=task, fields=settings)
    code = str(scale["points"][0]["value"])
    taken_in(task, "candidates", f"topic,text,system,gold\nnew,It rose.,old,{code}\n")
    assert list(expected_of(task).values()) == [{"quality": {"value": code, "within": "0"}}]
    judged = pairs.make_task(topics=1, sources=2)
    with pytest.raises(Invalid) as refused:
        taken_in(judged, "candidates", "topic,text,system,gold\nnew,It rose.,old,first\n")
    assert "has no single field" in str(refused.value.rows)


def taken_in(task: Task, kind: str, content: str) -> None:
    by = task.project.owner
    import_content(by=by, task=task, kind=kind, content=content.encode(), name="known.csv")
