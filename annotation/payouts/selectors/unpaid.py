"""Why submitted work is not paid: one line for each assignment, with where to see to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, Payment, PayoutBatch, PayoutLine, Rejection
from annotation.models.decisions import Decision
from annotation.payouts.details.selectors import MISSING, WAY, WAYS
from crowdqc.numbers import short_date

State = Payment.State
QUOTED = 120  # characters of a reason that stand in a line


@dataclass(frozen=True)
class UnpaidReason:
    """Why an assignment is not paid, and the page where that can be changed ("": none)."""

    text: str
    url: str = ""


def unpaid_reasons(assignments: Sequence[Any], project_id: int) -> dict[int, UnpaidReason]:
    """By assignment (with ``decision``, of one project), why it is not paid; three queries.

    Paid work has none.
    """
    rows = {row.pk: row for row in assignments if row.decision not in ("", Decision.PAID)}
    lines: dict[int, PayoutLine] = {}
    found = PayoutLine.objects.filter(assignment__in=rows).order_by("pk")
    for line in found.select_related("batch__proposed_by", "batch__decided_by"):
        lines[line.assignment_id] = line  # the last one tells
    payments: dict[int, list[Any]] = {}
    waiting = Payment.objects.filter(assignment__in=rows, amount__gt=0).exclude(state=State.DONE)
    for payment in waiting.annotate(way=WAY).order_by("pk"):
        payments.setdefault(payment.assignment_id, []).append(payment)
    rejections = {
        row.assignment_id: row
        for row in Rejection.objects.filter(assignment__in=rows).select_related(
            "rejected_by", "outcome_by"
        )
    }
    told = {}
    for pk, row in rows.items():
        told[pk] = _reason(row, lines.get(pk), payments.get(pk, []), rejections.get(pk), project_id)
    return told


def _reason(
    row: Any,
    line: PayoutLine | None,
    payments: Sequence[Any],
    rejection: Rejection | None,
    project_id: int,
) -> UnpaidReason:
    review = reverse("review", args=[project_id, row.task_id])
    if row.decision == Decision.REJECTED and rejection is not None:
        return _rejected(rejection, project_id)
    if row.decision == Decision.OVERTURNED and rejection is not None:
        text = _("%(by)s withdrew the rejection on %(day)s; pay is not proposed again yet.")
        return UnpaidReason(
            text % {"by": rejection.outcome_by, "day": _day(rejection.outcome_at)}, review
        )
    if row.decision == Decision.PROPOSED and line is not None:
        return _proposed(line, project_id)
    if row.decision == Decision.APPROVED:
        return _approved(payments, project_id)
    if row.decision == Decision.UNPAID:
        return UnpaidReason(_not_payable(row))
    return _waiting(row, line, review)


def _day(moment: Any) -> str:
    return short_date(timezone.localtime(moment)) if moment else ""


def _rejected(rejection: Rejection, project_id: int) -> UnpaidReason:
    url = f"{reverse('rejection_list', args=[project_id])}#rejection-{rejection.pk}"
    reason = rejection.reason
    told = {
        "by": rejection.rejected_by,
        "day": _day(rejection.rejected_at),
        "reason": reason if len(reason) <= QUOTED else reason[:QUOTED] + "…",
        "until": _day(rejection.answer_by if rejection.replied_at else rejection.reply_until),
        "answered": rejection.outcome_by,
    }
    if rejection.outcome:
        text = _("Rejected by %(by)s on %(day)s: “%(reason)s” Confirmed by %(answered)s.")
    elif rejection.replied_at:
        text = _("Rejected by %(by)s on %(day)s: “%(reason)s” An answer is due by %(until)s.")
    elif rejection.is_closed or not rejection.reply_until:
        text = _("Rejected by %(by)s on %(day)s: “%(reason)s” There was no reply.")
    else:
        text = _("Rejected by %(by)s on %(day)s: “%(reason)s” A reply is open until %(until)s.")
    return UnpaidReason(text % told, url)


def _proposed(line: PayoutLine, project_id: int) -> UnpaidReason:
    batch = line.batch
    told = {
        "number": batch.number,
        "by": batch.proposed_by,
        "day": _day(batch.proposed_at),
    }
    if line.decision == PayoutLine.Decision.REJECT:
        text = _("%(by)s proposed to reject it on %(day)s (proposal %(number)s).")
    elif line.decision == PayoutLine.Decision.HOLD:
        text = _("Held to be looked at in proposal %(number)s of %(by)s, %(day)s.")
    else:
        text = _("Proposal %(number)s of %(by)s awaits a second person since %(day)s.")
    return UnpaidReason(text % told, reverse("payout", args=[project_id, batch.number]))


def _approved(payments: Sequence[Any], project_id: int) -> UnpaidReason:
    by_hand = reverse("payment_by_hand", args=[project_id])
    if not payments:
        return UnpaidReason(_("Approved without an amount to pay."))
    first = payments[0]
    states = {payment.state for payment in payments}
    if State.UNCLEAR in states or State.FAILED in states:
        stuck = next(one for one in payments if one.state in (State.UNCLEAR, State.FAILED))
        text = _("Approved; %(platform)s: %(error)s")
        told = {"platform": stuck.get_state_display().lower(), "error": stuck.error}
        url = f"{reverse('payment_list', args=[project_id])}?view=look"
        return UnpaidReason((text % told).rstrip(": "), url)
    if State.BY_HAND in states:
        if first.way == MISSING:
            text = _("Approved; the worker has not entered payment details.")
            return UnpaidReason(text, by_hand)
        text = _("Approved; somebody has to pay it: %(way)s.")
        return UnpaidReason(text % {"way": WAYS[first.way][0]}, by_hand)
    text = _("Approved; on the way through the platform.")
    return UnpaidReason(text, f"{reverse('payment_list', args=[project_id])}?view=sending")


def _not_payable(row: Assignment) -> str:
    if row.source == "import":
        return _("Imported; nothing is paid for it here.")
    return _("A quiz or an unpaid task; there is nothing to pay.")


def _waiting(row: Any, line: PayoutLine | None, review: str) -> UnpaidReason:
    if line is not None and line.batch.state == PayoutBatch.State.APPROVED:
        text = _("Left out when %(by)s approved proposal %(number)s; not proposed again yet.")
    elif line is not None:
        text = _("Proposal %(number)s was sent back by %(by)s; not proposed again yet.")
    else:
        text = _("Submitted on %(day)s; nobody has proposed its pay yet.")
        return UnpaidReason(text % {"day": _day(row.submitted_at)}, review)
    return UnpaidReason(text % {"by": line.batch.decided_by, "number": line.batch.number}, review)
