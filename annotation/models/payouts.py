"""What is paid: proposals of one person, approved by another, written once to a ledger."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models import Case, F, Q, Sum, When
from django.db.models.functions import Cast, Substr
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy

from annotation.models.assignments import Assignment
from annotation.models.people import Membership, Project, User
from annotation.models.tasks import Task


class PayoutBatch(models.Model):
    """A proposal to pay; approving it writes the ledger exactly once."""

    class State(models.TextChoices):
        PROPOSED = "proposed", gettext_lazy("Waits for a second person")
        APPROVED = "approved", pgettext_lazy("proposal", "Approved")
        SENT_BACK = "sent_back", pgettext_lazy("proposal", "Sent back")

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="payout_batches")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="payout_batches")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=160, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PROPOSED)
    # The client's key: the same proposal sent again is the same proposal.
    key = models.UUIDField(unique=True)
    # What the scores behind it were, as text, since collecting does not know of runs.
    evidence_note = models.CharField(max_length=200, blank=True)
    # The number of the run whose scores it was made from; its page shows those for good.
    evidence_run = models.PositiveIntegerField(null=True, blank=True)
    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(auto_now_add=True)
    decided_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)
    decision_note = models.CharField(max_length=300, blank=True)
    # Set when the project's owner had allowed one person to do both.
    single_approval = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="payout_number_once"),
            models.CheckConstraint(
                condition=Q(decided_by__isnull=True)
                | Q(single_approval=True)
                | Q(state="sent_back")
                | ~Q(decided_by=F("proposed_by")),
                name="nobody_approves_their_own",
            ),
        ]

    @property
    def is_withdrawn(self) -> bool:
        """Whether its own proposer took it back."""
        return self.state == self.State.SENT_BACK and self.decided_by_id == self.proposed_by_id


class PayoutLine(models.Model):
    """What a proposal says of one assignment."""

    class Decision(models.TextChoices):
        APPROVE = "approve", gettext_lazy("Approve")
        HOLD = "hold", gettext_lazy("Look first")
        REJECT = "reject", gettext_lazy("Reject")

    batch = models.ForeignKey(PayoutBatch, on_delete=models.CASCADE, related_name="lines")
    assignment = models.ForeignKey(
        Assignment, on_delete=models.PROTECT, related_name="payout_lines"
    )
    decision = models.CharField(max_length=8, choices=Decision.choices)
    base = models.DecimalField(max_digits=8, decimal_places=2)
    bonus = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    # What rule gave the bonus, in words; empty for one that a person wrote.
    bonus_note = models.CharField(max_length=200, blank=True)
    reason_code = models.CharField(max_length=40, blank=True)
    reason = models.TextField(blank=True)
    # Of a rejection: its answers do not count, and then other workers are asked for them.
    leaves_out = models.BooleanField(default=False, db_default=False)
    collects_again = models.BooleanField(default=False, db_default=False)
    # False once its batch is sent back or the line was held, so that another may name it.
    live = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["batch", "assignment"], name="line_once_a_batch"),
            models.UniqueConstraint(
                fields=["assignment"], condition=Q(live=True), name="one_live_line_an_assignment"
            ),
            models.CheckConstraint(condition=Q(base__gte=0) & Q(bonus__gte=0), name="line_amounts"),
            models.CheckConstraint(
                condition=~Q(decision="reject") | (~Q(reason="") & Q(base=0) & Q(bonus=0)),
                name="rejection_has_reason",
            ),
        ]


class Rejection(models.Model):
    """A refusal to pay, with its reason and the one reply the worker has."""

    class Outcome(models.TextChoices):
        STANDS = "stands", gettext_lazy("stands")
        OVERTURNED = "overturned", gettext_lazy("overturned")

    assignment = models.OneToOneField(
        Assignment, on_delete=models.PROTECT, related_name="rejection"
    )
    line = models.OneToOneField(PayoutLine, on_delete=models.PROTECT, related_name="rejection")
    reason_code = models.CharField(max_length=40)
    reason = models.TextField()
    rejected_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    rejected_at = models.DateTimeField()
    # Until when the worker may reply, and by when a reply is owed an answer.
    reply_until = models.DateTimeField(null=True, blank=True)
    reply = models.TextField(blank=True)
    answer_by = models.DateTimeField(null=True, blank=True)
    replied_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)
    outcome_note = models.TextField(blank=True)
    outcome_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    outcome_at = models.DateTimeField(null=True, blank=True)

    @property
    def is_closed(self) -> bool:
        """Whether the time for a reply is over and none came."""
        return bool(not self.replied_at and self.reply_until and self.reply_until < timezone.now())

    @property
    def is_late(self) -> bool:
        """Whether a reply waits for its answer beyond the day that was promised."""
        return bool(
            self.replied_at
            and not self.outcome
            and self.answer_by
            and self.answer_by < timezone.now()
        )


class PayoutRule(models.Model):
    """How a task's proposals begin: base on approval, a bonus by what a run said, a wage check."""

    class BonusBy(models.TextChoices):
        NONE = "none", gettext_lazy("no bonus by rule")
        SCORE = "score", gettext_lazy("the lower end of the score’s interval")
        COMPETENCE = "competence", gettext_lazy("the lower end of the competence’s interval")
        RANK = "rank", gettext_lazy("the whole range of ranks")

    task = models.OneToOneField(Task, on_delete=models.CASCADE, related_name="payout_rule")
    bonus_by = models.CharField(max_length=12, choices=BonusBy.choices, default=BonusBy.NONE)
    # Steps, the best first: [{"at": threshold or rank, "bonus": "0.50"}].
    steps = models.JSONField(default=list, blank=True)
    # Of the base, for everybody who is paid, whatever a run says.
    flat_percent = models.DecimalField(max_digits=5, decimal_places=2, null=True, blank=True)
    cap_each = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    cap_total = models.DecimalField(max_digits=10, decimal_places=2, null=True, blank=True)
    # Raise the bonus until the hourly floor of the project is met by the time really worked.
    top_up = models.BooleanField(default=False)
    changed_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    changed_at = models.DateTimeField(auto_now=True)


