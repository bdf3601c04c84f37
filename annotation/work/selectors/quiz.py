"""The quiz before the first assignment of a task: its terms, and where a worker stands in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.steps import steps
from annotation.models import Assignment, Membership, Task, TaskVersion
from annotation.models.assignments import AssignmentState
from annotation.task_types.base import QUIZ_TRIES as TRIES
from annotation.work.selectors.known import Told, marked_of
from crowdqc.money import as_decimal

FAILED = gettext_lazy(
    "You have not passed the quiz of this task in two tries, so you cannot start it. The requester "
    "may still let you in. Nothing else changes, and work you have done is decided as before."
)


@dataclass(frozen=True)
class Terms:
    """What a quiz asks and pays."""

    items: int = 0  # 0: there is no quiz
    needed: int = 1  # right answers that pass it
    pay: Decimal = Decimal("0.00")  # a try, passed or not
    minutes: int = 0  # as its author says; 0: nothing is said


@dataclass(frozen=True)
class Standing:
    """Where a worker is who has to pass a quiz first."""

    terms: Terms
    tried: int = 0

    @property
    def failed(self) -> bool:
        return self.tried >= TRIES

    @property
    def tries_left(self) -> int:
        return max(0, TRIES - self.tried)


def terms_of(version: TaskVersion) -> Terms:
    """The quiz of a version."""
    own = version.settings
    if not own.get("quiz_items"):
        return Terms()
    return Terms(
        own["quiz_items"], own["quiz_pass"], as_decimal(own["quiz_pay"]), own["quiz_minutes"]
    )


def standings(tasks: Sequence[Task], members: Sequence[Membership]) -> dict[int, Standing]:
    """By task, where these members stand who have to pass its quiz first (one query at most).

    Whoever passed, was let in, or submitted work in the task before it had a quiz is not asked.
    """
    asking = {}
    for task in tasks:
        terms = terms_of(task.current) if task.current is not None else Terms()
        if terms.items:
            asking[task.pk] = terms
    if not asking:
        return {}
    tried, through = dict.fromkeys(asking, 0), set()
    rows = Assignment.objects.filter(
        task__in=asking, worker__in=members, state=AssignmentState.SUBMITTED
    )
    for pk, number, passed in rows.values_list("task_id", "quiz", "quiz_passed"):
        if number is None or passed:
            through.add(pk)
        else:
            tried[pk] += 1
    return {pk: Standing(asking[pk], tried[pk]) for pk in asking if pk not in through}


@dataclass(frozen=True)
class Result:
    """A submitted try as its worker reads it."""

    number: int
    right: int
    of: int
    needed: int
    passed: bool
    told: list[Told]

    @property
    def tries_left(self) -> int:
        return 0 if self.passed else TRIES - self.number

    @property
    def let_in(self) -> bool:
        """Whether it is passed by somebody's word alone."""
        return self.passed and self.right < self.needed


def needed_of(assignment: Assignment, of: int) -> int:
    """Right answers that pass a try of ``of`` questions, which may be fewer than were wanted."""
    return min(terms_of(assignment.version).needed, of)


def result_of(assignment: Assignment) -> Result:
    """What came of a submitted try, with what its author says of every question."""
    right = marked_of(assignment)
    told = [
        Told(step.entry.position, step.entry.item, step.said, right.get(step.entry.item_id, False))
        for step in steps(assignment)
    ]
    return Result(
        number=assignment.quiz or 0,
        right=assignment.quiz_right or 0,
        of=len(told),
        needed=needed_of(assignment, len(told)),
        passed=assignment.quiz_passed,
        told=told,
    )


def tries(task: Task) -> QuerySet[Assignment]:
    """Submitted tries of a task, the newest first, with ``asked``: how many questions each had."""
    return (
        Assignment.objects.filter(task=task, quiz__isnull=False, state=AssignmentState.SUBMITTED)
        .select_related("worker", "version")
        .annotate(asked=Count("entries"))
        .order_by("-submitted_at", "-pk")
    )


@dataclass(frozen=True)
class Try:
    """A submitted try as its requester reads it."""

    of: Assignment
    asked: int
    can_let_in: bool  # it is the worker's last one, and they may not start

    @property
    def let_in(self) -> bool:
        """Whether it is passed by somebody's word alone."""
        right = self.of.quiz_right or 0
        return self.of.quiz_passed and right < needed_of(self.of, self.asked)


def listed(task: Task, rows: Sequence[Any]) -> list[Try]:
    """Rows of ``tries`` as a page lists them (one query more)."""
    state = {"task": task, "state": AssignmentState.SUBMITTED}
    workers = [row.worker_id for row in rows]
    last: dict[int, int] = {}
    through = set()
    own = Assignment.objects.filter(**state, worker__in=workers)
    for worker, number, passed in own.values_list("worker_id", "quiz", "quiz_passed"):
        if number is None or passed:
            through.add(worker)
        else:
            last[worker] = max(number, last.get(worker, 0))
    return [
        Try(row, row.asked, row.worker_id not in through and row.quiz == last.get(row.worker_id))
        for row in rows
    ]
