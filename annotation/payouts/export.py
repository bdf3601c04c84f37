"""Payouts and the ledger as CSV, streamed row by row, with pseudonyms only but in transfers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.files.writing.tables import FORMATS, Table
from annotation.models import (
    LedgerEntry,
    Membership,
    Payment,
    PaymentDetails,
    PayoutBatch,
    Project,
)
from annotation.models.decisions import LINE_OUTCOME
from annotation.payouts.actions.ledger import HAND
from annotation.payouts.details.actions import Details
from annotation.payouts.selectors.monthly import MonthStatement, PersonStatement
from annotation.payouts.selectors.payable import CorrectionPayment, Payable
from crowdqc.errors import Invalid
from crowdqc.files.cells import csv_lines

DOWNLOADS = ("csv", "xlsx")

LEDGER = (
    "entry",
    "at",
    "task",
    "task_title",
    "proposal",
    "assignment",
    "worker",
    "kind",
    "debit",
    "credit",
    "amount",
    "currency",
    "memo",
    "by",
    "debit_name",
    "credit_name",
)
PAYOUT = (
    "proposal",
    "assignment",
    "worker",
    "submitted_at",
    "decision",
    "base",
    "bonus",
    "pay",
    "currency",
    "bonus_note",
    "reason_code",
    "reason",
)
BY_HAND = (
    "payment",
    "proposal",
    "task_title",
    "assignment",
    "worker",
    "participant",
    "kind",
    "amount",
    "currency",
)


BANK = ("name", "iban", "amount", "currency", "purpose", "worker", "payments")
OTHER = ("reference", "name", "amount", "currency", "purpose", "worker", "payments")


def transfer_rows(
    project: Project,
    way: str,
    payments: Iterable[Payment],
    details: Mapping[int, Details],
    *,
    due: Payable,
    corrections: Iterable[CorrectionPayment] = (),
) -> Iterator[Sequence[Any]]:
    """One row a person: what is to be paid one way together, in its file's columns.

    Less what is deducted, and nobody to whom nothing is left to pay. The file of PayPal has no
    header: address, amount, currency, id, note, wallet (PayPal's own
    columns of a payout file). Payments whose worker has no such details are left out.
    """
    by_worker: dict[tuple[int, str], list[tuple[Membership, Decimal, int | str]]] = {}
    for payment in payments:
        own = by_worker.setdefault((payment.worker_id, payment.currency), [])
        own.append((payment.worker, due.amount_due(payment), payment.pk))
    for one in corrections:
        own = by_worker.setdefault((one.worker.pk, one.currency), [])
        own.append((one.worker, one.amount, "correction"))
    for (worker, currency), own in by_worker.items():
        amount = sum((amount for _worker, amount, _number in own), Decimal(0))
        if worker not in details or not amount:
            continue
        found, name = details[worker], own[0][0].pseudonym
        ids = " ".join(str(number) for _worker, _amount, number in own)
        purpose = f"{project.name}, {name}"
        if way == PaymentDetails.PaymentWay.PAYPAL:
            number = f"{name}-{own[0][2]}"[-30:]
            yield found.reference, amount, currency, number, purpose, "PayPal"
        elif way == PaymentDetails.PaymentWay.BANK:
            yield found.name, found.reference, amount, currency, purpose, name, ids
        else:
            yield found.reference, found.name, amount, currency, purpose, name, ids


MONTH = (
    "month", "worker", "recipient", "way", "account", "reference", "assignments", "opening",
    "base", "bonus", "corrections", "paid", "closing", "currency",
)  # fmt: skip
ENTRIES = (
    "month", "worker", "entry", "date", "kind", "task", "proposal", "proposed_by", "approved_by",
    "amount", "balance", "currency", "memo", "counted_in",
)  # fmt: skip


UNAPPROVED = "unapproved"  # the way of what left without an approval


def month_rows(
    found: MonthStatement,
    details: Mapping[int, Details],
    references: Mapping[int, str],
    channels: Mapping[int, Sequence[str]],
    *,
    totals: bool = False,
) -> Iterator[Sequence[Any]]:
    """One row a worker and currency, and one for what left without an approval.

    With ``totals`` the sum of all by currency, for people to read. Recipients and their accounts
    are named as far as ``details`` holds them; ``references`` are those of the month's payments
    by hand, ``channels`` what paid them.
    """
    for row in found.rows:
        told = details.get(row.worker.pk)
        yield (
            found.month,
            row.worker.pseudonym,
            (told.name or told.reference) if told else "",
            _way(told, channels.get(row.worker.pk, (HAND,))),
            told.reference if told else "",
            references.get(row.worker.pk, ""),
            row.assignments,
            row.opening,
            row.base,
            row.bonus,
            row.corrected,
            row.paid,
            row.closing,
            row.currency,
        )
    for currency, amount in found.unknown:
        yield found.month, "", "", UNAPPROVED, "", "", 0, 0, 0, 0, 0, amount, "", currency
    if not totals:
        return
    unknown = dict(found.unknown)
    for currency, row in found.totals():
        paid = row.paid + unknown.get(currency, 0)
        sums = (row.assignments, row.opening, row.base, row.bonus, row.corrected, paid, row.closing)
        yield found.month, "Total", "", "", "", "", *sums, currency


def without_recipients(
    header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> tuple[Sequence[str], Iterator[Sequence[Any]]]:
    """The table without the columns that only whoever may pay gets, which were empty."""
    kept = [at for at, name in enumerate(header) if name not in ("recipient", "account")]
    return [header[at] for at in kept], ([row[at] for at in kept] for row in rows)


def _way(details: Details | None, channels: Sequence[str]) -> str:
    """How somebody was paid: by which platform, by hand the way in their details."""
    ways = [details.way if one == HAND and details else one for one in channels]
    return "; ".join(str(one) for one in ways if one != HAND)


def entry_rows(
    statements: Iterable[PersonStatement],
    month: str = "",
    unapproved: Iterable[tuple[LedgerEntry, Decimal]] = (),
) -> Iterator[Sequence[Any]]:
    """One row an entry of the workers' accounts, with the balance after it.

    Behind them what left without an approval, which is on nobody's account.

    ``counted_in`` is the column of ``MONTH`` that its amount is part of; of ``paid`` it is taken.
    """
    for found in statements:
        for line in found.lines:
            entry, batch = line.entry, line.entry.line.batch if line.entry.line else None
            yield (
                found.month,
                found.worker.pseudonym,
                line.number,
                timezone.localtime(entry.at).date().isoformat(),
                entry.kind,
                entry.task.published_title,
                batch.number if batch else "",
                str(batch.proposed_by) if batch else "",
                str(batch.decided_by) if batch else "",
                line.amount,
                line.balance,
                found.currency,
                entry.memo,
                line.counted_in,
            )
    for entry, amount in unapproved:
        yield (
            month,
            "",
            f"e-{entry.pk:05d}",
            timezone.localtime(entry.at).date().isoformat(),
            entry.kind,
            entry.task.published_title,
            "",
            "",
            "",
            -amount,
            "",
            entry.currency,
            entry.memo,
            UNAPPROVED,
        )


def download_table(
    header: Sequence[str], rows: Iterable[Sequence[Any]], *, name: str, form: str = "csv"
) -> StreamingHttpResponse:
    """Make a download of a table as CSV, or as what ``form`` names (csv or xlsx).

    Raises Invalid where there is no such format.
    """
    if form not in DOWNLOADS:
        raise Invalid(_("There is no such format."), fields={"format": ", ".join(DOWNLOADS)})
    parts = lines(header, rows) if form == "csv" else Table(header, map(tuple, rows)).parts(form)
    response = StreamingHttpResponse(parts, content_type=FORMATS[form])
    response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return response


HEADERS: dict[str, Sequence[str]] = {"bank": BANK, "paypal": (), "other": OTHER}


def lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """CSV text, one line at a time."""
    if header:
        yield from csv_lines([header])
    yield from csv_lines(rows)


def ledger_rows(
    entries: QuerySet[LedgerEntry], names: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Sequence[Any]]:
    """One row an entry, oldest first; ``names`` are the accounts' by their code."""
    for entry in entries.order_by("id").iterator(chunk_size=500):
        yield (
            f"e-{entry.pk:05d}",
            entry.at.isoformat(),
            entry.task_id,
            entry.task.published_title,
            entry.line.batch.number if entry.line else "",
            entry.assignment_id or "",
            entry.worker.pseudonym if entry.worker else "",
            entry.kind,
            entry.debit,
            entry.credit,
            entry.amount,
            entry.currency,
            entry.memo,
            str(entry.by) if entry.by else _("the platform’s report"),
            names.get(entry.debit, ""),
            names.get(entry.credit, ""),
        )


