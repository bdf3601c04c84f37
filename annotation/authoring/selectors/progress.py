"""How far the tasks of a project are and what they cost, in sums the database makes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import (
    Case,
    Count,
    DecimalField,
    ExpressionWrapper,
    F,
    FloatField,
    Max,
    Q,
    QuerySet,
    Sum,
    When,
)
from django.db.models.functions import Coalesce, NullIf, Round, TruncDate
from django.utils import timezone
from django.utils.translation import gettext

from annotation.authoring.selectors.cost import (
    IS_EARNED,
    IS_TAKEN,
    OPEN_PAY,
    TaskMoney,
    documents_of,
    money_of,
    open_assignments_of,
)
from annotation.models import Assignment, Item, PayoutLine, Project, Task, TaskVersion
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from crowdqc.database.quantiles import Quantile, seconds_between
from crowdqc.money import as_decimal, round_money
from crowdqc.numbers import count, money, plural

ZERO = Decimal("0.00")
MONEY: DecimalField = DecimalField(max_digits=14, decimal_places=2)
WEEK = dt.timedelta(days=7)


@dataclass(frozen=True)
class TaskProgress:
    """One task: work done, work left, money."""

    task: Task
    title: str
    items: int
    slots: int  # free ones
    submitted: int
    imported: int  # of the submitted ones
    leased: int
    last: dt.datetime | None
    money: TaskMoney
    open_assignments: int  # that nobody has taken, at most; none once the task is closed
    documents: int  # assignments of one answer to each item, where they end with their document
    pay: Decimal

    @property
    def booked(self) -> Decimal:
        return self.money.booked

    @property
    def waiting(self) -> Decimal:
        return self.money.waiting

    @property
    def spent(self) -> Decimal:
        return self.money.spent

    @property
    def ahead(self) -> Decimal:
        """Return what is to come at most, with the platform's fee."""
        return self.money.ahead(self.open_assignments * self.pay)

    @property
    def cost_limit(self) -> Decimal:
        """Return the cost at most of the work that is done and to come."""
        return self.spent + self.ahead

    @property
    def has_only_imports(self) -> bool:
        """Whether all work so far came from files, so that nothing was paid."""
        return 0 < self.submitted == self.imported and not self.spent

    @property
    def is_imported(self) -> bool:
        """Whether all work came from files, so that nothing was or will be paid."""
        return self.has_only_imports and not (self.leased or self.ahead)

    @property
    def needed(self) -> int:
        """Assignments done, in work and still open; at most, while any are open."""
        return self.submitted + self.leased + self.open_assignments

    @property
    def of_needed(self) -> str:
        """Say what the submitted assignments are of: "of at most 37"; "of 34" at the end."""
        return of_needed(self.needed, self.open_assignments)

    @property
    def assignment_words(self) -> str:
        """Say how many assignments people do at which pay: "at most 37 assignments at €0.60"."""
        words = gettext("%(assignments)s at %(pay)s")
        if self.open_assignments:
            words = gettext("at most %(assignments)s at %(pay)s")
        return words % {
            "assignments": plural(self.needed - self.imported, "assignment"),
            "pay": money(self.pay, self.task.project.currency),
        }

    @property
    def collecting(self) -> bool:
        """Whether the task is open or paused."""
        return self.task.state in (TaskState.OPEN, TaskState.PAUSED)


def of_needed(needed: int, open_assignments: int) -> str:
    """Say "of at most 37", or "of 37" where no assignment is open."""
    words = gettext("of at most %(total)s") if open_assignments else gettext("of %(total)s")
    return words % {"total": count(needed)}


def _in_current() -> Q:
    return Q(since__lte=F("task__current__number")) & (
        Q(until__isnull=True) | Q(until__gt=F("task__current__number"))
    )


def _by_task(rows: QuerySet[Any]) -> dict[int, dict[str, Any]]:
    return {row["task_id"]: row for row in rows}


def _work(tasks: Sequence[Task]) -> dict[int, dict[str, Any]]:
    work = Q(quiz__isnull=True)
    submitted, leased = Q(state=AssignmentState.SUBMITTED), Q(state=AssignmentState.LEASED)
    return _by_task(
        Assignment.objects.filter(task__in=tasks)
        .order_by()
        .values("task_id")
        .annotate(
            submitted=Count("pk", filter=submitted & work),
            imported=Count("pk", filter=submitted & work & Q(source="import")),
            leased=Count("pk", filter=leased & work),
            last=Max("submitted_at"),
            taken=Count("pk", filter=IS_TAKEN & Q(version=F("task__current"))),
            **OPEN_PAY,
        )
    )


