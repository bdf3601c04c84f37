"""What was booked for the rows of statements, and which payments are reversed since."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any

from annotation.models import LedgerEntry, Statement


def payments_in(row: Mapping[str, Any]) -> list[int]:
    """Return the payments that a statement's row was matched with."""
    if row["payment"] is None:
        return []
    parts = row.get("parts") or [row]  # rows of earlier versions have one payment and no parts
    return [part["payment"] for part in parts if part["payment"] is not None]


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
