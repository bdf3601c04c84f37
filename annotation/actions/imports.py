"""Taking rows in: checked against what the task holds, written whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotation.imports.base import Sheet
from annotation.imports.reading import read, sheet_of
from annotation.models import Task, User
from annotation.selectors.imports import examine

from .answer_imports import import_answers, import_system_answers
from .candidates import refuse_bad
from .items import import_items
from .judgment_rows import import_judgment_rows
from .rating_documents import add_documents
from .rating_imports import import_ratings
from .think_imports import import_attributes, import_checks
from .think_topics import add_samples
from .topics import add_texts
from .writing_imports import import_responses
from .writing_topics import add_topics

WRITE = {
    "items": import_items,
    "answers": import_answers,
    "system_answers": import_system_answers,
    "candidates": add_texts,
    "judgments": import_judgment_rows,
    "documents": add_documents,
    "ratings": import_ratings,
    "topics": add_topics,
    "responses": import_responses,
    "samples": add_samples,
    "attributes": import_attributes,
    "checks": import_checks,
}


@dataclass(frozen=True)
class Report:
    """What became of a file's rows."""

    rows: int
    new: int
    there: int
    left_out: int


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
        by=by, task=task, kind=kind, sheet=read(content, name), name=name, mapping=mapping,
        leave_out_bad=leave_out_bad,
    )  # fmt: skip


def import_rows(
    *, by: User, task: Task, kind: str, rows: Sequence[Mapping[str, Any]], name: str = ""
) -> int:
    """Import rows that came as objects, under the same checks; returns how many are new.

    ``line`` of a bad row in Invalid's ``rows`` is its place in ``rows``, from 1.
    """
    return import_sheet(by=by, task=task, kind=kind, sheet=sheet_of(rows), name=name).new


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
    return Report(
        rows=found.sheet.total,
        new=new,
        there=found.checked.there + len(found.checked.good) - new,
        left_out=found.bad_rows,
    )
