"""Rows of traces and reviews become arrays: frozen, with a content hash."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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
from django.utils.translation import gettext

from annotation.models import ChoiceValue, Task, Trace, TraceSource
from annotation.task_types.labels.fields import UNSURE
from annotation.traces.drawing import RANDOM
from annotation.traces.selectors import Review, count_reviews, reviews_of
from annotation.traces.settings import read_settings
from crowdqc.errors import Conflict
from evaluation.methods.core.base import IntArray
from evaluation.methods.core.votes import Labels
from evaluation.methods.traces.method import Traces
from evaluation.methods.traces.rates import NO_JUDGE, Draws, Population, Votes
from evaluation.models import Snapshot
from evaluation.runs.freezing.snapshots import is_unchanged, keep_snapshot

LOW_SCORE = "low_score"
MOST_WEEKS = 8  # that have a rate of their own, the last one being this week
WEEK = dt.timedelta(weeks=1)
EARLIER = -1  # the week of traces of no week that has a rate of its own


class DrawnTrace(NamedTuple):
    """A drawn trace, called by its item.

    ``complete``: all reviews were given, also where a reviewer was left out since.
    ``priority``: how early the queue hands it out; 0 of a random draw, whose place is random, too.
    """

    item: int
    source: int
    stratum: str
    inclusion: float | None
    verdict: int
    priority: int
    week: str
    complete: bool


class ReviewRow(NamedTuple):
    """The review of a drawn trace by a person who had seen neither judge nor others."""

    answer_id: int
    item_id: int
    worker_id: int
    code: str


class Counted(NamedTuple):
    """How many settled traces are alike; ``inside``: a rule could draw them."""

    source: int
    stratum: str
    verdict: int
    week: str
    inside: bool
    n: int


@dataclass(frozen=True)
class FrozenTraces:
    """The traces of a review queue at one moment, as a run reads them.

    ``fields`` of each source: the field of a review and its codes that mean failure. A week is its
    Monday, "" for an earlier one. ``left_out``: reviews by people who had seen the judge or others.
    """

    fields: Mapping[int, tuple[str, tuple[str, ...]]]
    counted: tuple[Counted, ...]
    drawn: tuple[DrawnTrace, ...]
    reviews: tuple[ReviewRow, ...]
    left_out: int = 0

    @property
    def size(self) -> int:
        """Number of settled traces."""
        return sum(row.n for row in self.counted)

    @property
    def weeks(self) -> list[str]:
        """Mondays of the weeks that have a rate of their own."""
        seen = {row.week for row in self.counted} | {row.week for row in self.drawn}
        return sorted(seen - {""})

    @property
    def fails(self) -> dict[int, list[tuple[int, bool]]]:
        """Of each item the workers who were not unsure, and whether they call it a failure."""
        failing = {row.item: self.fields[row.source][1] for row in self.drawn}
        found: dict[int, list[tuple[int, bool]]] = defaultdict(list)
        for row in self.reviews:
            if row.code != UNSURE:
                found[row.item_id].append((row.worker_id, row.code in failing[row.item_id]))
        return found

    @property
    def hash(self) -> str:
        """SHA-256 over all of it."""
        told = json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(b"traces\n" + told.encode()).hexdigest()


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


def _week(monday: dt.datetime | None) -> str:
    return "" if monday is None else monday.date().isoformat()


def live_queue_sources(task: Task) -> list[TraceSource]:
    """The sources that have not ended and whose drawn traces the task hands out."""
    return [one for one in task.trace_sources.all() if one.ended_at is None]


def read_traces(task: Task) -> FrozenTraces:
    """Read what is known of the traces of a queue's live sources."""
    sources = live_queue_sources(task)
    settings = {one.pk: read_settings(one.settings) for one in sources}
    # Drawn ones first: what is settled meanwhile is counted, and none is drawn without a count.
    drawn, reviews = _read_drawn(sources), defaultdict[int, list[Review]](list)
    for review in reviews_of(list(drawn), sources):
        reviews[review.trace].append(review)
    blind = [
        ReviewRow(one.answer, row.item, one.worker, one.code)
        for pk, row in drawn.items()
        for one in sorted(reviews[pk], key=lambda one: one.answer)
        if not one.saw
    ]
    return FrozenTraces(
        {pk: (one.outcome, one.failing) for pk, one in settings.items()},
        tuple(_count(sources)),
        tuple(drawn.values()),
        tuple(blind),
        sum(one.saw for given in reviews.values() for one in given),
    )


def _read_drawn(sources: Sequence[TraceSource]) -> dict[int, DrawnTrace]:
    """Drawn traces by id."""
    names = ("placed", "given", "item__redundancy", "monday")
    found = (
        with_week(Trace.objects.filter(source__in=sources, item__isnull=False))
        .annotate(
            verdict=verdict_rule(sources),
            given=count_reviews(),
            placed=Case(
                When(drawn_by=RANDOM, then=Value(0)),
                default="item__priority",
                output_field=IntegerField(),
            ),
        )
        .values_list("pk", "item", "source", "stratum", "inclusion", "verdict", *names)
        .order_by("item")
    )
    return {
        pk: DrawnTrace(item, source, stratum, inclusion, verdict, priority, week, given >= wanted)
        for pk, item, source, stratum, inclusion, verdict, priority, given, wanted, week in (
            (*row, _week(monday)) for *row, monday in found
        )
    }


