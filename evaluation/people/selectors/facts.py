"""What else is known of one worker: attention, times, pasting, money, panels, exclusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median
from typing import Any

from django.db.models import Count, Max, Q, Sum
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.authoring.selectors.progress import ENOUGH_TIMES
from annotation.models import (
    Answer,
    Assignment,
    Exclusion,
    LedgerEntry,
    Membership,
    PanelMember,
    Payment,
    Qualification,
    Task,
)
from annotation.models.assignments import AssignmentState
from annotation.models.payouts import OWED, PAID_OUT
from annotation.task_types import get_type
from annotation.work.selectors.known import exclude_quizzes, mark_answers
from annotation.work.selectors.log import LogSummary
from crowdqc.database.quantiles import Quantile, seconds_between
from evaluation.charts import boards as charts
from evaluation.charts.svg import Scale
from evaluation.models import Run, RunFigure
from evaluation.payouts.selectors.evidence import binned
from evaluation.people.selectors.scores import Figure, share_of
from evaluation.runs.adapters import KnownWords, adapter_of
from evaluation.runs.results.figures import PASTED_SHARE

ZERO = Decimal("0.00")
TIMES = Scale(0.0, 3.0, 200.0, (0.0, 1.0, 2.0, 3.0))
Assignments = Sequence[Assignment]


@dataclass(frozen=True)
class Attention:
    """Known answers of one task: those met on every line that has one, as ``words`` calls them."""

    task: Task
    passed: Figure
    right: int
    seen: int
    words: KnownWords

    @property
    def failed(self) -> int:
        return self.seen - self.right


@dataclass(frozen=True)
class Times:
    """How long one person took in one task, beside everybody's assignments there."""

    task: Task
    middle: float
    fastest: float
    slowest: float
    n: int
    usual: tuple[float, float, float] | None  # quartiles of all; None with too few
    everyone: int
    plot: SafeString | str


@dataclass(frozen=True)
class Pasting:
    """One person's share of pasted text in one task, among everybody's there."""

    task: Task
    share: float
    n: int  # assignments with a log
    everyone: int  # workers with a log in the task's run; 0 where no run tells
    much: int  # of these, who paste more than half
    middle: float | None
    chart: SafeString | str


@dataclass(frozen=True)
class Money:
    """What the books say, and what waits."""

    approved: Decimal  # base and bonus that were approved, in all
    owed: Decimal  # of it, what has not left yet
    left: Decimal
    waiting: Decimal  # base pay of submitted work that nobody has decided
    waiting_n: int
    month: str  # the last with an entry, as 2026-11; "" without one
    payments: list[dict[str, Any]]  # by what and state: n, amount


@dataclass(frozen=True)
class Standing:
    """Where somebody belongs: panels, rounds of qualification, tasks they are left out of."""

    panels: list[PanelMember]
    rounds: list[Qualification]
    exclusions: list[Exclusion]

    @property
    def any(self) -> bool:
        """Whether the person is on a panel, in a qualification round or excluded anywhere."""
        return bool(self.panels or self.rounds or self.exclusions)


def attention_of(worker: Membership, tasks: Mapping[int, Task]) -> list[Attention]:
    """Known answers met and missed by task, in work (three queries); these answers never count."""
    marked = mark_answers(exclude_quizzes(Answer.objects.filter(worker=worker)))
    met: dict[int, list[bool]] = {}
    for one in marked:
        met.setdefault(one.task, []).append(one.right)
    words = {pk: adapter_of(tasks[pk]).known_words for pk in met if pk in tasks}
    found = [
        Attention(
            tasks[pk],
            share_of(sum(own), len(own), noun=words[pk].noun),
            sum(own),
            len(own),
            words[pk],
        )
        for pk, own in met.items()
        if pk in words
    ]
    return sorted(found, key=lambda one: (one.words.title, one.task.pk))


def times_of(own: Assignments, tasks: Mapping[int, Task]) -> list[Times]:
    """The worker's times by task beside the quartiles of all assignments there (one query)."""
    spent = _spent(own)
    rows = (
        Assignment.objects.filter(
            task__in=spent,
            state=AssignmentState.SUBMITTED,
            opened_at__isnull=False,
            quiz__isnull=True,
        )
        .exclude(source="import")
        .annotate(took=seconds_between("opened_at", "submitted_at"))
        .order_by()
        .values_list("task_id")
        .annotate(
            q1=Quantile("took", share=0.25),
            q2=Quantile("took", share=0.5),
            q3=Quantile("took", share=0.75),
            n=Count("pk"),
        )
    )
    usual = {task: (quartiles, n) for task, *quartiles, n in rows}
    made = []
    for pk, values in spent.items():
        quartiles, n = usual.get(pk, ([], 0))
        known = (quartiles[0], quartiles[1], quartiles[2]) if n >= ENOUGH_TIMES else None
        made.append(
            Times(
                tasks[pk],
                median(values),
                min(values),
                max(values),
                len(values),
                known,
                n,
                _time_plot(values, known),
            )
        )
    return made


