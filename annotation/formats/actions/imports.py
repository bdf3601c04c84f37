"""Taking rows in: checked against what the task holds, written whole or not at all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.authoring.actions.examples import remove_examples
from annotation.authoring.selectors.examples import has_examples
from annotation.files.reading.importer import CheckedRows, Sheet
from annotation.files.reading.sheet import check_size, read, spooled
from annotation.files.reading.sources import of_bytes
from annotation.formats.actions.media import open_upload
from annotation.formats.registry import get_format
from annotation.formats.selectors.imports import CheckedFile, check_rows, examine_candidates
from annotation.models import Project, Task, User
from annotation.pairs.actions.candidates import add_candidates
from crowdqc.errors import Invalid
from crowdqc.numbers import count
from crowdqc.tally import MOST, Tally, by_reason

SHOWN_LINES = 20  # of each reason
MAX_LISTED = 1_000  # bad rows that a refusal names


@dataclass(frozen=True)
class Report:
    """What became of a file's rows; ``new`` is what they made, of which several may make one.

    ``lines`` says where the rows stood that could not be taken, by reason, and ``notes`` how values
    were read.
    """

    tally: Tally
    new: int
    lines: Mapping[str, list[int | None]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return self.tally.came

    @property
    def there(self) -> int:
        """Count the rows left out because they are stored already."""
        return self.tally.left_out.get("there", 0)

    @property
    def twice(self) -> int:
        """Number of rows that repeat another row of the file."""
        return self.tally.left_out.get("twice", 0)

    @property
    def left_out(self) -> int:
        """Number of rows that could not be imported."""
        return self.tally.came - self.tally.used - self.there - self.twice

    def as_dict(self) -> dict[str, Any]:
        """Return the report as stored with the import."""
        said = {"lines": dict(self.lines), "notes": list(self.notes)}
        return {**self.tally.as_dict(), "new": self.new, **said}


def import_content(
    *,
    by: User,
    task: Task,
    kind: str,
    content: bytes,
    name: str,
    mapping: Mapping[str, str] | None = None,
    leave_out_bad: bool = False,
) -> Report:
    """Import a CSV or JSONL file of one of the FORMATS (``kind``).

    Everything is written or nothing. Raises Invalid whose ``rows`` list line, column, value,
    wrong and mend of each bad row, unless ``leave_out_bad``.
    """
    return import_sheet(
        by=by,
        task=task,
        kind=kind,
        sheet=spooled(
            open_upload(
                get_format(kind),
                by=by,
                task=task,
                source=of_bytes(content),
                name=name,
                reading=None,
            )
        ),
        name=name,
        mapping=mapping,
        leave_out_bad=leave_out_bad,
    )


def import_rows(
    *, by: User, task: Task, kind: str, rows: Sequence[Mapping[str, Any]], name: str = ""
) -> int:
    """Import rows that came as objects, as ``import_objects``; returns how many are new."""
    return import_objects(by=by, task=task, kind=kind, rows=rows, name=name).new


def import_objects(
    *, by: User, task: Task, kind: str, rows: Sequence[Mapping[str, Any]], name: str = ""
) -> Report:
    """Import rows that came as objects, under the same checks as a file's.

    ``line`` of a bad row in Invalid's ``rows`` is its place in ``rows``, from 1.
    """
    return import_sheet(
        by=by, task=task, kind=kind, sheet=get_format(kind).sheet_of(rows), name=name
    )


@transaction.atomic
def import_sheet(
    *,
    by: User,
    task: Task,
    kind: str,
    sheet: Sheet,
    name: str,
    mapping: Mapping[str, str] | None = None,
    leave_out_bad: bool = False,
    before: Callable[[str], CheckedRows | None] = lambda basis: None,
) -> Report:
    """Check the rows against what the task holds now, and write them; two imports stand in line.

    ``before`` as ``check_rows`` takes it.
    """
    task = (
        Task.objects.select_for_update(of=("self",))
        .select_related("project", "current")
        .get(pk=task.pk)
    )
    found = check_rows(task, kind, sheet, mapping, before=before)
    _refuse_bad(found, leave_out_bad=leave_out_bad)
    good, one = found.checked.good, get_format(kind)
    if good and one.replaces_examples and has_examples(task):
        remove_examples(by=by, task=task)
    new = one.write(by=by, task=task, rows=good, name=name) if good else 0
    return report_of(found, new)


def report_of(found: CheckedFile, new: int) -> Report:
    """Report on a file's rows after ``new`` of them were written."""
    notes = tuple(found.checked.notes)
    return Report(_tally_after_writing(found, new), new, _lines(found), notes)


def import_candidates(
    *,
    by: User,
    project: Project,
    content: bytes,
    name: str,
    mapping: Mapping[str, str] | None = None,
    leave_out_bad: bool = False,
) -> tuple[CheckedFile, int]:
    """Import a CSV or JSONL file of texts; return what it held and how many are new.

    Everything is written or nothing. Raises Invalid whose ``rows`` name line, column, value,
    wrong and mend of each bad row, unless ``leave_out_bad``.
    """
    check_size(len(content))
    found = examine_candidates(project, read(content, name), mapping)
    _refuse_bad(found, leave_out_bad=leave_out_bad)
    new, _ = add_candidates(by=by, project=project, rows=found.checked.good, name=name)
    return found, new


def _refuse_bad(found: CheckedFile, *, leave_out_bad: bool) -> None:
    """Raise Invalid where a needed column is missing, or naming bad rows unless left out."""
    if found.unmapped:
        names = ", ".join(one.name for one in found.unmapped)
        raise Invalid(
            _("No column is read as %(names)s. The file has %(columns)s.")
            % {"names": names, "columns": ", ".join(found.sheet.columns[:20])},
            fields={one.name: _("Choose its column.") for one in found.unmapped},
        )
    if found.checked.problems and not leave_out_bad:
        raise Invalid(
            _("%(bad_rows)s of %(total)s rows cannot be read. Nothing was imported.")
            % {"bad_rows": count(found.bad_rows), "total": count(found.sheet.total)},
            rows=[one.as_dict() for one in itertools.islice(found.checked.problems, MAX_LISTED)],
        )


def _tally_after_writing(found: CheckedFile, new: int) -> Tally:
    """The tally of a file, where writing it found some more of its rows to be there already."""
    tally, more = found.tally, len(found.checked.good) - new
    if not more:
        return tally
    left_out = {**tally.left_out, "there": tally.left_out.get("there", 0) + more}
    return Tally(tally.came, tally.used - more, left_out)


def _lines(found: CheckedFile) -> dict[str, list[int | None]]:
    """The first lines of each reason for which rows were left out."""
    lines: dict[str, list[int | None]] = {}
    for reason, problems in (
        ("twice", found.checked.repeats),
        ("", found.checked.problems),
    ):
        for problem in problems:
            (own,) = (reason,) if reason else by_reason([problem.wrong])
            listed = lines.setdefault(own, []) if len(lines) < MOST else lines.get(own, [])
            if len(listed) < SHOWN_LINES and problem.line not in listed:
                listed.append(problem.line)
    return lines
