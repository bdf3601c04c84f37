"""Archives that owners export and import on a page: kept in parts, worked on by a job.

A job that was killed is taken up again. An export begins anew then, an import goes on where it was.
"""

from __future__ import annotations

import datetime as dt
import logging
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction
from django.db.models import Q, Sum
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.files.stored.actions import forget, store
from annotation.files.stored.selectors import pieces
from annotation.installation.actions import clean_reason, require_owner
from annotation.models import Project, User
from annotation.notifications.actions.notices import notify
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from crowdqc.errors import Conflict, DomainError, Invalid, Missing
from crowdqc.jobs.heartbeat import run_heartbeat
from crowdqc.queue import enqueue
from evaluation.models import ArchivePart, ProjectArchive, ProjectMove
from evaluation.moving.actions import check_movable, export_project, import_project
from evaluation.moving.archive import PIECE, ArchiveReader
from evaluation.moving.tables import ordered, rows_of

logger = logging.getLogger(__name__)
State, Direction = ProjectArchive.State, ProjectMove.Direction
ABANDONED = dt.timedelta(minutes=3)
KEPT = dt.timedelta(days=7)
MAX_ATTEMPTS = 3
MOST_PART = 8 * 2**20  # bytes
JOB = "evaluation.jobs.move_project"


@transaction.atomic
def request_export(
    *, by: User, project: Project, leave: bool = False, why: str = ""
) -> ProjectArchive:
    """Have a job write a project's archive; one that is being written is given back.

    ``leave`` archives the project here, as ``export_project`` does. Raises Conflict where it cannot
    be written now.
    """
    require_owner(by, _("export a project"))
    why = clean_reason(why) if leave else ""
    project = lock_project(project.pk)
    active = ProjectArchive.objects.filter(project=project, state__in=(State.QUEUED, State.RUNNING))
    found = active.filter(direction=Direction.OUT, leaves=leave).first()
    if found is not None:
        return found
    check_movable(project)
    archive = ProjectArchive.objects.create(
        direction=Direction.OUT,
        project=project,
        leaves=leave,
        why=why,
        name=f"project-{project.pk}.zip",
        by=by,
    )
    record(
        by=by, project=project, action="project.export_request", on=archive, leaves=leave, why=why
    )
    enqueue(JOB, archive.pk)
    return archive


@transaction.atomic
def begin_import(*, by: User, name: str, size: int, modified: int | None = None) -> ProjectArchive:
    """Begin an upload in parts; one of the same name, size and time goes on where it stopped."""
    require_owner(by, _("import a project"))
    if size < 1:
        raise Invalid(_("The file is empty."), fields={"file": _("Choose another.")})
    name = name.replace("\\", "/").rpartition("/")[2][:200]
    begun = ProjectArchive.objects.filter(state=State.UPLOADING, by=by, name=name, size=size)
    found = begun.filter(modified=modified).first() if modified is not None else None
    if found is not None:
        return found
    archive = ProjectArchive.objects.create(
        direction=Direction.IN,
        state=State.UPLOADING,
        name=name,
        size=size,
        modified=modified,
        total=size,
        by=by,
    )
    record(by=by, project=None, action="project.import_request", on=archive, name=name)
    return archive


@transaction.atomic
def add_part(*, archive: ProjectArchive, offset: int, content: bytes) -> ProjectArchive:
    """Take the bytes that follow the first ``offset`` ones; after the last ones a job imports."""
    locked = ProjectArchive.objects.select_for_update(of=("self",)).get(pk=archive.pk)
    if offset < locked.done or locked.state != State.UPLOADING:
        return locked
    if offset > locked.done:
        raise Conflict(_("Send the bytes from %(done)s on.") % {"done": locked.done})
    if not 0 < len(content) <= MOST_PART or offset + len(content) > locked.size:
        raise Invalid(
            _("A part has 1 to %(most)s bytes, within the size of the file.")
            % {"most": f"{MOST_PART:,}"}
        )
    ArchivePart.objects.create(archive=locked, stored=store([content], kind="archives"))
    locked.done += len(content)
    locked.heartbeat_at = timezone.now()
    if locked.done == locked.size:
        locked.state, locked.done, locked.total = State.QUEUED, 0, 0
        enqueue(JOB, locked.pk)
    locked.save()
    return locked


@transaction.atomic
def retry_archive(*, by: User, archive: ProjectArchive) -> None:
    """Do again what failed; an import goes on where it was."""
    require_owner(by, _("move a project"))
    locked = ProjectArchive.objects.select_for_update(of=("self",)).get(pk=archive.pk)
    if locked.state != State.FAILED:
        raise Conflict(_("This has not failed."))
    locked.state, locked.attempts, locked.error, locked.done_at = State.QUEUED, 0, "", None
    locked.heartbeat_at = timezone.now()
    locked.save()
    record(by=by, project=locked.project, action="project.move_retry", on=locked)
    enqueue(JOB, locked.pk)


@transaction.atomic
def remove_archive(*, by: User, archive: ProjectArchive) -> None:
    """Delete the bytes of an archive before its days are over. A job that is at it goes on."""
    require_owner(by, _("delete an archive"))
    locked = ProjectArchive.objects.select_for_update(of=("self",)).get(pk=archive.pk)
    if locked.state in (State.QUEUED, State.RUNNING):
        raise Conflict(_("A job works on this archive."))
    record(by=by, project=locked.project, action="project.archive_remove", on=locked)
    _delete(locked)


