"""What is booked by hand, and who approved it where that needs a second person."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy

from annotation.models.payouts import LedgerEntry
from annotation.models.people import Membership, Project, User
from annotation.models.recruitment import PaymentDetails, Statement
from annotation.models.tasks import Task


class Correction(models.Model):
    """A correction of the books, or the booking of a statement's row, by hand.

    Up to the project's limit a day one manager books it alone. Above that it moves nothing until
    another manager approves it; then it is booked once, under its key.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed", gettext_lazy("Awaiting approval")
        APPROVED = "approved", gettext_lazy("Approved")
        DECLINED = "declined", gettext_lazy("Declined")
        ALONE = "alone", gettext_lazy("Booked without a second person")

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="corrections")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="+")
    # Of a statement's row; else the two accounts are named here.
    statement = models.ForeignKey(
        Statement, on_delete=models.PROTECT, null=True, related_name="corrections"
    )
    place = models.PositiveIntegerField(null=True, blank=True)
    debit = models.CharField(max_length=60, blank=True)
    credit = models.CharField(max_length=60, blank=True)
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    currency = models.CharField(max_length=3)
    memo = models.CharField(max_length=300, blank=True)
    # As the ledger's: the same form sent again is the same correction.
    key = models.CharField(max_length=120)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PROPOSED)
    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(auto_now_add=True)
    decided_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)
    decision_note = models.CharField(max_length=300, blank=True)
    # Set when the owner had allowed one person to do both.
    single_approval = models.BooleanField(default=False)
    # No constraint: its check would lock a row of the ledger, which the role may not update.
    entry = models.ForeignKey(
        LedgerEntry, on_delete=models.DO_NOTHING, null=True, related_name="+", db_constraint=False
    )

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["key"], condition=~Q(state="declined"), name="correction_once"
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="correction_amount_positive"),
            models.CheckConstraint(
                condition=~Q(state="approved")
                | Q(single_approval=True)
                | ~Q(decided_by=F("proposed_by")),
                name="nobody_approves_their_own_correction",
            ),
            models.CheckConstraint(
                condition=(Q(statement__isnull=False) & Q(place__isnull=False))
                | (~Q(debit="") & ~Q(credit="")),
                name="correction_says_what",
            ),
        ]


class CorrectionTransfer(models.Model):
    """The way of payment whose file named what corrections add to one worker's pay.

    Until that is paid it stays with this way, so that no file of another way names it too. It is
    paid once the books debit the worker's account after ``entry``, for no approved line.
    """

    worker = models.ForeignKey(
        Membership, on_delete=models.CASCADE, related_name="correction_transfers"
    )
    currency = models.CharField(max_length=3)
    way = models.CharField(max_length=8, choices=PaymentDetails.PaymentWay.choices)
    # The last entry of the worker's account at that time. No constraint: see ``Correction``.
    entry = models.ForeignKey(
        LedgerEntry, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False
    )
    named_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["worker", "currency"], name="correction_in_one_file"),
        ]
