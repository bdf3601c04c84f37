"""The books as accounts: what went in and out of each, by currency, and what is still owed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.db.models import Case, Count, DecimalField, Q, QuerySet, Sum, Value, When
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Membership, Payment, PayoutBatch, Project
from annotation.payouts.actions.ledger import channels
from annotation.payouts.details.actions import IN_FILE
from annotation.payouts.details.selectors import (
    CHANGED_SINCE,
    FILED,
    MISSING,
    REJECT,
    WAY,
    WAYS,
    hand_payments_open,
    hand_refusals_open,
    hand_work_open,
)
from annotation.payouts.selectors.accounts import ZERO, Totals, sum_accounts, worker_accounts
from annotation.payouts.selectors.payable import HoldingStatement, Payable, payable
from crowdqc.numbers import plural
from crowdqc.web.terms import Words

# Kind of account: what one is called, in the order in which they stand.
KINDS = {
    "work": gettext_lazy("Work on %(whose)s"),
    "worker": gettext_lazy("Owed to %(whose)s"),
    "paid": gettext_lazy("Paid %(whose)s"),
    "fees": gettext_lazy("Fees of what was paid %(whose)s"),
    "unknown": gettext_lazy("Paid without an approval of ours, %(whose)s"),
}


@dataclass(frozen=True)
class Account:
    """An account with its debit and credit; workers may be added up to one account."""

    code: str
    name: str
    debit: Decimal
    credit: Decimal

    @property
    def kind(self) -> str:
        """Return the kind of the account: the part of its code before the colon."""
        return self.code.partition(":")[0]

    @property
    def balance(self) -> Decimal:
        """Positive: more went in (credit) than out."""
        return self.credit - self.debit


@dataclass(frozen=True)
class Trial:
    """The trial balance of one currency: both sides are the same, by the shape of the books."""

    currency: str
    accounts: list[Account]  # workers as one line
    workers: list[Account]  # each by itself, those with something open first
    sums: Totals  # what was approved for, paid to and is owed to workers

    @property
    def debit(self) -> Decimal:
        """Return the sum of all debits."""
        return sum((one.debit for one in self.accounts), ZERO)

    @property
    def credit(self) -> Decimal:
        """Sum of the credit side."""
        return sum((one.credit for one in self.accounts), ZERO)

    @property
    def balances(self) -> bool:
        """Whether debits and credits are equal, as they must be."""
        return self.debit == self.credit

    def _total(self, kind: str) -> Decimal:
        return sum((one.balance for one in self.accounts if one.kind == kind), ZERO)

    @property
    def owed(self) -> Decimal:
        """Sum that workers are owed; overpaid workers are not offset against others."""
        return self.sums.owed

    @property
    def overpaid(self) -> Decimal:
        """Return what workers were paid beyond what they are owed."""
        return self.sums.overpaid

    @property
    def paid(self) -> Decimal:
        """Sum of money paid to workers, without fees."""
        return self.sums.paid

    @property
    def fees(self) -> Decimal:
        """Return what platforms and banks took."""
        return -self._total("fees")

    @property
    def cost(self) -> Decimal:
        """Sum that the work cost so far, paid or not."""
        return -self._total("work")

    @property
    def open(self) -> list[Account]:
        """Return the workers' accounts that are not settled."""
        return [one for one in self.workers if one.balance]


def trial_balances(project: Project) -> list[Trial]:
    """Return the trial balance of the project, one per currency."""
    sums: dict[str, dict[str, list[Decimal]]] = {}
    for at, side in enumerate(("debit", "credit")):
        rows = project.ledger.order_by().values_list("currency", side).annotate(s=Sum("amount"))
        for currency, code, amount in rows:
            own = sums.setdefault(currency, {}).setdefault(code, [ZERO, ZERO])
            own[at] += amount
    names = account_names(project, {code for own in sums.values() for code in own})
    of_workers = {one.currency: one for one in sum_accounts(worker_accounts(project).values())}
    return [
        _trial(sums[currency], names, of_workers.get(currency) or Totals(currency, *[ZERO] * 6))
        for currency in sorted(sums)
    ]


def _trial(sums: dict[str, list[Decimal]], names: dict[str, str], totals: Totals) -> Trial:
    found = [Account(code, names[code], *both) for code, both in sums.items()]
    workers = [one for one in found if one.kind == "worker"]
    rest = [one for one in found if one.kind != "worker"]
    if workers:
        debit = sum((one.debit for one in workers), ZERO)
        credit = sum((one.credit for one in workers), ZERO)
        name = str(KINDS["worker"]) % {"whose": plural(len(workers), "worker")}
        rest.append(Account("worker:", name, debit, credit))
    order = list(KINDS)
    return Trial(
        totals.currency,
        sorted(rest, key=lambda one: (order.index(one.kind), one.name)),
        sorted(workers, key=lambda one: (not one.balance, one.name)),
        totals,
    )


