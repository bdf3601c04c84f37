"""Rows of a statement against the payments of a task: which is which, and what differs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import (
    Assignment,
    LedgerEntry,
    Payment,
    Recruitment,
    Statement,
    Task,
    Visit,
)
from annotation.models.decisions import Decision, with_decision
from annotation.payouts.actions.ledger import CORRECTION_PAYMENT, HAND
from annotation.payouts.selectors.payable import payable
from annotation.payouts.statement_file import Reported, ReportedPayment, ReportedSubmission
from crowdqc.money import as_decimal
from crowdqc.numbers import money

ZERO = Decimal("0.00")
State = Payment.State


@dataclass
class _Known:
    """What the books hold, and which payments a row has taken already."""

    payments: dict[int, Payment]
    of_assignment: dict[int, list[int]]  # assignment -> payments
    submissions: dict[str, list[int]]  # their name of it -> assignments
    participants: dict[str, list[int]]
    paid: dict[int, Decimal]  # payment -> amount that is booked
    fees: dict[int, Decimal]  # payment -> fee that is booked
    deducted: Mapping[int, Decimal]  # payment -> what is taken off an open one
    # Worker -> amounts that were paid for corrections and that no row has taken.
    corrections: dict[int, list[Decimal]]
    before: dict[tuple[str, ...], list[dict[str, Any]]]  # rows of earlier statements
    taken_back: dict[int, str] = field(default_factory=dict)  # booked back, as a file lacked it
    taken: set[int] = field(default_factory=set)
    # Payments of which an export said that the work was approved: it says so of each once.
    approved: set[int] = field(default_factory=set)

    def ours(self, pk: int) -> Decimal:
        """What is booked of a payment; of one that is open, what is to be paid of it."""
        row = self.payments[pk]
        if row.state == State.DONE:
            return self.paid.get(pk, ZERO)
        return row.amount - self.deducted.get(pk, ZERO)

    def is_base(self, pk: int) -> bool:
        """Whether a payment is base pay."""
        return self.payments[pk].what == Payment.What.BASE


def hold_against(
    task: Task, recruitment: Recruitment | None, reported: Reported
) -> list[dict[str, Any]]:
    """What becomes of every row, and behind them a row for each payment that the file lacks.

    A file of submissions tells of base pay alone.
    """
    known = _known(task, recruitment)
    currency = task.project.currency
    works = _works(known) if any(isinstance(one, ReportedSubmission) for one in reported) else {}
    rows, days, kinds = [], [], {str(Payment.What.BASE)}
    for one in reported:
        if isinstance(one, ReportedSubmission):
            rows.append(_held_submission(one, known, works, currency))
            days.append(one.at)
        else:
            rows.append(_held(one, known, currency))
            days.append(one.paid_at)
            kinds.add(str(Payment.What.BONUS))
    return rows + [_lacking(one, known) for one in _missing(known, days, kinds)]


def _works(known: _Known) -> dict[int, Any]:
    """The assignments that a file may name, with what was decided about them."""
    names = (*known.submissions.values(), *known.participants.values())
    ids = {pk for found in names for pk in found}
    rows = Assignment.objects.filter(pk__in=ids).select_related("worker")
    return {row.pk: row for row in with_decision(rows)}


def _held_submission(
    one: ReportedSubmission, known: _Known, works: Mapping[int, Any], currency: str
) -> dict[str, Any]:
    """One submission of the file with its outcome, and what there is to book."""
    ids = known.submissions.get(one.submission) or known.participants.get(one.participant, [])
    work = works[ids[0]] if len(ids) == 1 else None
    base = [pk for pk in known.of_assignment.get(work.pk, []) if known.is_base(pk)] if work else []
    if work is not None and base and one.is_approved:
        row = _held(one.payment(work.pay, currency), known, currency, once=True)
        return {**row, "status": one.status}
    row = {
        **_told(one.payment(ZERO, currency)),
        "amount": "",
        "status": one.status,
        "worker": work.worker.pseudonym if work else "",
    }
    if work is None:
        outcome = "unknown" if one.is_approved else "matched"
        note = _("nobody known here came by this submission")
        return _row(row, outcome, note)
    word = str(Decision(work.decision).label).lower()
    done = [known.payments[pk] for pk in base if known.payments[pk].state == State.DONE]
    if done:
        known.taken.add(done[0].pk)
        lacks = _lacking(done[0], known)
        names = {name: row[name] for name in ("line", "submission", "participant", "status")}
        note = _("not approved there, and here: %(state)s") % {"state": word}
        return {**lacks, **names, "note": note}
    known.taken.update(base)
    differs = {
        "APPROVED": work.pay > 0,
        "REJECTED": work.decision != Decision.REJECTED,
        "AWAITING REVIEW": work.decision == Decision.REJECTED,
    }.get(one.status, work.decision != Decision.NONE)
    note = _("here: %(state)s") % {"state": word}
    if one.is_approved and differs:  # paid there; what is booked here follows a decision
        row["amount"] = str(work.pay)
        note = _("paid there, and here: %(state)s; decide about the work here") % {"state": word}
        if work.decision == Decision.REJECTED:
            note = _("paid there although it is rejected here: ask for it back, or overturn it")
    return _row(row, "different" if differs else "matched", note)


def _known(task: Task, recruitment: Recruitment | None) -> _Known:
    rows = Payment.objects.filter(
        assignment__task=task,
        recruitment=recruitment,
        amount__gt=0,
        what__in=(Payment.What.BASE, Payment.What.BONUS),
    ).select_related("worker")
    payments = {row.pk: row for row in rows.order_by("pk")}
    kind = LedgerEntry.Kind
    paid, fees = _booked(task, kind.PAYMENT, "payment:"), _booked(task, kind.FEE, "fee:")
    deducted = payable(task.project).deducted
    corrections: dict[int, list[Decimal]] = {}
    through = HAND if recruitment is None else f"{recruitment.kind}-{recruitment.pk}"
    entries = LedgerEntry.objects.filter(
        task__project=task.project, key__startswith=CORRECTION_PAYMENT, credit=f"paid:{through}"
    )
    for worker, amount in entries.order_by("pk").values_list("worker", "amount"):
        corrections.setdefault(worker, []).append(amount)
    known = _Known(payments, {}, {}, {}, paid, fees, deducted, corrections, {})
    for row in payments.values():
        known.of_assignment.setdefault(row.assignment_id, []).append(row.pk)
        if recruitment is None:
            _add(known.submissions, str(row.assignment_id), row.assignment_id)
            _add(known.participants, row.worker.pseudonym, row.assignment_id)
            _add(known.participants, row.worker.external_id, row.assignment_id)
    visits = Visit.objects.filter(recruitment=recruitment, assignment__isnull=False)
    for session, participant, pk in visits.values_list("session", "participant", "assignment"):
        _add(known.submissions, session, pk)
        _add(known.participants, participant, pk)
    for statement in Statement.objects.filter(task=task, recruitment=recruitment).order_by("pk"):
        _remember(statement, known)
    return known


def reversing_statement(statement: Statement, payment_id: int) -> str:
    """Return the file since which this payment is reversed, or ""."""
    known = _known(statement.task, statement.recruitment)
    return known.taken_back.get(payment_id, "")


def _remember(statement: Statement, known: _Known) -> None:
    """Note rows of earlier files: the same row again is no second payment."""
    told: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    back = set(
        LedgerEntry.objects.filter(key__startswith=f"statement:{statement.pk}:").values_list(
            "key", flat=True
        )
    )
    for place, row in enumerate(statement.rows):
        key = f"statement:{statement.pk}:{place}"
        if row["outcome"] == "missing":
            if key in back:
                known.taken_back[row["payment"]] = statement.name
            continue
        if row.get("status") and not row["payment"]:
            continue  # it told of no payment
        if row.get("correction"):
            amounts = known.corrections.get(row["correction"], [])
            if as_decimal(row["amount"]) in amounts:
                amounts.remove(as_decimal(row["amount"]))
        identity = tuple(row[name] for name in IDENTITY)
        named = {**row, "statement": statement.name, "booked": key in back}
        told.setdefault(identity, []).append(named)
        if row["payment"] and row["outcome"] in ("matched", "different"):
            (known.approved if row.get("status") else known.taken).add(row["payment"])
            if key in back:
                known.taken_back.pop(row["payment"], None)
    for identity, rows in told.items():
        if len(rows) > len(known.before.get(identity, ())):
            known.before[identity] = rows


IDENTITY = ("submission", "participant", "kind", "amount", "currency", "paid_at")


def _add(into: dict[str, list[int]], name: str, pk: int) -> None:
    if name and pk not in into.setdefault(name, []):
        into[name].append(pk)


def _booked(task: Task, kind: str, prefix: str) -> dict[int, Decimal]:
    """What is booked of each payment of a task under a key of this prefix."""
    rows = (
        LedgerEntry.objects.filter(task=task, kind=kind, key__startswith=prefix)
        .order_by()
        .values_list("key")
        .annotate(s=Sum("amount"))
    )
    return {int(key.removeprefix(prefix)): amount for key, amount in rows}


def _held(
    one: ReportedPayment, known: _Known, currency: str, *, once: bool = False
) -> dict[str, Any]:
    """One row of the file with its outcome, in words, and what there is to book.

    ``once``: the row tells of a state, not of an amount that left, so that it is never a second
    payment.
    """
    row = _told(one)
    own = _payments_of(one, known)
    said = known.taken | known.approved if once else known.taken
    free = [pk for pk in own if pk not in said]
    again = known.before.get(one.identity)
    if again:
        told = again.pop(0)
        # Nobody had approved it when that file was read, and nothing was booked for it.
        if free and not told["payment"] and not told["booked"]:
            known.taken.add(_best(free, one, known))
        same = {name: told[name] for name in ("outcome", "payment", "ours", "worker")}
        note = _("as %(statement)s said before: %(note)s") % {
            "statement": told["statement"],
            "note": told["note"],
        }
        return _row({**row, **same}, note=note)
    fee = one.fee or ZERO
    paid = None if once else _paid_correction(one, known, free)
    if paid or not own:
        return _without_payment(row, one, paid, currency)
    if not free:
        payment = known.payments[own[0]]
        row |= {"payment": payment.pk, "worker": payment.worker.pseudonym}
        row["ours"] = str(known.ours(payment.pk))
        if once:
            return _row(row, "matched", _("told of before"))
        return _row(row, "twice", _("the same payment left a second time"), one.amount, fee)
    payment = known.payments[_best(free, one, known)]
    (known.approved if once else known.taken).add(payment.pk)
    ours = known.ours(payment.pk)
    row |= {"payment": payment.pk, "worker": payment.worker.pseudonym, "ours": str(ours)}
    row["waits"] = payment.state != State.DONE and one.currency == payment.currency
    if payment.pk in known.taken_back:
        note = _("booked back since %(taken_back)s lacked it") % {
            "taken_back": known.taken_back[payment.pk]
        }
        return _row(row, "different", note, one.amount, one.fee or ZERO)
    return _row(row, *_compared(one, payment, ours, known.fees.get(payment.pk, ZERO)))


def _without_payment(
    row: dict[str, Any], one: ReportedPayment, paid: Payment | None, currency: str
) -> dict[str, Any]:
    """A row about none of the approved payments: it pays a correction, or is unknown."""
    if paid is not None:
        found = {"worker": paid.worker.pseudonym, "ours": str(one.amount)}
        return _row({**row, **found, "correction": paid.worker_id}, "matched")
    note = _("the books hold no such payment")
    foreign = one.currency != currency
    amounts = (ZERO, ZERO) if foreign else (one.amount, one.fee or ZERO)
    return _row(row, "unknown", note, *amounts)


def _paid_correction(one: ReportedPayment, known: _Known, free: Sequence[int]) -> Payment | None:
    """A payment to the worker whose correction this row pays, if no open payment is of its amount.

    The correction is taken then: no other row pays it.
    """
    if any(known.ours(pk) == one.amount for pk in free):
        return None
    for payment in (known.payments[pk] for pk in _payments_of(one, known, kinds=ANY_KIND)):
        amounts = known.corrections.get(payment.worker_id, [])
        if one.currency == payment.currency and one.amount in amounts:
            amounts.remove(one.amount)
            return payment
    return None


def _told(one: ReportedPayment) -> dict[str, Any]:
    """A row of the file as it is kept, before it is known whose it is."""
    return {
        "line": one.line,
        "submission": one.submission,
        "participant": one.participant,
        "kind": one.kind,
        "amount": str(one.amount),
        "currency": one.currency,
        "fee": None if one.fee is None else str(one.fee),
        "paid_at": one.paid_at,
        "worker": "",
        "payment": None,
        "ours": None,
        "waits": False,
    }


ANY_KIND = (Payment.What.BASE, Payment.What.BONUS)


def _payments_of(
    one: ReportedPayment, known: _Known, kinds: Collection[str] | None = None
) -> list[int]:
    assignments = known.submissions.get(one.submission) or known.participants.get(
        one.participant, []
    )
    return [
        pk
        for assignment in assignments
        for pk in known.of_assignment.get(assignment, [])
        if known.payments[pk].what in (kinds or (one.kind,))
    ]


def _best(free: Iterable[int], one: ReportedPayment, known: _Known) -> int:
    """Choose one of several payments: of the same amount, and rather one that counts as paid."""

    def rank(pk: int) -> tuple[bool, bool, int]:
        row = known.payments[pk]
        return known.ours(pk) != one.amount, row.state != State.DONE, pk

    return min(free, key=rank)


def _compared(
    one: ReportedPayment, payment: Payment, ours: Decimal, fee: Decimal
) -> tuple[str, str, Decimal, Decimal]:
    """The outcome of a row about a payment of which ``ours`` and ``fee`` are booked."""
    if one.currency != payment.currency:
        note = _("in %(currency)s, and ours is in %(ours)s; correct it by hand") % {
            "currency": one.currency,
            "ours": payment.currency,
        }
        return "different", note, ZERO, ZERO
    if payment.state != State.DONE:
        state = payment.get_state_display().lower()
        return (
            "different",
            _("paid there, and here: %(state)s") % {"state": state},
            one.amount,
            one.fee or ZERO,
        )
    more, more_fee = one.amount - ours, ZERO if one.fee is None else one.fee - fee
    said = []
    if more:
        said.append(_("ours is %(ours)s") % {"ours": money(ours, payment.currency)})
    if more_fee:
        said.append(
            _("fee %(fee)s, booked %(booked)s")
            % {"fee": money(one.fee, one.currency), "booked": money(fee, one.currency)}
        )
    return "different" if said else "matched", "; ".join(said), more, more_fee


def _missing(known: _Known, days: Sequence[str], kinds: Set[str]) -> list[Payment]:
    """Payments that we hold for done, or sent, up to the file's last day, and that it lacks."""
    last = max((day[:10] for day in days), default="")
    return [
        row
        for row in known.payments.values()
        if row.pk not in known.taken | known.approved
        and row.what in kinds
        and row.state in (State.DONE, State.SENDING)
        and (not last or _day(row) <= last)
    ]