def _drafted(tasks: Sequence[Task]) -> tuple[dict[int, int], dict[int, TaskVersion]]:
    """Items and versions of tasks that were never published."""
    rows = [task for task in tasks if task.current_id is None]
    if not rows:
        return {}, {}
    counted = (
        Item.objects.filter(task__in=rows, until=None)
        .order_by()
        .values_list("task")
        .annotate(n=Count("pk"))
    )
    return dict(counted), {v.task_id: v for v in TaskVersion.objects.filter(task__in=rows)}


def open_slots(tasks: Sequence[Task]) -> dict[int, tuple[int, int]]:
    """Items of the current versions and their free slots, by task."""
    rows = (
        Item.objects.filter(_in_current(), task__in=tasks)
        .order_by()
        .values_list("task_id")
        .annotate(n=Count("pk"), slots=Sum(F("redundancy") - F("held")))
    )
    return {task: (n, slots) for task, n, slots in rows}


def progress_of(
    tasks: Sequence[Task], known: Mapping[int, tuple[int, int]] | None = None
) -> list[TaskProgress]:
    """Return the progress of these tasks; ``known`` are their open slots by id if already read."""
    items = open_slots(tasks) if known is None else known
    drafted, drafts = _drafted(tasks)
    work = _work(tasks)
    amounts = money_of(tasks, work)
    versions = {task.pk: task.current or drafts.get(task.pk) for task in tasks}
    documents = documents_of(tasks, {pk: one for pk, one in versions.items() if one is not None})
    found = []
    for task in tasks:
        version = versions[task.pk]
        row, (n, slots) = work.get(task.pk, {}), items.get(task.pk, (0, 0))
        pay = version.pay if version else ZERO
        still = 0
        if version is not None and task.state != TaskState.CLOSED:
            still = open_assignments_of(
                slots, version, n, documents.get(task.pk, 0), taken=row.get("taken", 0)
            )
        found.append(
            TaskProgress(
                task=task,
                title=version.title if version else "",
                items=n or drafted.get(task.pk, 0),
                slots=slots,
                submitted=row.get("submitted", 0),
                imported=row.get("imported", 0),
                leased=row.get("leased", 0),
                last=row.get("last"),
                money=amounts[task.pk],
                open_assignments=still,
                documents=documents.get(task.pk, 0),
                pay=pay,
            )
        )
    return found


def budget_of(project: Project, published: Sequence[Task]) -> Decimal | None:
    """Budget of the project, or the sum of its published tasks' budgets if all have one."""
    if project.budget is not None:
        return project.budget
    known = [one.budget for one in published if one.budget is not None]
    return sum(known, ZERO) if known and len(known) == len(published) else None


# Pay by the hour -------------------------------------------------------------------------------

# None where it took less than a millisecond: there is no rate without time.
HOURS = ExpressionWrapper(
    NullIf(Round(seconds_between("opened_at", "submitted_at"), 3), 0.0) / 3600.0,
    output_field=FloatField(),
)


def _timed(project: Project) -> QuerySet[Assignment]:
    return Assignment.objects.filter(
        task__project=project,
        state=AssignmentState.SUBMITTED,
        opened_at__isnull=False,
        quiz__isnull=True,
    ).filter(IS_EARNED, pay__gt=0)


def median_hourly(project: Project) -> Decimal | None:
    """Return the base pay per hour at the median time, without rejected work, or None."""
    timed = _timed(project).annotate(hours=HOURS).filter(hours__gt=0, pay__gt=0)
    return hourly_at_median(timed)


def hourly_at_median(timed: QuerySet[Assignment]) -> Decimal | None:
    """Return the pay per hour at the median of ``hours`` for the same pay; None without any.

    By the time, as a task's expected pay is: with one pay both are the same figure.
    """
    each = ExpressionWrapper(F("hours") / F("pay"), output_field=FloatField())
    found = timed.annotate(time=each).aggregate(m=Quantile("time", share=0.5))["m"]
    return round_money(as_decimal(1 / found)) if found else None


@dataclass(frozen=True)
class HourlyPay:
    """One person's pay by the hour in one task, over the work there that was not rejected."""

    task_id: int
    worker_id: int
    assignments: int
    pay: Decimal
    hours: float

    @property
    def rate(self) -> Decimal:
        """Return the pay of an hour of work."""
        return round_money(self.pay / as_decimal(self.hours))


