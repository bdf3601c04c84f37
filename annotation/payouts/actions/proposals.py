"""Money: one person proposes, another approves, and the ledger is written exactly once.

Locks are taken in one order: batch, project, assignments. The project's row is locked without
its key, so that people who answer meanwhile (their audit rows name the project) do not wait.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Max, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.security.stepup import needs_stepup, require_strength
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
from annotation.payouts.actions.reasons import MIN_REASON, REASONS, clean_reason
from annotation.payouts.actions.rejections import decide_reply, reply_to_rejection
from annotation.payouts.actions.rules import (
    Decision,
    ProposedLine,
    build_line,
    check_proposable,
    check_rejection_effects,
    needs_note,
    reason_cannot_decide,
    require_proposer,
)
from annotation.payouts.actions.settle import (
    settle_proposal,
    sort_out,
    tell_decided,
    tell_proposed,
    tell_sent_back,
    within_budget,
)
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from annotation.records.cleaning import clean_text
from crowdqc.errors import Conflict, Invalid, NotAllowed
from crowdqc.numbers import plural

__all__ = [
    "MIN_REASON",
    "REASONS",
    "ProposedLine",
    "approve_payout",
    "count_rejections",
    "decide_reply",
    "propose_payout",
    "reason_cannot_decide",
    "reject_held_lines",
    "reply_to_rejection",
    "send_back",
    "total",
]
ZERO = Decimal("0.00")


def _lock_batch(batch: PayoutBatch) -> PayoutBatch:
    return (
        PayoutBatch.objects.select_for_update(of=("self",), no_key=True)
        .select_related("project", "task", "decided_by", "proposed_by")
        .get(pk=batch.pk)
    )


def _locked(task: Task, ids: Collection[int]) -> dict[int, Assignment]:
    """The task's assignments of these ids with their workers, locked in one order."""
    rows = Assignment.objects.select_for_update(of=("self",), no_key=True).select_related("worker")
    return {row.pk: row for row in rows.filter(pk__in=ids, task=task).order_by("pk")}


@transaction.atomic
def propose_payout(
    *,
    by: User,
    task: Task,
    key: UUID,
    lines: Sequence[ProposedLine],
    title: str = "",
    evidence_note: str = "",
    evidence_run: int | None = None,
) -> PayoutBatch:
    """Propose to pay, hold or reject submitted assignments; the same ``key`` is the same proposal.

    Raises NotAllowed without the role, Invalid naming what is wrong with a line, Conflict when
    an assignment is in another open proposal or settled already, or when the key was used for
    something else.
    """
    require_proposer(task.project, by)
    if not lines:
        raise Invalid(
            _("Nothing is proposed."), fields={"lines": _("Choose at least one assignment.")}
        )
    ids = [line.assignment_id for line in lines]
    if len(set(ids)) != len(ids):
        raise Invalid(_("An assignment is named twice."), fields={"lines": _("Once each.")})
    title = clean_text(title, "title", 160)
    # Proposals queue at the row of the project: for their number, and for the key of a retry.
    project = lock_project(task.project_id)
    done = PayoutBatch.objects.filter(key=key).first()
    if done:
        return _repeated_proposal(done, by, task, lines)
    rows = _locked(task, ids)
    check_proposable(lines, rows)
    batch = PayoutBatch.objects.create(
        project=project,
        task=task,
        number=_next_number(project),
        title=title,
        key=key,
        evidence_note=evidence_note[:200],
        evidence_run=evidence_run,
        proposed_by=by,
    )
    PayoutLine.objects.bulk_create(
        build_line(batch, rows[line.assignment_id], line) for line in lines
    )
    amount = total(batch)
    record(
        by=by,
        project=project,
        action="payout.propose",
        on=batch,
        lines=len(lines),
        total=str(amount),
    )
    tell_proposed(batch, amount)
    return batch


def _next_number(project: Project) -> int:
    """Return the number of the next proposal; the project's row is locked."""
    return (project.payout_batches.aggregate(m=Max("number"))["m"] or 0) + 1