def download_archive(*, by: User, archive: ProjectArchive) -> Iterator[bytes]:
    """Return the bytes of an export that is finished; audited."""
    require_owner(by, _("download an archive"))
    parts = list(archive.parts.select_related("stored"))
    if archive.direction != Direction.OUT or archive.state != State.DONE or not parts:
        raise Missing(_("This archive cannot be downloaded."))
    record(by=by, project=archive.project, action="project.archive_download", on=archive)
    return (piece for part in parts for piece in pieces(part.stored))


def _delete(archive: ProjectArchive) -> None:
    _delete_parts(archive)
    archive.delete()


def _delete_parts(archive: ProjectArchive) -> None:
    stored = list(archive.parts.values_list("stored", flat=True))
    archive.parts.all().delete()
    forget(stored)


# -- the job --------------------------------------------------------------------------------------


def work_on(pk: int) -> str:
    """Export or import to the end; return the state. Safe to call twice or at the same time."""
    archive = _claim(pk)
    if archive is None:
        return "not mine"
    try:
        with (
            tempfile.TemporaryDirectory(prefix="crowdqc-move-") as folder,
            run_heartbeat(partial(_update, archive)),
        ):
            path = Path(folder) / "project.zip"
            if archive.direction == Direction.OUT:
                _export(archive, path)
            else:
                _import(archive, path)
    except (DomainError, OSError) as problem:
        _fail(archive, str(problem))
    except SoftTimeLimitExceeded:
        _fail(archive, _("It took longer than an hour. Retry goes on with an import."))
    except Exception as problem:
        _fail(archive, f"{type(problem).__name__}: {problem}"[:2_000])
        raise
    else:
        return State.DONE
    return State.FAILED


@transaction.atomic
def _claim(pk: int) -> ProjectArchive | None:
    rows = ProjectArchive.objects.select_for_update(of=("self",), skip_locked=True)
    archive = rows.filter(pk=pk, state__in=(State.QUEUED, State.RUNNING)).first()
    now = timezone.now()
    if archive is None:
        return None
    if archive.state == State.RUNNING and now - archive.heartbeat_at < ABANDONED:
        return None
    if archive.attempts >= MAX_ATTEMPTS:
        _fail(archive, _("The worker was killed in each of %(n)s attempts.") % {"n": MAX_ATTEMPTS})
        return None
    archive.state, archive.heartbeat_at, archive.done = State.RUNNING, now, 0
    archive.attempts += 1
    archive.save()
    return archive


def _update(archive: ProjectArchive, **fields: object) -> int:
    mine = ProjectArchive.objects.filter(
        pk=archive.pk, state=State.RUNNING, attempts=archive.attempts
    )
    return mine.update(heartbeat_at=timezone.now(), **fields)


def _counting(archive: ProjectArchive) -> Callable[[str, int], None]:
    def say(text: str, rows: int) -> None:
        archive.done += rows
        _update(archive, done=archive.done)

    return say


def _export(archive: ProjectArchive, path: Path) -> None:
    project = archive.project
    if project is None:
        raise Missing(_("There is no such project."))
    _update(archive, total=sum(rows_of(one, project).count() for one in ordered()))
    made = export_project(
        by=archive.by,
        project=project,
        path=path,
        leave=archive.leaves,
        why=archive.why,
        say=_counting(archive),
    )
    stored = store(_read(path), kind="archives")
    with transaction.atomic():
        _delete_parts(archive)
        ArchivePart.objects.create(archive=archive, stored=stored)
        _finish(archive, size=made.size, sha256=made.sha256)


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


def _import(archive: ProjectArchive, path: Path) -> None:
    with path.open("wb") as file:
        for part in archive.parts.select_related("stored"):
            file.writelines(pieces(part.stored))
    members = ArchiveReader(path).manifest.members.values()
    _update(archive, total=sum(one.rows or 0 for one in members))
    done = import_project(by=archive.by, path=path, owner=archive.by, say=_counting(archive))
    with transaction.atomic():
        _delete_parts(archive)
        _finish(archive, project=done.project, done=done.rows, total=done.rows)


def _finish(archive: ProjectArchive, **fields: object) -> None:
    _update(archive, state=State.DONE, done_at=timezone.now(), error="", **fields)
    _notify(archive, lambda: _("%(name)s is ready.") % {"name": archive.name})


@transaction.atomic
def _fail(archive: ProjectArchive, error: str) -> None:
    if _update(archive, state=State.FAILED, done_at=timezone.now(), error=error):
        _notify(archive, lambda: _("%(name)s failed. %(error)s") % {
            "name": archive.name, "error": error,
        })  # fmt: skip


def _notify(archive: ProjectArchive, text: Callable[[], str]) -> None:
    key, url = f"archive.{archive.pk}.{archive.attempts}", reverse("installation_moves")
    notify(to=[archive.by], kind="export.ready", text=text, key=key, url=url)


def resume_archives() -> int:
    """Queue what a killed worker left, and delete what was kept for its days; how many."""
    limit, now = timezone.now() - ABANDONED, timezone.now()
    waiting = ProjectArchive.objects.filter(
        state__in=(State.QUEUED, State.RUNNING), heartbeat_at__lt=limit
    )
    found = list(waiting.values_list("pk", flat=True))
    for pk in found:
        enqueue(JOB, pk)
    over = Q(done_at__lt=now - KEPT) | Q(state=State.UPLOADING, heartbeat_at__lt=now - KEPT)
    for archive in ProjectArchive.objects.filter(over):
        with transaction.atomic():
            _delete(archive)
    return len(found)


def list_archives() -> list[ProjectArchive]:
    """Return the archives that are kept or worked on, with the bytes that are stored of each."""
    rows = ProjectArchive.objects.select_related("project", "by")
    return list(rows.annotate(stored_bytes=Sum("parts__stored__size"))[:50])
