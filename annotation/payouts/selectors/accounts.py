"""What was paid to each worker and what they are owed, from the ledger: all pages read it here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Q, Sum

from annotation.models import LedgerEntry, Project
from annotation.payouts.actions.ledger import payable_account

ZERO = Decimal("0.00")
Kind = LedgerEntry.Kind


@dataclass(frozen=True)
class WorkerAccount:
    """One worker's account: ``opening`` + earned + corrected - paid = ``closing``.

    A negative balance is what somebody was paid too much. Fees are no part of it.
    """

    currency: str
    opening: Decimal
    base: Decimal
    bonus: Decimal
    corrected: Decimal
    paid: Decimal
    assignments: int

    @property
    def earned(self) -> Decimal:
        """Return what approvals said that the worker is to get."""
        return self.base + self.bonus

    @property
    def closing(self) -> Decimal:
        """Return what the worker is owed; below 0: what they were paid too much."""
        return self.opening + self.earned + self.corrected - self.paid

    @property
    def is_empty(self) -> bool:
        """Whether nothing was owed or moved."""
        return not (self.opening or self.earned or self.corrected or self.paid)


@dataclass(frozen=True)
class Totals:
    """Sums over the accounts of workers in one currency; ``overpaid`` is not offset in ``owed``."""

    currency: str
    opening: Decimal
    approved: Decimal
    corrected: Decimal
    paid: Decimal
    owed: Decimal
    overpaid: Decimal


def worker_accounts(
    project: Project,
    *,
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
    workers: Collection[int] | None = None,
) -> dict[tuple[int, str], WorkerAccount]:
    """By membership and currency, the accounts of a time, or of all time; two queries."""
    within = Q(pk__isnull=False)
    within &= Q(at__gte=start) if start else Q()
    within &= Q(at__lt=end) if end else Q()
    before = Q(at__lt=start) if start else Q(pk__isnull=True)
    sums: dict[tuple[str, str], list[Decimal]] = {}
    works: dict[tuple[str, str], int] = {}
    for side, other, sign in (("credit", "debit", 1), ("debit", "credit", -1)):
        books = project.ledger.order_by()
        if workers is None:
            books = books.filter(**{f"{side}__startswith": "worker:"})
        else:
            books = books.filter(**{f"{side}__in": [payable_account(pk) for pk in workers]})
        paid = Q(**{f"{other}__startswith": "paid:"})
        rows = books.values_list(side, "currency").annotate(
            opening=Sum("amount", filter=before, default=ZERO),
            base=Sum("amount", filter=within & Q(kind=Kind.BASE), default=ZERO),
            bonus=Sum("amount", filter=within & Q(kind=Kind.BONUS), default=ZERO),
            paid=Sum("amount", filter=within & paid, default=ZERO),
            moved=Sum("amount", filter=within, default=ZERO),
            works=Count("assignment", filter=within & Q(kind=Kind.BASE), distinct=True),
        )
        for account, currency, *amounts, n in rows:
            own = sums.setdefault((account, currency), [ZERO] * 5)
            for at, amount in enumerate(amounts):
                own[at] += sign * amount
            works[account, currency] = works.get((account, currency), 0) + n
    found = {}
    for (account, currency), (opening, base, bonus, left, moved) in sums.items():
        found[int(account.partition(":")[2]), currency] = WorkerAccount(
            currency=currency,
            opening=opening,
            base=base,
            bonus=bonus,
            corrected=moved - base - bonus - left,
            paid=-left,
            assignments=works[account, currency],
        )
    return found


def sum_accounts(accounts: Iterable[WorkerAccount]) -> list[Totals]:
    """Add accounts up, one a currency."""
    by_currency: dict[str, list[WorkerAccount]] = {}
    for one in accounts:
        by_currency.setdefault(one.currency, []).append(one)
    return [
        Totals(
            currency=currency,
            opening=sum((one.opening for one in own), ZERO),
            approved=sum((one.earned for one in own), ZERO),
            corrected=sum((one.corrected for one in own), ZERO),
            paid=sum((one.paid for one in own), ZERO),
            owed=sum((one.closing for one in own if one.closing > 0), ZERO),
            overpaid=-sum((one.closing for one in own if one.closing < 0), ZERO),
        )
        for currency, own in sorted(by_currency.items())
    ]
