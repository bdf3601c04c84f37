"""Rows of traces and reviews become arrays."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.db.models import (
    BooleanField,
    Case,
    Count,
    ExpressionWrapper,
    IntegerField,
    Q,
    Value,
    When,
)

from annotation.models import Project, Trace, TraceSource
from annotation.traces.selectors import Review, live_sources, reviews_of
from annotation.traces.settings import read_settings
from evaluation.methods.core.votes import Labels
from evaluation.methods.traces.rates import NO_JUDGE, Draws, Population, Votes

LOW_SCORE = "low_score"


@dataclass(frozen=True)
class TraceStudy:
    """Traces of a project's sources, and what people and judges say of them.

    ``size``: settled traces. ``left_out``: reviews by people who had seen a judge or others first.
    """

    sources: Sequence[TraceSource]
    population: Population
    draws: Draws
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


def read_study(project: Project, sources: Sequence[TraceSource] | None = None) -> TraceStudy:
    """Read what is known of the traces of a project's live sources, or of these."""
    if sources is None:
        sources = list(live_sources(project))
    rows = Trace.objects.filter(source__in=sources, inclusion__isnull=False)
    counted = list(
        rows.annotate(
            verdict=verdict_rule(sources),
            is_zero=ExpressionWrapper(Q(inclusion__lte=0), output_field=BooleanField()),
        )
        .order_by()
        .values_list("source", "stratum", "verdict", "is_zero")
        .annotate(n=Count("pk"))
    )
    names = sorted({(source, stratum) for source, stratum, *_ in counted})
    place = {name: number for number, name in enumerate(names)}
    count = np.zeros((len(names), 3), dtype=np.int64)
    outside = 0
    for source, stratum, verdict, is_zero, n in counted:
        if is_zero:
            outside += n
        else:
            count[place[source, stratum], verdict + 1] += n
    return _with_reviews(sources, place, Population(count, _blind(names, place), outside))


def _blind(
    names: Sequence[tuple[int, str]], place: Mapping[tuple[int, str], int]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
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


def _with_reviews(
    sources: Sequence[TraceSource],
    place: Mapping[tuple[int, str], int],
    population: Population,
) -> TraceStudy:
    found = list(
        Trace.objects.filter(source__in=sources, item__isnull=False)
        .annotate(verdict=verdict_rule(sources))
        .values_list(
            "pk",
            "source",
            "stratum",
            "inclusion",
            "verdict",
            "item__priority",
            "item__held",
            "item__redundancy",
        )
        .order_by("pk")
    )
    by_trace: dict[int, list[Review]] = defaultdict(list)
    for review in reviews_of([row[0] for row in found], sources):
        by_trace[review.trace].append(review)
    rows: list[tuple[float, float, int, int, int]] = []
    votes: list[tuple[int, int, bool]] = []
    tally = Counter[str]()
    for pk, source, stratum, inclusion, verdict, priority, held, wanted in found:
        given = by_trace.get(pk, [])
        tally["left_out"] += sum(one.saw for one in given)
        decided = [
            (one.worker, one.fails) for one in given if not one.saw and one.fails is not None
        ]
        is_complete = held >= wanted and len(given) >= wanted
        tally["complete"] += is_complete
        tally["unsure"] += is_complete and not decided
        if not inclusion:
            continue
        value = float("nan")
        if is_complete and decided:
            value = majority([fails for _, fails in decided])
            votes += [(len(rows), worker, fails) for worker, fails in decided]
        rows.append((value, inclusion, place[source, stratum], verdict, priority))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 5)
    cast = np.array(votes, dtype=np.int64).reshape(-1, 3)
    strata, verdicts, priorities = columns[:, 2:].astype(np.int64).T
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
        population=population,
        draws=draws,
        size=population.size,
        drawn=len(found),
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
