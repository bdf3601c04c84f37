"""Give a project away as a file, and take one in."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.roles.actions import set_role
from annotation.installation.actions import archive_project, require_owner
from annotation.models import ImportFile, Membership, Payment, Project, Role, User
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from crowdqc.database.locks import try_lock
from crowdqc.errors import Conflict
from evaluation.models import ProjectMove, Run, RunState
from evaluation.moving.archive import ArchiveReader, Manifest
from evaluation.moving.reading import Import, ImportDiffers, begin_move, check_tables
from evaluation.moving.writing import COPY, MOVE, Export

Say = Callable[[str, int], None]  # what was done, and how many rows that were
State, Direction = ProjectMove.State, ProjectMove.Direction
IN_FLIGHT = (Payment.State.PREPARED, Payment.State.SENDING, Payment.State.UNCLEAR)
WAITING = (Payment.State.PLANNED, Payment.State.BY_HAND, Payment.State.FAILED)
BEING_READ = (
    *(ImportFile.State.UPLOADING, ImportFile.State.FETCHING, ImportFile.State.READING),
    *(ImportFile.State.CHECKING, ImportFile.State.IMPORTING),
)
LISTED = 5


@dataclass
class Exported:
    """What an export wrote."""

    manifest: Manifest
    sha256: str
    size: int


@dataclass
class Imported:
    """What an import took in: its project here, and what people have to do by hand."""

    project: Project
    manifest: Manifest
    rows: int
    renamed: dict[str, int] = field(default_factory=dict)


def export_project(
    *,
    by: User | None,
    project: Project,
    path: Path,
    leave: bool = False,
    consents: Collection[str] | None = None,
    why: str = "",
    say: Say = lambda text, rows: None,
) -> Exported:
    """Write a project to a file, which gets its name when it is whole.

    With ``leave`` the project is archived here, and what waits to be paid is sent by the target
    alone. ``consents`` are addresses of people who agreed to go with their account.

    Raises
    ------
    Conflict
        The file exists, a run or an upload is not finished, or a payment is being sent.
    """
    require_owner(by)
    if path.exists():
        raise Conflict(_("%(path)s exists.") % {"path": path})
    move = _leave(by, project, why) if leave else _prepare_copy(by, project)
    part = path.with_name(f"{path.name}.part")
    archived = None if leave else project.archived_at or timezone.now()
    export = Export(
        project, MOVE if leave else COPY, consents, held=dict(move.held), archived=archived
    )
    try:
        manifest, digest, size = _write_file(export, part, say)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    part.replace(path)
    with transaction.atomic():
        move.state, move.archive, move.finished_at = State.DONE, digest, timezone.now()
        move.save()
        record(
            by=by,
            project=project,
            action="project.export",
            on=project,
            purpose=move.purpose,
            archive=digest,
            people=manifest.people,
        )
    return Exported(manifest, digest, size)


def _write_file(export: Export, part: Path, say: Say) -> tuple[Manifest, str, int]:
    """Write an archive and read it back; return its manifest, checksum and size."""
    with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b") as file:
        manifest = export.write(file, say)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    ArchiveReader(part).check_members()
    return manifest, digest, size


def _prepare_copy(by: User | None, project: Project) -> ProjectMove:
    """Return the note of a copy, which is stored when it is written."""
    check_movable(project)
    return ProjectMove(direction=Direction.OUT, purpose=COPY, project=project, by=by)


@transaction.atomic
def _leave(by: User | None, project: Project, why: str) -> ProjectMove:
    """Archive the project and hold its payments, once; a second export writes the same."""
    locked = lock_project(project.pk)
    before = ProjectMove.objects.filter(
        direction=Direction.OUT, purpose=MOVE, project=locked
    ).first()
    if before is not None:
        if locked.archived_at is None:
            raise Conflict(_("The project left before and was reopened since. Export a copy."))
        return before
    check_movable(locked)
    waiting = Payment.objects.select_for_update(no_key=True).filter(
        assignment__task__project=locked, state__in=WAITING
    )
    held = {str(one.pk): [str(one.state), one.error] for one in waiting}
    waiting.update(
        state=Payment.State.UNCLEAR,
        held_until=None,
        error=_("The project has moved. The other installation pays this."),
    )
    if locked.archived_at is None:
        archive_project(by=by, project=locked, why=why)
    return ProjectMove.objects.create(
        direction=Direction.OUT, purpose=MOVE, project=locked, held=held, by=by
    )


def check_movable(project: Project) -> None:
    """Raise Conflict, naming what is under way, where the project cannot be written now."""
    if Project.objects.filter(pk=project.pk, deleted_at__isnull=False).exists():
        raise Conflict(_("This project is deleted."), code="deleted")
    payments = Payment.objects.filter(assignment__task__project=project, state__in=IN_FLIGHT)
    _refuse(_("These payments are being sent or are unclear"), payments)
    runs = Run.objects.filter(project=project, state__in=(RunState.QUEUED, RunState.RUNNING))
    _refuse(_("These runs are not finished"), runs.order_by("number"), "number")
    files = ImportFile.objects.filter(project=project, state__in=BEING_READ)
    _refuse(_("These uploads are not finished"), files, "name")
    coming = ProjectMove.objects.filter(
        direction=Direction.IN, state=State.RUNNING, project=project
    )
    _refuse(_("These imports of it are not finished"), coming)


def _refuse(words: str, rows: object, name: str = "pk") -> None:
    there = [str(one) for one in rows.values_list(name, flat=True)[: LISTED + 1]]  # type: ignore[attr-defined]
    if there:
        more = ", ..." if len(there) > LISTED else ""
        raise Conflict(f"{words}: {', '.join(there[:LISTED])}{more}.", code="under-way")


def import_project(
    *,
    by: User | None,
    path: Path,
    owner: User | None = None,
    say: Say = lambda text, rows: None,
) -> Imported:
    """Take a project in. One that was stopped goes on where it was.

    Raises
    ------
    BadArchive
        The file is damaged, of another program or of another version. Nothing was written.
    Conflict
        It was imported before, or another process imports it.
    ImportDiffers
        What is here differs from the archive. The project stays archived.
    """
    require_owner(by)
    reader = ArchiveReader(path)
    reader.check_migrations()
    say("Reading the archive", 0)
    reader.check_members()
    check_tables(reader)
    archive = reader.sha256()
    with try_lock(f"import {archive}") as mine:
        if not mine:
            raise Conflict(_("Another process imports this archive."))
        move = begin_move(reader, archive)
        work = Import(reader, move, say)
        work.load()
        work.load_vectors()
        say("Comparing", 0)
        return _finish(work, by, owner)


@transaction.atomic
def _finish(work: Import, by: User | None, owner: User | None) -> Imported:
    differences = work.finish()
    if differences:
        raise ImportDiffers("\n".join(differences))
    move, manifest = work.move, work.reader.manifest
    project = lock_project(work.project_id)
    [told] = work.reader.rows("rows/annotation.Project.jsonl")
    project.archived_at = told["archived_at"]
    if owner is not None and project.owner_id != owner.pk:
        project.owner = owner
        for role in (Role.REQUESTER, Role.MANAGER):
            if not Membership.objects.filter(project=project, user=owner, role=role).exists():
                set_role(project=project, user=owner, role=role)
    project.save(update_fields=["archived_at", "owner"])
    move.state, move.finished_at, move.by = State.DONE, timezone.now(), by
    move.save(update_fields=["state", "finished_at", "by"])
    record(
        by=by,
        project=project,
        action="project.import",
        on=project,
        purpose=move.purpose,
        archive=move.archive,
        shift=move.shift,
    )
    project.refresh_from_db()
    return Imported(
        project,
        manifest,
        sum(one.rows or 0 for one in manifest.members.values()),
        {name: len(values) for name, values in move.renamed.items()},
    )
