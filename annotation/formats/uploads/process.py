"""The job behind an upload: read it once, check its rows, import them. Safe to call twice."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Model
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts import quotas
from annotation.files.reading.importer import Problem
from annotation.files.reading.recognise import LOOKED_AT
from annotation.files.reading.rows import MAX_SHOWN, Row
from annotation.files.reading.sources import GZIP, ZIP, encodings_of, refuse_foreign
from annotation.files.reading.tables import Reading, open_table
from annotation.files.reading.values import displayable
from annotation.files.stored.actions import forget, store
from annotation.formats.actions.imports import import_sheet
from annotation.formats.actions.media import open_upload
from annotation.formats.imports.chats import reason_of_chats, reason_of_scores
from annotation.formats.imports.tables.native import unfold
from annotation.formats.imports.tables.possible import possible_columns
from annotation.formats.registry import get_format, reason_of_table, recognise_table
from annotation.formats.selectors.imports import CheckedFile, check_rows, remembered_columns
from annotation.formats.uploads.actions import ABANDONED, fail, finish
from annotation.formats.uploads.addresses import fetch
from annotation.formats.uploads.staging import (
    ACTIVE,
    CHUNK,
    IS_CHATS,
    KEPT,
    TEXT,
    WRITTEN,
    Told,
    checked_before,
    keep_checked,
    pack_rows,
    packed_problem,
    packed_row,
    reading_of,
    sheet_of,
    source_of,
)
from annotation.hooks import write_table
from annotation.models import Answer, ImportFile, ImportPart
from annotation.records.actions.bulk import report_rows
from crowdqc.errors import DomainError, Invalid
from crowdqc.jobs.heartbeat import run_heartbeat

logger = logging.getLogger(__name__)
State, Kind = ImportFile.State, ImportPart.Kind
MAX_ATTEMPTS = 3
EVERY = 1.0  # seconds between signs of life
TOO_MUCH = gettext_lazy("Reading this file took more memory than there is.")
SPLIT = gettext_lazy("Split it into smaller files.")
IMPORT_CHATS = gettext_lazy("Import them into a task.")
SHOWN_ROWS, SHOWN_PROBLEMS = 5, 200


class GivenChats(Invalid):
    """A file of conversations that was given to be scored."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, fields={"file": str(IMPORT_CHATS)})


class Superseded(Exception):
    """Somebody asked for something else, or another process took over."""


def process(file_id: int) -> str:
    """Advance an upload through the steps that need no person; return its state."""
    file = _claim(file_id)
    if file is None:
        return "not mine"
    with translation.override(file.language or settings.LANGUAGE_CODE):
        return _advance(file)


def _advance(file: ImportFile) -> str:
    try:
        with run_heartbeat(partial(_beat, file)):
            if file.state == State.FETCHING:
                _fetch(file)
            if file.state == State.READING:
                _read(file)
            if file.state == State.IMPORTING and _imported(file):
                return State.IMPORTED
            _check(file)
    except Superseded:
        logger.info("upload %s was taken over or removed", file.pk)
        return "not mine"
    except DomainError as refused:
        # What is wrong with the file itself; a check that the task refuses says so, too.
        about = {IS_CHATS: refused.message} if isinstance(refused, GivenChats) else {}
        _close(file, refused.message, " ".join(refused.fields.values()), **about)
        return State.FAILED
    except MemoryError:
        _close(file, str(TOO_MUCH), str(SPLIT))
        return State.FAILED
    except Exception:
        # Said on the page in one line; the traceback is the log's.
        _close(file, _("Something went wrong with this file on our side."), _("Upload it again."))
        raise
    return State.READY


def _beat(file: ImportFile) -> None:
    """Say that the process lives whose turn it is."""
    mine = ImportFile.objects.filter(pk=file.pk, turn=file.turn, state__in=ACTIVE)
    mine.update(heartbeat_at=timezone.now())


@transaction.atomic
def _claim(file_id: int) -> ImportFile | None:
    """Take the upload's next turn; None where it has moved on or somebody is at it."""
    file = (
        ImportFile.objects.select_for_update(of=("self",), skip_locked=True)
        .select_related("project", "task__project", "task__current", "imported_by")
        .filter(pk=file_id, state__in=ACTIVE)
        .first()
    )
    now = timezone.now()
    if file is None or (file.attempts and now - file.heartbeat_at < ABANDONED):
        return None
    if file.attempts >= MAX_ATTEMPTS:
        fail(
            file,
            _("Reading it failed %(attempts)s times.") % {"attempts": file.attempts},
            _("Split it into smaller files."),
        )
        return None
    file.attempts, file.turn = file.attempts + 1, file.turn + 1
    file.heartbeat_at, file.done = now, 0
    file.save(update_fields=["attempts", "turn", "heartbeat_at", "done"])
    return file


@transaction.atomic
def fail_killed(file_id: int) -> None:
    """Fail an upload whose process was killed while its worker lives on: it would be killed again.

    What was written of it was undone with its transaction.
    """
    file = ImportFile.objects.select_for_update(of=("self",)).filter(pk=file_id, state__in=ACTIVE)
    for one in file:
        fail(one, str(TOO_MUCH), str(SPLIT))