def _count(sources: Sequence[TraceSource]) -> list[Counted]:
    rows = (
        with_week(Trace.objects.filter(source__in=sources, inclusion__isnull=False))
        .annotate(
            verdict=verdict_rule(sources),
            inside=ExpressionWrapper(Q(inclusion__gt=0), output_field=BooleanField()),
        )
        .order_by()
        .values_list("source", "stratum", "verdict", "inside", "monday")
        .annotate(n=Count("pk"))
    )
    return sorted(
        Counted(source, stratum, verdict, _week(monday), inside, n)
        for source, stratum, verdict, inside, monday, n in rows
    )


def freeze_traces(task: Task, frozen: FrozenTraces) -> Snapshot:
    """Keep a snapshot of the answers that these reviews are; Conflict where there is none."""
    if not frozen.reviews:
        raise Conflict(gettext("No trace is reviewed yet, so there is nothing to estimate."))
    ids = sorted({row.answer_id for row in frozen.reviews})
    counts = {
        "answers": len(ids),
        "workers": len({row.worker_id for row in frozen.reviews}),
        "questions": len({row.item_id for row in frozen.reviews}),
        "traces": frozen.size,
        "system_answers": 0,
        "systems": 0,
        "counting": len(ids),
        "max_id": max(ids),
        "left_out": {"saw": frozen.left_out} if frozen.left_out else {},
    }
    return keep_snapshot(task, frozen.hash, ids, counts)


def reload_reviews(snapshot: Snapshot, frozen: FrozenTraces) -> FrozenTraces:
    """Return it with the reviews that the snapshot froze; Conflict if they changed."""
    source = {row.item: row.source for row in frozen.drawn}
    rows = ChoiceValue.objects.filter(
        answer__in=snapshot.answer_ids, field__in={field for field, _ in frozen.fields.values()}
    ).values_list("answer", "answer__item", "answer__worker", "field", "code")
    found = {
        ReviewRow(answer, item, worker, code)
        for answer, item, worker, field, code in rows
        if item in source and frozen.fields[source[item]][0] == field
    }
    reviews = sorted(found, key=lambda one: (one.item_id, one.answer_id))
    again = FrozenTraces(
        frozen.fields, frozen.counted, frozen.drawn, tuple(reviews), frozen.left_out
    )
    if not is_unchanged(snapshot, again.hash):
        raise Conflict(
            gettext("The reviews of this snapshot changed since it was taken; start a new run.")
        )
    return again


def to_arrays(frozen: FrozenTraces) -> Traces:
    """Frozen traces as arrays."""
    counted, weeks, fails = frozen.counted, frozen.weeks, frozen.fails
    every = {(row.source, row.stratum) for row in frozen.drawn}
    names = sorted(every | {(row.source, row.stratum) for row in counted})
    place = {name: number for number, name in enumerate(names)}
    week = {"": EARLIER} | {monday: number for number, monday in enumerate(weeks)}
    count = np.zeros((len(weeks) + 1, len(names), 3), dtype=np.int64)
    outside = np.zeros(len(weeks) + 1, dtype=np.int64)
    for row in counted:
        if row.inside:
            count[week[row.week], place[row.source, row.stratum], row.verdict + 1] += row.n
        else:
            outside[week[row.week]] += row.n
    blind = _blind(names, place)
    rows: list[tuple[float, float, int, int, int, int]] = []
    votes: list[tuple[int, int, bool]] = []
    for one in frozen.drawn:
        if not one.inclusion:
            continue
        value, decided = float("nan"), fails.get(one.item, [])
        if one.complete and decided:
            value = majority([fails for _, fails in decided])
            votes += [(len(rows), worker, fails) for worker, fails in decided]
        rows.append(
            (
                value,
                one.inclusion,
                place[one.source, one.stratum],
                one.verdict,
                one.priority,
                week[one.week],
            )
        )
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
    return Traces(
        draws,
        Population(count.sum(axis=0), blind, int(outside.sum())),
        weeks_of,
        tuple(Population(count[at], blind, int(outside[at])) for at in range(len(weeks))),
        _votes(fails),
    )


def _votes(fails: Mapping[int, Sequence[tuple[int, bool]]]) -> Labels | None:
    """Votes of people, for agreement; None without any."""
    rows = [(worker, item, int(one)) for item, given in fails.items() for worker, one in given]
    if not rows:
        return None
    workers, items = (sorted({row[at] for row in rows}) for at in (0, 1))
    place = {one: n for n, one in enumerate(workers)}
    spot = {one: n for n, one in enumerate(items)}
    return Labels.build(
        [place[worker] for worker, _, _ in rows],
        [spot[item] for _, item, _ in rows],
        [label for _, _, label in rows],
        workers=tuple(map(str, workers)),
        items=tuple(map(str, items)),
        labels=("pass", "fail"),
    )


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


def majority(fails: Sequence[bool]) -> float:
    """1 where most say that it fails, 0 where most say that it passes, a half of a tie."""
    share = sum(fails) / len(fails)
    return 0.5 if share == 0.5 else float(share > 0.5)
