"""What is to be paid by hand now, so that each worker ends with what the ledger owes them.

Approved payments are planned one by one; corrections and statements move what a worker is owed.
What was paid too much is deducted from their open payments by hand, what a correction adds is paid
beside them, and what a statement says was paid already is asked of nobody.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import F, Func, JSONField, Max, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext

from annotation.models import (
    CorrectionTransfer,
    Membership,
    Payment,
    Project,
    Recruitment,
    Statement,
    Visit,
)
from annotation.payouts.actions.ledger import payable_account
from annotation.payouts.details.selectors import MISSING, PROLIFIC, hand_payments_open
from annotation.payouts.details.transfers import correction_transfers
from annotation.payouts.selectors.accounts import ZERO, WorkerAccount, worker_accounts

# A statement's row that tells of a payment which had not left here.
UNBOOKED = [{"waits": True, "books": True}]


@dataclass(frozen=True)
class HoldingStatement:
    """A statement that says of a payment which is open here that it was made."""

    pk: int
    name: str


@dataclass(frozen=True)
class CorrectionPayment:
    """What corrections add to one worker's pay beyond their open payments."""

    worker: Membership
    way: str
    recruitment: Recruitment | None
    participant: str  # on that platform
    amount: Decimal
    currency: str
    owed_since: dt.date
    transfer: CorrectionTransfer | None  # the file that named it

    @property
    def is_changed_since(self) -> bool:
        """Whether the worker has changed their details since a file named it."""
        details = getattr(self.worker, "payment_details", None)
        named = self.transfer.named_at if self.transfer else None
        return bool(named and (details is None or details.changed_at > named))

    @property
    def amount_due(self) -> Decimal:
        """Return what is to be paid: all of it."""
        return self.amount

    @property
    def title(self) -> str:
        """What pages call it."""
        return gettext("Correction")

    @property
    def pk(self) -> str:
        """What forms call it."""
        return f"correction-{self.worker.pk}-{self.currency}"


@dataclass(frozen=True)
class Overpaid:
    """What one worker was paid too much and no open payment by hand makes up for."""

    worker: Membership
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class Payable:
    """What is to be paid by hand: open payments less deductions, and corrections."""

    deducted: Mapping[int, Decimal]  # payment -> what is taken off it
    held: Mapping[int, HoldingStatement]  # payment -> the statement that says it was made
    corrections: list[CorrectionPayment]
    overpaid: list[Overpaid]
    empty: Set[int]  # payments of which deductions leave nothing

    def amount_due(self, payment: Payment) -> Decimal:
        """Return what is still to be paid of an open payment."""
        return payment.amount - self.deducted.get(payment.pk, ZERO)


def holding_statements(project: Project) -> dict[int, HoldingStatement]:
    """By payment, the first statement that tells of it as made while it was open here.

    Whether it is open still is not looked at.
    """
    told = Func(
        F("rows"),
        template="jsonb_path_query_array(%(expressions)s,"
        " '$[*] ? (@.waits == true && @.books == true).payment')"
        " || jsonb_path_query_array(%(expressions)s,"
        " '$[*] ? (@.waits == true && @.books == true).parts[*].payment ? (@ != null)')",
        output_field=JSONField(),
    )
    approved = Func(
        F("rows"),
        template="jsonb_path_query_array(%(expressions)s,"
        " '$[*] ? (@.status == \"APPROVED\" && @.assignment != null).assignment')",
        output_field=JSONField(),
    )
    tells = Q(rows__contains=UNBOOKED) | Q(rows__contains=[{"status": "APPROVED"}])
    rows = Statement.objects.filter(tells, task__project=project).order_by("-pk")
    rows = rows.annotate(told=told, approved=approved)
    found: dict[int, HoldingStatement] = {}
    works: dict[tuple[int, int | None], HoldingStatement] = {}
    for pk, name, way, payments, ids in rows.values_list(
        "pk", "name", "recruitment", "told", "approved"
    ):
        found |= dict.fromkeys(payments, HoldingStatement(pk, name))
        works |= dict.fromkeys(((work, way) for work in ids), HoldingStatement(pk, name))
    return found | _base_payments(works)


def _base_payments(
    works: Mapping[tuple[int, int | None], HoldingStatement],
) -> dict[int, HoldingStatement]:
    """By base payment of work that was approved there before it was here, the statement."""
    if not works:
        return {}
    base = Payment.objects.filter(
        assignment__in={work for work, _ in works}, what=Payment.What.BASE
    )
    return {
        pk: works[work, way]
        for pk, work, way in base.values_list("pk", "assignment", "recruitment")
        if (work, way) in works
    }


