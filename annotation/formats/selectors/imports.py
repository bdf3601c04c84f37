"""A file examined against what a task, or a project, holds already."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotation.files.reading.importer import (
    CheckedRows,
    Field,
    Images,
    Sheet,
    missing,
    values_of_file,
)
from annotation.formats.imports.tables.base import Fixes
from annotation.formats.registry import Format, format_for, get_format
from annotation.formats.selectors import known
from annotation.formats.uploads.staging import hash_of
from annotation.models import ColumnChoice, Project, Task, User
from crowdqc.errors import Invalid
from crowdqc.tally import Tally, by_reason


@dataclass(frozen=True)
class CheckedFile:
    """A file, how its columns are read, and what became of its rows."""

    sheet: Sheet
    mapping: dict[str, str]
    unmapped: list[Field]  # required fields that no column gives
    checked: CheckedRows

    @property
    def bad_rows(self) -> int:
        return len(self.checked.bad_lines)

    @property
    def unread(self) -> list[str]:
        """Columns of the file that no field reads."""
        read = set(self.mapping.values())
        return [name for name in self.sheet.columns if name and name not in read]

    @property
    def tally(self) -> Tally:
        """Count of the file's rows: used, and left out by the first problem of each."""
        checked = self.checked
        came = len(self.sheet.rows) + len({one.line for one in self.sheet.unreadable})
        left_out = came - checked.used - checked.there - len(checked.repeats)
        counted = {"there": checked.there, "twice": len(checked.repeats)}
        return Tally(came, checked.used, {**counted, **self._count_bad(left_out)})

    def _count_bad(self, left_out: int) -> Counter[str]:
        """Count the rows that cannot be imported by reason, ``left_out`` in all.

        Rows that a tool's export has on one line share its problem.
        """
        lines = itertools.groupby(self.checked.problems.ordered(), key=lambda one: one.line)
        first = {line: next(problems).wrong for line, problems in lines}
        bad = by_reason(first.values())
        rest = left_out - bad.total()
        if rest <= 0:
            return bad
        rows = Counter(row.line for row in self.sheet.rows if row.line in first)
        wrong = (reason for line, reason in first.items() for _ in range(rows[line or 0] - 1))
        return bad + by_reason(itertools.islice(wrong, rest))

    @property
    def can_import(self) -> bool:
        """Whether every column that is needed has been found."""
        return not self.unmapped


def check_rows(
    task: Task | None,
    kind: str,
    sheet: Sheet,
    mapping: Mapping[str, str] | None = None,
    fixes: Fixes | None = None,
) -> CheckedFile:
    """Check every row of a file that was read; nothing is written.

    Without a task the file is a table that is to become one, some of whose values are read as
    others (``fixes``).

    ``mapping`` (field -> column) overrules the guess from the columns' names. Conflict where
    the task takes no such file yet.
    """
    one = format_for(task, kind)
    return _examined(one, one.known_of(task) if task else fixes, sheet, mapping)


def remembered_columns(user: User, columns: Sequence[str], kind: str) -> dict[str, str]:
    """Field -> column as the person chose for the last file with these columns; {} if never."""
    choices = ColumnChoice.objects.filter(user=user, header=hash_of(columns), kind=kind)
    found = choices.values_list("mapping", flat=True).first() or {}
    return dict(found)


def examine_candidates(
    project: Project, sheet: Sheet, mapping: Mapping[str, str] | None = None
) -> CheckedFile:
    """Check a file of texts against the project; texts belong to no task."""
    return _examined(get_format("candidates"), known.candidates(project), sheet, mapping)


def _examined(
    one: Format, there: Any, sheet: Sheet, mapping: Mapping[str, str] | None
) -> CheckedFile:
    columns = set(sheet.columns)
    chosen = (
        {name: column for name, column in mapping.items() if column in columns}
        | {
            name: column
            for name, column in mapping.items()
            if name in values_of_file(mapping, one.fields)
        }
        if mapping
        else one.reader.guess(sheet.columns, sheet.rows)
    )
    unmapped = missing(chosen, one.fields)
    if unmapped and not sheet.rows and (problem := next(iter(sheet.unreadable), None)):
        raise Invalid(  # the columns of JSON are those of its rows
            _("No row can be read. Line %(line)s: %(wrong)s")
            % {"line": problem.line, "wrong": problem.wrong},
            fields={"file": problem.mend},
        )
    if unmapped:
        return CheckedFile(sheet, chosen, unmapped, CheckedRows())
    images = Images(sheet.rows, [chosen[name] for name in one.markdown if name in chosen])
    checked = one.check(images if images.columns else sheet.rows, chosen, there)
    checked.notes[:0] = sheet.notes
    checked.notes += images.notes
    checked.problems = checked.problems.merged(sheet.unreadable)
    return CheckedFile(sheet, chosen, unmapped, checked)
