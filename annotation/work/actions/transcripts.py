"""Transcripts of recordings: stored as drafts of a model, confirmed by the speaker alone."""

from __future__ import annotations

import datetime as dt
import time

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from annotation.authoring.selectors.steps import settings_of
from annotation.models import Assignment, AssignmentItem, Recording, Transcript, User
from annotation.models.assignments import AssignmentState
from annotation.notifications.actions.notices import notify
from annotation.records.actions.audit import record
from annotation.task_types.texts import storable
from annotation.task_types.think_aloud.type import MAX_TRANSCRIPT
from annotation.task_types.think_aloud.type import TRANSCRIPT as FIELD
from annotation.work.actions.assignments import save_draft
from annotation.work.actions.drafts import Version
from annotation.work.actions.leases import lock_own
from annotation.work.selectors.transcripts import covered_recordings, is_in_session
from crowdqc.errors import Conflict, Invalid, Missing

MAX_CHARACTERS = 100_000  # an hour of speech has about 55,000


@transaction.atomic
def store_transcript(
    *, by: User | None, recording_id: int, kept_at: dt.datetime, text: str, model: str
) -> bool:
    """Store what a model wrote down as a draft, and notify the speaker.

    False where the recording was removed or replaced since ``kept_at``, has a transcript, or its
    speaker no longer agrees: then the text is dropped.
    """
    locked = (
        Recording.objects.select_for_update(of=("self",))
        .filter(pk=recording_id, kept_at=kept_at)
        .select_related("entry__assignment__task__project", "entry__assignment__worker__user")
        .first()
    )
    if locked is None or not covered_recordings().filter(pk=recording_id).exists():
        return False
    draft, made = Transcript.objects.get_or_create(
        recording=locked, defaults={"text": storable(text)[:MAX_CHARACTERS], "model": model}
    )
    if not made:
        return False
    assignment = locked.entry.assignment
    project = assignment.task.project
    record(by=by, project=project, action="transcript.store", on=assignment, model=model)
    notify(
        to=[assignment.worker.user],
        kind="transcript.ready",
        project=project,
        key=f"transcript.ready:{draft.pk}",
        text=lambda: gettext("Your recording was transcribed. Read and correct the transcript."),
        url=reverse("work_transcript", args=[assignment.pk, locked.entry.position + 1]),
    )
    return True


@transaction.atomic
def confirm_transcript(*, by: User, assignment: Assignment, position: int, text: str) -> Transcript:
    """Confirm the transcript of an item (from 0) as the speaker corrected it.

    While the session is in progress it also becomes the transcript of the draft, unless one was
    written there; from then on it is corrected in the session alone (Conflict). Raises Missing
    where there is none, Invalid for a text that cannot be kept.
    """
    locked = lock_own(assignment, by)
    row = (
        Transcript.objects.select_for_update(of=("self",))
        .filter(recording__entry__assignment=locked, recording__entry__position=position)
        .select_related("recording__entry__item")
        .first()
    )
    if row is None:
        raise Missing(gettext("There is no transcript of this recording."))
    if is_in_session(row):
        raise Conflict(gettext("The transcript is part of your session."))
    words = storable(text).strip()
    if not words:
        raise Invalid(gettext("The transcript is empty."), fields={"text": gettext("Write it.")})
    if len(words) > MAX_CHARACTERS:
        raise Invalid(
            gettext("The transcript is too long."),
            fields={"text": gettext("%(most)s characters at most.") % {"most": MAX_CHARACTERS}},
        )
    row.text, row.confirmed_at = words, timezone.now()
    row.save(update_fields=["text", "confirmed_at"])
    project = locked.task.project
    record(by=by, project=project, action="transcript.confirm", on=locked)
    _copy_to_draft(by, locked, row.recording.entry, words)
    return row


def _copy_to_draft(by: User, assignment: Assignment, entry: AssignmentItem, words: str) -> None:
    """Put a confirmed transcript into the draft of a session in progress, to be marked there."""
    if assignment.state not in (AssignmentState.LEASED, AssignmentState.EXPIRED):
        return
    takes = settings_of(assignment, entry).get("transcript")
    if not takes or entry.draft.get(FIELD) or len(words) > MAX_TRANSCRIPT:
        return
    later = max(entry.draft_seq + 1, time.time_ns() // 10**6)
    save_draft(
        by=by,
        assignment=assignment,
        item_id=entry.item_id,
        draft={**entry.draft, FIELD: words},
        version=Version(later),
    )
