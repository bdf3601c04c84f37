"""Rows of traces and reviews become arrays."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from django.db.models import (
    BooleanField,
    Case,
    Count,
    DateTimeField,
    ExpressionWrapper,
    IntegerField,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.functions import Coalesce, TruncWeek
from django.utils import timezone

from annotation.models import Project, Trace, TraceSource
from annotation.traces.selectors import Review, live_sources, reviews_of
from annotation.traces.settings import read_settings
from evaluation.methods.core.base import IntArray
from evaluation.methods.core.votes import Labels
from evaluation.methods.traces.rates import NO_JUDGE, Draws, Population, Votes

LOW_SCORE = "low_score"
MOST_WEEKS = 8  # that have a rate of their own, the last one being this week
WEEK = dt.timedelta(weeks=1)


@dataclass(frozen=True)
class TraceStudy:
    """Traces of a project's sources, and what people and judges say of them.

    ``size``: settled traces. ``left_out``: reviews by people who had seen a judge or others first.
    ``weeks``: Mondays, each with the traces that began in its week; ``week`` (n,) of a draw, -1 for
    an earlier one.
    """

    sources: Sequence[TraceSource]
    population: Population
    draws: Draws
    weeks: Mapping[dt.date, Population]
    week: IntArray
    size: int
    drawn: int
    complete: int
    left_out: int
    unsure: int
    first: dt.datetime | None
    reviews: Mapping[int, tuple[Review, ...]] = field(default_factory=dict)

    def votes(self) -> Labels | None:
        """Votes of people on traces with two or more, for agreement; None without any."""
        rows = [
            (one.worker, pk, int(one.fails))
            for pk, reviews in self.reviews.items()
            for one in reviews
            if one.fails is not None and not one.saw
        ]
        if not rows:
            return None
        workers, traces = (sorted({row[at] for row in rows}) for at in (0, 1))
        place = {one: n for n, one in enumerate(workers)}
        spot = {one: n for n, one in enumerate(traces)}
        return Labels.build(
            [place[worker] for worker, _, _ in rows],
            [spot[trace] for _, trace, _ in rows],
            [label for _, _, label in rows],
            workers=tuple(map(str, workers)),
            items=tuple(map(str, traces)),
            labels=("pass", "fail"),
        )


def verdict_rule(sources: Sequence[TraceSource]) -> Case:
    """What the judge says of a trace in SQL: 1 fail, 0 pass, -1 nothing."""
    return Case(
        When(score=None, then=Value(NO_JUDGE)),
        *(
            When(source=one.pk, score__lt=read_settings(one.settings).fails_below, then=Value(1))
            for one in sources
        ),
        default=Value(0),
        output_field=IntegerField(),
    )


def with_week(rows: QuerySet[Trace]) -> QuerySet[Any]:
    """Traces with the ``monday`` of the week in which they began (UTC); None of an earlier week.

    Clocks of senders differ: of a week that lies ahead it is None, too.
    """
    today = timezone.now().date()
    this = dt.datetime.combine(today - dt.timedelta(days=today.weekday()), dt.time(), dt.UTC)
    recent = Q(began__gte=this - (MOST_WEEKS - 1) * WEEK, began__lt=this + WEEK)
    monday = Case(
        When(recent, then=TruncWeek("began", tzinfo=dt.UTC)),
        default=None,
        output_field=DateTimeField(),
    )
    return rows.annotate(began=Coalesce("started_at", "first_seen_at")).annotate(monday=monday)


class _Drawn(NamedTuple):
    """A drawn trace as its row says."""

    pk: int
    source: int
    stratum: str
    inclusion: float | None
    verdict: int
    priority: int
    held: int
    wanted: int
    monday: dt.datetime | None


@dataclass(frozen=True)
class _Places:
    """Strata and weeks by name, and how many traces they have."""

    stratum: Mapping[tuple[int, str], int]
    week: Mapping[dt.datetime, int]
    population: Population
    weeks: Mapping[dt.date, Population]


def read_study(project: Project, sources: Sequence[TraceSource] | None = None) -> TraceStudy:
    """Read what is known of the traces of a project's live sources, or of these."""
    if sources is None:
        sources = list(live_sources(project))
    drawn = _read_drawn(sources)
    settled = Trace.objects.filter(source__in=sources, inclusion__isnull=False)
    counted = list(
        with_week(settled)
        .annotate(
            verdict=verdict_rule(sources),
            is_zero=ExpressionWrapper(Q(inclusion__lte=0), output_field=BooleanField()),
        )
        .order_by()
        .values_list("source", "stratum", "verdict", "is_zero", "monday")
        .annotate(n=Count("pk"))
    )
    names = sorted({row[:2] for row in counted} | {(row.source, row.stratum) for row in drawn})
    place = {name: number for number, name in enumerate(names)}
    seen = {row[4] for row in counted} | {row.monday for row in drawn}
    mondays = sorted(one for one in seen if one is not None)
    week = {monday: number for number, monday in enumerate(mondays)}
    count = np.zeros((len(mondays) + 1, len(names), 3), dtype=np.int64)
    outside = np.zeros(len(mondays) + 1, dtype=np.int64)
    for source, stratum, verdict, is_zero, monday, n in counted:
        if is_zero:
            outside[week.get(monday, -1)] += n
        else:
            count[week.get(monday, -1), place[source, stratum], verdict + 1] += n
    blind = _blind(names, place)
    whole = Population(count.sum(axis=0), blind, int(outside.sum()))
    weeks = {
        monday.date(): Population(count[at], blind, int(outside[at])) for monday, at in week.items()
    }
    return _with_reviews(sources, drawn, _Places(place, week, whole, weeks))


