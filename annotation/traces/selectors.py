"""Read traces, their sources and reviews."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, IntegerField, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.access import Access
from annotation.models import (
    Answer,
    ChoiceValue,
    Membership,
    Project,
    Role,
    Trace,
    TraceSource,
    TraceView,
)
from annotation.traces.settings import SourceSettings, read_settings
from crowdqc.errors import Missing


@dataclass(frozen=True)
class Review:
    """One review of a trace; ``code`` as its answer has it. ``saw``: the judge or others first."""

    trace: int
    answer: int
    worker: int
    code: str
    at: dt.datetime
    saw: bool


@dataclass(frozen=True)
class SourceRow:
    """A source with its figures."""

    source: TraceSource
    settings: SourceSettings
    traces: int
    drawn: int
    first: dt.datetime | None

    @property
    def is_silent(self) -> bool:
        """Whether nothing came for so long that staff is notified."""
        return is_silent(self.source, self.settings)


def is_silent(source: TraceSource, settings: SourceSettings) -> bool:
    """Whether a source that sent something sends nothing any more."""
    seen, hours = source.last_seen_at, settings.silent_hours
    return bool(hours and seen and seen < timezone.now() - dt.timedelta(hours=hours))


def live_sources(project: Project) -> QuerySet[TraceSource]:
    """The project's sources that have not ended."""
    return TraceSource.objects.filter(project=project, ended_at=None)


def list_sources(project: Project) -> list[SourceRow]:
    """All sources, the live ones first."""
    rows = TraceSource.objects.filter(project=project).select_related("task__current")
    counted = rows.annotate(
        there=Count("traces"),
        queued=Count("traces", filter=Q(traces__item__isnull=False)),
        first=Min("traces__first_seen_at"),
    ).order_by(F("ended_at").asc(nulls_first=True), "name", "pk")
    return [
        SourceRow(row, read_settings(row.settings), row.there, row.queued, row.first)
        for row in counted
    ]


def find_source_of(access: Access, source_id: int) -> TraceSource:
    """The source of this id in the project, or raise Missing."""
    source = TraceSource.objects.filter(project=access.project, pk=source_id).first()
    if source is None:
        raise Missing("There is no such source in this project.")
    source.project = access.project
    return source


def find_trace_of(access: Access, trace_id: int) -> Trace:
    """The trace of this id in the project, or raise Missing."""
    rows = Trace.objects.select_related("source", "item__task__current")
    trace = rows.filter(source__project=access.project, pk=trace_id).first()
    if trace is None:
        raise Missing("There is no such trace in this project.")
    return trace


def waiting_traces(project: Project) -> QuerySet[Trace]:
    """Drawn traces that lack reviews."""
    return Trace.objects.filter(source__project=project, item__held__lt=F("item__redundancy"))


def reviews_of(traces: Iterable[int], sources: Sequence[TraceSource]) -> list[Review]:
    """Reviews of drawn traces that count, oldest first; of workers who are not left out."""
    traces = list(traces)
    failing = {source.pk: read_settings(source.settings) for source in sources}
    fields = {one.outcome for one in failing.values()}
    seen = TraceView.objects.filter(
        trace=OuterRef("answer__item__trace"), user=OuterRef("answer__worker__user")
    )
    left_out = Answer.objects.filter(
        item__trace__in=traces,
        worker__exclusions__task=F("item__task"),
        worker__exclusions__undone_at=None,
    )
    rows = (
        ChoiceValue.objects.filter(
            answer__item__trace__in=traces,
            answer__counts=True,
            answer__stage=Answer.Stage.MAIN,
            answer__worker__isnull=False,
            field__in=fields,
        )
        .exclude(answer__in=left_out.values("pk"))
        .annotate(saw_at=Subquery(seen.values("at")[:1]))
        .values_list(
            "answer__item__trace", "answer__item__trace__source", "answer", "answer__worker",
            "field", "code", "answer__answered_at", "saw_at",
        )
        .order_by("answer__answered_at", "pk")
    )  # fmt: skip
    return [
        Review(trace, answer, worker, code, at, saw_at is not None and saw_at < at)
        for trace, source, answer, worker, field, code, at, saw_at in rows
        if source in failing and failing[source].outcome == field
    ]


def _reviewer_of(access: Access) -> Membership | None:
    """The person as a worker of the project, who may be asked to review its traces."""
    return Membership.objects.filter(
        project=access.project, user=access.user, role=Role.WORKER, removed_at=None
    ).first()


def still_reviews(access: Access, traces: Sequence[Trace]) -> set[int]:
    """Ids of the drawn traces that the person may still be asked to review."""
    worker = _reviewer_of(access)
    if worker is None:
        return set()
    items = {trace.item_id: trace.pk for trace in traces if trace.item_id}
    done = set(
        Answer.objects.filter(worker=worker, item__in=list(items)).values_list("item_id", flat=True)
    )
    return {pk for item, pk in items.items() if item not in done}


def count_reviews() -> Coalesce:
    """The number of reviews of a trace that people gave and that count."""
    given = Answer.objects.filter(
        item=OuterRef("item"), counts=True, worker__isnull=False, stage=Answer.Stage.MAIN
    )
    return count_by(given, "item")


def count_by(rows: QuerySet[Any], key: str) -> Coalesce:
    """The number of ``rows`` that an outer row names, as a subquery; ``key`` is what they share."""
    counted = rows.order_by().values(key).annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0, output_field=IntegerField())


def reviewed_by(access: Access) -> Q | None:
    """Which drawn traces the person has reviewed; None of one who is not asked to review any."""
    worker = _reviewer_of(access)
    if worker is None:
        return None
    return Q(item__in=Answer.objects.filter(worker=worker).values("item"))


def last_settled(project: Project) -> dt.datetime | None:
    """When a trace of the project was settled last."""
    found = Trace.objects.filter(source__project=project).aggregate(at=Max("settled_at"))
    last: dt.datetime | None = found["at"]
    return last
