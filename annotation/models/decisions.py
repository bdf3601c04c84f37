"""What became of submitted work, said once: for pages, files, the API and the counts of payouts."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Case, CharField, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.utils.translation import gettext_lazy

from annotation.models.assignments import Assignment, AssignmentState
from annotation.models.payouts import PayoutBatch, PayoutLine, Rejection
from annotation.models.recruitment import Payment

OVERTURNED = "overturned"


class Decision(models.TextChoices):
    """What stands for an assignment now."""

    NONE = "", gettext_lazy("Not submitted")
    UNPAID = "unpaid", gettext_lazy("Nothing to decide")  # imported, or a quiz without pay
    WAITING = "waiting", gettext_lazy("Awaiting review")
    OVERTURNED = OVERTURNED, gettext_lazy("Rejection overturned, awaiting review")
    PROPOSED = "proposed", gettext_lazy("In a proposal")
    APPROVED = "approved", gettext_lazy("Approved, not paid yet")
    PAID = "paid", gettext_lazy("Paid")
    REJECTED = "rejected", gettext_lazy("Rejected")


OWED = (Decision.APPROVED, Decision.PAID)  # stands in the books


def with_decision(assignments: QuerySet[Assignment]) -> QuerySet[Any]:
    """The assignments with ``decision``, a value of ``Decision``."""
    lines = PayoutLine.objects.filter(assignment=OuterRef("pk"), live=True)
    proposed = lines.filter(batch__state=PayoutBatch.State.PROPOSED)
    approved = lines.filter(
        batch__state=PayoutBatch.State.APPROVED, decision=PayoutLine.Decision.APPROVE
    )
    rejections = Rejection.objects.filter(assignment=OuterRef("pk"))
    overturned = Q(outcome=Rejection.Outcome.OVERTURNED)
    payments = Payment.objects.filter(assignment=OuterRef("pk"), line__live=True, amount__gt=0)
    done = Q(state=Payment.State.DONE)
    return assignments.annotate(
        decision=Case(
            When(~Q(state=AssignmentState.SUBMITTED), then=Value(Decision.NONE)),
            When(Exists(proposed), then=Value(Decision.PROPOSED)),
            When(Exists(rejections.exclude(overturned)), then=Value(Decision.REJECTED)),
            When(
                Exists(approved) & Exists(payments.filter(done)) & ~Exists(payments.exclude(done)),
                then=Value(Decision.PAID),
            ),
            When(Exists(approved), then=Value(Decision.APPROVED)),
            When(settled_at__isnull=False, then=Value(Decision.UNPAID)),
            When(Exists(rejections), then=Value(Decision.OVERTURNED)),
            default=Value(Decision.WAITING),
            output_field=CharField(),
        )
    )


# What became of a line: as proposed, until its proposal is approved. Then a line that was left
# out is held, and a rejection may have been overturned.
LINE_OUTCOME = Case(
    When(~Q(batch__state=PayoutBatch.State.APPROVED), then=F("decision")),
    When(rejection__outcome=Rejection.Outcome.OVERTURNED, then=Value(OVERTURNED)),
    When(rejection__isnull=False, then=Value(PayoutLine.Decision.REJECT)),
    When(live=True, decision=PayoutLine.Decision.APPROVE, then=Value(PayoutLine.Decision.APPROVE)),
    default=Value(PayoutLine.Decision.HOLD),
    output_field=CharField(),
)
