"""What each worker was owed and paid in a month, for accounting: from the books alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import LedgerEntry, Membership, Project
from annotation.payouts.actions.ledger import payable_account
from annotation.payouts.selectors.ledger import parse_month
from crowdqc.errors import Missing
from crowdqc.web.terms import Words

ZERO = Decimal("0.00")
Kind = LedgerEntry.Kind


@dataclass(frozen=True)
class PersonMonth:
    """One worker's account in one month: ``opening`` + earned + corrected - paid = ``closing``.

    A negative balance is what somebody was paid too much.
    """

    worker: Membership
    currency: str
    opening: Decimal
    base: Decimal
    bonus: Decimal
    corrected: Decimal
    paid: Decimal
    assignments: int

    @property
    def earned(self) -> Decimal:
        return self.base + self.bonus

    @property
    def closing(self) -> Decimal:
        return self.opening + self.earned + self.corrected - self.paid


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
                (currency, PersonMonth(own[0].worker, currency, assignments=works, **sums))
            )
        return found

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
    within, before = Q(at__gte=start, at__lt=end), Q(at__lt=start)
    books = project.ledger.order_by()
    sums: dict[tuple[str, str], dict[str, Decimal]] = {}
    works: dict[tuple[str, str], int] = {}
    for side, other, sign in (("credit", "debit", 1), ("debit", "credit", -1)):
        paid = Q(**{f"{other}__startswith": "paid:"})
        rows = (
            books.filter(**{f"{side}__startswith": "worker:"})
            .values_list(side, "currency")
            .annotate(
                opening=Sum("amount", filter=before, default=ZERO),
                base=Sum("amount", filter=within & Q(kind=Kind.BASE), default=ZERO),
                bonus=Sum("amount", filter=within & Q(kind=Kind.BONUS), default=ZERO),
                paid=Sum("amount", filter=within & paid, default=ZERO),
                moved=Sum("amount", filter=within, default=ZERO),
                works=Count("assignment", filter=within & Q(kind=Kind.BASE), distinct=True),
            )
        )
        for account, currency, opening, base, bonus, left, moved, n in rows:
            own = sums.setdefault(
                (account, currency),
                dict.fromkeys(("opening", "base", "bonus", "paid", "moved"), ZERO),
            )
            own["opening"] += sign * opening
            own["base"] += sign * base
            own["bonus"] += sign * bonus
            own["paid"] -= sign * left
            own["moved"] += sign * moved
            works[account, currency] = works.get((account, currency), 0) + n
    people = {
        payable_account(one.pk): one
        for one in Membership.objects.filter(
            project=project, pk__in=_ids(account for account, _ in sums)
        )
    }
    found = []
    for (account, currency), own in sums.items():
        moved = own.pop("moved")
        corrected = moved - own["base"] - own["bonus"] + own["paid"]
        row = PersonMonth(
            people[account], currency, corrected=corrected,
            assignments=works[account, currency], **own,
        )  # fmt: skip
        if moved or row.opening or row.paid or row.earned or row.corrected:
            found.append(row)
    found.sort(key=lambda row: (row.currency, row.worker.pseudonym))
    return MonthStatement(
        month, found, _sums(books.filter(within), "fees:"), _sums(books.filter(within), "unknown:")
    )


def _ids(accounts: Iterator[str]) -> list[int]:
    return [int(account.partition(":")[2]) for account in accounts]


def _sums(entries: QuerySet[LedgerEntry], prefix: str) -> list[tuple[str, Decimal]]:
    """By currency, what went into accounts of this kind, less what came back."""
    found: dict[str, Decimal] = {}
    for side, sign in (("debit", 1), ("credit", -1)):
        rows = entries.filter(**{f"{side}__startswith": prefix}).values_list("currency")
        for currency, amount in rows.annotate(s=Sum("amount")):
            found[currency] = found.get(currency, ZERO) + sign * amount
    return sorted(found.items())


# One person --------------------------------------------------------------------------------------

WORDS: dict[str, Words] = {
    Kind.BASE: gettext_lazy("Base pay"),
    Kind.BONUS: gettext_lazy("Bonus"),
    Kind.PAYMENT: gettext_lazy("Payment"),
    Kind.CORRECTION: gettext_lazy("Correction"),
    Kind.FEE: gettext_lazy("Fee"),
}


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
    def word(self) -> Words:
        return WORDS[self.entry.kind]


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
