"""Think-aloud recordings, stored per item while an assignment is in progress."""

from __future__ import annotations

import hashlib

from django.db import transaction
from django.utils.translation import gettext

from annotation.accounts.projects.actions import current_consent
from annotation.authoring.selectors.steps import settings_of
from annotation.files.reading.recordings import read_recording
from annotation.files.stored.actions import forget, store
from annotation.models import Assignment, AssignmentItem, Recording, Transcript, User
from annotation.models.assignments import AssignmentState
from annotation.records.actions.audit import record
from annotation.task_types import get_type
from annotation.work.actions.leases import lock_own
from crowdqc.errors import Conflict, Missing, NotAllowed

MAX_SECONDS = 60 * 60  # of one recording


@transaction.atomic
def store_recording(*, by: User, assignment: Assignment, position: int, data: bytes) -> Recording:
    """Store the worker's recording of this item (from 0), replacing the last.

    Raises Invalid where the bytes are no sound that may be kept, Conflict where the assignment is
    over, the task takes none or the worker's agreement is missing.
    """
    read = read_recording(data, most_seconds=MAX_SECONDS)
    locked, entry = _open_entry(assignment, by, position)
    if not get_type(locked.task.type).records_speech(settings_of(locked, entry)):
        raise Conflict(gettext("This task records nobody."))
    if current_consent(locked.worker, locked.task.type) is None:
        raise NotAllowed(gettext("Agree to what is recorded first."))
    told = {
        "sha256": hashlib.sha256(read.data).hexdigest(),
        "type": read.type,
        "size": len(read.data),
        "seconds": round(read.seconds, 3),
        "stored": store([read.data], kind="recordings"),
    }
    before = list(Recording.objects.filter(entry=entry).values_list("stored", flat=True))
    kept, _ = Recording.objects.update_or_create(entry=entry, defaults=told)
    Transcript.objects.filter(recording=kept).delete()  # of what was said before
    forget(before)
    project = locked.task.project
    record(
        by=by,
        project=project,
        action="recording.keep",
        on=locked,
        item=entry.item_id,
        seconds=kept.seconds,
    )
    return kept


@transaction.atomic
def remove_recording(*, by: User, assignment: Assignment, position: int) -> None:
    """Remove a recording before submission, if there is one."""
    locked, entry = _open_entry(assignment, by, position)
    stored = list(Recording.objects.filter(entry=entry).values_list("stored", flat=True))
    gone, _ = Recording.objects.filter(entry=entry).delete()
    if gone:
        forget(stored)
        project = locked.task.project
        record(by=by, project=project, action="recording.remove", on=locked, item=entry.item_id)


def _open_entry(
    assignment: Assignment, by: User, position: int
) -> tuple[Assignment, AssignmentItem]:
    locked = lock_own(assignment, by)
    if locked.state not in (AssignmentState.LEASED, AssignmentState.EXPIRED):
        raise Conflict(gettext("This assignment is no longer in progress."))
    entry = locked.entries.select_related("item").filter(position=position).first()
    if entry is None:
        raise Missing(gettext("There is no such item in this assignment."))
    return locked, entry