def _repeated_proposal(
    done: PayoutBatch, by: User, task: Task, lines: Sequence[ProposedLine]
) -> PayoutBatch:
    """The proposal that this key made, if the retry says the same; else Conflict."""
    if done.task_id != task.pk or done.proposed_by_id != by.pk:
        raise Conflict(_("This key belongs to another proposal."), code="key-used")
    if set(done.lines.values_list("assignment_id", flat=True)) != {
        line.assignment_id for line in lines
    }:
        raise Conflict(
            _(
                "This form was sent before, as proposal %(done_number)s, with other lines. "
                "Reload it to propose more."
            )
            % {"done_number": done.number},
            code="key-used",
        )
    return done


def total(batch: PayoutBatch) -> Decimal:
    """Return what approving the proposal's lines would pay: base and bonus."""
    sums = batch.lines.filter(decision=Decision.APPROVE).aggregate(
        base=Sum("base"), bonus=Sum("bonus")
    )
    return (sums["base"] or ZERO) + (sums["bonus"] or ZERO)


def count_rejections(batch: PayoutBatch) -> int:
    """Count how many rejections approving the proposal would make final."""
    return batch.lines.filter(decision=Decision.REJECT).count()


@transaction.atomic
def approve_payout(
    *,
    by: User,
    batch: PayoutBatch,
    expected_total: Decimal,
    rejections: int = 0,
    line_ids: Sequence[int] | None = None,
) -> PayoutBatch:
    """Approve a proposal and write the ledger.

    ``expected_total`` and ``rejections`` are the amount and how many rejections the person saw.
    ``line_ids`` (default: every line not held) are the lines that go through: those proposed for
    rejection are rejected, the others paid as proposed, held ones that the approver has looked at
    and ticked included. The rest is held and may be proposed anew. Approving again by the same
    person for the same amount changes nothing. Raises NotAllowed for one's own proposal or pay or
    without the role, Conflict when amount, rejections, state or budget say no.
    """
    batch = _lock_batch(batch)
    why_not = reason_cannot_decide(batch, by)
    if why_not:
        raise NotAllowed(why_not, code="may-not-approve")
    require_strength(batch.project, by, _("approve payments"))
    if batch.state == PayoutBatch.State.APPROVED:
        return _approved_before(batch, by, expected_total)
    if batch.state != PayoutBatch.State.PROPOSED:
        raise Conflict(_("It was sent back; propose it anew."))
    lines = list(batch.lines.select_related("assignment__worker__user").order_by("pk"))
    paid, rejected, held = sort_out(lines, line_ids)
    amount = sum((line.base + line.bonus for line in paid), ZERO)
    if amount != expected_total:
        raise Conflict(
            _("The total is %(amount)s, not %(expected_total)s. Look again, then approve.")
            % {"amount": amount, "expected_total": expected_total}
        )
    if len(rejected) != rejections:
        raise Conflict(
            _("It rejects the work of %(assignments)s, not of %(seen)s. Look again, then approve.")
            % {"assignments": plural(len(rejected), "assignment"), "seen": rejections},
            code="other-rejections",
        )
    if not paid and not rejected:
        raise Invalid(_("Nothing is ticked."), fields={"lines": _("Tick at least one line.")})
    project = lock_project(batch.project_id)
    within_budget(batch, project, amount)
    settle_proposal(batch, paid, rejected, held, by)
    batch.state, batch.decided_by = PayoutBatch.State.APPROVED, by
    batch.decided_at = timezone.now()
    batch.single_approval = needs_note(batch.project, batch.proposed_by, by)
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
    tell_decided(batch, len(paid), len(rejected), amount)
    return batch


def _approved_before(batch: PayoutBatch, by: User, expected: Decimal) -> PayoutBatch:
    """A double click or a retry gets its batch; anybody else is told that they came second."""
    paid = (
        LedgerEntry.objects.owed().filter(line__batch=batch).aggregate(s=Sum("amount"))["s"] or ZERO
    )
    if batch.decided_by_id != by.pk or paid != expected:
        raise Conflict(
            _("%(decided_by)s approved it already, for %(paid)s. Nothing was written.")
            % {"decided_by": batch.decided_by, "paid": paid}
        )
    return batch


