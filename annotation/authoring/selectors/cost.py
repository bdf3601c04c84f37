"""What a task takes to fill: assignments, money, and minutes, estimated or measured."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Max, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Greatest

from annotation.models import (
    Assignment,
    Item,
    LedgerEntry,
    PayoutLine,
    Recruitment,
    Rejection,
    Task,
    TaskVersion,
)
from annotation.models.assignments import AssignmentState
from annotation.task_types import get_type
from annotation.task_types.base import QUIZ_TRIES
from annotation.task_types.rating.type import by_document
from crowdqc.money import ZERO, as_decimal, round_money
from crowdqc.numbers import duration

MEASURED_FROM = 5  # submitted assignments, from which on their median replaces the estimate


# Assignments whose pay is owed, or will be: by people, and not rejected.
IS_EARNED = ~Q(source="import") & (
    Q(rejection=None) | Q(rejection__outcome=Rejection.Outcome.OVERTURNED)
)
# Assignments whose slots are held and whose pay is owed, or will be; quizzes hold none.
IS_TAKEN = IS_EARNED & Q(
    state__in=(AssignmentState.SUBMITTED, AssignmentState.LEASED), quiz__isnull=True
)


def count_assignments(answers: int, version: TaskVersion, items: int, documents: int = 0) -> int:
    """Count the assignments that so many answers to ``items`` make; no one holds an item twice.

    ``documents``: the assignments that one answer to each item makes (``count_documents``).
    """
    if documents and items:
        return -(-answers * documents // items)
    return -(-answers // max(1, min(version.items_per_assignment, items or 1)))


def most_assignments(answers: int, *, items: int, size: int, workers: int, taken: int = 0) -> int:
    """Bound the assignments that ``answers`` to ``items`` take, of ``size`` items at most each.

    One is short only if it holds all that is open to its worker, who then has met every open item.
    With ``workers`` per item that happens at most ``workers`` times, however workers overlap.
    ``taken``: assignments of all answers that are taken already.
    """
    size = max(1, min(size, items or 1))
    least = -(-answers // size)
    if size in (1, items):
        return least
    short = min(workers, answers)
    still = short + (answers - short) // size
    return max(least, min(still, workers + workers * (items - 1) // size - taken))


def open_assignments_of(
    answers: int, version: TaskVersion, items: int, documents: int = 0, *, taken: int = 0
) -> int:
    """Bound the assignments that are still to be taken; of documents, count them.

    ``taken``: those of this version that are taken already.
    """
    if documents:
        return count_assignments(answers, version, items, documents)
    return most_assignments(
        answers,
        items=items,
        size=version.items_per_assignment,
        workers=version.redundancy,
        taken=taken,
    )


def count_documents(version: TaskVersion, sizes: Iterable[int]) -> int:
    """Count the assignments of one answer to each item where they end with their document.

    ``sizes``: items of each document. 0 where assignments do not end there.
    """
    if not by_document(version.settings):
        return 0
    return sum(math.ceil(n / version.items_per_assignment) for n in sizes)


def shown_items(items: QuerySet[Item]) -> QuerySet[Item]:
    """Return the items that the published version shows (before the first: the draft)."""
    seen = Q(until__isnull=True) | Q(until__gt=F("shown"))
    # As an annotation the join stays an outer one; a task never published has no version.
    numbered = items.annotate(shown=Coalesce(F("task__current__number"), 1))
    return numbered.filter(seen, since__lte=F("shown"))


def documents_of(tasks: Sequence[Task], versions: Mapping[int, TaskVersion]) -> dict[int, int]:
    """Return ``count_documents`` of tasks whose assignments end with their document.

    ``versions``: by id of their task. One query, and none without such a task.
    """
    ending = [one for one in tasks if one.pk in versions and by_document(versions[one.pk].settings)]
    if not ending:
        return {}
    items = shown_items(Item.objects.filter(task__in=ending, expected__isnull=True))
    sizes: dict[int, list[int]] = {}
    for task, n in (
        items.order_by().values("task_id", "group").annotate(n=Count("pk")).values_list("task", "n")
    ):
        sizes.setdefault(task, []).append(n)
    return {task: count_documents(versions[task], own) for task, own in sizes.items()}


def an_hour(pay: Decimal, minutes: float | None) -> Decimal | None:
    """Return the pay per hour that ``pay`` for ``minutes`` comes to; None without minutes."""
    if not minutes:
        return None
    return round_money(pay * 60 / as_decimal(minutes))


def expected_an_hour(pay: Decimal, minutes: float | None) -> Decimal | None:
    """Return the pay per hour for ``minutes`` as ``time_in_words`` shows them; None without any."""
    return an_hour(pay, shown_seconds(minutes) / 60) if minutes else None


def fee_percents(tasks: Iterable[Task]) -> dict[int, Decimal]:
    """Return by task the highest fee of the platforms that it recruits on; one query."""
    ways_in = Recruitment.objects.filter(task__in=tasks, active=True).order_by()
    return dict(ways_in.values_list("task").annotate(fee=Max("fee_percent")))


def add_fee(pay: Decimal, percent: Decimal) -> Decimal:
    """Return what ``pay`` costs with the platform's fee."""
    return round_money(pay * (100 + percent) / 100)