def _set(file: ImportFile, **changes: Any) -> None:
    """Change the row while the turn is this job's, which is its sign of life."""
    mine = ImportFile.objects.filter(pk=file.pk, turn=file.turn, state=file.state)
    if not mine.update(heartbeat_at=timezone.now(), **changes):
        raise Superseded
    for name, value in changes.items():
        setattr(file, name, value)


@transaction.atomic
def _close(file: ImportFile, message: str, mend: str, **more: object) -> None:
    locked = ImportFile.objects.select_for_update(of=("self",)).filter(pk=file.pk).first()
    if locked is not None and locked.turn == file.turn:
        fail(locked, message, mend, **more)


# Fetching ----------------------------------------------------------------------------------------


def _fetch(file: ImportFile) -> None:
    """Fetch a file from its address and store it, as if it had been uploaded."""
    source = fetch(file.address, _progress_reporter(file))
    head = source.head()
    if not head.startswith((ZIP, GZIP)):
        refuse_foreign(head)
    with transaction.atomic():
        quotas.require_storage(file.project, source.size)
        stored = store(source.pieces(), kind="uploads")
        size, sha256 = stored.size, stored.sha256
        _set(file, state=State.READING, stored=stored, size=size, sha256=sha256, done=0)


# Reading -----------------------------------------------------------------------------------------


class _Parts:
    """Rows on their way into the database, a part at a time."""

    def __init__(self, file: ImportFile, kind: str) -> None:
        self.file, self.kind, self.number, self.count = file, kind, 0, 0
        self.held: list[list[Any]] = []
        self.weight = 0

    def add(self, row: list[Any], weight: int) -> None:
        """Add a row; store the rows so far once there are enough of them."""
        self.held.append(row)
        self.count += 1
        self.weight += weight
        if len(self.held) >= CHUNK or self.weight >= TEXT:
            self.flush()

    def flush(self) -> None:
        """Store the rows that were not stored yet as a part."""
        if not self.held:
            return
        ImportPart.objects.create(
            file=self.file, kind=self.kind, number=self.number, data=pack_rows(self.held)
        )
        self.number, self.held, self.weight = self.number + 1, [], 0


def _read(file: ImportFile) -> None:
    """Read the file in the stated format, else in the recognised one, and note which."""
    try:
        _read_rows(file)
    except Invalid as refused:
        if reading_of(file) == Reading():
            reason = "" if file.task else reason_of_chats(source_of(file), file.name)
            if reason:
                raise GivenChats(reason) from refused
            raise
        file.sheet = {**file.sheet, "reading": {}}
        _read_rows(file)
        mend = " ".join(refused.fields.values())
        _set(file, error={"message": refused.message, "mend": mend})


def _read_rows(file: ImportFile) -> None:
    """Turn the file's bytes into rows in one pass.

    The bytes of a table that is to become a task, or items of one, are kept until it is scored or
    imported, as its page may ask for another encoding or header; others are let go of.
    """
    file.parts.all().delete()
    source, stored = source_of(file), file.stored_id
    if file.task is None:
        table = unfold(open_table(source, file.name, reading=reading_of(file)))
    else:
        table = open_upload(
            get_format(file.kind),
            by=file.uploaded_by,
            task=file.task,
            source=source,
            name=file.name,
            reading=reading_of(file),
        )
    places: dict[str, int] = {}
    rows, unreadable = _Parts(file, Kind.ROWS), _Parts(file, Kind.UNREADABLE)
    first: list[Any] = []
    looked: list[Row] = []
    lines: set[int | None] = set()
    told = _progress_reporter(file)
    for name in table.columns:
        places.setdefault(name, len(places))
    for event in table.events:
        if isinstance(event, Problem):
            unreadable.add(packed_problem(event), MAX_SHOWN)
            lines.add(event.line)
        else:
            if len(looked) < LOOKED_AT:
                looked.append(event)
            if len(first) < SHOWN_ROWS:
                first.append(
                    [
                        event.line,
                        {
                            name: displayable(value, MAX_SHOWN)
                            for name, value in event.values.items()
                        },
                    ]
                )
            rows.add(packed_row(event, places), sum(map(len, event.values.values())))
        told(rows.count)
    columns = list(table.columns)
    kind, fits = (file.kind, {}) if file.task_id else recognise_table(columns, looked)
    fits_none = fits and not any(one.fits for one in fits.values())
    chats = reason_of_chats(source, file.name) if fits_none else ""
    remembered = None if file.mapping else remembered_columns(file.uploaded_by, columns, kind)
    if remembered:
        table.notes.append(_("Columns are read as you chose for the last file with these names."))
    one = get_format(file.kind) if file.task_id else None
    is_kept = one is None or (table.kind == "CSV" and one.maps_columns and one.replaces_examples)
    with transaction.atomic():
        rows.flush()
        unreadable.flush()
        _set(
            file,
            state=State.CHECKING,
            stored_id=stored if is_kept else None,
            kind=kind,
            mapping=remembered or file.mapping,
            done=0,
            total=rows.count,
            error={IS_CHATS: chats} if chats else {},
            sheet={
                "kind": table.kind,
                "encoding": table.encoding,
                "note": table.encoding_note,
                "notes": table.notes,
                "reason": reason_of_table(columns, looked) if fits_none else "",
                "possible": possible_columns(columns, looked) if fits else {},
                "delimiter": table.delimiter,
                "columns": columns,
                "fits": {slug: [one.fits, one.said] for slug, one in fits.items()},
                "rows": rows.count,
                "unreadable": unreadable.count,
                "unreadable_lines": len(lines),
                "first": first,
                "reading": file.sheet.get("reading", {}),
                "encodings": encodings_of(source) if table.kind == "CSV" else [],
            },
        )
        if not is_kept:
            forget([stored])


