"""Which recordings a model may transcribe, and the transcripts of one's own."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from annotation.accounts.projects.consent_words import SPEAKING
from annotation.models import Consent, Recording, Task, TextValue, Transcript
from annotation.models.assignments import AssignmentState
from annotation.task_types.think_aloud.type import TRANSCRIPT

OPEN = (AssignmentState.LEASED, AssignmentState.SUBMITTED)


@dataclass(frozen=True)
class TranscriptionWork:
    """A task's recordings without any transcript: those to transcribe, and those not covered."""

    recordings: list[Recording]
    uncovered: int  # their speakers have not agreed to it


def covered_recordings() -> QuerySet[Recording]:
    """Recordings whose speaker's last agreement, still valid, covers transcription by a model."""
    last = (
        Consent.objects.filter(
            Q(task_types=[]) | Q(task_types__overlap=list(SPEAKING)),
            membership=OuterRef("entry__assignment__worker"),
            withdrawn_at__isnull=True,
        )
        .order_by("-text__number")
        .values("text__transcription")[:1]
    )
    return Recording.objects.alias(covered=Subquery(last)).filter(
        covered=True,
        entry__assignment__worker__removed_at__isnull=True,
        entry__assignment__worker__erase_asked_at__isnull=True,
    )


def transcription_work(task: Task) -> TranscriptionWork:
    """Return the recordings of submitted or current sessions that still need a transcript.

    Where the speaker typed or pasted one themselves, nothing is left to write down.
    """
    typed = TextValue.objects.filter(
        answer__assignment=OuterRef("entry__assignment"),
        answer__item=OuterRef("entry__item"),
        field=TRANSCRIPT,
    )
    lacking = (
        Recording.objects.filter(
            ~Exists(typed),
            entry__assignment__task=task,
            entry__assignment__state__in=OPEN,
            transcript__isnull=True,
        )
        .select_related("entry__item", "stored")
        .order_by("pk")
    )
    covered = set(
        covered_recordings().filter(entry__assignment__task=task).values_list("pk", flat=True)
    )
    rows = [row for row in lacking if not row.entry.draft.get(TRANSCRIPT)]
    found = [row for row in rows if row.pk in covered]
    return TranscriptionWork(found, len(rows) - len(found))


def transcripts_of(assignment: int) -> dict[int, Transcript]:
    """The transcripts of an assignment's recordings by item (one query)."""
    rows = Transcript.objects.filter(recording__entry__assignment=assignment)
    return {row.recording.entry.item_id: row for row in rows.select_related("recording__entry")}


def own_transcript(assignment: int, position: int) -> Transcript | None:
    """The transcript of an item (from 0) of an assignment, with its recording."""
    return (
        Transcript.objects.filter(
            recording__entry__assignment=assignment, recording__entry__position=position
        )
        .select_related("recording__entry__assignment__task", "recording__entry__item__group")
        .first()
    )


def is_in_session(transcript: Transcript) -> bool:
    """Whether it was confirmed, and the session itself has a transcript: that one is corrected."""
    entry = transcript.recording.entry
    if transcript.confirmed_at is None:
        return False
    return (
        bool(entry.draft.get(TRANSCRIPT))
        or TextValue.objects.filter(
            answer__assignment=entry.assignment_id, answer__item=entry.item_id, field=TRANSCRIPT
        ).exists()
    )