@dataclass(frozen=True)
class TaskMoney:
    """What the work that was submitted or begun in a task costs."""

    booked: Decimal = ZERO  # approved pay and bonuses, corrections, fees, other payments
    waiting: Decimal = ZERO  # pay and proposed bonus of work that is not settled
    in_progress: Decimal = ZERO  # pay of assignments that are leased
    fee_percent: Decimal = ZERO  # of the platform

    @property
    def spent(self) -> Decimal:
        """Return the cost so far: what is booked, and the pay of work that waits for a decision."""
        return self.booked + self.waiting

    def ahead(self, open_pay: Decimal) -> Decimal:
        """Return what is to come at most, with ``open_pay`` for assignments not yet taken.

        The platform's fee is also on what waits, which is no part of the cost so far.
        """
        pay = self.waiting + self.in_progress + open_pay
        return add_fee(pay, self.fee_percent) - self.waiting


# Pay of the assignments of a task that nobody has decided about, and of those in progress.
OPEN_PAY = {
    "waiting_pay": Sum(
        "pay",
        filter=Q(state=AssignmentState.SUBMITTED, settled_at__isnull=True),
        default=ZERO,
    ),
    "leased_pay": Sum("pay", filter=Q(state=AssignmentState.LEASED), default=ZERO),
}


def money_of(
    tasks: Collection[Task], work: Mapping[int, Mapping[str, Any]] | None = None
) -> dict[int, TaskMoney]:
    """Return the money of tasks by id; ``work`` are their ``OPEN_PAY`` if already read."""
    if work is None:
        rows = Assignment.objects.filter(task__in=tasks).order_by().values("task_id")
        work = {row["task_id"]: row for row in rows.annotate(**OPEN_PAY)}
    proposed = PayoutLine.objects.filter(
        batch__task__in=tasks, batch__state="proposed", live=True, decision="approve"
    )
    bonus = dict(proposed.order_by().values_list("batch__task").annotate(s=Sum("bonus")))
    booked = LedgerEntry.objects.cost_by_task(tasks) if tasks else {}
    fees = fee_percents(tasks) if tasks else {}
    found = {}
    for task in tasks:
        pay = work.get(task.pk, {})
        found[task.pk] = TaskMoney(
            booked=booked.get(task.pk, ZERO),
            waiting=pay.get("waiting_pay", ZERO) + bonus.get(task.pk, ZERO),
            in_progress=pay.get("leased_pay", ZERO),
            fee_percent=fees.get(task.pk, ZERO),
        )
    return found


def shown_seconds(minutes: float) -> int:
    """Round a time as pages show it, so that the pay per hour beside it agrees."""
    seconds = max(1, round(60 * minutes))
    step = 1 if seconds < 60 else 5 if seconds < 600 else 60
    return step * round(seconds / step)


def time_in_words(minutes: float) -> str:
    """Return "15 s", "4 min 35 s" or "12 min": as exact as the pay per hour made of it."""
    return duration(shown_seconds(minutes))