def hourly_pay(project: Project) -> list[HourlyPay]:
    """Return the pay per hour of each worker in each task."""
    rows = (
        _timed(project)
        .annotate(hours=HOURS)
        .filter(hours__gt=0)  # pay without time would lift the rate of the rest
        .order_by()
        .values_list("task_id", "worker_id")
        .annotate(n=Count("pk"), paid=Sum("pay"), spent=Sum("hours"))
    )
    return [HourlyPay(*row) for row in rows]


# By day ----------------------------------------------------------------------------------------


def count_people(project: Project) -> int:
    """Count the people who submitted in the last seven days."""
    rows = Assignment.objects.filter(
        task__project=project,
        state=AssignmentState.SUBMITTED,
        submitted_at__gte=timezone.now() - WEEK,
    ).exclude(source="import")
    return rows.aggregate(people=Count("worker", distinct=True))["people"]


FORTNIGHT = 14  # days


def submitted_work(tasks: Collection[Task]) -> QuerySet[Assignment]:
    """Return the assignments that people submitted to these tasks, quizzes aside."""
    return (
        Assignment.objects.filter(
            task__in=tasks, state=AssignmentState.SUBMITTED, quiz__isnull=True
        )
        .exclude(source="import")
        .order_by()
    )


def submitted_by_day(task: Task) -> list[tuple[dt.date, int]]:
    """Count the assignments that people submitted on each of the last 14 days, today last."""
    today = timezone.localdate()
    first = today - dt.timedelta(days=FORTNIGHT - 1)
    since = timezone.make_aware(dt.datetime.combine(first, dt.time()))
    rows = (
        submitted_work([task])
        .filter(submitted_at__gte=since)
        .values_list(TruncDate("submitted_at"))
        .annotate(n=Count("pk"))
    )
    counted = dict(rows)
    days = [first + dt.timedelta(days=n) for n in range(FORTNIGHT)]
    return [(day, counted.get(day, 0)) for day in days]


def cost_by_day(project: Project) -> list[tuple[dt.date, Decimal]]:
    """Return the cumulated spending by day of submission; of corrections, of their booking."""
    by_day: dict[dt.date, Decimal] = {}
    signed = Case(
        When(debit_task__isnull=False, credit_task__isnull=True, then=F("amount")),
        When(debit_task__isnull=True, credit_task__isnull=False, then=-F("amount")),
        default=ZERO,
        output_field=MONEY,
    )
    booked = (
        project.ledger.with_cost_owners()
        .order_by()
        .values_list(TruncDate(Coalesce("assignment__submitted_at", "at")))
        .annotate(s=Sum(signed))
    )
    waiting = (
        Assignment.objects.filter(
            task__project=project, state=AssignmentState.SUBMITTED, settled_at__isnull=True
        )
        .order_by()
        .values_list(TruncDate("submitted_at"))
        .annotate(s=Sum("pay"))
    )
    bonus = (
        PayoutLine.objects.filter(
            batch__project=project, batch__state="proposed", live=True, decision="approve"
        )
        .order_by()
        .values_list(TruncDate("assignment__submitted_at"))
        .annotate(s=Sum("bonus"))
    )
    for rows in (booked, waiting, bonus):
        for day, amount in rows:
            by_day[day] = by_day.get(day, ZERO) + amount
    total, found = ZERO, []
    for day in sorted(by_day):
        total += by_day[day]
        found.append((day, total))
    return found


ENOUGH_TIMES = 5  # assignments of a task before their middle time says anything


def median_seconds(
    project: Project, tasks: Collection[int] | None = None
) -> dict[int, tuple[float, int]]:
    """By task: the middle of the seconds from opening to submitting, and how many there are.

    ``tasks``: of these of the project alone.
    """
    within = {} if tasks is None else {"task__in": tasks}
    rows = (
        Assignment.objects.filter(
            **within,
            task__project=project,
            state=AssignmentState.SUBMITTED,
            opened_at__isnull=False,
            quiz__isnull=True,
        )
        .exclude(source="import")
        .annotate(spent=seconds_between("opened_at", "submitted_at"))
        .order_by()
        .values_list("task_id")
        .annotate(m=Quantile("spent", share=0.5), n=Count("pk"))
    )
    return {task: (middle, number) for task, middle, number in rows}
