"""Money: one person proposes, another approves, and the ledger is written exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.db.models import Max, Sum
from django.utils import timezone

from annotation.models import (
    Assignment,
    LedgerEntry,
    PayoutBatch,
    PayoutLine,
    Project,
    Rejection,
    Task,
    User,
)
from annotation.models.assignments import AssignmentState
from crowdqc.errors import Conflict, Invalid, NotAllowed

from .audit import record

CENT = Decimal("0.01")
MIN_REASON = 20
REASONS = {
    "no_answer": "The answers do not answer the questions",
    "not_followed": "The instructions were not followed",
    "not_own": "The answers are not in the worker’s own words",
    "other": "Another reason, written below",
}


@dataclass(frozen=True)
class Line:
    """What is proposed for one assignment; ``base`` None means the pay of its version."""

    assignment_id: int
    decision: str = PayoutLine.Decision.APPROVE
    base: Decimal | None = None
    bonus: Decimal = Decimal("0.00")
    reason_code: str = ""
    reason: str = ""


def _amount(value: Decimal, name: str) -> Decimal:
    if not value.is_finite() or value < 0 or value > 100_000 or value != value.quantize(CENT):
        raise Invalid(f"{name} is not an amount.", fields={name: "0 or more, two decimals."})
    return value.quantize(CENT)


def _row(batch: PayoutBatch, assignment: Assignment, line: Line) -> PayoutLine:
    name = assignment.worker.pseudonym
    if line.decision not in PayoutLine.Decision.values:
        raise Invalid(f"{name}: there is no such decision.", fields={"decision": "Choose one."})
    rejected = line.decision == PayoutLine.Decision.REJECT
    if rejected:
        if line.reason_code not in REASONS:
            raise Invalid(f"{name}: choose a reason.", fields={"reason_code": "Choose one."})
        if len(line.reason.strip()) < MIN_REASON:
            raise Invalid(
                f"{name}: the reason is read by the worker; write a full sentence.",
                fields={"reason": f"At least {MIN_REASON} characters."},
            )
    base = assignment.pay if line.base is None else _amount(line.base, "base")
    return PayoutLine(
        batch=batch,
        assignment=assignment,
        decision=line.decision,
        base=Decimal(0) if rejected else base,
        bonus=Decimal(0) if rejected else _amount(line.bonus, "bonus"),
        reason_code=line.reason_code,
        reason=line.reason.strip(),
    )


@transaction.atomic
def propose_payout(
    *,
    by: User,
    task: Task,
    key: UUID,
    lines: Sequence[Line],
    title: str = "",
    evidence_note: str = "",
) -> PayoutBatch:
    """Propose to pay, hold or reject submitted assignments; the same ``key`` is the same proposal.

    Raises Conflict when an assignment is in another open proposal or settled already.
    """
    done = PayoutBatch.objects.filter(key=key).first()
    if done:
        if done.task_id != task.pk:
            raise Conflict("This key belongs to a proposal for another task.")
        return done
    if not lines:
        raise Invalid("Nothing is proposed.", fields={"lines": "Choose at least one assignment."})
    ids = [line.assignment_id for line in lines]
    if len(set(ids)) != len(ids):
        raise Invalid("An assignment is named twice.", fields={"lines": "Once each."})
    # Numbers are given in line; the row of the project is what proposals queue at.
    project = Project.objects.select_for_update().get(pk=task.project_id)
    rows = {
        row.pk: row
        for row in Assignment.objects.select_for_update(of=("self",))
        .select_related("worker")
        .filter(pk__in=ids, task=task)
        .order_by("pk")
    }
    _proposable(ids, rows)
    number = project.payout_batches.aggregate(m=Max("number"))["m"] or 0
    batch = PayoutBatch.objects.create(
        project=project,
        task=task,
        number=number + 1,
        title=title.strip()[:160],
        key=key,
        evidence_note=evidence_note[:200],
        proposed_by=by,
    )
    PayoutLine.objects.bulk_create(_row(batch, rows[line.assignment_id], line) for line in lines)
    record(
        by=by, project=project, action="payout.propose", on=batch, lines=len(lines),
        total=str(total(batch)),
    )  # fmt: skip
    return batch


def _proposable(ids: Sequence[int], rows: dict[int, Assignment]) -> None:
    for pk in ids:
        row = rows.get(pk)
        if row is None:
            raise Invalid(f"Assignment {pk} is not one of this task.", fields={"lines": str(pk)})
        if row.state != AssignmentState.SUBMITTED:
            raise Conflict(f"{row.worker.pseudonym} has not submitted assignment {pk}.")
        if row.settled_at:
            raise Conflict(f"Assignment {pk} of {row.worker.pseudonym} is settled already.")
    busy = PayoutLine.objects.filter(assignment__in=ids, live=True).select_related("batch")
    for line in busy[:1]:
        raise Conflict(
            f"Assignment {line.assignment_id} is in proposal {line.batch.number} already."
        )


def total(batch: PayoutBatch) -> Decimal:
    """What approving all lines proposed for approval would pay."""
    sums = batch.lines.filter(decision=PayoutLine.Decision.APPROVE).aggregate(
        base=Sum("base"), bonus=Sum("bonus")
    )
    return (sums["base"] or Decimal(0)) + (sums["bonus"] or Decimal(0))


def may_decide(batch: PayoutBatch, by: User) -> str:
    """Why this person may not approve the batch; empty when they may."""
    if batch.proposed_by_id == by.pk and not batch.project.single_approval:
        return "You proposed it; somebody else must approve it."
    if batch.lines.filter(assignment__worker__user=by).exists():
        return "It pays you; somebody else must approve it."
    return ""


@transaction.atomic
def approve_payout(
    *,
    by: User,
    batch: PayoutBatch,
    expected_total: Decimal,
    line_ids: Sequence[int] | None = None,
) -> PayoutBatch:
    """Approve a proposal (or the chosen lines of it; the rest is held) and write the ledger.

    ``expected_total`` is the amount the person saw. Approving again changes nothing. Raises
    NotAllowed for one's own proposal or pay, Conflict when amount, state or budget say no.
    """
    batch = (
        PayoutBatch.objects.select_for_update(of=("self",))
        .select_related("project", "task")
        .get(pk=batch.pk)
    )
    if batch.state == PayoutBatch.State.APPROVED:
        return batch
    if batch.state != PayoutBatch.State.PROPOSED:
        raise Conflict("It was sent back; propose it anew.")
    why_not = may_decide(batch, by)
    if why_not:
        raise NotAllowed(why_not, code="self-approval")
    lines = list(batch.lines.select_related("assignment__worker").order_by("pk"))
    chosen = {line.pk for line in lines} if line_ids is None else set(line_ids)
    if chosen - {line.pk for line in lines}:
        raise Invalid("A chosen line is not part of this proposal.", fields={"lines": "Unknown."})
    paid = [
        line for line in lines
        if line.pk in chosen and line.decision == PayoutLine.Decision.APPROVE
    ]  # fmt: skip
    amount = sum((line.base + line.bonus for line in paid), Decimal(0))
    if amount != expected_total:
        raise Conflict(f"The total is {amount}, not {expected_total}. Look again, then approve.")
    _within_budget(batch, amount)
    rejected = [
        line for line in lines
        if line.pk in chosen and line.decision == PayoutLine.Decision.REJECT
    ]  # fmt: skip
    held = [line for line in lines if line not in paid and line not in rejected]
    _settle(batch, paid, rejected, held, by)
    batch.state, batch.decided_by = PayoutBatch.State.APPROVED, by
    batch.decided_at = timezone.now()
    batch.single_approval = batch.proposed_by_id == by.pk
    batch.save(update_fields=["state", "decided_by", "decided_at", "single_approval"])
    record(
        by=by,
        project=batch.project,
        action="payout.approve",
        on=batch,
        paid=len(paid),
        rejected=len(rejected),
        held=len(held),
        total=str(amount),
        single_approval=batch.single_approval,
    )
    return batch


def _within_budget(batch: PayoutBatch, amount: Decimal) -> None:
    # The rows are locked, so that two approvals cannot both fit under one budget.
    project = Project.objects.select_for_update().get(pk=batch.project_id)
    for holder, label in ((batch.task, "task"), (project, "project")):
        if holder.budget is None:
            continue
        spent = holder.ledger.aggregate(s=Sum("amount"))["s"] or Decimal(0)  # type: ignore[attr-defined]
        if spent + amount > holder.budget:
            raise Conflict(
                f"The {label}'s budget is {holder.budget}; {spent} is spent, {amount} is too much."
            )


def _settle(
    batch: PayoutBatch,
    paid: Sequence[PayoutLine],
    rejected: Sequence[PayoutLine],
    held: Sequence[PayoutLine],
    by: User,
) -> None:
    now = timezone.now()
    LedgerEntry.objects.bulk_create(
        LedgerEntry(
            project=batch.project,
            task=batch.task,
            worker=line.assignment.worker,
            assignment=line.assignment,
            line=line,
            kind=kind,
            amount=amount,
            currency=batch.project.currency,
            by=by,
        )
        for line in paid
        for kind, amount in (("base", line.base), ("bonus", line.bonus))
        if amount > 0
    )
    Rejection.objects.bulk_create(
        Rejection(
            assignment=line.assignment,
            line=line,
            reason_code=line.reason_code,
            reason=line.reason,
            rejected_by=by,
            rejected_at=now,
        )
        for line in rejected
    )
    settled = [line.assignment_id for line in (*paid, *rejected)]
    Assignment.objects.filter(pk__in=settled).update(settled_at=now)
    PayoutLine.objects.filter(pk__in=[line.pk for line in held]).update(live=False)


@transaction.atomic
def send_back(*, by: User, batch: PayoutBatch, note: str) -> PayoutBatch:
    """Return a proposal to its proposer with a note; its assignments may be proposed anew."""
    batch = PayoutBatch.objects.select_for_update().get(pk=batch.pk)
    if batch.state == PayoutBatch.State.SENT_BACK:
        return batch
    if batch.state != PayoutBatch.State.PROPOSED:
        raise Conflict("It was approved already.")
    batch.state, batch.decided_by = PayoutBatch.State.SENT_BACK, by
    batch.decided_at, batch.decision_note = timezone.now(), note.strip()[:300]
    batch.save()
    batch.lines.update(live=False)
    record(by=by, project=batch.project, action="payout.send_back", on=batch)
    return batch


@transaction.atomic
def reply_to_rejection(*, by: User, rejection: Rejection, text: str) -> Rejection:
    """The worker's one reply."""
    rejection = Rejection.objects.select_for_update(of=("self",)).get(pk=rejection.pk)
    if rejection.assignment.worker.user_id != by.pk:
        raise NotAllowed("Only the worker concerned may reply.")
    if rejection.replied_at:
        raise Conflict("You have replied already; a person will read it.")
    if not text.strip():
        raise Invalid("The reply is empty.", fields={"reply": "Write your reply."})
    rejection.reply, rejection.replied_at = text.strip()[:5000], timezone.now()
    rejection.save(update_fields=["reply", "replied_at"])
    record(
        by=by, project=rejection.assignment.task.project, action="rejection.reply", on=rejection
    )
    return rejection