@dataclass(frozen=True)
class Cost:
    """What filling every slot takes, in assignments, money and minutes."""

    questions: int
    answers: int  # slots in all
    assignments: int
    open_answers: int  # of the slots, those that nobody holds
    open_assignments: int  # at most, as the last ones may be short
    per_assignment: int
    pay: Decimal
    minutes: float
    measured: int  # assignments behind the minutes; 0: an estimate from lengths
    floor: Decimal | None
    quiz: Decimal = Decimal(0)  # pay for a try of the quiz
    money: TaskMoney = TaskMoney()

    @property
    def quiz_at_most(self) -> Decimal:
        """Cost of the quiz if as many workers as assignments use all tries, for those who pass."""
        return self.quiz * QUIZ_TRIES * self.open_assignments

    @property
    def hourly(self) -> Decimal | None:
        """Return the pay an hour at the expected minutes; None without minutes."""
        return expected_an_hour(self.pay, self.minutes)

    @property
    def pay_per_item(self) -> Decimal:
        """Return the pay for one item of an assignment."""
        return self.pay / self.per_assignment

    @property
    def time_words(self) -> str:
        """The minutes in words."""
        return time_in_words(self.minutes)

    @property
    def hours(self) -> float:
        """Hours of work over all assignments."""
        return self.assignments * self.minutes / 60

    @property
    def open_pay(self) -> Decimal:
        """Return the pay for the assignments that are still open."""
        return self.pay * self.open_assignments

    @property
    def ahead(self) -> Decimal:
        """Return what is to come at most, with the platform's fee."""
        return self.money.ahead(self.open_pay)

    @property
    def cost_limit(self) -> Decimal:
        """Return the cost at most of the work that is done and to come."""
        return self.money.spent + self.ahead

    @property
    def under_floor(self) -> bool:
        """Whether the pay an hour is below the project's least."""
        return self.floor is not None and self.hourly is not None and self.hourly < self.floor


def estimate_minutes(
    task: Task, version: TaskVersion, items: Any, groups: Any, *, count: int
) -> float:
    """Minutes of an assignment before any is measured; 0 where there is nothing to answer.

    The requester's own estimate, or one from the lengths of texts, in whole seconds, as workers
    are told it. ``items``: the ``count`` items without attention items.
    """
    if version.expected_minutes:
        return float(version.expected_minutes)
    if not count:
        return 0.0
    per = min(version.items_per_assignment, count)
    shown = per + version.settings.get("gold_per_assignment", 0)
    minutes = get_type(task.type).minutes(version, items, groups, per=shown, count=count)
    return round(60 * minutes) / 60


def cost_of(
    task: Task, version: TaskVersion, items: Any, groups: Any, open_answers: int | None = None
) -> Cost:
    """Compute the cost of a version that shows these items (without attention items).

    ``open_answers``: slots that nobody holds, where they are others than those of the items.
    """
    questions = items.count()
    per = min(version.items_per_assignment, questions) or version.items_per_assignment
    seconds = _measured(task)
    measured = len(seconds) if len(seconds) >= MEASURED_FROM else 0
    if measured:
        minutes = statistics.median(seconds) / 60
    else:
        minutes = estimate_minutes(task, version, items, groups, count=questions)
    answers = questions * version.redundancy
    if open_answers is None:
        open_answers = count_open_answers(version, items)
    sizes = items.order_by().values("group").annotate(n=Count("pk")).values_list("n", flat=True)
    documents = count_documents(version, sizes)
    return Cost(
        questions=questions,
        answers=answers,
        assignments=count_assignments(answers, version, questions, documents),
        open_answers=open_answers,
        open_assignments=open_assignments_of(
            open_answers, version, questions, documents, taken=count_taken(task, version)
        ),
        per_assignment=per,
        pay=version.pay,
        minutes=minutes,
        measured=measured,
        floor=task.project.hourly_floor,
        quiz=as_decimal(version.settings["quiz_pay"] if version.settings.get("quiz_items") else 0),
        money=money_of([task])[task.pk],
    )


def count_open_answers(version: TaskVersion, items: Any) -> int:
    """Count the answers that the items still want: of a draft, those it will want once published.

    What is given or in progress is taken; an import may have brought more than is wanted.
    """
    wanted = F("redundancy") if version.published_at else version.redundancy
    return int(items.aggregate(n=Sum(Greatest(wanted - F("held"), 0)))["n"] or 0)


def count_taken(task: Task, version: TaskVersion) -> int:
    """Count the assignments of a version that people did or are doing."""
    if version.published_at is None:
        return 0
    return task.assignments.filter(IS_TAKEN, version=version).count()


def _measured(task: Task) -> list[float]:
    """Seconds from opening to submitting of the newest browser assignments, without rejected."""
    spent = (
        task.assignments.filter(
            state=AssignmentState.SUBMITTED,
            source="browser",
            opened_at__isnull=False,
            quiz__isnull=True,
        )
        .filter(IS_EARNED)
        .order_by("-submitted_at")
        .values_list("submitted_at", "opened_at")[:200]
    )
    return [(done - opened).total_seconds() for done, opened in spent if done and opened]
