"""crowd-kit's data frames as CSV: pairwise (worker, left, right, label), labels (task, worker,
label)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from annotation.files.reading.importer import (
    Checked,
    Field,
    Problems,
    Reader,
    Row,
    Sheet,
    guess,
    refuse,
)
from annotation.files.reading.sheet import check_size, read
from annotation.task_types.pairwise.sides import LEFT, RIGHT
from crowdqc.errors import Invalid

PAIRWISE = (
    Field("worker", "Worker", True),
    Field("left", "Left", True),
    Field("right", "Right", True),
    Field("label", "Better one", True),
)
LABELS = (
    Field("task", "Item", True),
    Field("worker", "Worker", True),
    Field("label", "Label", True),
)


class Comparison(NamedTuple):
    """One row of the pairwise frame; ``winner`` is left or right."""

    line: int
    worker: str
    left: str
    right: str
    winner: str


class Label(NamedTuple):
    """One label of an item by a worker."""

    line: int
    task: str
    worker: str
    label: str


def read_comparisons(content: bytes, name: str) -> list[Comparison]:
    """The rows of a pairwise frame. Raises Invalid naming the column, or the bad rows."""
    sheet, mapping = _opened(content, name, PAIRWISE)
    checked = Checked(problems=Problems(sheet.unreadable))
    reader = Reader(mapping, checked)
    found = []
    for row in sheet.rows:
        values = _filled(reader, row, PAIRWISE)
        if values is None:
            continue
        worker, left, right, label = values
        if left == right:
            reader.bad(row, "right", "It is compared with itself.", "Leave the row out.")
        elif label not in (left, right):
            reader.bad(
                row,
                "label",
                "The label is neither the left nor the right one.",
                "Write the better one's name; this frame has no ties.",
            )
        else:
            winner = LEFT if label == left else RIGHT
            found.append(Comparison(row.line, worker, left, right, winner))
    refuse(name, checked.problems, len(found), "rows")
    return found


def read_labels(content: bytes, name: str) -> list[Label]:
    """The rows of a classification frame. Raises Invalid naming the column, or the bad rows."""
    sheet, mapping = _opened(content, name, LABELS)
    checked = Checked(problems=Problems(sheet.unreadable))
    reader = Reader(mapping, checked)
    found = []
    for row in sheet.rows:
        values = _filled(reader, row, LABELS)
        if values is not None:
            found.append(Label(row.line, *values))
    refuse(name, checked.problems, len(found), "rows")
    return found


def _opened(content: bytes, name: str, fields: Sequence[Field]) -> tuple[Sheet, Mapping[str, str]]:
    check_size(len(content))
    sheet = read(content, name)
    mapping = guess(sheet.columns, fields)
    missing = [one.name for one in fields if one.name not in mapping]
    if missing:
        raise Invalid(
            f"{name} has no column {missing[0]}; it has {', '.join(sheet.columns[:20])}.",
            fields={missing[0]: "No such column."},
        )
    return sheet, mapping


def _filled(reader: Reader, row: Row, fields: Sequence[Field]) -> list[str] | None:
    """The values of a row of names; None where one is missing or too long, which is said."""
    values = [reader.value(row, one.name) for one in fields]
    if not all(reader.fits(row, one.name, 120, "a name") for one in fields):
        return None
    empty = next((one for one, value in zip(fields, values, strict=True) if not value), None)
    if empty is None:
        return values
    reader.bad(row, empty.name, f"There is no {empty.name}.", "Leave the row out.")
    return None
