"""Taking files in: kept when uploaded, written whole or not at all, once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.imports import get_format
from annotation.imports.base import Sheet
from annotation.imports.reading import check_size, read, sheet_of
from annotation.models import ImportFile, Task, User
from annotation.selectors.imports import examine, format_for

from .answer_imports import import_answers, import_system_answers
from .audit import record
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


@transaction.atomic
def keep_file(*, by: User, task: Task, kind: str, name: str, content: bytes) -> ImportFile:
    """Keep an uploaded file until its columns are settled; the same file again is the same row."""
    get_format(kind)
    check_size(len(content))
    digest = hashlib.sha256(content).hexdigest()
    again = task.import_files.filter(kind=kind, sha256=digest, imported_at__isnull=True).first()
    if again:
        return again
    file = ImportFile.objects.create(
        project=task.project,
        task=task,
        kind=kind,
        name=name.replace("\x00", "")[:200],
        content=content,
        sha256=digest,
        uploaded_by=by,
    )
    record(by=by, project=task.project, action="upload.keep", on=file, kind=kind)
    return file


@transaction.atomic
def map_columns(*, by: User, file: ImportFile, mapping: Mapping[str, str]) -> ImportFile:
    """Say which column is read as which field; a column is read once."""
    names = {f.name for f in format_for(file.task, file.kind).fields}
    chosen = {name: column for name, column in mapping.items() if name in names and column}
    file.mapping = chosen
    file.save(update_fields=["mapping"])
    record(by=by, project=file.project, action="upload.map", on=file)
    return file


@transaction.atomic
def import_file(*, by: User, file: ImportFile, leave_out_bad: bool = False) -> Report:
    """Import a kept file and let go of its content; a second click only reports the first."""
    file = (
        ImportFile.objects.select_for_update(of=("self",))
        .select_related("task__project", "task__current")
        .get(pk=file.pk)
    )
    if file.imported_at:
        return Report(**file.report)
    report = import_content(
        by=by,
        task=file.task,
        kind=file.kind,
        content=bytes(file.content),
        name=file.name,
        mapping=file.mapping or None,
        leave_out_bad=leave_out_bad,
    )
    file.imported_at, file.report, file.content = timezone.now(), asdict(report), b""
    file.save(update_fields=["imported_at", "report", "content"])
    return report


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
    return _import(
        by=by, task=task, kind=kind, sheet=read(content, name), name=name, mapping=mapping,
        leave_out_bad=leave_out_bad,
    )  # fmt: skip


def import_rows(
    *, by: User, task: Task, kind: str, rows: Sequence[Mapping[str, Any]], name: str = ""
) -> int:
    """Import rows that came as objects, under the same checks; returns how many are new.

    ``line`` of a bad row in Invalid's ``rows`` is its place in ``rows``, from 1.
    """
    return _import(by=by, task=task, kind=kind, sheet=sheet_of(rows), name=name).new


@transaction.atomic
def _import(
    *,
    by: User,
    task: Task,
    kind: str,
    sheet: Sheet,
    name: str,
    mapping: Mapping[str, str] | None = None,
    leave_out_bad: bool = False,
) -> Report:
    # Two imports stand in line.
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
