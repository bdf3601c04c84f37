"""Large files: memory does not grow with the rows, and what is long comes in whole all the same."""

from __future__ import annotations

import tracemalloc

import pytest

from annotation.files.reading.keys import Counts, FirstSeen, Keys, LineSet
from annotation.formats.actions import judgments
from annotation.formats.actions.imports import import_content
from annotation.formats.imports import labels as label_imports
from annotation.models import Answer, Assignment, Task
from tests.support import factories
from tests.support.studies import labels

pytestmark = pytest.mark.django_db
CODES = ("spots", "holes", "none")


def bring(task: Task, kind: str, lines: list[str]) -> int:
    by, content = task.project.owner, "\n".join(lines).encode()
    return import_content(by=by, task=task, kind=kind, content=content, name="a.csv").new


def peak_of(task: Task, kind: str, head: str, rows: list[str]) -> int:
    """Bytes of Python's objects at the fullest moment of an import."""
    content = "\n".join([head, *rows]).encode()
    tracemalloc.start()
    report = import_content(
        by=task.project.owner, task=task, kind=kind, content=content, name="a.csv"
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.new == len(rows)
    return peak


@pytest.mark.parametrize("kind", [pytest.param("labels", marks=pytest.mark.long), "answers"])
def test_memory_grows_by_some_bytes_a_row_of_an_import(kind: str) -> None:
    peaks = []
    for workers in (150, 350):  # 6,000 and 14,000 rows, more than a block of COPY
        if kind == "labels":
            task = labels.make_labels(factories.make_project(), [f"Leaf {n}" for n in range(40)])
            head, made = "worker,item,label", "w{w},leaf-{q},{code}"
        else:
            task = factories.make_task(n=40)
            head, made = "worker_id,item_id,answer", "w{w},q-{q:03d},It nests on {w} roofs."
        rows = [
            made.format(w=w, q=q, code=CODES[(w + q) % 3])
            for w in range(workers)
            for q in range(1, 41)
        ]
        peaks.append(peak_of(task, kind, head, rows))
    assert peaks[1] - peaks[0] < 8_000 * 300  # an answer as objects takes some 1,500


def test_a_file_that_gives_one_field_after_the_other_makes_whole_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(label_imports, "MOST_OPEN", 2)  # so that it is gone through in parts
    names = [f"w{n}" for n in range(5)]
    lines = ["worker,item,field,label"]
    lines += [f"{name},leaf-1,damage,spots" for name in names]
    lines += [f"{name},leaf-1,more.yellow,yes" for name in names]
    task = labels.make_labels(factories.make_project())
    assert bring(task, "labels", lines) == 5
    for answer in Answer.objects.filter(item__task=task):
        fields = answer.choices.order_by("field").values_list("field", flat=True)
        assert [field.partition(".")[0] for field in fields][:2] == ["damage", "more"]


def test_a_worker_with_more_labels_than_an_assignment_holds_gets_a_further_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judgments, "MOST", 2)
    task = labels.make_labels(factories.make_project())
    lines = ["worker,item,label", *(f"ann,leaf-{n},spots" for n in (1, 2, 3))]
    assert bring(task, "labels", lines) == 3
    held = [one.entries.count() for one in Assignment.objects.filter(task=task).order_by("pk")]
    assert held == [2, 1]


def test_keys_are_found_again_among_thousands() -> None:
    keys, first, counts, lines = Keys(), FirstSeen(), Counts(), LineSet()
    for n in range(5_000):
        assert keys.add(("w", n)) == (n, True)
        assert first.setdefault(n, n + 2, f"text {n}") == (n + 2, True)
        lines.add(n % 100 + 1)
    assert all(keys.find(("w", n)) == n for n in range(5_000)) and ("v", 1) not in keys
    assert first.setdefault(7, 9_000, "text 7") == (9, True)
    assert first.setdefault(7, 9_001, "another") == (9, False)
    assert [counts.add("a"), counts.add("a"), counts.take("a"), counts.take("b")] == [
        *(0, 1, True),
        False,
    ]
    assert len(lines) == 100 and 100 in lines and 101 not in lines
    assert {99, 101, None} - lines == {101, None}
