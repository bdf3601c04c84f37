"""Reads of payment details: what a worker entered, and how payments by hand are to be made."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Case, CharField, Count, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy

from annotation.models import (
    Assignment,
    Membership,
    Payment,
    PaymentDetails,
    Project,
    Recruitment,
    Rejection,
    Role,
    User,
)
from annotation.payouts.details.actions import IN_FILE, Details, open_details
from crowdqc.web.terms import Words

API, PROLIFIC, REJECT, MISSING = "api", "prolific", "reject", ""
# Way of payment -> its word, and what happens after approval.
WAYS: dict[str, tuple[Words, Words]] = {
    API: (gettext_lazy("Prolific"), gettext_lazy("Sent by crowdqc")),
    PROLIFIC: (
        gettext_lazy("Prolific, by hand"),
        gettext_lazy("You approve or pay it on Prolific’s pages"),
    ),
    REJECT: (
        gettext_lazy("Prolific, to reject"),
        gettext_lazy("You reject it on Prolific’s pages; undecided, it ends up paid there"),
    ),
    PaymentDetails.PaymentWay.BANK: (
        gettext_lazy("Bank transfer"),
        gettext_lazy("You upload the file at your bank"),
    ),
    PaymentDetails.PaymentWay.PAYPAL: (
        gettext_lazy("PayPal"),
        gettext_lazy("You upload the file at PayPal"),
    ),
    PaymentDetails.PaymentWay.OTHER: (
        gettext_lazy("Other reference"),
        gettext_lazy("You send the list to whoever pays"),
    ),
    MISSING: (
        gettext_lazy("No payment details"),
        gettext_lazy("Wait for their details, or mark as paid"),
    ),
}
FILED = (
    PaymentDetails.PaymentWay.BANK,
    PaymentDetails.PaymentWay.PAYPAL,
    PaymentDetails.PaymentWay.OTHER,
)
BY_PROLIFIC = Q(recruitment__kind=Recruitment.Kind.PROLIFIC)
WAY = Case(
    When(what=Payment.What.REFUSAL, then=Value(REJECT)),
    When(BY_PROLIFIC, then=Value(PROLIFIC)),
    *(When(reference=f"{IN_FILE}{way}", then=Value(str(way))) for way in FILED),
    default=Coalesce("worker__payment_details__way", Value(MISSING)),
    output_field=CharField(),
)


# Payments that a file has named, of workers who have changed their details since.
CHANGED_SINCE = Q(reference__startswith=IN_FILE) & (
    Q(worker__payment_details=None) | Q(worker__payment_details__changed_at__gt=F("sent_at"))
)


@dataclass(frozen=True)
class OwnDetails:
    """How one person is paid in one project; ``due`` is approved and waits for the details."""

    worker: Membership
    details: Details | None
    word: Words
    due: Decimal


def own_details(user: User) -> list[OwnDetails]:
    """Projects that pay the person by hand, with what they entered (three queries)."""
    members = list(
        Membership.objects.filter(user=user, role=Role.WORKER, erase_asked_at=None)
        .exclude(pk__in=_only_by_prolific(user))
        .select_related("project")
        .order_by("project__name", "pk")
    )
    rows = {row.worker_id: row for row in PaymentDetails.objects.filter(worker__in=members)}
    waiting = hand_payments_open().filter(worker__in=members).exclude(BY_PROLIFIC)
    due = dict(waiting.order_by().values_list("worker").annotate(s=Sum("amount")))
    return [
        OwnDetails(
            worker=one,
            details=open_details(rows[one.pk]) if one.pk in rows else None,
            word=WAYS[rows[one.pk].way if one.pk in rows else MISSING][0],
            due=due.get(one.pk, Decimal(0)),
        )
        for one in members
    ]


def _only_by_prolific(user: User) -> QuerySet[Membership, Any]:
    """Memberships whose every assignment came through Prolific, which pays it."""
    rows = Membership.objects.filter(user=user, role=Role.WORKER)
    from_there = Q(assignments__visit__recruitment__kind=Recruitment.Kind.PROLIFIC)
    counted = rows.annotate(
        n=Count("assignments", distinct=True),
        there=Count("assignments", filter=from_there, distinct=True),
    )
    return counted.filter(n__gt=0, there=F("n")).values("pk")


def hand_payments_open() -> QuerySet[Payment]:
    """Payments that a person still has to make."""
    return Payment.objects.filter(what__in=("base", "bonus"), state=Payment.State.BY_HAND)


def hand_work_open() -> QuerySet[Payment]:
    """What a person still has to pay or to reject; no rejection that was overturned."""
    gone = Q(what=Payment.What.REFUSAL, assignment__rejection__outcome=Rejection.Outcome.OVERTURNED)
    return Payment.objects.filter(state=Payment.State.BY_HAND).exclude(gone)


def hand_refusals_open() -> QuerySet[Payment]:
    """Submissions that a person still has to reject on a platform."""
    return hand_work_open().filter(what=Payment.What.REFUSAL)


def ways_of_assignments(assignments: Collection[int]) -> dict[int, str]:
    """By assignment, how its pay would leave after an approval now (a key of ``WAYS``)."""
    sent = (
        Q(visit__recruitment__kind=Recruitment.Kind.PROLIFIC)
        & ~Q(visit__recruitment__api_url="")
        & ~Q(visit__recruitment__token_sealed=b"")
        & ~Q(visit__session="")
    )
    way = Case(
        When(sent, then=Value(API)),
        When(visit__recruitment__kind=Recruitment.Kind.PROLIFIC, then=Value(PROLIFIC)),
        default=Coalesce("worker__payment_details__way", Value(MISSING)),
        output_field=CharField(),
    )
    rows = Assignment.objects.filter(pk__in=assignments).annotate(way=way)
    return dict(rows.values_list("pk", "way"))


def without_details(
    project: Project, payments: Iterable[Payment] | None = None
) -> list[Membership]:
    """Workers with an account whose payments by hand wait for payment details."""
    rows = hand_payments_open().filter(assignment__task__project=project).exclude(BY_PROLIFIC)
    if payments is not None:
        rows = rows.filter(pk__in=[one.pk for one in payments])
    people = Membership.objects.filter(
        pk__in=rows.values("worker"), user__isnull=False, payment_details=None
    )
    return list(people.select_related("user").order_by("pk"))
