"""Files that somebody asked for: written by a job and kept for a few days."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.files.stored.actions import forget, store
from annotation.files.stored.selectors import pieces
from annotation.formats.exports.makers import PreparedFile, maker_of
from annotation.models import ExportFile, Project, StoredFile, Task, User
from annotation.notifications.actions.notices import Text, notify
from annotation.notifications.actions.webhooks import emit
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from crowdqc import queue
from crowdqc.errors import Conflict, DomainError, Missing
from crowdqc.jobs.heartbeat import run_heartbeat
from crowdqc.numbers import plural

logger = logging.getLogger(__name__)
PART = 1024 * 1024  # bytes
ABANDONED = dt.timedelta(minutes=3)
KEPT = dt.timedelta(days=7)
MAX_ATTEMPTS = 3
MOST_AT_ONCE = 5  # of one project
State = ExportFile.State
ACTIVE = (State.QUEUED, State.RUNNING)


class Superseded(Exception):
    """The file was taken over or removed while this process wrote it."""


@transaction.atomic
def request_export(
    *,
    by: User,
    project: Project,
    what: str,
    form: str,
    task: Task | None = None,
    params: Mapping[str, Any] | None = None,
) -> ExportFile:
    """Ask for a file, of a task or of the whole project; the same one in work is given back.

    Raises Invalid (``what``, ``form``, ``params``), Missing and Conflict as its maker does, and
    Conflict where the project has too many in work.
    """
    chosen = dict(params or {})
    maker_of(what).check(project, task, what, form, chosen)
    lock_project(project.pk)  # requests stand in line
    active = ExportFile.objects.filter(project=project, state__in=ACTIVE)
    same = active.filter(task=task, what=what, form=form, params=chosen, by=by).first()
    if same is not None:
        return same
    if active.count() >= MOST_AT_ONCE:
        raise Conflict(
            _("%(files)s are being written; wait for one of them.")
            % {"files": plural(MOST_AT_ONCE, "file")}
        )
    file = ExportFile.objects.create(
        project=project, task=task, what=what, form=form, params=chosen, by=by
    )
    record(
        by=by,
        project=project,
        action="export.request",
        on=file,
        what=what,
        form=form,
        task=task.pk if task else None,
        params=chosen,
    )
    enqueue(file.pk)
    return file


@transaction.atomic
def retry_export(*, by: User, file: ExportFile) -> None:
    """Write a file again that could not be written. Raises Conflict where it has moved on."""
    locked = ExportFile.objects.select_for_update(of=("self",)).filter(pk=file.pk).first()
    if locked is None or locked.state != State.FAILED:
        raise Conflict(_("This file is not failed any more."))
    ExportFile.objects.filter(pk=locked.pk).update(
        state=State.QUEUED, attempts=0, error="", done_at=None, expires_at=None
    )
    record(by=by, project=locked.project, action="export.retry", on=locked)
    enqueue(locked.pk)


@transaction.atomic
def remove_file(*, by: User, file: ExportFile) -> None:
    """Delete a file before its days are over; one that is being written stops."""
    record(by=by, project=file.project, action="export.remove", on=file, what=file.what)
    delete_files(ExportFile.objects.filter(pk=file.pk))


@transaction.atomic
def delete_files(rows: QuerySet[ExportFile]) -> int:
    """Delete files with what was written of them; how many."""
    stored = list(rows.values_list("stored", flat=True))
    count, _ = rows.delete()
    forget(stored)
    return count


def enqueue(file_id: int) -> None:
    """Hand the file to a worker once it is committed; a queue that is down only delays it."""
    queue.enqueue("annotation.jobs.write_export", file_id)


@transaction.atomic
def _claim(file_id: int) -> ExportFile | None:
    """Take the file for this process, from its beginning; None where it has moved on."""
    now = timezone.now()
    file = (
        ExportFile.objects.select_for_update(of=("self",), skip_locked=True)
        .select_related("project", "task__project", "task__current", "by")
        .filter(pk=file_id, state__in=ACTIVE)
        .first()
    )
    if file is None:
        return None
    fresh = file.heartbeat_at is not None and now - file.heartbeat_at < ABANDONED
    if file.state == State.RUNNING and fresh:
        return None
    if file.attempts >= MAX_ATTEMPTS:
        _fail(
            file,
            _(
                "No heartbeat for %(seconds)s seconds, in each of %(attempts)s attempts: the "
                "worker was killed, or its machine stood still."
            )
            % {"seconds": ABANDONED.seconds, "attempts": file.attempts},
        )
        return None
    file.state, file.heartbeat_at, file.rows, file.size = State.RUNNING, now, 0, 0
    file.attempts += 1
    file.save(update_fields=["state", "heartbeat_at", "rows", "size", "attempts"])
    return file


def write(file_id: int) -> str:
    """Write a file to its end; returns its state. Safe to call twice or at the same time."""
    file = _claim(file_id)
    if file is None:
        return "not mine"
    try:
        with run_heartbeat(partial(_beat, file)):
            made = maker_of(file.what).make(file)
            stored = store(_signed(file, made), kind="exports")
        _finish(file, made, stored)
    except Superseded:
        logger.info("file %s was taken over or removed", file_id)
        return "not mine"
    except DomainError as problem:
        _ended(file, problem.message)
    except SoftTimeLimitExceeded:
        _ended(file, _("Writing the file took longer than an hour, and was stopped."))
    except Exception as problem:
        # Said on the page in one line; the traceback is the log's.
        _ended(file, f"{type(problem).__name__}: {problem}"[:2000])
        raise
    else:
        return State.DONE
    return State.FAILED


def _pieces(parts: Iterator[Any]) -> Iterator[bytes]:
    """The same content in pieces of one size."""
    held = bytearray()
    for part in parts:
        held += part.encode() if isinstance(part, str) else part
        while len(held) >= PART:
            yield bytes(held[:PART])
            del held[:PART]
    if held:
        yield bytes(held)


def _mine(file: ExportFile) -> Any:
    return ExportFile.objects.filter(pk=file.pk, state=State.RUNNING, attempts=file.attempts)


def _beat(file: ExportFile) -> None:
    """Say that the process lives which has claimed the file."""
    _mine(file).update(heartbeat_at=timezone.now())


def _signed(file: ExportFile, made: PreparedFile) -> Iterator[bytes]:
    """The pieces; each is a sign of life, and the moment to see whether the file is still ours."""
    for piece in _pieces(made.parts):
        file.size += len(piece)
        now = timezone.now()
        if not _mine(file).update(heartbeat_at=now, size=file.size, rows=made.rows()):
            raise Superseded
        yield piece


@transaction.atomic
def _finish(file: ExportFile, made: PreparedFile, stored: StoredFile) -> None:
    now, sha256 = timezone.now(), stored.sha256
    done = {
        "state": State.DONE,
        "name": made.name,
        "rows": made.rows(),
        "size": stored.size,
        "sha256": sha256,
        "stored": stored,
        "manifest": dict(made.manifest(sha256)),
        "done_at": now,
        "heartbeat_at": now,
        "expires_at": now + KEPT,
        "error": "",
    }
    if not _mine(file).update(**done):
        raise Superseded
    _notify(
        file,
        lambda: (
            _("The file %(name)s is ready; it is kept for %(days)s days.")
            % {"name": made.name, "days": KEPT.days}
        ),
    )
    emit(
        project=file.project,
        event="export.ready",
        data={
            "file": file.pk,
            "task": file.task_id,
            "what": file.what,
            "form": file.form,
            "name": made.name,
            "rows": made.rows(),
            "sha256": sha256,
        },
    )


@transaction.atomic
def _ended(file: ExportFile, error: str) -> None:
    if _mine(file).exists():
        _fail(file, error)


def _fail(file: ExportFile, error: str) -> None:
    """Close a file that cannot be written; nothing of it is kept."""
    ExportFile.objects.filter(pk=file.pk).update(
        state=State.FAILED,
        error=error,
        done_at=timezone.now(),
        size=0,
        expires_at=timezone.now() + KEPT,
    )
    _notify(file, lambda: _("A file could not be written. %(error)s") % {"error": error})


def _notify(file: ExportFile, text: Text) -> None:
    url = reverse("files_list", args=[file.project_id])
    key = f"export.{file.pk}"
    notify(to=[file.by], kind="export.ready", text=text, key=key, url=url, project=file.project)


def resume_abandoned() -> int:
    """Queue files again whose worker gave no sign of life or whose job never came."""
    limit = timezone.now() - ABANDONED
    dead = Q(state=State.RUNNING, heartbeat_at__lt=limit)
    waiting = Q(state=State.QUEUED, created_at__lt=limit)
    found = list(ExportFile.objects.filter(dead | waiting).values_list("pk", flat=True))
    for pk in found:
        enqueue(pk)
    return len(found)


def expire() -> int:
    """Delete the files whose days are over; how many that were."""
    return delete_files(ExportFile.objects.filter(expires_at__lt=timezone.now()))


def content(file: ExportFile) -> Iterator[bytes]:
    """A finished file, a piece at a time. Raises Missing where it is not there."""
    if file.state != State.DONE or file.stored is None:
        raise Missing(
            _("This file is not written yet.")
            if file.state in ACTIVE
            else _("This file could not be written.")
        )
    return pieces(file.stored)
