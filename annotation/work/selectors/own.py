"""What belongs to one worker, in all their projects or in one; each a query to page over."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from annotation.access import work_ever
from annotation.models import Consent, LedgerEntry, Membership, Qualification, Rejection


def _members(user: Any, only: int | None) -> QuerySet[Membership]:
    members = work_ever(user)
    return members if only is None else members.filter(project=only)


def ledger(user: Any, only: int | None = None) -> QuerySet[LedgerEntry]:
    """What was booked for their work."""
    return LedgerEntry.objects.filter(worker__in=_members(user, only))


def rejections(user: Any, only: int | None = None) -> QuerySet[Rejection]:
    """Rejections of their work, each with its task."""
    rows = Rejection.objects.filter(assignment__worker__in=_members(user, only))
    return rows.select_related("assignment__task")


def consents(user: Any, only: int | None = None) -> QuerySet[Consent]:
    """Every agreement they gave."""
    rows = Consent.objects.filter(membership__in=_members(user, only))
    return rows.select_related("membership", "text")


def rounds(user: Any, only: int | None = None) -> QuerySet[Qualification]:
    """What was said of their qualification rounds."""
    rows = Qualification.objects.filter(assignment__worker__in=_members(user, only))
    return rows.select_related("assignment")
