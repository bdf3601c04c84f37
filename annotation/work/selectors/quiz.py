"""Read the quiz before the first assignment: terms, standings and tries."""

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
from annotation.work.selectors.known import KnownFeedback, mark_assignment
from crowdqc.money import as_decimal

FAILED = gettext_lazy(
    "You have not passed the quiz of this task in two tries, so you cannot start it. The requester "
    "may still let you in. Nothing else changes, and work you have done is decided as before."
)


@dataclass(frozen=True)
class QuizTerms:
    """What a quiz asks and pays."""

    items: int = 0  # 0: there is no quiz
    needed: int = 1  # right answers that pass it
    pay: Decimal = Decimal("0.00")  # a try, passed or not
    minutes: int = 0  # as its author says; 0: nothing is said


@dataclass(frozen=True)
class QuizStanding:
    """The quiz state of a worker who must pass it first."""

    terms: QuizTerms
    tried: int = 0

    @property
    def failed(self) -> bool:
        return self.tried >= TRIES

    @property
    def tries_left(self) -> int:
        return max(0, TRIES - self.tried)


def quiz_terms(version: TaskVersion) -> QuizTerms:
    """Return the quiz terms of a version."""
    own = version.settings
    if not own.get("quiz_items"):
        return QuizTerms()
    return QuizTerms(
        own["quiz_items"], own["quiz_pass"], as_decimal(own["quiz_pay"]), own["quiz_minutes"]
    )


def quiz_standings(tasks: Sequence[Task], members: Sequence[Membership]) -> dict[int, QuizStanding]:
    """Return by task the standing of members who must pass a quiz (one query).

    Whoever passed, was let in, or submitted work in the task before it had a quiz is not asked.
    """
    asking = {}
    for task in tasks:
        terms = quiz_terms(task.current) if task.current is not None else QuizTerms()
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
    return {pk: QuizStanding(asking[pk], tried[pk]) for pk in asking if pk not in through}


@dataclass(frozen=True)
class QuizResult:
    """A submitted try as its worker reads it."""

    number: int
    right: int
    of: int
    needed: int
    passed: bool
    told: list[KnownFeedback]

    @property
    def tries_left(self) -> int:
        return 0 if self.passed else TRIES - self.number

    @property
    def was_admitted(self) -> bool:
        """Whether the worker was admitted without passing."""
        return self.passed and self.right < self.needed


def pass_mark(assignment: Assignment, of: int) -> int:
    """Return the right answers that pass a try of ``of`` questions."""
    return min(quiz_terms(assignment.version).needed, of)


def quiz_result(assignment: Assignment) -> QuizResult:
    """Return the result of a submitted try, with the author's comments."""
    right = mark_assignment(assignment)
    told = [
        KnownFeedback(
            step.entry.position, step.entry.item, step.said, right.get(step.entry.item_id, False)
        )
        for step in steps(assignment)
    ]
    return QuizResult(
        number=assignment.quiz or 0,
        right=assignment.quiz_right or 0,
        of=len(told),
        needed=pass_mark(assignment, len(told)),
        passed=assignment.quiz_passed,
        told=told,
    )


def list_tries(task: Task) -> QuerySet[Assignment]:
    """Return submitted quiz tries, newest first, with ``asked``: the number of questions."""
    return (
        Assignment.objects.filter(task=task, quiz__isnull=False, state=AssignmentState.SUBMITTED)
        .select_related("worker", "version")
        .annotate(asked=Count("entries"))
        .order_by("-submitted_at", "-pk")
    )


@dataclass(frozen=True)
class QuizTry:
    """A submitted try as its requester reads it."""

    of: Assignment
    asked: int
    can_let_in: bool  # it is the worker's last one, and they may not start

    @property
    def was_admitted(self) -> bool:
        """Whether it is passed by somebody's word alone."""
        right = self.of.quiz_right or 0
        return self.of.quiz_passed and right < pass_mark(self.of, self.asked)


def describe_tries(task: Task, rows: Sequence[Any]) -> list[QuizTry]:
    """Return ``list_tries`` rows as a page lists them (one more query)."""
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
        QuizTry(
            row, row.asked, row.worker_id not in through and row.quiz == last.get(row.worker_id)
        )
        for row in rows
    ]
