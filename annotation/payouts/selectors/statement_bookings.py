"""What was booked for the rows of statements, and which payments are reversed since."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Q, QuerySet

from annotation.models import Assignment, LedgerEntry, Payment, Project, Statement
from annotation.models.decisions import Decision, with_decision
from crowdqc.money import as_decimal

ZERO = Decimal(0)
# Decisions that say later whether what was paid for a submission is owed.
UNDECIDED = (Decision.WAITING, Decision.OVERTURNED, Decision.PROPOSED)
APPROVED_LATER = ":approved"  # ends the key of what takes a payment without approval back


def payments_in(row: Mapping[str, Any]) -> list[int]:
    """Return the payments that a statement's row was matched with."""
    if row["payment"] is None:
        return []
    parts = row.get("parts") or [row]  # rows of earlier versions have one payment and no parts
    return [part["payment"] for part in parts if part["payment"] is not None]


@dataclass(frozen=True)
class PaymentCorrection:
    """What a statement's row changed of what was paid by one payment."""

    entry: LedgerEntry
    statement: Statement
    amount: Decimal  # below 0: it had not left


def payment_entries(project: Project) -> QuerySet[LedgerEntry]:
    """Entries between a worker's account and what was paid: payments and their corrections."""
    sides = Q(debit__startswith="worker:", credit__startswith="paid:")
    return project.ledger.filter(sides | Q(debit__startswith="paid:", credit__startswith="worker:"))


def amount_paid(entry: LedgerEntry) -> Decimal:
    """Return what an entry adds to what a worker was paid."""
    return entry.amount if entry.debit.startswith("worker:") else -entry.amount


def corrections_by_payment(project: Project) -> dict[int, list[PaymentCorrection]]:
    """Return by payment what statements corrected of it; of several together, by the first."""
    entries = payment_entries(project).filter(key__startswith="statement:").order_by("pk")
    places = {entry: [int(part) for part in entry.key.split(":")[1:3]] for entry in entries}
    statements = Statement.objects.in_bulk({pk for pk, _ in places.values()})
    found: dict[int, list[PaymentCorrection]] = {}
    for entry, (pk, place) in places.items():
        payments = payments_in(statements[pk].rows[place])
        if payments:
            own = found.setdefault(payments[0], [])
            own.append(PaymentCorrection(entry, statements[pk], amount_paid(entry)))
    return found


def booked_rows(statement_ids: Collection[int]) -> dict[int, set[int]]:
    """Return by statement the rows for which a correction was booked."""
    found: dict[int, set[int]] = {}
    if not statement_ids:
        return found
    keys = LedgerEntry.objects.filter(kind="correction", key__startswith="statement:").filter(
        project__tasks__statements__in=statement_ids
    )
    for key in keys.values_list("key", flat=True).distinct():
        _, pk, place, *_ = key.split(":")
        found.setdefault(int(pk), set()).add(int(place))
    return found


def reversed_payments(
    statements: Iterable[Statement], booked: Mapping[int, Set[int]]
) -> dict[int, str]:
    """Return payments that were booked back, each with the file that lacked it.

    ``statements`` in their order: a later row that was booked for the payment undoes it.
    """
    found: dict[int, str] = {}
    for statement in statements:
        for place in sorted(booked.get(statement.pk, ())):
            row = statement.rows[place]
            if row["outcome"] == "missing":
                found[row["payment"]] = statement.name
            elif row["outcome"] in ("matched", "different"):
                for pk in payments_in(row):
                    found.pop(pk, None)
    return found


def row_key(statement_id: int, place: int) -> str:
    """The key of what is booked for the row at this place; its fee has ``:fee`` behind it."""
    return f"statement:{statement_id}:{place}"


def decision_differs(status: str, decision: str, pay: Decimal) -> bool:
    """Whether a platform's status of a submission differs from what was decided here."""
    return {
        "APPROVED": pay > 0,
        "REJECTED": decision != Decision.REJECTED,
        "AWAITING REVIEW": decision == Decision.REJECTED,
    }.get(status, decision not in (Decision.NONE, Decision.REJECTED))


@dataclass(frozen=True)
class Unapproved:
    """What the books hold of a submission that was approved there before it was paid here."""

    payment: Payment | None  # base pay, approved here by now
    decision: str
    booked: bool  # as paid without an approval
    taken_back: bool  # since it was approved here

    @property
    def is_settled(self) -> bool:
        """Whether the books say by now what the file says."""
        if self.payment is None:
            return self.booked
        done = self.payment.state == Payment.State.DONE
        return done and (not self.booked or self.taken_back)

    @property
    def can_book(self) -> bool:
        """Whether there is something to book: not before it is decided here."""
        if self.is_settled:
            return False
        return self.payment is not None or self.decision not in UNDECIDED


def unapproved_work(
    rows: Iterable[tuple[Statement, int]],
) -> dict[tuple[int, int], Unapproved]:
    """By statement and place, the state of rows about submissions without a payment here."""
    named = {
        (one.pk, place): (one, one.rows[place]["assignment"])
        for one, place in rows
        if one.rows[place].get("assignment")
    }
    if not named:
        return {}
    works = {pk for _, pk in named.values()}
    decisions = {
        row.pk: row.decision for row in with_decision(Assignment.objects.filter(pk__in=works))
    }
    base: dict[tuple[int, int | None], Payment] = {}
    payments = Payment.objects.filter(assignment__in=works, what=Payment.What.BASE, amount__gt=0)
    for payment in payments.order_by("pk"):
        base[payment.assignment_id, payment.recruitment_id] = payment
    keys = {row_key(*at): at for at in named}
    entries = set(
        LedgerEntry.objects.filter(
            key__in=[*keys, *(f"{key}{APPROVED_LATER}" for key in keys)]
        ).values_list("key", flat=True)
    )
    return {
        at: Unapproved(
            payment=base.get((pk, statement.recruitment_id)),
            decision=decisions[pk],
            booked=row_key(*at) in entries,
            taken_back=f"{row_key(*at)}{APPROVED_LATER}" in entries,
        )
        for at, (statement, pk) in named.items()
    }


