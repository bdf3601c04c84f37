"""What each worker was owed and paid in a month, for accounting: from the books alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import LedgerEntry, Membership, Project
from annotation.payouts.actions.ledger import payable_account
from annotation.payouts.actions.payments import reference_in
from annotation.payouts.selectors.accounts import (
    Totals,
    WorkerAccount,
    sum_accounts,
    worker_accounts,
)
from annotation.payouts.selectors.ledger import parse_month
from annotation.payouts.selectors.statement_bookings import (
    corrections_by_payment,
    payment_entries,
)
from crowdqc.errors import Missing
from crowdqc.web.terms import Words

ZERO = Decimal("0.00")
Kind = LedgerEntry.Kind


@dataclass(frozen=True)
class PersonMonth(WorkerAccount):
    """One worker's account in one month."""

    worker: Membership


@dataclass(frozen=True)
class MonthStatement:
    """All workers whose account moved in a month, or who were owed something at its start or end.

    ``fees`` and ``unknown`` are by currency: what platforms took, and what left for nobody known.
    """

    month: str
    rows: list[PersonMonth]
    fees: list[tuple[str, Decimal]]
    unknown: list[tuple[str, Decimal]]

    def totals(self) -> list[tuple[str, PersonMonth]]:
        """By currency, the sums over all workers."""
        found = []
        for currency in dict.fromkeys(row.currency for row in self.rows):
            own = [row for row in self.rows if row.currency == currency]
            sums = {
                name: sum((getattr(row, name) for row in own), ZERO)
                for name in ("opening", "base", "bonus", "corrected", "paid")
            }
            works = sum(row.assignments for row in own)
            found.append(
                (currency, PersonMonth(currency, assignments=works, worker=own[0].worker, **sums))
            )
        return found

    def sums(self) -> list[Totals]:
        """By currency, what the ledger and the payments say too."""
        return sum_accounts(self.rows)

    def lines(self) -> list[tuple[PersonMonth, bool]]:
        """Return the rows, and behind them the total of each currency, marked as such."""
        summed = [row for _currency, row in self.totals()]
        return [*((row, False) for row in self.rows), *((row, True) for row in summed)]


def bounds(month: str) -> tuple[dt.datetime, dt.datetime]:
    """The first moment of ``2026-11`` and of the month after it; Missing for no month."""
    first = parse_month(month)
    if first is None:
        raise Missing(_("There is no such month."))
    after = (first.replace(day=28) + dt.timedelta(days=4)).replace(day=1)
    here = timezone.get_current_timezone()
    start, end = (dt.datetime.combine(day, dt.time(), here) for day in (first, after))
    return start, end


def months_of(project: Project) -> list[str]:
    """Months with an entry, the newest first, as ``2026-11``."""
    return [f"{day:%Y-%m}" for day in project.ledger.dates("at", "month", order="DESC")]


def month_statement(project: Project, month: str) -> MonthStatement:
    """The statement of a month, by worker; four queries."""
    start, end = bounds(month)
    accounts = worker_accounts(project, start=start, end=end)
    people = Membership.objects.in_bulk({worker for worker, _currency in accounts})
    found = [
        PersonMonth(**vars(account), worker=people[worker])
        for (worker, _currency), account in accounts.items()
        if not account.is_empty
    ]
    found.sort(key=lambda row: (row.currency, row.worker.pseudonym))
    books = project.ledger.order_by().filter(at__gte=start, at__lt=end)
    return MonthStatement(month, found, _sums(books, "fees:"), _sums(books, "unknown:"))


def _sums(entries: QuerySet[LedgerEntry], prefix: str) -> list[tuple[str, Decimal]]:
    """By currency, what went into accounts of this kind, less what came back."""
    found: dict[str, Decimal] = {}
    for side, sign in (("debit", 1), ("credit", -1)):
        rows = entries.filter(**{f"{side}__startswith": prefix}).values_list("currency")
        for currency, amount in rows.annotate(s=Sum("amount")):
            found[currency] = found.get(currency, ZERO) + sign * amount
    return sorted(found.items())


def references_of(project: Project, month: str) -> dict[int, str]:
    """By worker, the references that were entered for the month's payments by hand."""
    start, end = bounds(month)
    rows = project.ledger.filter(kind=Kind.PAYMENT, at__gte=start, at__lt=end, worker__isnull=False)
    found: dict[int, list[str]] = {}
    corrected = {
        f"payment:{pk}": sum((one.amount for one in own if one.entry.at < end), ZERO)
        for pk, own in corrections_by_payment(project).items()
    }
    lines = rows.order_by("pk").values_list("worker", "memo", "key", "amount")
    for worker, memo, key, amount in lines:
        reference = reference_in(memo)
        if amount + corrected.get(key, ZERO) <= 0:
            continue  # it did not leave
        if reference and reference not in found.setdefault(worker, []):
            found[worker].append(reference)
    return {worker: "; ".join(own) for worker, own in found.items()}


