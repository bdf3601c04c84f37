"""Exports: exact, pseudonymous, importable again, and whole or not there."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from annotation.files.writing import tables as files
from annotation.formats.actions.imports import import_content
from annotation.formats.exports import free_text
from annotation.models import Answer, Membership, Task
from annotation.work.actions import answers
from crowdqc.files.cells import protect_cell, unprotect_cell
from tests.support import factories as make

pytestmark = pytest.mark.django_db
AWKWARD = (
    '=1+1 is "two", they said',
    "- first\n- second",
    "+49 is Germany",
    "'=quoted",
    "„Störche“",
)


def a_task() -> Task:
    """Two texts and five questions, answered by two workers and a system."""
    task = make.make_task(n=5, groups=2, passage="- A list,\n- with “quotes”", publish=False)
    for number, group in enumerate(task.groups.all()):
        group.passage = f"{group.passage}\n\nText {number}, = too."
        group.save(update_fields=["passage"])
    make.tasks.publish(by=task.project.owner, task=task)
    task.refresh_from_db()
    keys = list(task.items.values_list("key", flat=True))
    given = {worker: dict(zip(keys, AWKWARD, strict=True)) for worker in ("ann-1", "bob-2")}
    make.make_answers(task, given)
    make.make_system_answers(task, {("Owl", "plain"): given["ann-1"], "Owl": given["bob-2"]})
    return task


def exported(task: Task, what: str, form: str = "csv", **options: Any) -> str:
    rows = free_text.rows(task, what, **options)
    return "".join(files.lines(free_text.COLUMNS[what], rows, form))


def again(text: str, task: Task, kind: str, form: str) -> None:
    """Import what was exported, and see that every row is new."""
    report = import_content(
        by=task.project.owner, task=task, kind=kind, content=text.encode(), name=f"x.{form}"
    )
    assert (report.new, report.there, report.left_out) == (report.rows, 0, 0)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_was_exported_is_the_same_again_in_a_new_project(form: str) -> None:
    task = a_task()
    other = make.make_task(make.make_project(), n=0, publish=False)
    other.groups.all().delete()
    again(exported(task, "items", form), other, "items", form)
    make.tasks.publish(by=other.project.owner, task=other)
    other.refresh_from_db()
    for kind in ("answers", "system_answers"):
        again(exported(task, kind, form), other, kind, form)

    def content(of: Task, worker: str) -> list[Any]:
        items = of.items.order_by("position").values_list(
            "key", "question", "group__passage", "group__title"
        )
        told = Answer.objects.filter(item__task=of, counts=True).order_by("pk")
        return [
            list(items),
            sorted(
                told.values_list(
                    "item__key",
                    f"worker__{worker}",
                    "system__name",
                    "system__prompt_strategy",
                    "texts__text",
                    "answered_at",
                ),
                key=str,
            ),
        ]

    before, after = content(task, "pseudonym"), content(other, "external_id")
    assert before[0] == after[0]
    # Answers of workers keep their times; those of systems have none in the format.
    assert [row[:5] for row in before[1]] == [row[:5] for row in after[1]]
    assert [row[5] for row in before[1] if row[1]] == [row[5] for row in after[1] if row[1]]
    assert exported(task, "items", form) == exported(other, "items", form)


def test_a_spreadsheet_finds_no_formula_and_the_file_says_who_by_pseudonym_alone() -> None:
    task = a_task()
    text = exported(task, "answers")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert not any(row["answer"][0] in "=+-@" for row in rows)
    assert [unprotect_cell(row["answer"]) for row in rows[::2]] == list(AWKWARD)
    names = set(Membership.objects.exclude(pseudonym="").values_list("pseudonym", flat=True))
    assert {row["worker_id"] for row in rows} <= names
    assert "ann-1" not in text and "bob-2" not in text
    exact = [json.loads(line)["answer"] for line in exported(task, "answers", "jsonl").splitlines()]
    assert exact[::2] == list(AWKWARD)


@pytest.mark.parametrize("text", ["=1", "'=1", "''=1", "plain", "it's", "'tis", "", "-", "@x"])
def test_protecting_a_cell_loses_nothing(text: str) -> None:
    assert unprotect_cell(protect_cell(text)) == text
    assert not str(protect_cell(text)).startswith(("=", "+", "-", "@"))


def test_answers_that_do_not_count_are_left_out_and_counted_unless_asked_for() -> None:
    task = a_task()
    answer = Answer.objects.filter(item__task=task, worker__isnull=False)[0]
    answers.set_counts(by=task.project.owner, answer=answer, counts=False, reason="copied")
    assert len(list(free_text.rows(task, "answers"))) == 9
    everything = list(free_text.rows(task, "answers", uncounted=True))
    assert [row[5] for row in everything].count(False) == 1 and len(everything) == 10
    assert free_text.count_left_out(task) == {"older_questions": 0, "uncounted": 1}


def test_answers_to_a_question_that_was_reworded_are_not_passed_off_as_answers_to_it() -> None:
    task = a_task()
    item = task.items.get(key="q-001")
    make.tasks.save_item(
        by=task.project.owner, task=task, item=item, question="Quite another question?"
    )
    make.tasks.publish(by=task.project.owner, task=task)
    task.refresh_from_db()
    assert {row[0] for row in free_text.rows(task, "answers")} == {
        "q-002",
        "q-003",
        "q-004",
        "q-005",
    }
    assert free_text.count_left_out(task)["older_questions"] == 4


def test_a_file_that_cannot_be_finished_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("as it was")

    def broken() -> Any:
        yield "item_id,answer\n"
        raise RuntimeError("the database went away")

    with pytest.raises(RuntimeError):
        files.write(path, broken())
    assert path.read_text() == "as it was" and list(tmp_path.iterdir()) == [path]