@needs_stepup(gettext_lazy("reject work"))
@transaction.atomic
def reject_held_lines(
    *,
    by: User,
    lines: Sequence[PayoutLine],
    reason_code: str,
    reason: str,
    leave_out: bool = False,
    collect_again: bool = False,
) -> list[PayoutLine]:
    """Propose to reject held lines of an open proposal.

    ``leave_out`` and ``collect_again``: what becomes of their answers once it is approved.

    By its proposer, in this proposal; or by whoever may approve it. Then the lines move to a
    proposal of their own, since an approver would otherwise reject work alone: another person
    approves it, unless the project allows approval by one person. A rejection never turns into
    pay here, which would let one person pay what nobody proposed.
    """
    if not lines:
        raise Conflict(_("Only a line that is held can be rejected here."))
    batch = _lock_batch(lines[0].batch)
    _may_touch(batch, by)
    if batch.state != PayoutBatch.State.PROPOSED:
        raise Conflict(_("This proposal is decided already."))
    ids = [line.pk for line in lines]
    held = list(batch.lines.filter(pk__in=ids).select_related("assignment__worker").order_by("pk"))
    if len(held) < len(ids) or any(line.decision != Decision.HOLD for line in held):
        raise Conflict(_("Only a line that is held can be rejected here."))
    before = Rejection.objects.filter(assignment__in=[line.assignment_id for line in held])
    for rejection in before.select_related("assignment__worker"):
        raise Conflict(
            _("A rejection of %(name)s was overturned here; it cannot be repeated.")
            % {"name": rejection.assignment.worker.pseudonym}
        )
    check_rejection_effects(leave_out=leave_out, collect_again=collect_again)
    target = batch if batch.proposed_by_id == by.pk else _rejections_of(batch, by, len(held))
    for line in held:
        name = line.assignment.worker.pseudonym
        line.reason_code, line.reason = clean_reason(name, reason_code, reason)
        line.base = line.bonus = ZERO
        line.decision, line.batch = Decision.REJECT, target
        line.leaves_out, line.collects_again = leave_out, collect_again
    changed = ["decision", "reason_code", "reason", "base", "bonus", "batch"]
    PayoutLine.objects.bulk_update(held, [*changed, "leaves_out", "collects_again"])
    for line in held:
        record(by=by, project=batch.project, action="payout.reject_line", on=line)
    if target.pk != batch.pk:
        tell_proposed(target, ZERO)
        if not batch.lines.exists():
            note = _("All of it is in proposal %(number)s.") % {"number": target.number}
            _close(batch, by, note)
    return held


def _rejections_of(batch: PayoutBatch, by: User, lines: int) -> PayoutBatch:
    """Open a proposal for what an approver wants to reject of another one."""
    project = lock_project(batch.project_id)
    found = PayoutBatch.objects.create(
        project=project,
        task=batch.task,
        number=_next_number(project),
        title=_("Rejections from proposal %(number)s") % {"number": batch.number},
        key=uuid4(),
        evidence_note=batch.evidence_note,
        evidence_run=batch.evidence_run,
        proposed_by=by,
    )
    record(by=by, project=project, action="payout.propose", on=found, lines=lines, total="0.00")
    return found


def _may_touch(batch: PayoutBatch, by: User) -> None:
    """Raise NotAllowed unless the person proposed the batch or may approve it."""
    why_not = reason_cannot_decide(batch, by)
    if why_not and batch.proposed_by_id != by.pk:
        raise NotAllowed(why_not)


@transaction.atomic
def send_back(*, by: User, batch: PayoutBatch, note: str) -> PayoutBatch:
    """Return a proposal with a note; its assignments may be proposed anew.

    By whoever may approve it, or by its proposer, who takes it back so.
    """
    batch = _lock_batch(batch)
    _may_touch(batch, by)
    if batch.state == PayoutBatch.State.SENT_BACK:
        return batch
    if batch.state != PayoutBatch.State.PROPOSED:
        raise Conflict(_("It was approved already."))
    note = clean_text(note, "note", 300)
    if not note and batch.proposed_by_id != by.pk:
        raise Invalid(_("The proposer is owed a note."), fields={"note": _("Write a sentence.")})
    _close(batch, by, note)
    return batch


def _close(batch: PayoutBatch, by: User, note: str) -> None:
    batch.state, batch.decided_by = PayoutBatch.State.SENT_BACK, by
    batch.decided_at, batch.decision_note = timezone.now(), note
    batch.save(update_fields=["state", "decided_by", "decided_at", "decision_note"])
    batch.lines.update(live=False)
    record(by=by, project=batch.project, action="payout.send_back", on=batch)
    tell_sent_back(batch)
