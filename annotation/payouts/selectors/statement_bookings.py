"""What was booked for the rows of statements, and which payments are reversed since."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Q, QuerySet

from annotation.models import LedgerEntry, Project, Statement


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