def _blind(names: Sequence[tuple[int, str]], place: Mapping[tuple[int, str], int]) -> IntArray:
    """The first stratum that is the same but for the rule that looks at the judge."""
    first: dict[tuple[int, str], int] = {}
    for source, stratum in names:
        kept = "+".join(one for one in stratum.split("+") if one != LOW_SCORE)
        first.setdefault((source, kept), place[source, stratum])
    return np.array(
        [
            first[source, "+".join(one for one in stratum.split("+") if one != LOW_SCORE)]
            for source, stratum in names
        ],
        dtype=np.int64,
    )


def _read_drawn(sources: Sequence[TraceSource]) -> list[_Drawn]:
    rows = Trace.objects.filter(source__in=sources, item__isnull=False)
    names = ("item__priority", "item__held", "item__redundancy", "monday")
    found = (
        with_week(rows)
        .annotate(verdict=verdict_rule(sources))
        .values_list("pk", "source", "stratum", "inclusion", "verdict", *names)
        .order_by("pk")
    )
    return [_Drawn(*row) for row in found]


def _with_reviews(
    sources: Sequence[TraceSource],
    drawn: Sequence[_Drawn],
    known: _Places,
) -> TraceStudy:
    by_trace: dict[int, list[Review]] = defaultdict(list)
    for review in reviews_of([row.pk for row in drawn], sources):
        by_trace[review.trace].append(review)
    rows: list[tuple[float, float, int, int, int, int]] = []
    votes: list[tuple[int, int, bool]] = []
    tally = Counter[str]()
    for one in drawn:
        given = by_trace.get(one.pk, [])
        tally["left_out"] += sum(review.saw for review in given)
        decided = [
            (review.worker, review.fails)
            for review in given
            if not review.saw and review.fails is not None
        ]
        is_complete = one.held >= one.wanted and len(given) >= one.wanted
        tally["complete"] += is_complete
        tally["unsure"] += is_complete and not decided
        if not one.inclusion:
            continue
        value = float("nan")
        if is_complete and decided:
            value = majority([fails for _, fails in decided])
            votes += [(len(rows), worker, fails) for worker, fails in decided]
        at = -1 if one.monday is None else known.week[one.monday]
        stratum = known.stratum[one.source, one.stratum]
        rows.append((value, one.inclusion, stratum, one.verdict, one.priority, at))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 6)
    cast = np.array(votes, dtype=np.int64).reshape(-1, 3)
    strata, verdicts, priorities, weeks_of = columns[:, 2:].astype(np.int64).T
    draws = Draws(
        columns[:, 0],
        columns[:, 1],
        strata,
        verdicts,
        priorities,
        votes=Votes(cast[:, 0], cast[:, 1], cast[:, 2].astype(np.float64)),
    )
    first = Trace.objects.filter(source__in=sources).order_by("first_seen_at")
    return TraceStudy(
        sources=sources,
        population=known.population,
        draws=draws,
        weeks=known.weeks,
        week=weeks_of,
        size=known.population.size,
        drawn=len(drawn),
        complete=tally["complete"],
        left_out=tally["left_out"],
        unsure=tally["unsure"],
        first=first.values_list("first_seen_at", flat=True).first(),
        reviews={pk: tuple(reviews) for pk, reviews in by_trace.items()},
    )


def majority(fails: Sequence[bool]) -> float:
    """1 where most say that it fails, 0 where most say that it passes, a half of a tie."""
    share = sum(fails) / len(fails)
    return 0.5 if share == 0.5 else float(share > 0.5)