def payable(project: Project, workers: Collection[int] | None = None) -> Payable:
    """Compute what is to be paid by hand, of all workers or of some."""
    accounts = worker_accounts(project, workers=workers)
    open_ = Payment.objects.filter(assignment__task__project=project, what__in=("base", "bonus"))
    open_ = open_.exclude(state=Payment.State.DONE).order_by()
    if workers is not None:
        open_ = open_.filter(worker__in=workers)
    planned = {
        (worker, currency): amount
        for worker, currency, amount in open_.values_list("worker", "currency").annotate(
            s=Sum("amount")
        )
    }
    more = _differences(accounts, planned)
    less = {key: -amount for key, amount in more.items() if amount < 0}
    held = _held(project, open_)
    deducted, empty = _deductions(project, less, held) if less else ({}, set())
    added = {key: amount for key, amount in more.items() if amount > 0}
    left = {key: amount for key, amount in less.items() if amount}
    people = Membership.objects.select_related("user", "payment_details").in_bulk(
        {worker for worker, _ in (*added, *left)}
    )
    ways = _platforms({worker for worker, _ in added})
    since = _corrected_since(project, {worker for worker, _ in added}) if added else {}
    named = correction_transfers({worker for worker, _ in added}) if added else {}
    corrections = [
        _correction(
            people[worker],
            ways.get(worker),
            amount,
            currency,
            since=since,
            transfer=named.get((worker, currency)),
        )
        for (worker, currency), amount in added.items()
    ]
    overpaid = [
        Overpaid(people[worker], amount, currency) for (worker, currency), amount in left.items()
    ]
    return Payable(
        deducted,
        held,
        sorted(corrections, key=lambda one: (one.worker.pseudonym, one.currency)),
        sorted(overpaid, key=lambda one: (one.worker.pseudonym, one.currency)),
        empty,
    )


def _differences(
    accounts: Mapping[tuple[int, str], WorkerAccount], planned: Mapping[tuple[int, str], Decimal]
) -> dict[tuple[int, str], Decimal]:
    """Return what accounts owe beyond the open payments; below 0 where these are too much."""
    owed = {key: account.closing for key, account in accounts.items()}
    keys = {**owed, **planned}
    found = {key: owed.get(key, ZERO) - planned.get(key, ZERO) for key in keys}
    return {key: amount for key, amount in found.items() if amount}


def _held(project: Project, open_: QuerySet[Payment]) -> dict[int, HoldingStatement]:
    told = holding_statements(project)
    if not told:
        return {}
    rows = open_.filter(pk__in=told, state=Payment.State.BY_HAND)
    return {pk: told[pk] for pk in rows.values_list("pk", flat=True)}


def _deductions(
    project: Project, less: dict[tuple[int, str], Decimal], held: Collection[int]
) -> tuple[dict[int, Decimal], set[int]]:
    """Take what is too much off open payments, the oldest first; ``less`` keeps what is left.

    With those of which nothing is left.
    """
    # A platform approves whole submissions only.
    whole = Q(what=Payment.What.BASE, recruitment__kind=Recruitment.Kind.PROLIFIC)
    rows = hand_payments_open().filter(
        assignment__task__project=project, worker__in={worker for worker, _ in less}
    )
    found, empty = {}, set()
    for pk, worker, currency, amount in (
        rows.exclude(whole)
        .exclude(pk__in=held)
        .order_by("pk")
        .values_list("pk", "worker", "currency", "amount")
    ):
        taken = min(amount, less.get((worker, currency), ZERO))
        if taken:
            found[pk] = taken
            less[worker, currency] -= taken
        if taken and taken == amount:
            empty.add(pk)
    return found, empty


def _platforms(workers: Collection[int]) -> dict[int, Visit]:
    """By worker, how they came last, where that was through a platform that pays them."""
    rows = Visit.objects.filter(worker__in=workers, recruitment__kind=Recruitment.Kind.PROLIFIC)
    return {row.worker_id: row for row in rows.select_related("recruitment").order_by("pk")}


def _corrected_since(project: Project, workers: Collection[int]) -> dict[str, dt.date]:
    """By account, the day of the last entry that added to it."""
    rows = project.ledger.filter(credit__in=[payable_account(pk) for pk in workers]).order_by()
    days = rows.values_list("credit").annotate(at=Max("at"))
    return {account: timezone.localtime(at).date() for account, at in days}


def _correction(
    worker: Membership,
    visit: Visit | None,
    amount: Decimal,
    currency: str,
    *,
    since: Mapping[str, dt.date],
    transfer: CorrectionTransfer | None,
) -> CorrectionPayment:
    details = getattr(worker, "payment_details", None)
    way = transfer.way if transfer else PROLIFIC if visit else details.way if details else MISSING
    return CorrectionPayment(
        worker=worker,
        way=way,
        recruitment=visit.recruitment if visit else None,
        participant=visit.participant if visit else worker.external_id,
        amount=amount,
        currency=currency,
        owed_since=since[payable_account(worker.pk)],
        transfer=transfer,
    )
