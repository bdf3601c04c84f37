"""Uploads: kept at once, read and checked and imported by jobs, and dropped when their time is up.

An upload moves through its states by ``process``, which a job calls. Its row is claimed with a
turn: who asks for something else, or takes over from a job that died, takes the next turn, and a
job whose turn is over stops at its next sign of life.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Collection, Iterable, Mapping

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.accounts import quotas
from annotation.authoring.actions.tasks import change_type
from annotation.files.reading.limits import check_size
from annotation.files.reading.sources import GZIP, ZIP, Source, of_bytes, refuse_foreign
from annotation.files.reading.values import displayable
from annotation.files.stored.actions import forget, store
from annotation.formats.actions.imports import Report
from annotation.formats.registry import TABLES, file_uses, format_for, get_format
from annotation.formats.uploads import naming
from annotation.formats.uploads.addresses import parse_address
from annotation.formats.uploads.selectors import shared_columns
from annotation.formats.uploads.staging import ACTIVE, ENDED, hash_of, parts_of, sheet_of
from annotation.models import ColumnChoice, ImportFile, ImportPart, Project, Task, User
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from crowdqc import queue
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count

State = ImportFile.State
ABANDONED = dt.timedelta(minutes=3)
MOST_PART = 8 * 1024 * 1024  # bytes of a file that comes in parts


@transaction.atomic
def keep_file(
    *,
    by: User,
    task: Task,
    kind: str,
    name: str,
    content: bytes | Source,
    mapping: Mapping[str, str] | None = None,
) -> ImportFile:
    """Keep an uploaded file until it is imported; the same file again is the same row.

    ``mapping`` (field -> column) where it is known how the file is read, else its names tell.
    Raises Invalid where it is empty, too large or no table by its first bytes, and TooMuch where
    too many wait or too much is stored.
    """
    get_format(kind)
    file = _store_upload(
        by=by, project=task.project, task=task, kind=kind, name=name, content=content
    )
    if mapping:
        file.mapping = dict(mapping)
        file.save(update_fields=["mapping"])
    return file


@transaction.atomic
def keep_table(
    *, by: User, project: Project | None, name: str, content: bytes | Source
) -> ImportFile:
    """Keep a table that is to become a task, of this project or of one to be made.

    Its kind is recognised when it is read. Only who uploaded it sees it. Raises as ``keep_file``.
    """
    kind = next(iter(TABLES))
    return _store_upload(by=by, project=project, task=None, kind=kind, name=name, content=content)


def _store_upload(
    *,
    by: User,
    project: Project | None,
    task: Task | None,
    kind: str,
    name: str,
    content: bytes | Source,
) -> ImportFile:
    source = of_bytes(content) if isinstance(content, bytes) else content
    check_size(source.size)
    _check_head(source.head())
    digest = hashlib.sha256()
    for piece in source.pieces():
        digest.update(piece)
    waiting = _lock_waiting(by, project)
    again = waiting.filter(task=task, sha256=digest.hexdigest())
    # Of which kind a table is, is seen when it is read.
    same = (again.filter(kind=kind) if task else again.filter(uploaded_by=by)).first()
    if same:
        return same
    _require_room(by, project, source.size)
    file = ImportFile.objects.create(
        project=project,
        task=task,
        kind=kind,
        name=_name(name),
        size=source.size,
        sha256=digest.hexdigest(),
        stored=store(source.pieces(), kind="uploads"),
        uploaded_by=by,
        language=get_language() or "",
    )
    record(by=by, project=project, action="upload.keep", on=file, kind=kind)
    enqueue(file.pk)
    return file


def _check_head(head: bytes) -> None:
    """Refuse a file that begins as no table does, nor a workbook or an archive with one."""
    if not head.startswith((ZIP, GZIP)):
        refuse_foreign(head)


def _lock_waiting(by: User, project: Project | None) -> models.QuerySet[ImportFile]:
    """The waiting uploads of a project, or of a person; other uploads of both stand in line."""
    User.objects.select_for_update(no_key=True).get(pk=by.pk)
    waiting = ImportFile.objects.filter(project=project).exclude(state__in=ENDED)
    if project is None:
        return waiting.filter(uploaded_by=by)
    lock_project(project.pk)
    return waiting


def _require_room(by: User, project: Project | None, size: int) -> None:
    """Raise LimitExceeded where too many uploads wait or too much is stored."""
    if project is not None:
        quotas.require_quota("waiting_of_project", project)
    quotas.require_quota("waiting_of_person", by)
    quotas.require_quota("waiting")
    quotas.require_storage(project, size)


# From an address, and in parts -------------------------------------------------------------------


@transaction.atomic
def keep_address(
    *, by: User, project: Project | None, task: Task | None = None, kind: str = "", address: str
) -> ImportFile:
    """Have a file fetched by a job: from https, a data set, or the bucket of imports.

    Without a task it is a table that is to become one. Raises Invalid where the address cannot be
    one of these, and LimitExceeded as ``keep_file``.
    """
    kind = kind or next(iter(TABLES))
    place = parse_address(address)
    same = _lock_waiting(by, project).filter(task=task, address=place.address, uploaded_by=by)
    if file := same.filter(state=State.FETCHING).first():
        return file
    _require_room(by, project, 0)
    file = ImportFile.objects.create(
        project=project,
        task=task,
        kind=kind,
        name=_name(place.name),
        address=place.address,
        state=State.FETCHING,
        uploaded_by=by,
        language=get_language() or "",
    )
    record(by=by, project=project, action="upload.fetch", on=file, kind=kind)
    enqueue(file.pk)
    return file


@transaction.atomic
def begin_upload(
    *,
    by: User,
    project: Project | None,
    task: Task | None = None,
    kind: str = "",
    name: str,
    size: int,
    modified: int | None = None,
) -> ImportFile:
    """Begin an upload that comes in parts (``add_part``).

    ``modified`` (ms) is when the file was changed last: a file of this name, size and time that
    did not arrive in whole goes on where it stopped. Raises Invalid where it is empty or too
    large, and LimitExceeded as ``keep_file``.
    """
    check_size(size)
    waiting = _lock_waiting(by, project).filter(task=task, state=State.UPLOADING, uploaded_by=by)
    same = waiting.filter(name=_name(name), size=size, sheet__modified=modified)
    if modified is not None and (begun := same.first()):
        return begun
    _require_room(by, project, size)
    file = ImportFile.objects.create(
        project=project,
        task=task,
        kind=kind or next(iter(TABLES)),
        name=_name(name),
        size=size,
        total=size,
        state=State.UPLOADING,
        sheet={} if modified is None else {"modified": modified},
        uploaded_by=by,
        language=get_language() or "",
    )
    record(by=by, project=project, action="upload.keep", on=file, kind=file.kind)
    return file


@transaction.atomic
def add_part(*, file: ImportFile, offset: int, content: bytes) -> ImportFile:
    """Take the bytes that follow the first ``offset`` ones; with the last ones a job reads it all.

    A part that was taken already is taken once. Raises Conflict where other bytes are missing
    before it, and Invalid where it is empty, too large or goes beyond the size.
    """
    locked = ImportFile.objects.select_for_update(of=("self",)).get(pk=file.pk)
    if offset < locked.done or locked.state != State.UPLOADING:
        return locked
    if offset > locked.done:
        raise Conflict(
            _("Send the bytes from %(done)s on.") % {"done": locked.done},
            fields={"offset": str(locked.done)},
        )
    if not 0 < len(content) <= MOST_PART or offset + len(content) > locked.size:
        raise Invalid(
            _("A part has 1 to %(most)s bytes, within the size of the file.")
            % {"most": count(MOST_PART)},
            fields={"content": _("Send a smaller part.")},
        )
    if offset == 0:
        _check_head(content[:4096])
    parts = ImportPart.objects.filter(file=locked, kind=ImportPart.Kind.CONTENT)
    ImportPart.objects.create(
        file=locked, kind=ImportPart.Kind.CONTENT, number=parts.count(), data=content
    )
    locked.done += len(content)
    if locked.done == locked.size:
        _receive(locked, parts_of(locked.pk, ImportPart.Kind.CONTENT))
        parts.delete()
    else:
        locked.heartbeat_at = timezone.now()
        locked.save(update_fields=["done", "heartbeat_at"])
    return locked


def _receive(file: ImportFile, content: Iterable[bytes]) -> None:
    """Store a file that is there as a whole, and have it read."""
    stored = store(content, kind="uploads")
    file.size, file.sha256, file.stored = stored.size, stored.sha256, stored
    file.state = State.READING
    file.turn, file.attempts, file.done, file.total = file.turn + 1, 0, 0, 0
    file.heartbeat_at = timezone.now()
    file.save()
    enqueue(file.pk)


def _name(name: str) -> str:
    """Return the part of an uploaded file's name that pages show; it is never used as a path."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return displayable("".join(mark for mark in last if mark.isprintable()), 200) or "file"