def _cost_owner(side: str) -> Case:
    """The task whose cost an account is; None for workers and for what left."""
    number = Cast(Substr(side, len("work:") + 1), models.BigIntegerField())
    beside = Q(**{f"{side}__startswith": "fees:"}) | Q(**{f"{side}__startswith": "unknown:"})
    return Case(
        When(**{f"{side}__startswith": "work:"}, then=number),
        When(beside, then=F("task_id")),
        default=None,
        output_field=models.BigIntegerField(null=True),
    )


class LedgerQuerySet(models.QuerySet["LedgerEntry"]):
    """Entries by what they are about."""

    def owed(self) -> LedgerQuerySet:
        """What approvals said that workers are to get."""
        return self.filter(OWED)

    def with_cost_owners(self) -> models.QuerySet[Any]:
        """Entries with ``debit_task``, which they cost, and ``credit_task``, which they relieve.

        The cost is work, fees and what left without an approval: work is of the task of its
        account, the others of the task of the entry.
        """
        rows = self.filter(currency=F("project__currency"))
        return rows.annotate(debit_task=_cost_owner("debit"), credit_task=_cost_owner("credit"))

    def cost_by_task(self, tasks: Collection[Task]) -> dict[int, Decimal]:
        """Return what tasks cost so far by the books, in the currency of their projects."""
        accounts = [f"work:{task.pk}" for task in tasks]
        rows = self.filter(
            Q(task__in=tasks) | Q(debit__in=accounts) | Q(credit__in=accounts),
            project__in={task.project_id for task in tasks},
        )
        found = {task.pk: Decimal("0.00") for task in tasks}
        moved = rows.with_cost_owners().order_by().values_list("debit_task", "credit_task")
        for debit, credit, amount in moved.annotate(s=Sum("amount")):
            if debit in found:
                found[debit] += amount
            if credit in found:
                found[credit] -= amount
        return found

    def cost_of(self, holder: Task | Project) -> Decimal:
        """Return what a task, or all tasks of a project, cost so far by the books."""
        tasks = [holder] if isinstance(holder, Task) else list(holder.tasks.all())
        return sum(self.cost_by_task(tasks).values(), Decimal("0.00")) if tasks else Decimal("0.00")

    def paid(self) -> Decimal:
        """Sum of money paid to workers, without fees and less what was booked back."""
        return self.aggregate(paid=PAID_OUT)["paid"]


# What approvals said that workers are to get.
OWED = Q(kind__in=["base", "bonus"])
# What workers are still to get: what was approved, less what left and what was corrected.
DUE = Sum(
    Case(
        When(credit__startswith="worker:", then=F("amount")),
        When(debit__startswith="worker:", then=-F("amount")),
        default=Decimal("0.00"),
    ),
    default=Decimal("0.00"),
)
# What left to workers' hands; an approval alone pays nobody.
PAID_OUT = Sum(
    Case(
        When(debit__startswith="worker:", credit__startswith="paid:", then=F("amount")),
        When(debit__startswith="paid:", credit__startswith="worker:", then=-F("amount")),
        default=Decimal("0.00"),
    ),
    default=Decimal("0.00"),
)


class LedgerEntry(models.Model):
    """One amount that moved from one account to another. Rows are only ever added (a trigger).

    Every row names both its accounts, so that the books balance by their shape. Accounts:
    ``work:<task>`` (what work cost), ``worker:<membership>`` (what somebody is owed),
    ``paid:<channel>`` (what left), ``fees:<channel>`` (what a platform took).
    """

    class Kind(models.TextChoices):
        BASE = "base", gettext_lazy("Base pay")
        BONUS = "bonus", gettext_lazy("Bonus")
        PAYMENT = "payment", gettext_lazy("Payment")
        FEE = "fee", gettext_lazy("Fee")
        CORRECTION = "correction", gettext_lazy("Correction")

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="ledger")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="ledger")
    worker = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, related_name="ledger"
    )
    assignment = models.ForeignKey(
        Assignment, on_delete=models.PROTECT, null=True, related_name="ledger"
    )
    line = models.ForeignKey(PayoutLine, on_delete=models.PROTECT, null=True, related_name="ledger")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    debit = models.CharField(max_length=60)
    credit = models.CharField(max_length=60)
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    currency = models.CharField(max_length=3)
    # The same booking sent again is the same booking.
    key = models.CharField(max_length=120, unique=True)
    memo = models.CharField(max_length=300, blank=True)
    # Empty: the system itself, on what a platform reported.
    by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    objects = LedgerQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            # Exactly once: one base and one bonus an assignment, whatever was clicked or retried.
            models.UniqueConstraint(
                fields=["assignment", "kind"],
                condition=Q(kind__in=["base", "bonus"]),
                name="paid_once",
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="ledger_amount_positive"),
            models.CheckConstraint(condition=~Q(debit=F("credit")), name="ledger_two_accounts"),
            models.CheckConstraint(
                condition=~Q(kind__in=["base", "bonus"])
                | Q(assignment__isnull=False, line__isnull=False, worker__isnull=False),
                name="ledger_owed_for_work",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "debit"]),
            models.Index(fields=["project", "credit"]),
        ]
