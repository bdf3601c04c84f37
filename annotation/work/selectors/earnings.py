"""A worker's earnings: approved, waiting, paid, hourly, and decisions."""

from __future__ import annotations

import datetime as dt
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Max, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.access import current_and_past_work
from annotation.authoring.selectors.cost import IS_EARNED, an_hour
from annotation.models import (
    Assignment,
    LedgerEntry,
    Membership,
    PayoutLine,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.models.decisions import Decision, with_decision
from annotation.models.payouts import DUE, OWED, PAID_OUT
from crowdqc.money import round_money
from crowdqc.numbers import money, plural, short_date

SHOWN = 50  # assignments listed of each kind
LAST = 20  # submitted and not rejected assignments that a worker's pay by the hour is read from
FEWEST = 3  # of these, before it is told
Amounts = list[tuple[str, Decimal]]  # by currency


@dataclass(frozen=True)
class Earnings:
    """A worker's money over all projects, by currency."""

    approved: Amounts  # since the month began
    approved_works: int
    waiting: Amounts  # as agreed, for submitted work that nobody has decided about
    waiting_works: int
    paid: Amounts
    paid_at: dt.datetime | None
    due: Amounts  # approved and not paid yet
    hourly: Decimal | None  # median of the last work that was not rejected, by real times
    hourly_currency: str
    hourly_works: int

    @property
    def figures(self) -> list[dict[str, str]]:
        """Return the figures on the worker's pages."""
        last = (
            _("last on %(day)s") % {"day": short_date(timezone.localtime(self.paid_at))}
            if self.paid_at
            else ""
        )
        return [
            {
                "label": _("Approved this month"),
                "value": format_amounts(self.approved),
                "note": plural(self.approved_works, "assignment"),
            },
            {
                "label": _("Awaiting review"),
                "value": format_amounts(self.waiting),
                "note": plural(self.waiting_works, "assignment"),
            },
            {"label": _("Paid out"), "value": format_amounts(self.paid), "note": last},
            {
                "label": _("Median per hour"),
                "value": money(self.hourly, self.hourly_currency) if self.hourly else "–",
                "note": _("your last %(assignments)s, without rejected work")
                % {"assignments": plural(self.hourly_works, "assignment")}
                if self.hourly
                else _("not known yet"),
            },
        ]


def format_amounts(amounts: Amounts) -> str:
    """Format ``€86.40``, or ``€86.40 + $3.00``, with zeros in one currency only."""
    told = [money(amount, currency) for currency, amount in amounts if amount]
    return " + ".join(told) or money(Decimal(0), amounts[0][0] if amounts else "EUR")


def compute_earnings(user: User) -> Earnings:
    """Compute the worker's earnings by three queries."""
    ever = current_and_past_work(user)
    begun = timezone.localtime().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    month = OWED & Q(at__gte=begun)
    payment = Q(kind=LedgerEntry.Kind.PAYMENT)
    books = list(
        LedgerEntry.objects.filter(worker__in=ever)
        .order_by("currency")
        .values("currency")
        .annotate(
            approved=Sum("amount", filter=month, default=Decimal(0)),
            works=Count("assignment", filter=month, distinct=True),
            paid=PAID_OUT,
            last=Max("at", filter=payment),
            due=DUE,
        )
    )
    waiting = list(
        _waiting(ever)
        .order_by("task__project__currency")
        .values_list("task__project__currency")
        .annotate(total=Sum("pay"), works=Count("pk"))
    )
    hourly, currency, works = _median_hourly_pay(ever)
    return Earnings(
        approved=[(row["currency"], row["approved"]) for row in books],
        approved_works=sum(row["works"] for row in books),
        waiting=[(name, total) for name, total, _ in waiting],
        waiting_works=sum(number for _, _, number in waiting),
        paid=[(row["currency"], row["paid"]) for row in books],
        paid_at=max((row["last"] for row in books if row["last"]), default=None),
        due=[(row["currency"], row["due"]) for row in books if row["due"] > 0],
        hourly=hourly,
        hourly_currency=currency,
        hourly_works=works,
    )


def _median_hourly_pay(members: QuerySet[Membership]) -> tuple[Decimal | None, str, int]:
    """Return the median hourly pay of recent assignments in the newest currency."""
    rows = list(
        Assignment.objects.filter(
            worker__in=members, state=AssignmentState.SUBMITTED, opened_at__isnull=False
        )
        .filter(IS_EARNED, pay__gt=0, quiz__isnull=True)
        .order_by("-submitted_at")
        .values_list("task__project__currency", "pay", "opened_at", "submitted_at")[:LAST]
    )
    currency = rows[0][0] if rows else "EUR"
    rates = [
        rate
        for name, pay, opened, submitted in rows
        if name == currency
        and opened
        and submitted
        and (rate := an_hour(pay, (submitted - opened).total_seconds() / 60)) is not None
    ]
    if len(rates) < FEWEST:
        return None, currency, len(rates)
    return round_money(statistics.median(rates)), currency, len(rates)


# -- what became of the work -----------------------------------------------------------------------


@dataclass(frozen=True)
class History:
    """A worker's submitted work by decision, newest first."""

    waiting: list[Assignment]
    rejected: list[Assignment]
    approved: list[tuple[Assignment, Decimal]]  # with what the ledger says
    total: Amounts  # approved ever


def _assignments_of(members: QuerySet[Membership]) -> QuerySet[Assignment]:
    return Assignment.objects.filter(worker__in=members).select_related("version", "task__project")


def _waiting(members: QuerySet[Membership]) -> QuerySet[Assignment]:
    # A rejection that was overturned is unsettled again and waits with the others.
    return _assignments_of(members).filter(state=AssignmentState.SUBMITTED, settled_at__isnull=True)


def load_history(user: User) -> History:
    """Load all submitted work by a fixed number of queries."""
    ever = current_and_past_work(user)
    settled = list(
        with_decision(_assignments_of(ever))
        .filter(settled_at__isnull=False)
        .exclude(source="import")
        .exclude(quiz__isnull=False, pay=0)  # nothing was to be decided
        .select_related("rejection")
        .order_by("-settled_at")[: 2 * SHOWN]
    )
    _attach_lines(settled)
    rejected = [row for row in settled if row.decision == Decision.REJECTED]
    ledger = LedgerEntry.objects.owed().filter(worker__in=ever)
    paid = dict(
        ledger.filter(assignment__in=settled).values_list("assignment").annotate(s=Sum("amount"))
    )
    approved = [row for row in settled if row not in rejected][:SHOWN]
    return History(
        waiting=list(_waiting(ever).select_related("rejection").order_by("-submitted_at")[:SHOWN]),
        rejected=rejected,
        approved=[(row, paid.get(row.pk, Decimal(0))) for row in approved],
        total=list(
            ledger.values_list("currency").annotate(total=Sum("amount")).order_by("currency")
        ),
    )


def read_decision(assignment: Assignment) -> tuple[str, Decimal]:
    """Return what was decided (``Decision``) and the approved amount."""
    [decision] = with_decision(Assignment.objects.filter(pk=assignment.pk)).values_list(
        "decision", flat=True
    )
    owed = LedgerEntry.objects.owed().filter(assignment=assignment)
    return decision, owed.aggregate(total=Sum("amount", default=Decimal(0)))["total"]


def open_rejections(user: User) -> list[Assignment]:
    """Return rejected work to which the worker can still reply."""
    now = timezone.now()
    rows = _assignments_of(current_and_past_work(user)).filter(
        rejection__isnull=False, rejection__replied_at=None
    )
    rows = rows.exclude(rejection__outcome="overturned").exclude(rejection__reply_until__lt=now)
    return list(rows.select_related("rejection").order_by("-rejection__rejected_at")[:SHOWN])


def _attach_lines(assignments: Sequence[Assignment]) -> None:
    """Attach the approved line of each (``line`` or None)."""
    lines = {
        line.assignment_id: line
        for line in PayoutLine.objects.filter(
            assignment__in=[row.pk for row in assignments],
            live=True,
            batch__state="approved",
            decision=PayoutLine.Decision.APPROVE,
        )
    }
    for row in assignments:
        row.line = lines.get(row.pk)  # type: ignore[attr-defined]