@transaction.atomic
def map_columns(*, by: User, file: ImportFile, mapping: Mapping[str, str]) -> ImportFile:
    """Say which column is read as which field; the rows are checked again.

    Raises Conflict while the file is read or imported, and when it was imported.
    """
    names = {f.name for f in format_for(file.task, file.kind).fields}
    chosen = {name: column for name, column in mapping.items() if name in names and column}
    _check_again(by, file, mapping=chosen)
    file.mapping = chosen
    _remember(by, file, chosen)
    return file


def _remember(by: User, file: ImportFile, mapping: Mapping[str, str]) -> None:
    """Keep how these columns are read, for the person's next file with the same ones."""
    ColumnChoice.objects.update_or_create(
        user=by,
        header=hash_of(file.sheet.get("columns", ())),
        kind=file.kind,
        defaults={"mapping": dict(mapping), "chosen_at": timezone.now()},
    )


@transaction.atomic
def set_kind(*, by: User, file: ImportFile, kind: str) -> None:
    """Read a table as one of another kind, with the columns that both kinds have.

    Raises Invalid, and Conflict as ``map_columns``.
    """
    if kind not in TABLES or file.task_id:
        raise Invalid(_("There is no such kind of table."), fields={"kind": ", ".join(TABLES)})
    sheet = sheet_of(file) if file.found else None
    mapping = shared_columns(file, kind, sheet.columns, sheet.rows) if sheet else {}
    _check_again(by, file, kind=kind, mapping=mapping, fixes={})