def _day(payment: Payment) -> str:
    moment = payment.done_at or payment.sent_at or payment.created_at
    return timezone.localtime(moment).date().isoformat()


def _lacking(payment: Payment, known: _Known) -> dict[str, Any]:
    done, ours = payment.state == State.DONE, known.ours(payment.pk)
    row = {
        "line": None,
        "submission": "",
        "participant": "",
        "kind": payment.what,
        "amount": str(ours),
        "currency": payment.currency,
        "fee": None,
        "paid_at": "",
        "worker": payment.worker.pseudonym,
        "payment": payment.pk,
        "ours": str(ours),
        "waits": False,
    }
    note = (
        _("booked as paid %(day)s, and the file lacks it")
        if done
        else _("sent %(day)s, and the file lacks it")
    ) % {"day": _day(payment)}
    back = (-ours, -known.fees.get(payment.pk, ZERO)) if done else (ZERO, ZERO)
    return _row(row, "missing", note, *back)


def _row(
    row: dict[str, Any],
    outcome: str = "",
    note: str = "",
    more: Decimal = ZERO,
    more_fee: Decimal = ZERO,
) -> dict[str, Any]:
    """The row as it is kept; ``books``: there is something to book for it."""
    return {
        **row,
        "outcome": outcome or row["outcome"],
        "note": note,
        "more": str(more),
        "more_fee": str(more_fee),
        "books": bool(more or more_fee),
    }
