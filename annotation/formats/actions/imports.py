"""Taking rows in: checked against what the task holds, written whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from annotation.authoring.actions.items import import_items
from annotation.authoring.actions.think_topics import add_samples
from annotation.authoring.actions.writing_topics import add_topics
from annotation.files.reading.importer import Sheet
from annotation.files.reading.sheet import read, sheet_of
from annotation.formats.actions.answers import import_answers, import_system_answers
from annotation.formats.actions.judgment_rows import import_judgment_rows
from annotation.formats.actions.ratings import import_ratings
from annotation.formats.actions.responses import import_responses
from annotation.formats.actions.think_alouds import import_attributes, import_checks
from annotation.formats.actions.votes import import_battle_rows
from annotation.formats.selectors.imports import Examined, examine
from annotation.models import Task, User
from annotation.pairs.actions.candidates import refuse_bad
from annotation.pairs.actions.rating_documents import add_documents
from annotation.pairs.actions.topics import add_texts
from crowdqc.tally import MOST, Tally, by_reason

SHOWN_LINES = 20  # of each reason
WRITE = {
    "items": import_items,
    "answers": import_answers,
    "system_answers": import_system_answers,
    "candidates": add_texts,
    "judgments": import_judgment_rows,
    "documents": add_documents,
    "ratings": import_ratings,
    "arena": import_battle_rows,
    "topics": add_topics,
    "responses": import_responses,
    "samples": add_samples,
    "attributes": import_attributes,
    "checks": import_checks,
}


@dataclass(frozen=True)
class Report:
    """What became of a file's rows; ``new`` is what they made, of which several may make one.

    ``lines`` says where the rows stood that could not be taken, by reason.
    """

    tally: Tally
    new: int
    lines: Mapping[str, list[int | None]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return self.tally.came

    @property
    def there(self) -> int:
        return self.tally.left_out.get("there", 0)

    @property
    def twice(self) -> int:
        """Rows that say again what another row of the file says."""
        return self.tally.left_out.get("twice", 0)

    @property
    def left_out(self) -> int:
        """Rows that could not be taken."""
        return self.tally.came - self.tally.used - self.there - self.twice

    def as_dict(self) -> dict[str, Any]:
        """As the record of the import keeps it."""
        return {**self.tally.as_dict(), "new": self.new, "lines": dict(self.lines)}


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
        sheet=read(content, name),
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
    return import_sheet(by=by, task=task, kind=kind, sheet=sheet_of(rows), name=name)


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
) -> Report:
    """Check the rows against what the task holds now, and write them; two imports stand in line."""
    task = (
        Task.objects.select_for_update(of=("self",))
        .select_related("project", "current")
        .get(pk=task.pk)
    )
    found = examine(task, kind, sheet, mapping)
    refuse_bad(found, leave_out_bad=leave_out_bad)
    write: Any = WRITE[kind]
    new = write(by=by, task=task, rows=found.checked.good, name=name) if found.checked.good else 0
    return Report(_with_found_there(found, new), new, _lines(found))


def _with_found_there(found: Examined, new: int) -> Tally:
    """The tally of a file, where writing it found some more of its rows to be there already."""
    tally, more = found.tally, len(found.checked.good) - new
    if not more:
        return tally
    left_out = {**tally.left_out, "there": tally.left_out.get("there", 0) + more}
    return Tally(tally.came, tally.used - more, left_out)


def _lines(found: Examined) -> dict[str, list[int | None]]:
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