@transaction.atomic
def decide_reply(
    *, by: User, rejection: Rejection, overturn: bool, note: str
) -> Rejection:
    """Answer a reply: the rejection stands, or the assignment may be proposed for pay again."""
    rejection = (
        Rejection.objects.select_for_update(of=("self",))
        .select_related("assignment__task__project", "assignment__worker", "line")
        .get(pk=rejection.pk)
    )
    if rejection.outcome:
        raise Conflict("It was answered already.")
    if not rejection.replied_at:
        raise Conflict("The worker has not replied.")
    if rejection.assignment.worker.user_id == by.pk:
        raise NotAllowed("Somebody else must answer your reply.")
    if not note.strip():
        raise Invalid("The worker is owed an answer.", fields={"note": "Write a sentence."})
    outcome = Rejection.Outcome.OVERTURNED if overturn else Rejection.Outcome.STANDS
    rejection.outcome, rejection.outcome_note = outcome, note.strip()[:5000]
    rejection.outcome_by, rejection.outcome_at = by, timezone.now()
    rejection.save()
    if overturn:
        PayoutLine.objects.filter(pk=rejection.line_id).update(live=False)
        Assignment.objects.filter(pk=rejection.assignment_id).update(settled_at=None)
    record(
        by=by,
        project=rejection.assignment.task.project,
        action="rejection.decide",
        on=rejection,
        outcome=str(outcome),
    )
    return rejection
