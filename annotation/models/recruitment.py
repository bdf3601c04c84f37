"""How people come in from elsewhere, and what the platform they came from is told about them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from annotation.models.assignments import Assignment, AssignmentState
from annotation.models.payouts import PayoutLine
from annotation.models.people import Membership, User
from annotation.models.tasks import Task


class Recruitment(models.Model):
    """One way into one task: a study on Prolific, or a panel of somebody's own behind a link."""

    class Kind(models.TextChoices):
        PROLIFIC = "prolific", "Prolific"
        PANEL = "panel", gettext_lazy("A panel of your own")

    class Entry(models.TextChoices):
        JWT = "jwt", gettext_lazy("Signed by the platform (JWT)")
        SIGNED = "signed", gettext_lazy("Signed links, one a person")
        BOUND = "bound", gettext_lazy("The first browser that comes with a name keeps it")

    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="recruitments")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    name = models.CharField(max_length=80)
    study_id = models.CharField(max_length=80, blank=True)
    entry = models.CharField(max_length=10, choices=Entry.choices, default=Entry.BOUND)
    # Our word -> the parameter of the address that holds it: participant, study, session...
    parameters = models.JSONField(default=dict)
    # Where people go when they are through; {code} and the parameters are filled in.
    return_url = models.CharField(max_length=400, blank=True)
    # Outcome (completed, failed_attention, no_consent...) -> the platform's completion code.
    codes = models.JSONField(default=dict, blank=True)
    jwks_url = models.CharField(max_length=300, blank=True)
    audience = models.CharField(max_length=200, blank=True)
    issuer = models.CharField(max_length=200, blank=True)
    # Empty: no API; decisions then leave as a file.
    api_url = models.CharField(max_length=200, blank=True)
    token_sealed = models.BinaryField(default=bytes, blank=True)
    webhook_sealed = models.BinaryField(default=bytes, blank=True)
    currency = models.CharField(max_length=3)
    # The study's own: as the platform last told it, else as somebody wrote it here. Nothing is
    # sent where it is unknown, or another than the project's.
    study_currency = models.CharField(max_length=3, blank=True)
    # What the platform takes of each amount, for the expectation and for reconciliation.
    fee_percent = models.DecimalField(max_digits=5, decimal_places=2, default=0)
    active = models.BooleanField(default=True)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study_id"], condition=~Q(study_id=""), name="study_once"
            ),
            models.CheckConstraint(
                condition=~Q(entry="jwt") | (~Q(jwks_url="") & ~Q(audience="")),
                name="jwt_needs_keys_and_audience",
            ),
        ]


class KeySet(models.Model):
    """The public keys under one address, as a job last read them: entries are checked by these."""

    url = models.CharField(max_length=300, unique=True)
    keys = models.JSONField(default=list, blank=True)
    fetched_at = models.DateTimeField(null=True, blank=True)
    # When a job was last asked to read them, when it last ended, and how often it failed in a row.
    asked_at = models.DateTimeField(null=True, blank=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveSmallIntegerField(default=0)
    problem = models.CharField(max_length=200, blank=True)


# Of visits: their person may start an assignment.
CAN_START = Q(assignment=None) | Q(
    assignment__state__in=(AssignmentState.RETURNED, AssignmentState.EXPIRED)
)


class Visit(models.Model):
    """That one participant came through one recruitment; their browser is bound to it."""

    recruitment = models.ForeignKey(Recruitment, on_delete=models.PROTECT, related_name="visits")
    participant = models.CharField(max_length=120)
    study = models.CharField(max_length=120, blank=True)
    # The platform's submission, which its API calls by this id.
    session = models.CharField(max_length=120, blank=True)
    worker = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="visits")
    assignment = models.OneToOneField(
        Assignment, on_delete=models.PROTECT, null=True, blank=True, related_name="visit"
    )
    # Digest of the secret that the first browser got; no other browser opens this visit. Empty:
    # somebody of the project let the person in again, and the next browser gets it.
    bound = models.CharField(max_length=64, blank=True)
    # Where a marketplace wants its form back (turkSubmitTo), if it is an address that was allowed.
    return_to = models.CharField(max_length=300, blank=True)
    outcome = models.CharField(max_length=30, blank=True)
    code = models.CharField(max_length=60, blank=True)
    # The submission's state as the platform last said it, and when it said so.
    status = models.CharField(max_length=30, blank=True)
    status_at = models.DateTimeField(null=True, blank=True)
    entered_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["recruitment", "participant"], name="visit_once_a_participant"
            ),
            models.UniqueConstraint(
                fields=["recruitment", "session"],
                condition=~Q(session=""),
                name="visit_once_a_session",
            ),
        ]