def account_names(project: Project, codes: Iterable[str]) -> dict[str, str]:
    """Return the names that pages show for ledger accounts, by code."""
    wanted = set(codes)
    titles = dict(project.tasks.values_list("pk", "current__title"))
    ids = [int(code.partition(":")[2]) for code in wanted if code.startswith("worker:")]
    people = dict(Membership.objects.filter(pk__in=ids).values_list("pk", "pseudonym"))
    ways = channels(project)

    def name(code: str) -> str:
        kind, _colon, rest = code.partition(":")
        whose = ways.get(rest, rest)
        if kind == "work":
            whose = titles.get(int(rest)) or _("task %(number)s") % {"number": rest}
        if kind == "worker":
            whose = people.get(int(rest), rest)
        return str(KINDS[kind]) % {"whose": whose} if kind in KINDS else f"{kind} {whose}"

    return {code: name(code) for code in wanted}


def correctable_accounts(project: Project) -> list[tuple[str, str]]:
    """Accounts that a correction may name: those with an entry, and the project's channels."""
    known = {
        code
        for side in ("debit", "credit")
        for code in project.ledger.order_by().values_list(side, flat=True).distinct()
    }
    for through in channels(project):
        known |= {f"paid:{through}", f"fees:{through}"}
    order = list(KINDS)
    named = account_names(project, known)
    return sorted(named.items(), key=lambda row: (order.index(row[0].partition(":")[0]), row[1]))


# To be paid by hand ----------------------------------------------------------------------------


CORRECTIONS = 0  # in place of a proposal's number


@dataclass(frozen=True)
class HandPayments:
    """Open payments by hand of one way of payment and one proposal.

    Or rejections, without pay; or what corrections add, of no proposal; or what a statement says
    was paid already, which nobody pays.
    """

    way: str
    number: int  # CORRECTIONS: what corrections add
    title: str
    n: int
    people: int
    amount: Decimal
    currency: str
    deducted: Decimal = ZERO  # of what was approved, as it was paid before
    in_file: int = 0  # payments that a file of this way has named
    changed: int = 0  # of these, whose worker has changed their details since
    held_by: HoldingStatement | None = None

    @property
    def key(self) -> str:
        """What its row is called in addresses."""
        held = f"-statement-{self.held_by.pk}" if self.held_by else ""
        return f"{self.number}-{self.way or 'none'}{held}"

    @property
    def word(self) -> Words:
        return WAYS[self.way][0]

    @property
    def next_step(self) -> Words:
        return WAYS[self.way][1]

    @property
    def has_file(self) -> bool:
        """Whether a file names where the money goes."""
        return self.way in FILED

    @property
    def is_rejection(self) -> bool:
        """Whether these are submissions to reject, not payments."""
        return self.way == REJECT

    @property
    def is_correction(self) -> bool:
        """Whether these are what corrections add to somebody's pay."""
        return self.number == CORRECTIONS

    @property
    def is_missing(self) -> bool:
        return self.way == MISSING and not self.held_by


def by_hand(project: Project, due: Payable | None = None) -> list[HandPayments]:
    """What people still have to pay or reject, by way of payment and proposal."""
    due = due or payable(project)
    open_ = hand_work_open().filter(assignment__task__project=project)
    open_ = open_.exclude(pk__in=due.empty)
    found = [_group(row) for row in _grouped(open_.exclude(pk__in=due.held), due)]
    for statement in dict.fromkeys(due.held.values()):
        own = [pk for pk, one in due.held.items() if one == statement]
        held = _grouped(open_.filter(pk__in=own), due)
        found += [replace(_group(row), held_by=statement) for row in held]
    for way, currency in dict.fromkeys((one.way, one.currency) for one in due.corrections):
        own_ = [one for one in due.corrections if (one.way, one.currency) == (way, currency)]
        people, amount = len(own_), sum((one.amount for one in own_), ZERO)
        found.append(
            HandPayments(
                way,
                CORRECTIONS,
                "",
                people,
                people,
                amount,
                currency,
                in_file=sum(one.transfer is not None for one in own_),
                changed=sum(one.is_changed_since for one in own_),
            )
        )
    order = list(WAYS)
    return sorted(found, key=lambda row: (bool(row.held_by), order.index(row.way), -row.number))


def _grouped(rows: QuerySet[Payment], due: Payable) -> Iterable[dict[str, Any]]:
    grouped = rows.annotate(way=WAY).order_by()
    return grouped.values(
        "way", "currency", "line__batch__number", "assignment__task__current__title"
    ).annotate(
        n=Count("pk"),
        total=Sum("amount"),
        off=_deducted(due),
        people=Count("worker", distinct=True),
        in_file=Count("pk", filter=Q(reference__startswith=IN_FILE)),
        changed=Count("worker", distinct=True, filter=CHANGED_SINCE),
    )


def _deducted(due: Payable) -> Sum:
    """What is deducted from payments, to be summed in a query."""
    off = [When(pk=pk, then=Value(amount)) for pk, amount in due.deducted.items()]
    deducted = Case(*off, default=Value(ZERO), output_field=DecimalField()) if off else Value(ZERO)
    return Sum(deducted, output_field=DecimalField())


