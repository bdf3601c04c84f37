"""Reads about work that waits for a decision, proposals and rejections."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import (
    Aggregate,
    Count,
    Exists,
    F,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
)
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    PayoutBatch,
    PayoutLine,
    Project,
    Rejection,
    Task,
)
from annotation.models.assignments import AssignmentState
from annotation.models.decisions import LINE_OUTCOME, OVERTURNED, OWED, Decision, with_decision
from annotation.task_types import get_type

ZERO = Decimal("0.00")


@dataclass(frozen=True)
class WorkFacts:
    """What an assignment's answers are, apart from how good they are."""

    answers: int = 0
    declined: int = 0  # "I don't know", a fair answer
    uncounted: int = 0
    items: int = 0


def waiting_work(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Those of the assignments that no payout, rejection or open proposal settles."""
    busy = PayoutLine.objects.filter(assignment=OuterRef("pk"), live=True)
    return assignments.filter(state=AssignmentState.SUBMITTED, settled_at__isnull=True).filter(
        ~Exists(busy)
    )


def unsettled_assignments(task: Task) -> QuerySet[Assignment]:
    """Submitted assignments of the task that no payout, rejection or open proposal settles."""
    return (
        waiting_work(task.assignments.all())
        .select_related("worker")
        .prefetch_related("version")  # they share a few, with large settings
        .order_by("submitted_at", "pk")
    )


def noun_of(task: Task) -> str:
    """Return the noun for what a task pays for, for the filter ``plural``."""
    task_type = get_type(task.type)
    return task_type.paid_noun or task_type.answer_noun


def waiting_by_task(project: Project) -> dict[int, dict[str, Any]]:
    """Summarise waiting assignments by task: number, oldest, overdue, pay and title."""
    due = timezone.now() - dt.timedelta(days=project.decide_days)
    rows = (
        waiting_work(Assignment.objects.filter(task__project=project))
        .order_by()
        .values("task_id", title=F("task__current__title"))
        .annotate(
            n=Count("pk"),
            oldest=Min("submitted_at"),
            pay=Sum("pay"),
            late=Count("pk", filter=Q(submitted_at__lt=due)),
        )
        .order_by("oldest")
    )
    return {row["task_id"]: row for row in rows}


def work_facts(assignment_ids: Sequence[int]) -> dict[int, WorkFacts]:
    """Count the answers of each assignment, by kind, in three queries."""
    own = Answer.objects.filter(assignment__in=assignment_ids)
    # Attention items never count; that says nothing of the work.
    missed = Q(counts=False, item__expected__isnull=True)
    given = (
        own.order_by()
        .values_list("assignment")
        .annotate(n=Count("pk"), uncounted=Count("pk", filter=missed))
    )
    declined = dict(
        own.filter(choices__field="declined")
        .order_by()
        .values_list("assignment")
        .annotate(n=Count("pk", distinct=True))
    )
    items = dict(
        AssignmentItem.objects.filter(assignment__in=assignment_ids)
        .order_by()
        .values_list("assignment")
        .annotate(n=Count("pk"))
    )
    told = {pk: (n, uncounted) for pk, n, uncounted in given}
    found = {}
    for pk in assignment_ids:
        n, uncounted = told.get(pk, (0, 0))
        found[pk] = WorkFacts(n, declined.get(pk, 0), uncounted, items.get(pk, 0))
    return found


def answers_of(assignment_id: int) -> QuerySet[Answer]:
    """The answers of one assignment in the order they were shown, with their texts."""
    return (
        Answer.objects.filter(assignment=assignment_id)
        .select_related("item__task", "item__media", "version")
        .prefetch_related("texts", "choices", "spans")
        .order_by("order_shown", "pk")
    )


def proposals(project: Project) -> QuerySet[PayoutBatch]:
    """The project's proposals, the newest first, each with its lines counted and summed.

    Each line counts in one of ``approved``, ``held``, ``rejected`` and ``overturned``.
    """
    decisions = PayoutLine.Decision
    return (
        project.payout_batches.select_related("task__current", "proposed_by", "decided_by")
        .annotate(
            line_count=_of_lines(Count("pk")),
            people=_of_lines(Count("assignment__worker", distinct=True)),
            to_pay=_of_lines(Sum(F("base") + F("bonus")), decisions.APPROVE, none=ZERO),
            approved=_of_lines(Count("pk"), decisions.APPROVE),
            held=_of_lines(Count("pk"), decisions.HOLD),
            rejected=_of_lines(Count("pk"), decisions.REJECT),
            overturned=_of_lines(Count("pk"), OVERTURNED),
        )
        .order_by("-number")
    )


def _of_lines(figure: Aggregate, outcome: str = "", none: int | Decimal = 0) -> Coalesce:
    """A figure of a proposal's lines, or of those with one outcome."""
    lines: QuerySet[Any] = PayoutLine.objects.filter(batch=OuterRef("pk")).annotate(
        outcome=LINE_OUTCOME
    )
    if outcome:
        lines = lines.filter(outcome=outcome)
    found = lines.order_by().values("batch").annotate(f=figure).values("f")
    return Coalesce(Subquery(found), none)


def proposed_lines(project: Project) -> QuerySet[PayoutLine]:
    """Lines of open proposals that would be paid."""
    return (
        PayoutLine.objects.filter(
            batch__project=project,
            batch__state=PayoutBatch.State.PROPOSED,
            decision=PayoutLine.Decision.APPROVE,
            live=True,
        )
        .select_related("batch__project", "batch__proposed_by", "assignment")
        .order_by("batch", "pk")
    )


def proposal_counts(project: Project) -> dict[str, int]:
    """Return the number of proposals in each state."""
    return dict(project.payout_batches.order_by().values_list("state").annotate(n=Count("pk")))


def lines_of(batch: PayoutBatch) -> list[PayoutLine]:
    """The lines of a proposal with assignment, worker and ``outcome``."""
    return list(
        batch.lines.annotate(outcome=LINE_OUTCOME)
        .select_related("assignment__worker", "assignment__version")
        .order_by("assignment__worker__pseudonym", "pk")
    )


def rejections(project: Project, *, only_owed: bool = False) -> QuerySet[Rejection]:
    """The project's rejections (or those owed an answer); the unanswered replies first."""
    rows = Rejection.objects.filter(assignment__task__project=project)
    if only_owed:
        rows = rows.filter(replied_at__isnull=False, outcome="")
    return (
        rows.select_related(
            "assignment__worker",
            "assignment__task__current",
            "line__batch",
            "rejected_by",
            "outcome_by",
        )
        .annotate(
            owed=Q(replied_at__isnull=False, outcome=""),
            late=Q(replied_at__isnull=False, outcome="", answer_by__lt=timezone.now()),
            closed=Q(replied_at__isnull=True, outcome="", reply_until__lt=timezone.now()),
        )
        .order_by("-owed", F("answer_by").asc(nulls_last=True), "-rejected_at", "-pk")
    )


def rejected_before(assignment_ids: Iterable[int]) -> set[int]:
    """Return those of the assignments whose rejection was overturned; it cannot be repeated."""
    rows = Rejection.objects.filter(
        assignment__in=list(assignment_ids), outcome=Rejection.Outcome.OVERTURNED
    )
    return set(rows.values_list("assignment", flat=True))


def count_outcomes(batches: Iterable[PayoutBatch]) -> dict[str, int]:
    """Count the lines of proposals by decision or, once approved, by what became of them."""
    rows = PayoutLine.objects.filter(batch__in=list(batches)).annotate(outcome=LINE_OUTCOME)
    counted = dict(rows.order_by().values_list("outcome").annotate(n=Count("pk")))
    return {str(one): counted.get(one, 0) for one in (*PayoutLine.Decision.values, OVERTURNED)}


@dataclass(frozen=True)
class OwedReplies:
    """Replies that nobody has answered, and how many of these are past their day."""

    n: int = 0
    late: int = 0

    def __bool__(self) -> bool:
        return self.n > 0


def rejections_owed(project: Project, task: Task | None = None) -> OwedReplies:
    """Count the replies to rejections that nobody has answered, and the late ones."""
    rows = Rejection.objects.filter(
        assignment__task__project=project, replied_at__isnull=False, outcome=""
    )
    if task is not None:
        rows = rows.filter(assignment__task=task)
    return OwedReplies(
        **rows.aggregate(n=Count("pk"), late=Count("pk", filter=Q(answer_by__lt=timezone.now())))
    )


def bonus_given(task: Task) -> dict[int, Decimal]:
    """Return by worker the bonus of this task that was approved or stands in an open proposal."""
    rows = (
        PayoutLine.objects.filter(batch__task=task, live=True, bonus__gt=0)
        .exclude(decision=PayoutLine.Decision.REJECT)
        .order_by()
        .values_list("assignment__worker")
        .annotate(s=Sum("bonus"))
    )
    return dict(rows)


def decided_before(worker_ids: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Return by worker the number of approved assignments and of rejections that still stand."""
    found = {pk: (0, 0) for pk in worker_ids}
    rows = with_decision(Assignment.objects.filter(worker__in=found))
    counted = rows.order_by().values_list("worker", "decision").annotate(n=Count("pk"))
    for pk, decision, n in counted:
        approved, rejected = found[pk]
        if decision in OWED:
            found[pk] = (approved + n, rejected)
        elif decision == Decision.REJECTED:
            found[pk] = (approved, rejected + n)
    return found
