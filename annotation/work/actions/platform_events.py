"""What a platform tells of its submissions: kept once, applied in the order it happened."""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.utils import timezone

from annotation.models import PlatformEvent, Recruitment, Visit
from annotation.models.assignments import AssignmentState
from annotation.records.actions.audit import record
from annotation.recruitment.platforms.webhook import Event
from annotation.work.actions.leases import take_back

STATUS = "submission.status.change"
ENDED = ("RETURNED", "TIMED-OUT", "TIMED_OUT")


@transaction.atomic
def take(*, recruitment: Recruitment, event: Event) -> PlatformEvent:
    """Keep an event and let it take effect; the same one again changes nothing."""
    payload = {**event.payload, "happened": event.at.timestamp()}
    kept, made = PlatformEvent.objects.get_or_create(
        recruitment=recruitment,
        event_id=event.id,
        defaults={"kind": event.kind, "payload": payload},
    )
    if made:
        apply(kept)
    return kept


def apply(event: PlatformEvent) -> None:
    """Let one kept event take effect, or note why it has none (yet)."""
    event.note = _effect(event)
    event.applied_at = None if event.note == UNKNOWN else timezone.now()
    event.save(update_fields=["note", "applied_at"])


UNKNOWN = "Nobody came with this submission yet."


def _effect(event: PlatformEvent) -> str:
    if event.kind != STATUS:
        return "Not about a submission."
    told = event.payload
    visit = (
        Visit.objects.select_for_update(of=("self",), no_key=True)
        .select_related("assignment", "recruitment__task__project")
        .filter(recruitment_id=event.recruitment_id, session=str(told.get("resource_id", "")))
        .exclude(session="")
        .first()
    )
    if visit is None:
        return UNKNOWN
    if told.get("participant_id") not in (None, visit.participant):
        return "It names another participant than came with this submission."
    at = dt.datetime.fromtimestamp(told["happened"], dt.UTC)
    if visit.status_at is not None and at < visit.status_at:
        return f"Older than what is known ({visit.status})."
    visit.status, visit.status_at = str(told.get("status", ""))[:30].upper(), at
    visit.save(update_fields=["status", "status_at"])
    project = visit.recruitment.task.project
    record(by=None, project=project, action="visit.status", on=visit, status=visit.status)
    work = visit.assignment
    if visit.status in ENDED and work is not None and work.state == AssignmentState.LEASED:
        take_back(by=None, assignment=work)
        return "The slots are free again."
    return ""
