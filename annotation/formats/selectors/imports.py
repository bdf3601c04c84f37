"""A file examined against what a task, or a project, holds already."""

from __future__ import annotations

import hashlib
import itertools
import pickle
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from crowdqc.deployment.installation import read_version
from crowdqc.errors import Invalid
from crowdqc.tally import Tally, by_reason


@dataclass(frozen=True)
class CheckedFile:
    """A file, how its columns are read, and what became of its rows."""

    sheet: Sheet
    mapping: dict[str, str]
    unmapped: list[Field]  # required fields that no column gives
    checked: CheckedRows
    basis: str = ""  # hash of what the rows were checked against; "" where it is not known

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
    *,
    before: Callable[[str], CheckedRows | None] = lambda basis: None,
) -> CheckedFile:
    """Check every row of a file that was read; nothing is written.

    Without a task the file is a table that is to become one, some of whose values are read as
    others (``fixes``).

    ``mapping`` (field -> column) overrules the guess from the columns' names. ``before`` gives the
    rows that were checked on the same basis. Conflict where the task takes no such file yet.
    """
    one = format_for(task, kind)
    if task is None:
        return _examined(one, fixes, sheet, mapping)
    known = one.known_of(task)
    chosen = _columns_of(one, sheet, mapping)
    basis = _basis_of(task, kind, known, chosen)
    if not missing(chosen, one.fields) and (checked := before(basis)) is not None:
        return CheckedFile(sheet, chosen, [], checked, basis)
    return replace(_examined(one, known, sheet, mapping), basis=basis)


class _Hashing:
    """A file that keeps only the hash of what is written to it."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        """Take more bytes in."""
        self.hash.update(data)
        return len(data)


def _basis_of(task: Task, kind: str, known: Any, columns: Mapping[str, str]) -> str:
    """Hash all that a file's rows are checked against: equal hashes give equal results."""
    version = task.version_or_draft()
    into = _Hashing()
    pickler = pickle.Pickler(into, protocol=5)
    pickler.fast = True  # nothing is remembered, so that equal things are written equally
    pickler.dump((read_version(), task.pk, version.pk, version.settings, kind, dict(columns)))
    pickler.dump(known)
    return into.hash.hexdigest()


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


def _columns_of(one: Format, sheet: Sheet, mapping: Mapping[str, str] | None) -> dict[str, str]:
    """Field -> column as chosen, else as guessed."""
    if not mapping:
        return one.reader.guess(sheet.columns, sheet.rows)
    columns, whole = set(sheet.columns), values_of_file(mapping, one.fields)
    return {name: at for name, at in mapping.items() if at in columns or name in whole}


def _examined(
    one: Format, there: Any, sheet: Sheet, mapping: Mapping[str, str] | None
) -> CheckedFile:
    chosen = _columns_of(one, sheet, mapping)
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
