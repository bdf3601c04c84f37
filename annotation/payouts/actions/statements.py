"""What a platform really paid, held against the books; differences are booked, never edited.

A statement is kept as it was read, with what became of every row. It changes no payment and no
booking by itself: a manager looks at the differences and books those that are right, large ones
with a second person.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from annotation.models import (
    Assignment,
    Correction,
    LedgerEntry,
    Membership,
    Payment,
    Recruitment,
    Statement,
    Task,
    User,
)
from annotation.payouts.actions import ledger as books
from annotation.payouts.actions import statement_rows
from annotation.payouts.actions.payments import confirm, settle_deducted
from annotation.payouts.actions.rules import lock_workers, require_decider
from annotation.payouts.actions.statement_rows import hold_against
from annotation.payouts.corrections.actions.propose import ABOVE_LIMIT, propose_above_limit
from annotation.payouts.selectors.statement_bookings import (
    APPROVED_LATER,
    StatementBookings,
    Unapproved,
    payments_in,
    row_key,
    unapproved_work,
)
from annotation.payouts.statement_file import read_statement
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from crowdqc.errors import Conflict, Invalid, Missing, NotAllowed
from crowdqc.money import as_decimal

__all__ = ["ABOVE_LIMIT", "book_difference", "import_statement", "row_key", "write_row"]
OPEN = (
    Payment.State.PLANNED,
    Payment.State.PREPARED,
    Payment.State.SENDING,
    Payment.State.FAILED,
    Payment.State.UNCLEAR,
    Payment.State.BY_HAND,
)


@transaction.atomic
def import_statement(
    *, by: User, task: Task, recruitment: Recruitment | None, name: str, content: bytes
) -> tuple[Statement, bool]:
    """Check a platform's statement against the task's payments; True if the file is new.

    The same file again is the statement that is there, whoever sends it. Raises NotAllowed
    without a manager's role, Invalid naming every row that cannot be read; nothing is kept then.
    """
    require_decider(task.project, by)
    if recruitment is not None and recruitment.task_id != task.pk:
        raise Invalid(
            gettext("It is not a way into this task."),
            fields={"recruitment": gettext("Choose another.")},
        )
    digest = hashlib.sha256(content).hexdigest()
    # Statements of a project queue here, so that no two claim the same payment.
    task.project = lock_project(task.project_id)
    there = Statement.objects.filter(task=task, digest=digest).first()
    if there is not None:
        return there, False
    reported = read_statement(content, name, task.project.currency)
    statement = Statement.objects.create(
        task=task,
        recruitment=recruitment,
        digest=digest,
        name=name[:200],
        by=by,
        rows=hold_against(task, recruitment, reported),
    )
    record(
        by=by,
        project=task.project,
        action="statement.import",
        on=statement,
        rows=len(reported),
        digest=digest,
    )
    return statement, True


@transaction.atomic
def book_difference(*, by: User, statement: Statement, place: int) -> Correction | bool:
    """Book the difference of a statement's row; True if booked now, False if booked before.

    Above what one person may book in a day it becomes a proposal for a second one, which is
    given back. Raises NotAllowed without a manager's role or for one's own payment, Missing where
    there is no such row, Conflict where a row gives nothing to book.
    """
    statement, place = _origin(statement, place)
    plan = _planned(by, statement, place)
    if plan is None:
        return False
    if plan.amount > 0:
        proposal = propose_above_limit(
            by=by,
            task=plan.statement.task,
            amount=plan.amount,
            statement=plan.statement,
            place=place,
            key=plan.key,
            memo=f"Statement {plan.statement.name}: {plan.row['note']}"[:300],
        )
        if proposal is not None:
            return proposal
    _write(plan, place, by)
    return True


def book_matching(*, by: User, statement: Statement) -> tuple[int, int]:
    """Book every row that the platform paid as was approved here, and that had not left here.

    Each in a transaction of its own. Returns how many were booked and how many, since a fee goes
    above what one person may book in a day, await a second one. Rows that differ are left alone.
    Raises NotAllowed without a manager's role.
    """
    require_decider(statement.task.project, by)
    booked = waiting = 0
    bookings = StatementBookings([statement])
    for place in range(len(statement.rows)):
        if not bookings.is_matching(statement, place):
            continue
        try:
            done = book_difference(by=by, statement=statement, place=place)
        except (Conflict, NotAllowed):
            continue  # being sent just now, or the manager's own: it stays open on the page
        if isinstance(done, Correction):
            waiting += done.state == Correction.State.PROPOSED
        else:
            booked += done
    return booked, waiting


def _origin(statement: Statement, place: int) -> tuple[Statement, int]:
    """Return the row by which a row is booked: of an earlier file that said the same."""
    if 0 <= place < len(statement.rows) and (before := statement.rows[place].get("before")):
        return Statement.objects.get(pk=before[0]), before[1]
    return statement, place


def write_row(*, by: User, statement: Statement, place: int, most: Decimal) -> None:
    """Book a row that a second person approved, at no more than was proposed."""
    plan = _planned(by, statement, place)
    if plan is None:
        raise Conflict(gettext("The books say it by now; there is nothing to book. Decline this."))
    if plan.amount > most:
        raise Conflict(
            gettext("By now %(amount)s would be booked, not %(most)s. Decline this.")
            % {"amount": plan.amount, "most": most}
        )
    _write(plan, place, by)


@dataclass(frozen=True)
class _Plan:
    """What booking a row does: it settles open payments, and moves amounts."""

    statement: Statement
    row: dict[str, Any]
    worker: Membership | None
    assignment: Assignment | None  # that all of it is about
    task: Task
    settles: list[tuple[Payment, Decimal]]  # with what was paid of each
    fee: Decimal  # of what it settles
    moves: list[tuple[str, str, Decimal, str]]
    key: str

    @property
    def amount(self) -> Decimal:
        """Return the amount to book beyond what two people approved."""
        if self.settles and self.row.get("assignment"):
            return abs(as_decimal(self.row["amount"]) - self.settles[0][0].amount)
        if self.settles:
            more = abs(as_decimal(self.row["amount"]) - as_decimal(self.row["ours"]))
            return more + self.fee
        return sum((amount for _, _, amount, _ in self.moves), books.ZERO)


def _planned(by: User, statement: Statement, place: int) -> _Plan | None:
    """Return what to book for a row, its payment locked; None if it was booked before."""
    statement = (
        Statement.objects.select_for_update(of=("self",), no_key=True)
        .select_related("task__project", "recruitment")
        .get(pk=statement.pk)
    )
    require_decider(statement.task.project, by)
    if not 0 <= place < len(statement.rows):
        raise Missing(gettext("There is no such row in this statement."))
    row, key = statement.rows[place], row_key(statement.pk, place)
    if row.get("assignment") and row["status"] == "APPROVED":
        return _planned_unapproved(by, statement, place)
    if LedgerEntry.objects.filter(key__in=(key, f"{key}:fee")).exists():
        return None
    if not row["books"]:
        raise Conflict(gettext("This row gives nothing to book."))
    rows = _payments(row, by)
    missing = row["payment"] if row["outcome"] == "missing" else None
    if missing is not None and rows:
        earlier = statement_rows.reversing_statement(statement, missing)
        if earlier:
            raise Conflict(
                gettext("It was booked back already, since %(earlier)s lacked it.")
                % {"earlier": earlier}
            )
    settles: list[tuple[Payment, Decimal]] = []
    more, fee = as_decimal(row["more"]), as_decimal(row["more_fee"])
    if row["waits"] and rows:
        # It had not left when the file was read; by now it may be booked, and at another amount.
        more, fee = _still_differs(row, rows)
        due = {part["payment"]: as_decimal(part["ours"]) for part in row.get("parts") or ()}
        open_ = [(one, due.get(one.pk, one.amount)) for one in rows if one.state in OPEN]
        settles, more = _shares(open_, more)
    worker = _worker(row, rows)
    moves = _moves(statement, _account(statement, worker), more, books.ZERO if settles else fee)
    if not settles and not moves:
        return None
    return _Plan(
        statement=statement,
        row=row,
        worker=worker,
        assignment=rows[0].assignment if len({one.assignment_id for one in rows}) == 1 else None,
        task=rows[0].assignment.task if rows else statement.task,
        settles=settles,
        fee=fee if settles else books.ZERO,
        moves=moves,
        key=key,
    )


def _planned_unapproved(by: User, statement: Statement, place: int) -> _Plan | None:
    """Return what to book for a submission that was approved there before it was paid here.

    As paid without an approval; once it is approved here, as its payment, in place of that.
    """
    row, key = statement.rows[place], row_key(statement.pk, place)
    work = (
        Assignment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("worker", "task__project")
        .get(pk=row["assignment"])
    )
    if work.worker.user_id == by.pk:
        raise NotAllowed(gettext("It is about a payment to you; somebody else must book it."))
    state: Unapproved = unapproved_work([(statement, place)])[statement.pk, place]
    if state.is_settled:
        return None
    if not state.can_book:
        raise Conflict(gettext("Decide about the work first."))
    amount = as_decimal(row["amount"])
    settles = []
    if state.payment is not None:
        row = {**row, "payment": state.payment.pk}
        settles = [(one, amount) for one in _payments(row, by) if one.state in OPEN]
    unknown = f"unknown:{_through(statement)}"
    if state.payment is None:
        moves = _moves(statement, unknown, amount, books.ZERO)
    elif state.booked:
        key = f"{key}{APPROVED_LATER}"
        moves = _moves(statement, unknown, -amount, books.ZERO)
    else:
        moves = []
    return _Plan(
        statement=statement,
        row=row,
        worker=None,
        assignment=work,
        task=work.task,
        settles=settles,
        fee=books.ZERO,
        moves=moves,
        key=key,
    )


def _shares(
    payments: Sequence[tuple[Payment, Decimal]], amount: Decimal
) -> tuple[list[tuple[Payment, Decimal]], Decimal]:
    """Share what was paid among open payments and what is due of each; what is left of it.

    The last one takes the rest, so that only less than nothing is left: more was booked before
    than the file says.
    """
    found, left = [], amount
    for at, (payment, due) in enumerate(payments):
        is_last = at == len(payments) - 1
        share = max(left if is_last else min(left, due), books.ZERO)
        found.append((payment, share))
        left -= share
    return found, left


def _write(plan: _Plan, place: int, by: User) -> None:
    statement, row = plan.statement, plan.row
    _settle_reported(plan, by)
    LedgerEntry.objects.bulk_create(
        LedgerEntry(
            project=statement.task.project,
            task=plan.task,
            worker=plan.worker,
            assignment=plan.assignment,
            kind=LedgerEntry.Kind.CORRECTION,
            debit=debit,
            credit=credit,
            amount=amount,
            currency=row["currency"],
            key=plan.key + suffix,
            by=by,
            memo=f"Statement {statement.name}: {row['note']}"[:300],
        )
        for debit, credit, amount, suffix in plan.moves
    )
    paid = plan.worker or (plan.assignment.worker if plan.assignment else None)
    if paid is not None:
        settle_deducted(project=statement.task.project, workers=[paid.pk])
    if plan.moves:
        record(
            by=by,
            project=statement.task.project,
            action="statement.book",
            on=statement,
            row=place,
            outcome=row["outcome"],
            amount=row["amount"],
        )


def _payments(row: Mapping[str, Any], by: User) -> list[Payment]:
    """The payments of a row, locked after their worker; NotAllowed where one is to the person."""
    rows = Payment.objects.filter(pk__in=payments_in(row))
    lock_workers(set(rows.values_list("worker", flat=True)))
    found = list(
        rows.select_for_update(of=("self",), no_key=True)
        .select_related("worker__user", "assignment__task__project", "recruitment")
        .order_by("pk")
    )
    worker = _worker(row, found)
    if worker is not None and worker.user_id == by.pk:
        raise NotAllowed(gettext("It is about a payment to you; somebody else must book it."))
    return found


def _worker(row: Mapping[str, Any], payments: Sequence[Payment]) -> Membership | None:
    """Whose account a row is about; None where nobody known is named."""
    if payments:
        return payments[0].worker
    return (
        Membership.objects.filter(pk=row["correction"]).first() if row.get("correction") else None
    )


def _settle_reported(plan: _Plan, by: User) -> None:
    """Payments that had not left here and that the platform says it paid: they are done now."""
    statement, fee = plan.statement, plan.fee
    now = timezone.now()
    if any(payment.held_until and payment.held_until > now for payment, _ in plan.settles):
        raise Conflict(gettext("This payment is being sent just now; try again in a few minutes."))
    memo = f"Statement {statement.name}"[:300]
    for payment, amount in plan.settles:
        confirm(payment=payment, by=by, amount=amount, fee=fee, memo=memo)
        record(
            by=by,
            project=statement.task.project,
            action="statement.settle",
            on=payment,
            statement=statement.pk,
            amount=str(amount),
        )
        fee = books.ZERO


def _still_differs(row: Mapping[str, Any], payments: Sequence[Payment]) -> tuple[Decimal, Decimal]:
    """Return how the books differ from the file, in amount and fee, for payments not yet booked."""
    paid_keys, fee_keys = ([f"{kind}:{one.pk}" for one in payments] for kind in ("payment", "fee"))
    keys = dict.fromkeys([*paid_keys, *fee_keys], books.ZERO)
    keys |= dict(LedgerEntry.objects.filter(key__in=keys).values_list("key", "amount"))
    paid = sum((keys[key] for key in paid_keys), books.ZERO)
    # What was paid for corrections was booked when the file was read.
    entries = [part for part in row.get("parts") or () if part["payment"] is None]
    paid += sum((as_decimal(part["ours"]) for part in entries), books.ZERO)
    fee = sum((keys[key] for key in fee_keys), books.ZERO)
    more_fee = books.ZERO if row["fee"] is None else as_decimal(row["fee"]) - fee
    return as_decimal(row["amount"]) - paid, more_fee


def _through(statement: Statement) -> str:
    if statement.recruitment is None:
        return books.HAND
    return f"{statement.recruitment.kind}-{statement.recruitment.pk}"


def _account(statement: Statement, worker: Membership | None) -> str:
    return books.payable_account(worker.pk) if worker else f"unknown:{_through(statement)}"


def _moves(
    statement: Statement, account: str, more: Decimal, fee: Decimal
) -> list[tuple[str, str, Decimal, str]]:
    """Debit, credit, amount and the key's suffix of what has to be booked."""
    through = _through(statement)
    left = f"paid:{through}"
    found = []
    for code, amount, suffix in ((account, more, ""), (f"fees:{through}", fee, ":fee")):
        if amount > 0:
            found.append((code, left, amount, suffix))
        elif amount < 0:
            found.append((left, code, -amount, suffix))
    return found
