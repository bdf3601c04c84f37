"""Which interaction logs are kept, until when, and which of them may be erased.

A log is kept for the days that its worker agreed to, counted from the end of the work: the submit,
or the end of a lease that brought none. A log without an agreement here, that is an imported one,
has no such day and stays until somebody erases it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import (
    Count,
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
)
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Consent, EventStream, Membership, Project
from annotation.models.assignments import AssignmentState

ONE_DAY = Value(dt.timedelta(days=1), output_field=DurationField())


@dataclass(frozen=True)
class KeptLogs:
    """The logs of a project or a worker: how many, how large, when they go."""

    number: int = 0  # assignments with a log
    stored_bytes: int = 0
    in_work: int = 0  # of these, work that goes on and whose log therefore stays
    undated: int = 0  # imported: kept until deleted
    unsettled: int = 0  # nothing is decided yet about the work
    first_until: dt.datetime | None = None  # when the first is erased automatically
    last_until: dt.datetime | None = None
    erased: int = 0  # assignments whose log is gone
    erased_at: dt.datetime | None = None  # the last time

    @property
    def erasable(self) -> int:
        """Logs of work that is over."""
        return self.number - self.in_work

    @property
    def decided(self) -> int:
        """Number of logs of decided work."""
        return self.erasable - self.unsettled


def with_log() -> QuerySet[Assignment]:
    """Assignments that have a log; ``keep_until`` is None where no day is set."""
    ended = Coalesce("submitted_at", "expires_at")
    agreed = (
        Consent.objects.filter(
            membership=OuterRef("worker"),
            given_at__lte=Coalesce(OuterRef("submitted_at"), OuterRef("expires_at")),
        )
        .order_by("-given_at")
        .values("text__retention_days")[:1]
    )
    until = ExpressionWrapper(
        ended + ExpressionWrapper(F("days") * ONE_DAY, output_field=DurationField()),
        output_field=DateTimeField(),
    )
    return Assignment.objects.filter(
        Exists(EventStream.objects.filter(assignment=OuterRef("pk")))
    ).annotate(days=Subquery(agreed), keep_until=until)


def due(now: dt.datetime) -> QuerySet[Assignment]:
    """Return assignments whose log has outlived the time its worker agreed to."""
    return with_log().exclude(state=AssignmentState.LEASED).filter(Q(keep_until__lte=now))


def erasable(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Keep only finished assignments with an interaction log."""
    return assignments.filter(
        Exists(EventStream.objects.filter(assignment=OuterRef("pk")))
    ).exclude(state=AssignmentState.LEASED)


def erasable_by_worker(worker: Membership) -> QuerySet[Assignment]:
    """Return a worker's assignments with logs that no decision needs any more."""
    waits = Q(state=AssignmentState.SUBMITTED, settled_at__isnull=True)
    return erasable(worker.assignments.exclude(waits))


def kept_of_project(project: Project) -> KeptLogs:
    """Count the interaction logs that a project stores."""
    return _count_logs("task__project", [project.pk])[project.pk]


def kept_of_workers(workers: Sequence[Membership]) -> dict[int, KeptLogs]:
    """The logs of each of these workers, by the membership's id; two queries."""
    return _count_logs("worker", [worker.pk for worker in workers])


def _count_logs(whose: str, ids: Sequence[int]) -> dict[int, KeptLogs]:
    size = (
        EventStream.objects.filter(assignment=OuterRef("pk"))
        .order_by()
        .values("assignment")
        .annotate(size=Sum("stored_bytes"))
        .values("size")
    )
    over = ~Q(state=AssignmentState.LEASED)
    waits = Q(state=AssignmentState.SUBMITTED, settled_at__isnull=True)
    kept = (
        with_log()
        .filter(**{f"{whose}__in": ids})
        .annotate(size=Subquery(size))
        .values(whose)
        .annotate(
            number=Count("pk"),
            stored_bytes=Sum("size"),
            in_work=Count("pk", filter=~over),
            undated=Count("pk", filter=over & Q(keep_until__isnull=True)),
            unsettled=Count("pk", filter=waits),
            first_until=Min("keep_until", filter=over),
            last_until=Max("keep_until", filter=over),
        )
    )
    gone = (
        Assignment.objects.filter(**{f"{whose}__in": ids}, log_erased_at__isnull=False)
        .values(whose)
        .annotate(erased=Count("pk"), erased_at=Max("log_erased_at"))
    )
    found: dict[int, dict[str, Any]] = {pk: {} for pk in ids}
    for row in (*kept, *gone):
        found[row.pop(whose)] |= row
    return {pk: KeptLogs(**row) for pk, row in found.items()}
