"""Live evaluations of systems, and the batches of outputs that were sent to them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from annotation.models import Task
from evaluation.models.runs import Run


class LiveEvaluation(models.Model):
    """A comparison of systems on a pairwise task that ends by itself, once.

    It ends when every system's share of votes won is known to ``half_width``, or when
    ``max_judgments`` or ``budget`` is used; or by hand.
    """

    class State(models.TextChoices):
        OPEN = "open", gettext_lazy("Open")
        ENDED = "ended", gettext_lazy("Ended")

    class Reason(models.TextChoices):
        PRECISE = "precise", gettext_lazy("The intervals are as narrow as was asked for")
        JUDGMENTS = "judgments", gettext_lazy("All judgments are given")
        BUDGET = "budget", gettext_lazy("The budget is used")
        BY_HAND = "by_hand", gettext_lazy("Somebody ended it")

    class DecidedBy(models.TextChoices):
        PEOPLE = "people", gettext_lazy("People")
        MODELS = "models", gettext_lazy("Models alone")

    task = models.OneToOneField(Task, on_delete=models.CASCADE, related_name="live_evaluation")
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    # The ids of the systems compared, in the order in which they were named.
    systems = models.JSONField()
    dimension = models.CharField(max_length=40)
    # Whose votes the intervals are of. Models beside people are shown and end nothing.
    decided_by = models.CharField(
        max_length=10, choices=DecidedBy.choices, default=DecidedBy.PEOPLE
    )
    # The ids of the language models that judge, in the order in which they were named.
    judges = models.JSONField(default=list, blank=True)
    half_width = models.FloatField(default=0.05)
    max_judgments = models.PositiveIntegerField()
    budget = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    # What the last look found: shares, intervals, votes; {} before the first vote.
    seen = models.JSONField(default=dict, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    opened_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    opened_at = models.DateTimeField(auto_now_add=True)
    reason = models.CharField(max_length=10, choices=Reason.choices, blank=True)
    result = models.JSONField(null=True, blank=True)
    # Empty where it ended by itself.
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="open", reason="", result__isnull=True, ended_at__isnull=True)
                | Q(
                    state="ended",
                    reason__in=("precise", "judgments", "budget", "by_hand"),
                    result__isnull=False,
                    ended_at__isnull=False,
                ),
                name="live_ended_says_why",
            ),
            models.CheckConstraint(
                condition=Q(half_width__gt=0)
                & Q(half_width__lt=0.5)
                & Q(max_judgments__gte=1)
                & (Q(budget__isnull=True) | Q(budget__gt=0)),
                name="live_sane",
            ),
            models.CheckConstraint(
                condition=Q(decided_by="people") | ~Q(judges=[]), name="live_has_a_judge"
            ),
        ]


class LiveBatch(models.Model):
    """Outputs that were taken in together, under the client's key."""

    evaluation = models.ForeignKey(LiveEvaluation, on_delete=models.CASCADE, related_name="batches")
    key = models.CharField(max_length=120)
    digest = models.CharField(max_length=64)
    prompts = models.PositiveIntegerField()
    pairs = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "key"], name="live_batch_once")
        ]


class LiveJudging(models.Model):
    """A run by which a model judges pairs of a live evaluation, and the money held for it.

    While it is in work ``granted`` is taken off the budget, and no call of the run may pass it;
    afterwards ``cost`` is, what its calls came to.
    """

    evaluation = models.ForeignKey(
        LiveEvaluation, on_delete=models.CASCADE, related_name="judgings"
    )
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="live_judging")
    # Empty: the evaluation has no budget.
    granted = models.DecimalField(null=True, blank=True, max_digits=16, decimal_places=8)
    cost = models.DecimalField(null=True, blank=True, max_digits=16, decimal_places=8)