@transaction.atomic
def set_use(*, by: User, file: ImportFile, use: str) -> None:
    """Read a file of items as others, such as pairs instead of texts; its draft changes its type.

    Raises Invalid where that is not offered, and Conflict as ``map_columns``.
    """
    task = file.task
    offered = {one.slug: one for one in file_uses(task, file.kind)} if task else {}
    if task is None or use not in offered:
        raise Invalid(_("The file cannot be read as that."), fields={"use": ", ".join(offered)})
    chosen = offered[use]
    if chosen.type != task.type:
        change_type(by=by, task=task, type=chosen.type)
    _check_again(by, file, kind=chosen.format, mapping={}, fixes={})


@transaction.atomic
def set_reading(*, by: User, file: ImportFile, header: bool | None, encoding: str) -> None:
    """Read a file again, with or without a header and in an encoding.

    None and "" are told from the file, as is all where it cannot be read so. Raises Invalid for an
    encoding that was not offered, and Conflict as ``map_columns`` and where its bytes are gone.
    """
    locked = ImportFile.objects.select_for_update(of=("self",)).get(pk=file.pk)
    if locked.state not in (State.READY, State.CHECKING) or locked.stored_id is None:
        raise Conflict(_("The file cannot be changed now. Reload the page."))
    offered = [codec for codec, *_words in locked.sheet.get("encodings", [])]
    if encoding and encoding not in offered:
        raise Invalid(
            _("The file is not of this encoding."), fields={"encoding": ", ".join(offered)}
        )
    said = {**locked.sheet, "reading": {"header": header, "encoding": encoding}}
    _queue(locked, State.READING, sheet=said, mapping={}, fixes={})
    record(by=by, project=file.project, action="upload.read", on=file)


@transaction.atomic
def set_project(*, by: User, file: ImportFile, project: Project | None) -> None:
    """Choose the project in which a table becomes a task; None stands for a new project.

    Raises Conflict where it was scored, or is being scored.
    """
    free = ImportFile.objects.filter(pk=file.pk, task=None)
    if not free.exclude(state__in=(State.IMPORTING, *ENDED)).update(project=project):
        raise Conflict(_("The table cannot be moved now. Reload the page."))
    file.project = project
    record(by=by, project=project, action="upload.project", on=file)


@transaction.atomic
def fix_value(*, by: User, file: ImportFile, column: str, value: str, use: str) -> None:
    """Read a value of a table as another one, as its check offered it.

    Raises Conflict where that is not offered any more, and as ``map_columns``.
    """
    offers = file.found.get("about", {}).get("offers", ())
    if not any((one["column"], one["value"], one["use"]) == (column, value, use) for one in offers):
        raise Conflict(_("The table has changed. Reload the page."))
    fixes = {**file.fixes, column: {**file.fixes.get(column, {}), value: use}}
    _check_again(by, file, fixes=fixes)


def _check_again(by: User, file: ImportFile, **changes: object) -> None:
    locked = ImportFile.objects.select_for_update(of=("self",)).get(pk=file.pk)
    if locked.state not in (State.READY, State.CHECKING):
        raise Conflict(_("The file cannot be changed now. Reload the page."))
    _queue(locked, State.CHECKING, **changes)
    record(by=by, project=file.project, action="upload.map", on=file)


