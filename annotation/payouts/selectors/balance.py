"""The books as accounts: what went in and out of each, by currency, and what is still owed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
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
from crowdqc.numbers import plural
from crowdqc.web.terms import Words

ZERO = Decimal("0.00")
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
        return sum((one.balance for one in self.workers if one.balance > 0), ZERO)

    @property
    def overpaid(self) -> Decimal:
        """Return what workers were paid beyond what they are owed."""
        return -sum((one.balance for one in self.workers if one.balance < 0), ZERO)

    @property
    def paid(self) -> Decimal:
        """Sum of money paid through all channels, fees included."""
        return self._total("paid")

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
    return [_trial(currency, sums[currency], names) for currency in sorted(sums)]


def _trial(currency: str, sums: dict[str, list[Decimal]], names: dict[str, str]) -> Trial:
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
        currency,
        sorted(rest, key=lambda one: (order.index(one.kind), one.name)),
        sorted(workers, key=lambda one: (not one.balance, one.name)),
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


@dataclass(frozen=True)
class HandPayments:
    """Open payments by hand of one way of payment and one proposal; or rejections, without pay."""

    way: str
    number: int
    title: str
    n: int
    people: int
    amount: Decimal
    currency: str
    in_file: int  # payments that a file of this way has named
    changed: int  # of these, whose worker has changed their details since

    @property
    def key(self) -> str:
        """What its row is called in addresses."""
        return f"{self.number}-{self.way or 'none'}"

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
    def is_missing(self) -> bool:
        return self.way == MISSING


def by_hand(project: Project) -> list[HandPayments]:
    """What people still have to pay or reject, by way of payment and proposal."""
    rows = (
        hand_work_open()
        .filter(assignment__task__project=project)
        .annotate(way=WAY)
        .order_by()
        .values("way", "currency", "line__batch__number", "assignment__task__current__title")
        .annotate(
            n=Count("pk"),
            amount=Sum("amount"),
            people=Count("worker", distinct=True),
            in_file=Count("pk", filter=Q(reference__startswith=IN_FILE)),
            changed=Count("worker", distinct=True, filter=CHANGED_SINCE),
        )
    )
    found = [
        HandPayments(
            way=row["way"],
            number=row["line__batch__number"],
            title=row["assignment__task__current__title"],
            n=row["n"],
            people=row["people"],
            amount=row["amount"],
            currency=row["currency"],
            in_file=row["in_file"],
            changed=row["changed"],
        )
        for row in rows
    ]
    order = list(WAYS)
    return sorted(found, key=lambda row: (order.index(row.way), -row.number))


def hand_payments(
    project: Project, number: int | None = None, way: str | None = None
) -> QuerySet[Payment]:
    """Open payments by hand, of one proposal or way or of all, with what a transfer names.

    Rejections are a way of their own.
    """
    rows = hand_refusals_open() if way == REJECT else hand_payments_open()
    rows = rows.filter(assignment__task__project=project)
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


def payments_of(batch: PayoutBatch) -> list[dict[str, Any]]:
    """Summarise a proposal's payments by state: number and amount."""
    rows = (
        Payment.objects.filter(line__batch=batch, what__in=("base", "bonus"), amount__gt=0)
        .order_by()
        .values_list("state")
        .annotate(n=Count("pk"), amount=Sum("amount"))
    )
    found: dict[str, dict[str, Any]] = {}
    for state, number, amount in rows:
        said, mark = STATES[state]
        word = str(said)
        own = found.setdefault(
            word,
            {
                "word": word,
                "mark": mark,
                "n": 0,
                "amount": ZERO,
                "by_hand": state == "by_hand",
            },
        )
        own["n"] += number
        own["amount"] += amount
    return sorted(found.values(), key=lambda row: row["word"])
