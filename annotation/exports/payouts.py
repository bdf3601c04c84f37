"""Payouts and the ledger as CSV, streamed row by row, with pseudonyms only."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db.models import QuerySet

from annotation.models import LedgerEntry, PayoutBatch
from crowdqc.cells import protected

from .files import Echo

LEDGER = (
    "entry", "at", "task", "task_title", "proposal", "assignment", "worker", "kind", "amount",
    "currency", "by",
)  # fmt: skip
PAYOUT = (
    "proposal", "assignment", "worker", "submitted_at", "decision", "base", "bonus", "pay",
    "currency", "reason_code", "reason",
)  # fmt: skip


def lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """CSV text, one line at a time."""
    writer = csv.writer(Echo())
    yield writer.writerow(header)
    for row in rows:
        yield writer.writerow([protected(value) for value in row])


def ledger_rows(entries: QuerySet[LedgerEntry]) -> Iterator[Sequence[Any]]:
    """One row an entry, oldest first."""
    for entry in entries.order_by("id").iterator(chunk_size=500):
        yield (
            f"e-{entry.pk:05d}",
            entry.at.isoformat(),
            entry.task_id,
            entry.task.current.title if entry.task.current else "",
            entry.line.batch.number,
            entry.assignment_id,
            entry.worker.pseudonym,
            entry.kind,
            entry.amount,
            entry.currency,
            str(entry.by),
        )


def payout_rows(batch: PayoutBatch) -> Iterator[Sequence[Any]]:
    """One row a line of the proposal, with what became of it."""
    currency = batch.project.currency
    approved = batch.state == PayoutBatch.State.APPROVED
    lines_ = batch.lines.select_related("assignment__worker", "rejection").order_by("pk")
    for line in lines_.iterator(chunk_size=500):
        rejected = line.decision == line.Decision.REJECT
        # Held in an approved proposal: its line is free again though nobody overturned it.
        held = approved and not line.live and not hasattr(line, "rejection")
        paid = line.decision == line.Decision.APPROVE and not held
        yield (
            batch.number,
            line.assignment_id,
            line.assignment.worker.pseudonym,
            line.assignment.submitted_at.isoformat() if line.assignment.submitted_at else "",
            "hold" if held else line.decision,
            line.base,
            line.bonus,
            line.base + line.bonus if paid else 0,
            currency,
            line.reason_code,
            line.reason if rejected else "",
        )