@transaction.atomic
def request_import(*, by: User, file: ImportFile, leave_out_bad: bool = False) -> None:
    """Import a file that was checked, by a job; a second click changes nothing.

    Raises Invalid where rows are bad and not left out, or where a needed column is missing, and
    Conflict while the file is not checked.
    """
    locked = ImportFile.objects.select_for_update(of=("self",)).get(pk=file.pk)
    if locked.state in (State.IMPORTING, State.IMPORTED):
        return
    if locked.state != State.READY:
        raise Conflict(_("The file is not checked yet. Reload the page."))
    naming.refuse(locked, leave_out_bad=leave_out_bad)
    _queue(locked, State.IMPORTING, leave_out_bad=leave_out_bad, imported_by=by)
    record(by=by, project=file.project, action="upload.import", on=file)


@transaction.atomic
def remove_upload(*, by: User, file: ImportFile) -> None:
    """Delete an upload that was not imported; a job that is at it stops."""
    locked = ImportFile.objects.select_for_update(of=("self",)).filter(pk=file.pk).first()
    if locked is None:
        return
    if locked.state == State.IMPORTED:
        raise Conflict(_("The file was imported; what is left of it is the record of that."))
    record(by=by, project=file.project, action="upload.remove", on=file)
    locked.delete()
    forget([locked.stored_id])


def _queue(file: ImportFile, state: str, **changes: object) -> None:
    """Give the upload to the next job that takes a turn."""
    ImportFile.objects.filter(pk=file.pk).update(
        state=state,
        turn=file.turn + 1,
        attempts=0,
        done=0,
        total=0,
        error={},
        heartbeat_at=timezone.now(),
        **changes,
    )
    enqueue(file.pk)


def enqueue(file_id: int) -> None:
    """Hand the upload to a worker once it is committed; a queue that is down only delays it."""
    queue.enqueue("annotation.jobs.process_upload", file_id)


def resume_abandoned() -> int:
    """Queue uploads again whose worker gave no sign of life or whose job never came."""
    before = timezone.now() - ABANDONED
    found = list(
        ImportFile.objects.filter(state__in=ACTIVE, heartbeat_at__lt=before).values_list(
            "pk", flat=True
        )
    )
    for pk in found:
        enqueue(pk)
    return len(found)


# What is left of an upload when its time is up --------------------------------------------------


def discard_upload(file: ImportFile, state: str, **changes: object) -> None:
    """Delete the staged data of an upload and set its final state."""
    rows = ImportFile.objects.filter(pk=file.pk)
    stored = list(rows.values_list("stored", flat=True))
    ImportPart.objects.filter(file_id=file.pk).delete()
    rows.update(
        state=state,
        turn=file.turn + 1,
        stored=None,
        sheet={},
        found={},
        mapping={},
        fixes={},
        **changes,
    )
    forget(stored)


def fail(file: ImportFile, message: str, mend: str, **more: object) -> None:
    """Close an upload that cannot be imported; nothing of its rows is kept."""
    discard_upload(file, State.FAILED, error={"message": message, "mend": mend, **more})


@transaction.atomic
def drop_uploads_naming(*, project: Project, names: Collection[str]) -> int:
    """Drop the waiting uploads of a project that name a person by one of these ids; how many.

    An upload names a person where an id is the whole value of a cell in a column of people:
    one that is read as a worker or an author, or that is called so.
    """
    waiting = ImportFile.objects.select_for_update(of=("self",)).filter(project=project)
    dropped = 0
    for file in waiting.exclude(state__in=ENDED).select_related("task"):
        if naming.names_any(file, set(names)):
            fail(file, _("It named a person whose data was erased."), _("Upload it without them."))
            dropped += 1
    return dropped


@transaction.atomic
def drop_stale(*, before: dt.datetime) -> int:
    """Drop the uploads from before this moment that were never imported; how many."""
    stale = ImportFile.objects.select_for_update(of=("self",), skip_locked=True)
    found = list(stale.filter(uploaded_at__lt=before).exclude(state__in=ENDED))
    for file in found:
        fail(file, _("It was not imported in time and is no longer kept."), _("Upload it again."))
    return len(found)


def finish(file: ImportFile, report: Report) -> None:
    """Mark an upload as imported and discard its staged rows, within the import's transaction."""
    discard_upload(
        file, State.IMPORTED, report=report.as_dict(), imported_at=timezone.now(), error={}
    )