def own_times_of(own: Assignments, tasks: Mapping[int, Task]) -> list[Times]:
    """The worker's times by task, and nobody else's."""
    return [
        Times(tasks[pk], median(row), min(row), max(row), len(row), None, 0, "")
        for pk, row in _spent(own).items()
    ]


def _spent(own: Assignments) -> dict[int, list[float]]:
    """Seconds from opening to submitting by task; imported work has no such times."""
    spent: dict[int, list[float]] = {}
    for one in own:
        if one.opened_at and one.submitted_at and one.source != "import" and not one.quiz:
            seconds = (one.submitted_at - one.opened_at).total_seconds()
            spent.setdefault(one.task_id, []).append(seconds)
    return spent


def _time_plot(values: Sequence[float], usual: tuple[float, float, float] | None) -> SafeString:
    """The worker's middle and range in medians of the task; the band is the task's middle half."""
    if usual is None or usual[1] <= 0:
        return charts.forest_cell(TIMES, None, name=_("Time"))
    low, middle, high = usual
    own = [min(TIMES.high, value / middle) for value in values]
    spread = (min(own), max(own)) if len(own) > 1 else (None, None)
    return charts.forest_cell(
        TIMES,
        charts.Estimate(median(own), *spread),
        reference=1.0,
        band=(low / middle, min(TIMES.high, high / middle)),
        name=_("Time in medians of the task"),
    )


def pasting_of(
    own: Assignments,
    logs: Mapping[int, LogSummary],
    tasks: Mapping[int, Task],
    runs: Mapping[int, Run],
) -> list[Pasting]:
    """The worker's pasted share by task, among what the task's run noted of everybody (a query)."""
    held: dict[int, list[LogSummary]] = {}
    for one in own:
        log = logs.get(one.pk)
        if log is not None and log.events and not log.snapshots and _writes(tasks[one.task_id]):
            held.setdefault(one.task_id, []).append(log)
    wanted = [runs[pk].pk for pk in held if pk in runs]
    told = {
        run: [row["pasted"] for row in data.values() if row.get("pasted") is not None]
        for run, data in RunFigure.objects.filter(run__in=wanted, name="log").values_list(
            "run_id", "data"
        )
    }
    made = []
    for pk, found in held.items():
        put_in = sum(log.pasted_chars + log.typed_chars for log in found)
        share = sum(log.pasted_chars for log in found) / put_in if put_in else 0.0
        others = told.get(runs[pk].pk, []) if pk in runs else []
        chart: SafeString | str = ""
        if len(others) >= ENOUGH_TIMES:
            chart = charts.histogram(
                binned(others, 0.0, 1.0),
                0.0,
                1.0,
                this=share,
                labels=("0%", "100%"),
                this_label="",
                what=_("Shares of text pasted"),
            )
        made.append(
            Pasting(
                tasks[pk],
                share,
                len(found),
                len(others),
                sum(one > PASTED_SHARE for one in others),
                median(others) if others else None,
                chart,
            )
        )
    return made


def _writes(task: Task) -> bool:
    return get_type(task.type).is_typed


def money_of(worker: Membership) -> Money:
    """The worker's account in the books, work that waits, and payments by state (3 queries)."""
    account = f"worker:{worker.pk}"
    books = LedgerEntry.objects.filter(
        Q(debit=account) | Q(credit=account), project=worker.project_id
    ).aggregate(
        approved=Sum("amount", filter=OWED),
        came=Sum("amount", filter=Q(credit=account)),
        went=Sum("amount", filter=Q(debit=account)),
        paid=PAID_OUT,
        last=Max("at"),
    )
    came, went = books["came"] or ZERO, books["went"] or ZERO
    open_work = (
        worker.assignments.filter(state=AssignmentState.SUBMITTED, settled_at__isnull=True)
        .exclude(source="import")
        .aggregate(s=Sum("pay"), n=Count("pk"))
    )
    rows = (
        worker.payments.order_by("what", "state")
        .values("what", "state")
        .annotate(n=Count("pk"), amount=Sum("amount"))
    )
    what, state = Payment.WORDS, dict(Payment.State.choices)
    return Money(
        approved=books["approved"] or ZERO,
        owed=came - went,
        left=books["paid"],
        waiting=open_work["s"] or ZERO,
        waiting_n=open_work["n"],
        month=f"{timezone.localtime(books['last']):%Y-%m}" if books["last"] else "",
        payments=[
            {**row, "what_word": what[row["what"]], "state_word": state[row["state"]]}
            for row in rows
        ],
    )


def standing_of(worker: Membership) -> Standing:
    """Panels, qualification rounds and exclusions, with those that ended (3 queries)."""
    return Standing(
        panels=list(worker.panels.select_related("panel").order_by("until", "-since")),
        rounds=list(
            Qualification.objects.filter(assignment__worker=worker)
            .select_related("assignment__task__current", "assignment__task__qualifies")
            .order_by("-at")
        ),
        exclusions=list(worker.exclusions.select_related("task__current", "by").order_by("-pk")),
    )