class UsedEntry(models.Model):
    """A signed entry that opened something: it opens nothing a second time elsewhere."""

    recruitment = models.ForeignKey(Recruitment, on_delete=models.CASCADE, related_name="+")
    token_hash = models.CharField(max_length=64)
    bound = models.CharField(max_length=64)
    used_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["recruitment", "token_hash"], name="entry_used_once")
        ]


class PlatformEvent(models.Model):
    """A webhook of a platform, kept once however often it was sent."""

    recruitment = models.ForeignKey(Recruitment, on_delete=models.CASCADE, related_name="events")
    event_id = models.CharField(max_length=120)
    kind = models.CharField(max_length=60)
    payload = models.JSONField()
    received_at = models.DateTimeField(auto_now_add=True)
    # When its content took effect; what names nobody known is kept and said.
    applied_at = models.DateTimeField(null=True, blank=True)
    note = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["recruitment", "event_id"], name="event_taken_once")
        ]


class Payment(models.Model):
    """One thing that a platform (or a person, by hand) has to do about one assignment.

    Written in the transaction that approves; sent afterwards. ``sending`` is committed before
    the request leaves, so that whoever finds it there after a crash first asks the platform.
    """

    class What(models.TextChoices):
        BASE = "base", gettext_lazy("Approve the submission")
        BONUS = "bonus", gettext_lazy("Pay a bonus")
        REFUSAL = "refusal", gettext_lazy("Reject the submission")

    # What pages call it: the labels above are what a platform is asked to do.
    WORDS: ClassVar[dict[str, Promise]] = {
        What.BASE: gettext_lazy("Base pay"),
        What.BONUS: gettext_lazy("Bonus"),
        What.REFUSAL: gettext_lazy("Rejection"),
    }

    class State(models.TextChoices):
        PLANNED = "planned", gettext_lazy("Waits to be sent")
        PREPARED = "prepared", gettext_lazy("Set up, not paid")
        SENDING = "sending", gettext_lazy("Sent, not confirmed")
        DONE = "done", gettext_lazy("Confirmed")
        FAILED = "failed", gettext_lazy("Refused by the platform")
        UNCLEAR = "unclear", gettext_lazy("A person has to look")
        BY_HAND = "by_hand", gettext_lazy("To be done by hand")

    recruitment = models.ForeignKey(
        Recruitment, on_delete=models.PROTECT, null=True, blank=True, related_name="payments"
    )
    line = models.ForeignKey(PayoutLine, on_delete=models.PROTECT, related_name="payments")
    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="payments")
    worker = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="payments")
    what = models.CharField(max_length=8, choices=What.choices)
    amount = models.DecimalField(max_digits=10, decimal_places=2, default=0)
    currency = models.CharField(max_length=3)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PLANNED)
    # The platform's id of a bonus that was set up; how many like it were there before.
    reference = models.CharField(max_length=120, blank=True)
    seen_before = models.PositiveIntegerField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    # Nobody else works on it before this time; and no new try before it.
    held_until = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["line", "what"], name="payment_once_a_line"),
        ]
        indexes = [
            models.Index(
                fields=["held_until"],
                condition=Q(state__in=["planned", "prepared", "sending"]),
                name="payment_open",
            )
        ]

    @property
    def title(self) -> Promise:
        return self.WORDS[self.what]


class PaymentAttempt(models.Model):
    """One request about one payment, and what came back."""

    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="tries")
    request = models.CharField(max_length=200)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)


class PaymentDetails(models.Model):
    """How a worker wants to be paid where no platform pays them; goes with their erasure."""

    class PaymentWay(models.TextChoices):
        BANK = "bank", gettext_lazy("Bank transfer (IBAN)")
        PAYPAL = "paypal", gettext_lazy("PayPal")
        OTHER = "other", gettext_lazy("Other, as the project asks for")

    worker = models.OneToOneField(
        Membership, on_delete=models.CASCADE, related_name="payment_details"
    )
    way = models.CharField(max_length=8, choices=PaymentWay.choices)
    # Reference and name of the recipient, in two lines.
    sealed = models.BinaryField()
    # Keyed hash of way and reference, by which two accounts with one reference are compared.
    reference_hash = models.BinaryField(null=True)
    changed_at = models.DateTimeField()


class Statement(models.Model):
    """A file of what a platform really paid, held once against the books."""

    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="statements")
    recruitment = models.ForeignKey(
        Recruitment, on_delete=models.PROTECT, null=True, blank=True, related_name="statements"
    )
    digest = models.CharField(max_length=64)
    name = models.CharField(max_length=200)
    # Rows as read, with what became of each.
    rows = models.JSONField(default=list)
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["task", "digest"], name="statement_once")]
