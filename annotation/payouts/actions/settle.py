"""What an approval writes: the cap, the ledger, rejections with their window, who is told."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.accounts.roles.selectors import list_managers
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
from annotation.notifications.actions.notices import notify
from annotation.notifications.actions.task_states import tell_budget
from annotation.notifications.actions.webhooks import emit
from annotation.payouts.actions import ledger as books
from annotation.payouts.actions import payments
from annotation.payouts.actions.rules import approvers
from annotation.work.actions.exclusions import leave_out_rejected
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import long_date, money, plural

ZERO = Decimal("0.00")
Decision = PayoutLine.Decision


def sort_out(
    lines: Sequence[PayoutLine], line_ids: Sequence[int] | None
) -> tuple[list[PayoutLine], list[PayoutLine], list[PayoutLine]]:
    """Sort lines into those to pay, to reject and to hold."""
    if line_ids is None:
        chosen = {line.pk for line in lines if line.decision != Decision.HOLD}
    else:
        chosen = set(line_ids)
    if chosen - {line.pk for line in lines}:
        raise Invalid(
            _("A chosen line is not part of this proposal."), fields={"lines": _("Unknown.")}
        )
    going = [line for line in lines if line.pk in chosen]
    rejected = [line for line in going if line.decision == Decision.REJECT]
    paid = [line for line in going if line.decision != Decision.REJECT]
    return paid, rejected, [line for line in lines if line.pk not in chosen]


def within_budget(batch: PayoutBatch, project: Project, amount: Decimal) -> None:
    """Raise Conflict if ``amount`` exceeds the task's or the project's budget."""
    if not amount:
        return
    task = Task.objects.get(pk=batch.task_id)
    for holder, label in ((task, "task"), (project, "project")):
        if holder.budget is None:
            continue
        spent = LedgerEntry.objects.cost_of(holder)
        if spent + amount > holder.budget:
            raise Conflict(
                _(
                    "The %(label)s’s budget is %(budget)s; %(spent)s is spent, %(amount)s is too "
                    "much."
                )
                % {"label": label, "budget": holder.budget, "spent": spent, "amount": amount},
                code="over-budget",
            )


def settle_proposal(
    batch: PayoutBatch,
    paid: Sequence[PayoutLine],
    rejected: Sequence[PayoutLine],
    held: Sequence[PayoutLine],
    by: User,
) -> None:
    """Write what is owed and what is rejected, and plan what has to be paid."""
    now = timezone.now()
    _write_owed(batch, paid, by)
    _write_rejections(batch, rejected, by, now)
    PayoutLine.objects.filter(
        pk__in=[line.pk for line in paid if line.decision == Decision.HOLD]
    ).update(decision=Decision.APPROVE)
    settled = [line.assignment_id for line in (*paid, *rejected)]
    Assignment.objects.filter(pk__in=settled).update(settled_at=now)
    PayoutLine.objects.filter(pk__in=[line.pk for line in held]).update(live=False)
    payments.plan_payments(batch=batch, paid=paid, rejected=rejected)
    payments.settle_deducted(
        project=batch.project, workers={line.assignment.worker_id for line in paid}
    )
    if paid:
        _tell_approved(batch, paid)
        payments.ask_for_missing_details(batch)
        tell_budget(task=batch.task, project=batch.project)


def _write_owed(batch: PayoutBatch, paid: Sequence[PayoutLine], by: User) -> None:
    LedgerEntry.objects.bulk_create(
        LedgerEntry(
            project=batch.project,
            task=batch.task,
            worker=line.assignment.worker,
            assignment=line.assignment,
            line=line,
            kind=kind,
            debit=books.work(batch.task_id),
            credit=books.payable_account(line.assignment.worker_id),
            amount=amount,
            currency=batch.project.currency,
            key=f"{kind}:{line.assignment_id}",
            memo=line.bonus_note if kind == "bonus" else "",
            by=by,
        )
        for line in paid
        for kind, amount in (("base", line.base), ("bonus", line.bonus))
        if amount > 0
    )


def _write_rejections(
    batch: PayoutBatch, rejected: Sequence[PayoutLine], by: User, now: dt.datetime
) -> None:
    until = now + dt.timedelta(days=batch.project.reply_days)
    Rejection.objects.bulk_create(
        Rejection(
            assignment=line.assignment,
            line=line,
            reason_code=line.reason_code,
            reason=line.reason,
            rejected_by=by,
            rejected_at=now,
            reply_until=until,
        )
        for line in rejected
    )
    leave_out_rejected(by=by, task=batch.task, lines=rejected)
    last = timezone.localtime(until)
    for line in rejected:
        notify(
            to=[line.assignment.worker.user],
            kind="rejection",
            text=lambda: (
                _(
                    "Work of yours in %(project)s was not accepted. The reason is on your earnings "
                    "page; you may reply once, until %(day)s."
                )
                % {"project": batch.project.name, "day": long_date(last)}
            ),
            key=f"rejection:{line.assignment_id}",
            url=reverse("work_earnings") + "#rejected",
            project=batch.project,
        )


def _tell_approved(batch: PayoutBatch, paid: Sequence[PayoutLine]) -> None:
    """Notify each worker once a proposal of how much of their work was approved, and the pay."""
    by_worker: dict[int, list[PayoutLine]] = {}
    for line in paid:
        by_worker.setdefault(line.assignment.worker_id, []).append(line)
    currency = batch.project.currency
    for pk, lines in by_worker.items():
        bonus = sum((line.bonus for line in lines), ZERO)
        total = sum((line.base for line in lines), bonus)
        less = any(line.base < line.assignment.pay for line in lines)
        notify(
            to=[lines[0].assignment.worker.user],
            kind="work.approved",
            project=batch.project,
            key=f"work.approved:{batch.pk}:{pk}",
            url=reverse("work_earnings") + "#approved",
            text=partial(
                _approved_text,
                number=len(lines),
                project=batch.project.name,
                currency=currency,
                total=total,
                bonus=bonus,
                less=less,
            ),
        )


def _approved_text(
    *, number: int, project: str, currency: str, total: Decimal, bonus: Decimal, less: bool
) -> str:
    told = ngettext(
        "%(number)s assignment in %(project)s was approved: %(amount)s.",
        "%(number)s assignments in %(project)s were approved: %(amount)s.",
        number,
    ) % {"number": number, "project": project, "amount": money(total, currency)}
    if bonus:
        told += " " + _("This includes a bonus of %(bonus)s.") % {"bonus": money(bonus, currency)}
    if less:
        told += " " + _("It is less than agreed; the reason is on your earnings page.")
    return told


# Who is told -----------------------------------------------------------------------------------


def tell_proposed(batch: PayoutBatch, amount: Decimal) -> None:
    """Notify webhooks and those who may approve a new proposal (if nobody may, the managers)."""
    project = batch.project
    people = approvers(project, batch.proposed_by)
    waits = bool(people)
    if not people:
        people = [project.owner, *list_managers(project)]

    def told() -> str:
        said = _("Proposal %(number)s in %(project)s awaits a second person: %(amount)s.")
        if not waits:
            said = _("Nobody can approve proposal %(number)s in %(project)s yet: %(amount)s.")
        return said % {
            "number": batch.number,
            "project": project.name,
            "amount": money(amount, project.currency),
        }

    notify(
        to=[one for one in people if one.pk != batch.proposed_by_id],
        kind="payout.waits",
        key=f"payout.proposed:{batch.pk}",
        project=project,
        text=told,
        url=_url(batch),
    )
    emit(
        project=project,
        event="payout.proposed",
        data={
            "proposal": batch.number,
            "task": batch.task_id,
            "total": str(amount),
            "currency": project.currency,
        },
    )


def tell_decided(batch: PayoutBatch, paid: int, rejected: int, amount: Decimal) -> None:
    """Notify the proposer that somebody else approved the proposal, and webhooks."""
    project = batch.project
    if batch.decided_by_id != batch.proposed_by_id:
        notify(
            to=[batch.proposed_by],
            kind="payout.decided",
            key=f"payout.decided:{batch.pk}",
            text=lambda: (
                _(
                    "Proposal %(number)s in %(project)s was approved: %(amount)s, %(lines)s "
                    "paid, %(rejected)s rejected."
                )
                % {
                    "number": batch.number,
                    "project": project.name,
                    "amount": money(amount, project.currency),
                    "lines": plural(paid, "line"),
                    "rejected": rejected,
                }
            ),
            url=_url(batch),
            project=project,
        )
    emit(
        project=project,
        event="payout.approved",
        data={
            "proposal": batch.number,
            "task": batch.task_id,
            "total": str(amount),
            "currency": project.currency,
            "paid": paid,
            "rejected": rejected,
        },
    )


def tell_sent_back(batch: PayoutBatch) -> None:
    """Notify the proposer that the proposal was sent back by somebody else."""
    if batch.decided_by_id == batch.proposed_by_id:
        return
    notify(
        to=[batch.proposed_by],
        kind="payout.decided",
        key=f"payout.decided:{batch.pk}",
        text=lambda: (
            _("Proposal %(number)s in %(name)s was sent back with a note.")
            % {"number": batch.number, "name": batch.project.name}
        ),
        url=_url(batch),
        project=batch.project,
    )


def _url(batch: PayoutBatch) -> str:
    return reverse("payout", args=[batch.project_id, batch.number])
