"""crowd-kit's data frames as CSV: pairwise (worker, left, right, label), labels (task, worker,
label)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import (
    CheckedRows,
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

One = TypeVar("One")
PAIRWISE = (
    Field("worker", gettext_lazy("Worker"), True),
    Field("left", gettext_lazy("Left"), True),
    Field("right", gettext_lazy("Right"), True),
    Field("label", gettext_lazy("Better one"), True),
)
LABELS = (
    Field("task", gettext_lazy("Item"), True),
    Field("worker", gettext_lazy("Worker"), True),
    Field("label", gettext_lazy("Label"), True),
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

    def take(reader: Reader, row: Row) -> Comparison:
        worker, left, right, label = _filled(reader, row, PAIRWISE)
        if left == right:
            reader.refuse(row, "right", _("It is compared with itself."), _("Leave the row out."))
        if label not in (left, right):
            wrong = gettext_noop("The label is neither the left nor the right one.")
            mend = gettext_noop("Write the better one's name; this frame has no ties.")
            reader.refuse(row, "label", wrong, mend)
        return Comparison(row.line, worker, left, right, LEFT if label == left else RIGHT)

    return _read(content, name, PAIRWISE, take)


def read_labels(content: bytes, name: str) -> list[Label]:
    """The rows of a classification frame. Raises Invalid naming the column, or the bad rows."""
    return _read(
        content, name, LABELS, lambda reader, row: Label(row.line, *_filled(reader, row, LABELS))
    )


def _read(
    content: bytes, name: str, fields: Sequence[Field], take: Callable[[Reader, Row], One]
) -> list[One]:
    """A file that is taken whole, row by row."""
    sheet, mapping = _opened(content, name, fields)
    checked = CheckedRows(problems=Problems(sheet.unreadable))
    reader, found = Reader(mapping, checked), list[One]()
    for row in sheet.rows:
        with reader:
            found.append(take(reader, row))
    refuse(name, checked.problems, len(found), "rows")
    return found


def _opened(content: bytes, name: str, fields: Sequence[Field]) -> tuple[Sheet, Mapping[str, str]]:
    check_size(len(content))
    sheet = read(content, name)
    mapping = guess(sheet.columns, fields)
    missing = [one.name for one in fields if one.name not in mapping]
    if missing:
        raise Invalid(
            _("%(name)s has no column %(missing)s; it has %(columns)s.")
            % {"name": name, "missing": missing[0], "columns": ", ".join(sheet.columns[:20])},
            fields={missing[0]: _("No such column.")},
        )
    return sheet, mapping


def _filled(reader: Reader, row: Row, fields: Sequence[Field]) -> list[str]:
    """The values of a row of names, all of them there. Raises Refused."""
    for one in fields:
        reader.fit(row, one.name, 120, gettext_noop("a name"))
    for one in fields:
        if not reader.value(row, one.name):
            wrong = _("There is no %(name)s.") % {"name": one.name}
            reader.refuse(row, one.name, wrong, _("Leave the row out."))
    return [reader.value(row, one.name) for one in fields]