def channels_of(project: Project, month: str) -> dict[int, list[str]]:
    """By worker, what paid them in a month, such as ``prolific`` or ``hand``."""
    start, end = bounds(month)
    rows = payment_entries(project).filter(at__gte=start, at__lt=end, worker__isnull=False)
    found: dict[int, list[str]] = {}
    for worker, debit, credit in rows.order_by("pk").values_list("worker", "debit", "credit"):
        paid = credit if credit.startswith("paid:") else debit
        kind = paid.removeprefix("paid:").partition("-")[0]
        if kind not in found.setdefault(worker, []):
            found[worker].append(kind)
    return found


def unapproved_entries(project: Project, month: str) -> list[tuple[LedgerEntry, Decimal]]:
    """Return a month's entries of what left without an approval, each with what left by it."""
    start, end = bounds(month)
    rows = project.ledger.filter(at__gte=start, at__lt=end).order_by("pk")
    rows = rows.filter(Q(debit__startswith="unknown:") | Q(credit__startswith="unknown:"))
    return [
        (one, one.amount if one.debit.startswith("unknown:") else -one.amount)
        for one in rows.select_related("task__current")
    ]


# One person --------------------------------------------------------------------------------------

WORDS: dict[str, Words] = {
    Kind.BASE: gettext_lazy("Base pay"),
    Kind.BONUS: gettext_lazy("Bonus"),
    Kind.PAYMENT: gettext_lazy("Payment"),
    Kind.CORRECTION: gettext_lazy("Correction"),
    Kind.FEE: gettext_lazy("Fee"),
}
PAID_CORRECTION = gettext_lazy("Correction of what was paid")


@dataclass(frozen=True)
class AccountLine:
    """One entry of a worker's account: ``amount`` is positive where more is owed since."""

    entry: LedgerEntry
    amount: Decimal
    balance: Decimal

    @property
    def number(self) -> str:
        return f"e-{self.entry.pk:05d}"

    @property
    def counted_in(self) -> str:
        """Return the figure of ``WorkerAccount`` that counts the entry, as files call it."""
        if _is_payment(self.entry):
            return "paid"
        return self.entry.kind if self.entry.kind in _EARNED else "corrections"

    @property
    def word(self) -> Words:
        return PAID_CORRECTION if self._corrects_payment else WORDS[self.entry.kind]

    @property
    def _corrects_payment(self) -> bool:
        return self.entry.kind == Kind.CORRECTION and _is_payment(self.entry)


@dataclass(frozen=True)
class PersonStatement:
    """One worker's month, entry by entry, in one currency."""

    worker: Membership
    month: str
    currency: str
    opening: Decimal
    lines: list[AccountLine]

    @property
    def closing(self) -> Decimal:
        return self.lines[-1].balance if self.lines else self.opening

    @property
    def earned(self) -> Decimal:
        return sum((line.amount for line in self.lines if line.entry.kind in _EARNED), ZERO)

    @property
    def paid(self) -> Decimal:
        return -sum((line.amount for line in self.lines if _is_payment(line.entry)), ZERO)


_EARNED = (Kind.BASE, Kind.BONUS)


def _is_payment(entry: LedgerEntry) -> bool:
    return entry.debit.startswith("paid:") or entry.credit.startswith("paid:")


def person_statements(workers: Sequence[Membership], month: str) -> list[PersonStatement]:
    """The months of a project's workers, one statement a worker and currency; two queries."""
    start, end = bounds(month)
    accounts = {payable_account(worker.pk): worker for worker in workers}
    entries = LedgerEntry.objects.filter(
        Q(debit__in=accounts) | Q(credit__in=accounts),
        project__in={worker.project_id for worker in workers},
    )
    balance: dict[tuple[str, str], Decimal] = {}
    sums = entries.filter(at__lt=start).order_by().values_list("credit", "debit", "currency")
    for credit, debit, currency, amount in sums.annotate(s=Sum("amount")):
        for account, signed in ((credit, amount), (debit, -amount)):
            if account in accounts:
                key = account, currency
                balance[key] = balance.get(key, ZERO) + signed
    opening = dict(balance)
    lines: dict[tuple[str, str], list[AccountLine]] = {key: [] for key in opening}
    within = entries.filter(at__gte=start, at__lt=end).order_by("id")
    for entry in within.select_related(
        "task__current", "line__batch__proposed_by", "line__batch__decided_by", "by"
    ):
        for account, signed in ((entry.credit, entry.amount), (entry.debit, -entry.amount)):
            if account in accounts:
                key = account, entry.currency
                balance[key] = balance.get(key, ZERO) + signed
                lines.setdefault(key, []).append(AccountLine(entry, signed, balance[key]))
    currencies = sorted({currency for _account, currency in lines})
    return [
        PersonStatement(
            worker,
            month,
            currency,
            opening.get((account, currency), ZERO),
            lines[account, currency],
        )
        for account, worker in accounts.items()
        for currency in currencies
        if (account, currency) in lines
    ]
