"""What a platform really paid, held against the books; differences are booked, never edited.

A statement is kept as it was read, with what became of every row. It changes no payment and no
booking by itself: a manager looks at the differences and books those that are right, large ones
with a second person.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from annotation.models import (
    Correction,
    LedgerEntry,
    Payment,
    Recruitment,
    Statement,
    Task,
    User,
)
from annotation.payouts.actions import ledger as books
from annotation.payouts.actions import statement_rows
from annotation.payouts.actions.payments import confirm
from annotation.payouts.actions.rules import require_decider
from annotation.payouts.actions.statement_rows import hold_against
from annotation.payouts.corrections.actions.propose import ABOVE_LIMIT, propose_above_limit
from annotation.payouts.statement_file import read_statement
from annotation.records.actions.audit import record
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
    # Statements of a task queue here, so that no two claim the same payment.
    task = (
        Task.objects.select_for_update(of=("self",), no_key=True)
        .select_related("project")
        .get(pk=task.pk)
    )
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


def row_key(statement: Statement, place: int) -> str:
    """The key of what is booked for the row at this place; its fee has ``:fee`` behind it."""
    return f"statement:{statement.pk}:{place}"


@transaction.atomic
def book_difference(*, by: User, statement: Statement, place: int) -> Correction | bool:
    """Book the difference of a statement's row; True if booked now, False if booked before.

    Above what one person may book in a day it becomes a proposal for a second one, which is
    given back. Raises NotAllowed without a manager's role or for one's own payment, Missing where
    there is no such row, Conflict where a row gives nothing to book.
    """
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
            key=row_key(statement, place),
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
    for place, row in enumerate(statement.rows):
        if not is_matching(row):
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


def is_matching(row: Mapping[str, Any]) -> bool:
    """Whether a row tells of a payment that waited here, at the very amount that was approved."""
    if not (row["books"] and row["waits"]):
        return False
    return as_decimal(row["amount"]) == as_decimal(row["ours"])


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
    """What booking a row does: it settles a payment, or moves amounts."""

    statement: Statement
    row: dict[str, Any]
    payment: Payment | None
    moves: list[tuple[str, str, Decimal, str]]
    settles: bool

    @property
    def amount(self) -> Decimal:
        """Return the amount to book beyond what two people approved."""
        if self.settles and self.payment is not None:
            more = abs(as_decimal(self.row["amount"]) - as_decimal(self.row["ours"]))
            return more + as_decimal(self.row["fee"] or 0)
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
    row, key = statement.rows[place], row_key(statement, place)
    if LedgerEntry.objects.filter(key__in=(key, f"{key}:fee")).exists():
        return None
    if not row["books"]:
        raise Conflict(gettext("This row gives nothing to book."))
    payment = _payment(row["payment"], by)
    if row["waits"] and payment is not None:
        # It had not left when the file was read; by now it may be booked, and at another amount.
        if payment.state in OPEN:
            return _Plan(statement, row, payment, [], settles=True)
        row = {**row, **_still_differs(row, payment)}
    if payment is not None and row["outcome"] == "missing":
        earlier = statement_rows.reversing_statement(statement, payment.pk)
        if earlier:
            raise Conflict(
                gettext("It was booked back already, since %(earlier)s lacked it.")
                % {"earlier": earlier}
            )
    moves = _moves(statement, row, payment)
    return _Plan(statement, row, payment, moves, settles=False) if moves else None


def _write(plan: _Plan, place: int, by: User) -> None:
    statement, row, payment = plan.statement, plan.row, plan.payment
    if plan.settles and payment is not None:
        _settle_reported(statement, row, payment, by)
        return
    key = row_key(statement, place)
    LedgerEntry.objects.bulk_create(
        LedgerEntry(
            project=statement.task.project,
            task=statement.task,
            worker=payment.worker if payment else None,
            assignment=payment.assignment if payment else None,
            kind=LedgerEntry.Kind.CORRECTION,
            debit=debit,
            credit=credit,
            amount=amount,
            currency=row["currency"],
            key=key + suffix,
            by=by,
            memo=f"Statement {statement.name}: {row['note']}"[:300],
        )
        for debit, credit, amount, suffix in plan.moves
    )
    record(
        by=by,
        project=statement.task.project,
        action="statement.book",
        on=statement,
        row=place,
        outcome=row["outcome"],
        amount=row["amount"],
    )


def _payment(pk: int | None, by: User) -> Payment | None:
    if pk is None:
        return None
    payment = (
        Payment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("worker__user", "assignment__task__project", "recruitment")
        .get(pk=pk)
    )
    if payment.worker.user_id == by.pk:
        raise NotAllowed(gettext("It is about a payment to you; somebody else must book it."))
    return payment


def _settle_reported(statement: Statement, row: dict[str, Any], payment: Payment, by: User) -> None:
    """A payment that had not left here and that the platform says it paid: it is done now."""
    if payment.held_until and payment.held_until > timezone.now():
        raise Conflict(gettext("This payment is being sent just now; try again in a few minutes."))
    amount, fee = as_decimal(row["amount"]), as_decimal(row["fee"] or 0)
    confirm(
        payment=payment, by=by, amount=amount, fee=fee, memo=f"Statement {statement.name}"[:300]
    )
    record(
        by=by,
        project=statement.task.project,
        action="statement.settle",
        on=payment,
        statement=statement.pk,
        amount=str(amount),
    )


def _still_differs(row: dict[str, Any], payment: Payment) -> dict[str, str]:
    """Return how the books differ from the file for a payment booked since it was read."""
    keys = {f"payment:{payment.pk}": books.ZERO, f"fee:{payment.pk}": books.ZERO}
    keys |= dict(LedgerEntry.objects.filter(key__in=keys).values_list("key", "amount"))
    paid, fee = keys.values()
    more_fee = books.ZERO if row["fee"] is None else as_decimal(row["fee"]) - fee
    return {"more": str(as_decimal(row["amount"]) - paid), "more_fee": str(more_fee)}


def _moves(
    statement: Statement, row: dict[str, Any], payment: Payment | None
) -> list[tuple[str, str, Decimal, str]]:
    """Debit, credit, amount and the key's suffix of what has to be booked."""
    through = (
        books.HAND
        if statement.recruitment is None
        else f"{statement.recruitment.kind}-{statement.recruitment.pk}"
    )
    left = f"paid:{through}"
    worker = books.payable_account(payment.worker_id) if payment else f"unknown:{through}"
    more, fee = as_decimal(row["more"]), as_decimal(row["more_fee"])
    found = []
    for account, amount, suffix in ((worker, more, ""), (f"fees:{through}", fee, ":fee")):
        if amount > 0:
            found.append((account, left, amount, suffix))
        elif amount < 0:
            found.append((left, account, -amount, suffix))
    return found