class StatementBookings:
    """What was booked for the rows of some statements of a project, and what is left to do."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        projects = {one.task.project_id for one in statements}
        every = Statement.objects.filter(task__project__in=projects).order_by("pk")
        rows = booked_rows(list(every.values_list("pk", flat=True)))
        self.rows = rows
        self.reversed = reversed_payments(every.filter(pk__in=rows), rows) if rows else {}
        self.statements = {one.pk: one for one in statements}
        # A row that says what an earlier file said is booked there.
        earlier = {row["before"][0] for one in statements for row in one.rows if row.get("before")}
        missing = earlier - self.statements.keys()
        self.statements |= every.select_related("task__project").in_bulk(missing)
        known = self.statements.values()
        keys = [
            f"payment:{pk}"
            for one in known
            for row in one.rows
            if row["waits"]
            for pk in payments_in(row)
        ]
        self.settled = dict(
            LedgerEntry.objects.filter(key__in=keys).values_list("key", "amount") if keys else ()
        )
        self.unapproved = unapproved_work((one, at) for one in known for at in range(len(one.rows)))
        self.later = _later_rows(every, self.statements)

    def origin(self, statement: Statement, place: int) -> tuple[Statement, int]:
        """Return the row by which a row is booked: of an earlier file that said the same."""
        before = statement.rows[place].get("before")
        return (self.statements[before[0]], before[1]) if before else (statement, place)

    def is_booked(self, statement: Statement, place: int) -> bool:
        """Whether the books say by now what a row says."""
        statement, place = self.origin(statement, place)
        row = statement.rows[place]
        unapproved = self.unapproved.get((statement.pk, place))
        if unapproved and row["status"] == "APPROVED":
            return unapproved.is_settled
        if place in self.rows.get(statement.pk, ()):
            return True
        if row["outcome"] == "missing":
            return row["payment"] in self.reversed
        return row["waits"] and self._came_true(row)

    def _came_true(self, row: dict[str, Any]) -> bool:
        """Whether payments that had not left when the file was read are booked so by now."""
        keys = [f"payment:{pk}" for pk in payments_in(row)]
        parts = [part for part in row.get("parts") or () if part["payment"] is None]
        booked = sum((as_decimal(part["ours"]) for part in parts), ZERO)
        booked += sum((self.settled.get(key, ZERO) for key in keys), ZERO)
        return booked == as_decimal(row["amount"])

    def can_book(self, statement: Statement, place: int) -> bool:
        """Whether there is something to book for a row."""
        statement, place = self.origin(statement, place)
        unapproved = self.unapproved.get((statement.pk, place))
        if unapproved and statement.rows[place]["status"] == "APPROVED":
            return unapproved.can_book
        return statement.rows[place]["books"] and not self.is_booked(statement, place)

    def is_undecided(self, statement: Statement, place: int) -> bool:
        """Whether a row waits for a decision about the work here."""
        source, at = self.origin(statement, place)
        state = self.unapproved.get((source.pk, at))
        waits = state is not None and not state.is_settled and not state.can_book
        return waits and source.rows[at]["status"] == "APPROVED"

    def is_open(self, statement: Statement, place: int) -> bool:
        """Whether a row differs and nothing that was booked or decided since says why."""
        statement, place = self.origin(statement, place)
        row = statement.rows[place]
        if row["books"] or row.get("differs"):
            return not self.is_booked(statement, place) and self._still_differs(statement, place)
        return False

    def _still_differs(self, statement: Statement, place: int) -> bool:
        row = statement.rows[place]
        unapproved = self.unapproved.get((statement.pk, place))
        if unapproved is None or row["status"] == "APPROVED":
            return True
        later = self.later.get((statement.recruitment_id, row["submission"]), 0)
        differs = decision_differs(row["status"], unapproved.decision, ZERO)
        return differs and later <= statement.pk

    def is_matching(self, statement: Statement, place: int) -> bool:
        """Whether a row tells of an open payment, at the very amount that was approved."""
        statement, place = self.origin(statement, place)
        row = statement.rows[place]
        unapproved = self.unapproved.get((statement.pk, place))
        if unapproved and row["status"] == "APPROVED":
            payment = unapproved.payment
            if payment is None or unapproved.booked or payment.state == Payment.State.DONE:
                return False
            return payment.amount == as_decimal(row["amount"])
        if not (row["books"] and row["waits"]):
            return False
        return as_decimal(row["amount"]) == as_decimal(row["ours"])

    def open_rows(self, statement: Statement) -> list[int]:
        """The places of rows that differ and for which nothing was booked or decided yet."""
        return [at for at in range(len(statement.rows)) if self.is_open(statement, at)]


def _later_rows(
    every: QuerySet[Statement], statements: Mapping[int, Statement]
) -> dict[tuple[int | None, str], int]:
    """By way in and submission, the last statement with its status; empty if none asks for it."""
    asks = any(
        row.get("differs") and row.get("status") not in (None, "APPROVED")
        for one in statements.values()
        for row in one.rows
    )
    found: dict[tuple[int | None, str], int] = {}
    for one in every if asks else ():
        for row in one.rows:
            if row.get("status") and row["submission"]:
                found[one.recruitment_id, row["submission"]] = one.pk
    return found