def _progress_reporter(file: ImportFile) -> Told:
    """Say how far it is, now and then."""
    last = time.monotonic()

    def told(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            _set(file, done=done)

    return told


# Checking ----------------------------------------------------------------------------------------


def _check(file: ImportFile) -> None:
    """Find what each row would become and what is wrong with it; nothing is imported."""
    _set(file, total=file.sheet["rows"], done=0)
    sheet = sheet_of(file, _progress_reporter(file))
    try:
        found = check_rows(file.task, file.kind, sheet, file.mapping or None, file.fixes)
    except Invalid as refused:
        if file.error.get(IS_CHATS):
            raise GivenChats(file.error[IS_CHATS]) from refused
        raise
    lacks_rows = not (found.unmapped or found.checked.good or found.checked.about.get("offers"))
    if file.task is None and lacks_rows and (chats := reason_of_scores(source_of(file), file.name)):
        _set(file, error={IS_CHATS: chats})
    file.parts.filter(kind=Kind.PROBLEMS).delete()
    listed = _Parts(file, Kind.PROBLEMS)
    with transaction.atomic():
        for problem in found.checked.problems.merged(found.checked.repeats):
            listed.add(packed_problem(problem), MAX_SHOWN)
        listed.flush()
        kept = {KEPT: keep_checked(file, found.checked, found.basis)}
        summary = _summary(found, listed.count)
        _set(file, state=State.READY, attempts=0, found={**summary, **kept})


def _summary(found: CheckedFile, listed: int) -> dict[str, Any]:
    checked = found.checked
    return {
        "mapping": found.mapping,
        "unmapped": [{"name": one.name, "label": str(one.label)} for one in found.unmapped],
        "unread": found.unread,
        "new": len(checked.good),
        "there": checked.there,
        "bad": found.bad_rows,
        "repeated": len(checked.repeats),
        "listed": listed,
        "facts": checked.facts,
        "notes": checked.notes,
        "about": checked.about,
        "all_problems": len(checked.problems),
        "problems": _shown(checked.problems),
        "repeats": _shown(checked.repeats),
        "tally": {} if found.unmapped else found.tally.as_dict(),
    }


def _shown(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    return [one.as_dict() for one in itertools.islice(problems, SHOWN_PROBLEMS)]


# Importing ---------------------------------------------------------------------------------------


def _imported(file: ImportFile) -> bool:
    """Write all rows or none; where the task refuses them now, they are checked again."""
    by, task = file.imported_by, file.task
    assert by is not None  # noqa: S101 (who asked for it)
    far = _Far()
    sheet = sheet_of(file, far.checked)
    try:
        with _pulse(file, far), report_rows(far.wrote), transaction.atomic():
            if task is None:
                report = write_table(by=by, file=file, sheet=sheet)
            else:
                report = import_sheet(
                    by=by,
                    task=task,
                    kind=file.kind,
                    name=file.name,
                    sheet=sheet,
                    mapping=file.mapping or None,
                    leave_out_bad=file.leave_out_bad,
                    before=partial(checked_before, file, far.checked),
                )
            mine = ImportFile.objects.select_for_update(of=("self",)).filter(
                pk=file.pk, turn=file.turn, state=State.IMPORTING
            )
            if not mine.exists():
                raise Superseded
            finish(file, report)
    except DomainError as refused:
        mend = (
            "" if isinstance(refused, Invalid) else _("Import the file again once that is settled.")
        )
        _set(file, state=State.CHECKING, error={"message": refused.message, "mend": mend})
        return False
    return True


class _Far:
    """How far an import is: rows checked, and then answers written."""

    def __init__(self) -> None:
        self.rows, self.answers = 0, 0

    def checked(self, done: int) -> None:
        """Note how many rows have been checked."""
        self.rows = done

    def wrote(self, model: type[Model], more: int) -> None:
        """Note how many more rows were written into a table."""
        if model is Answer:
            self.answers += more


@contextmanager
def _pulse(file: ImportFile, far: _Far) -> Iterator[None]:
    """Show the progress of a transaction whose writes nobody sees before it ends."""

    def beat() -> None:
        ImportFile.objects.filter(pk=file.pk, turn=file.turn, state=State.IMPORTING).update(
            heartbeat_at=timezone.now(),
            done=far.rows,
            total=file.sheet["rows"],
            found={**file.found, WRITTEN: far.answers},
        )

    with run_heartbeat(beat, EVERY):
        yield