def _group(row: dict[str, Any]) -> HandPayments:
    return HandPayments(
        way=row["way"],
        number=row["line__batch__number"],
        title=row["assignment__task__current__title"],
        n=row["n"],
        people=row["people"],
        amount=row["total"] - row["off"],
        deducted=row["off"],
        currency=row["currency"],
        in_file=row["in_file"],
        changed=row["changed"],
    )


def hand_totals(rows: Iterable[HandPayments]) -> list[tuple[str, Decimal, Decimal]]:
    """By currency, what is to be paid by hand now, and what waits for a statement's difference."""
    found: dict[str, list[Decimal]] = {}
    for row in rows:
        if not row.is_rejection:
            found.setdefault(row.currency, [ZERO, ZERO])[bool(row.held_by)] += row.amount
    return [(currency, asked, held) for currency, (asked, held) in sorted(found.items())]


@dataclass(frozen=True)
class HandSum:
    """What is to be paid by hand now in one currency."""

    payments: int
    people: int
    amount: Decimal
    currency: str


def hand_sums(project: Project) -> list[HandSum]:
    """What a person can pay now, by currency; without what a statement says was paid."""
    open_ = hand_payments_open().filter(assignment__task__project=project)
    due = payable(project)
    open_ = open_.exclude(pk__in={*due.held, *due.empty})
    by_worker = open_.order_by().values_list("currency", "worker_id")
    owed = [
        (currency, worker, payments, total - off)
        for currency, worker, payments, total, off in by_worker.annotate(
            n=Count("pk"), total=Sum("amount"), off=_deducted(due)
        )
    ]
    owed += [(one.currency, one.worker.pk, 1, one.amount) for one in due.corrections]
    found = []
    for currency in sorted({row[0] for row in owed}):
        own = [row for row in owed if row[0] == currency]
        payments, amount = sum(row[2] for row in own), sum((row[3] for row in own), ZERO)
        found.append(HandSum(payments, len({row[1] for row in own}), amount, currency))
    return found


def hand_payments(
    project: Project,
    number: int | None = None,
    way: str | None = None,
    held: Iterable[int] | None = None,
) -> QuerySet[Payment]:
    """Open payments by hand, of one proposal or way or of all, with what a transfer names.

    Rejections are a way of their own. Without ``held``, which a statement says were made.
    """
    rows = hand_refusals_open() if way == REJECT else hand_payments_open()
    rows = rows.filter(assignment__task__project=project)
    if held is None and way != REJECT:
        due = payable(project)
        held = [*due.held, *due.empty]
    if held:
        rows = rows.exclude(pk__in=held)
    if number is not None:
        rows = rows.filter(line__batch__number=number)
    if way is not None:
        rows = rows.annotate(way=WAY).filter(way=way)
    return rows.select_related(
        "worker", "line__batch", "assignment__task__current", "recruitment"
    ).order_by("line__batch__number", "worker__pseudonym", "pk")


# Word and mark of a payment's state, for people who wait for it.
STATES = {
    "planned": (gettext_lazy("on the way through the platform"), "waiting"),
    "prepared": (gettext_lazy("on the way through the platform"), "waiting"),
    "sending": (gettext_lazy("on the way through the platform"), "waiting"),
    "unclear": (gettext_lazy("a person has to look at the platform"), "warn"),
    "failed": (gettext_lazy("refused by the platform"), "bad"),
    "by_hand": (gettext_lazy("to be paid by hand"), "waiting"),
    "done": (gettext_lazy("paid"), "done"),
}


PAID_THERE = (gettext_lazy("paid there, open here"), "warn")


def payments_of(batch: PayoutBatch) -> list[dict[str, Any]]:
    """Summarise a proposal's payments by state: number, and amount booked or still to be paid."""
    rows = Payment.objects.filter(line__batch=batch, what__in=("base", "bonus"), amount__gt=0)
    rows = rows.order_by("pk").select_related("assignment")
    if not rows:
        return []
    due = payable(batch.project, {row.worker_id for row in rows})
    keys = {f"payment:{row.pk}" for row in rows}
    booked = dict(batch.project.ledger.filter(key__in=keys).values_list("key", "amount"))
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        said, mark = PAID_THERE if row.pk in due.held else STATES[row.state]
        if row.pk in due.empty:
            said, mark = STATES["done"]
        word, by_hand = str(said), row.state == "by_hand" and row.pk not in {*due.held, *due.empty}
        own = found.setdefault(
            word, {"word": word, "mark": mark, "n": 0, "amount": ZERO, "by_hand": by_hand}
        )
        done = row.state == Payment.State.DONE or row.pk in due.empty
        own["n"] += 1
        own["amount"] += booked.get(f"payment:{row.pk}", ZERO) if done else due.amount_due(row)
    return sorted(found.values(), key=lambda row: row["word"])