def payout_rows(batch: PayoutBatch) -> Iterator[Sequence[Any]]:
    """One row a line of the proposal, with what became of it."""
    currency = batch.project.currency
    lines_ = batch.lines.annotate(outcome=LINE_OUTCOME).select_related("assignment__worker")
    for line in lines_.order_by("pk").iterator(chunk_size=500):
        rejected = line.decision == line.Decision.REJECT
        yield (
            batch.number,
            line.assignment_id,
            line.assignment.worker.pseudonym,
            line.assignment.submitted_at.isoformat() if line.assignment.submitted_at else "",
            line.outcome,
            line.base,
            line.bonus,
            line.base + line.bonus if line.outcome == line.Decision.APPROVE else 0,
            currency,
            line.bonus_note,
            line.reason_code,
            line.reason if rejected or line.base < line.assignment.pay else "",
        )


def by_hand_rows(
    payments: QuerySet[Payment], due: Payable, corrections: Iterable[CorrectionPayment] = ()
) -> Iterator[Sequence[Any]]:
    """One row a payment that somebody has to make, at what is still to be paid of it."""
    for payment in payments.select_related("assignment__visit").iterator(chunk_size=500):
        if payment.amount and not due.amount_due(payment):
            continue  # all of it is deducted
        visit = getattr(payment.assignment, "visit", None)
        task = payment.assignment.task
        yield (
            payment.pk,
            payment.line.batch.number,
            task.published_title,
            payment.assignment_id,
            payment.worker.pseudonym,
            visit.participant if visit else payment.worker.external_id,
            payment.what,
            due.amount_due(payment),
            payment.currency,
        )
    for one in corrections:
        name, participant = one.worker.pseudonym, one.participant
        yield "", "", "", "", name, participant, "correction", one.amount, one.currency
