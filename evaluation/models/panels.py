"""Panels by score: who was chosen from which run, and what is watched from then on."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy

from annotation.models import Membership, Panel, PayoutLine, Task
from evaluation.models.runs import Run


class Selection(models.Model):
    """One choosing of workers for a panel: the rule, the run, and who was chosen, for good."""

    class Rule(models.TextChoices):
        TOP = "top", gettext_lazy("the best k")
        THRESHOLD = "threshold", gettext_lazy("whose interval lies above a threshold")
        HAND = "hand", gettext_lazy("chosen by hand")

    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="selections")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="selections")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, related_name="selections")
    rule = models.CharField(max_length=10, choices=Rule.choices)
    params = models.JSONField(default=dict)
    # A row a worker of the run: what was known, whether chosen, and why.
    rows = models.JSONField(default=list)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]


class PanelWatch(models.Model):
    """What is looked at after every run of a task whose panel is watched; it decides nothing."""

    panel = models.ForeignKey(Panel, on_delete=models.CASCADE, related_name="watches")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="watches")
    # Somebody is named for a look when the upper end of their interval lies below this.
    threshold = models.FloatField(null=True, blank=True)
    # The incentive: this much each for who is certainly among the best so many.
    incentive_ranks = models.PositiveSmallIntegerField(null=True, blank=True)
    incentive = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    active = models.BooleanField(default=True)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["panel", "task"], name="watch_once")]


class WatchNote(models.Model):
    """What one run said of one watched worker."""

    watch = models.ForeignKey(PanelWatch, on_delete=models.CASCADE, related_name="notes")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    worker = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=10)  # below, incentive
    detail = models.JSONField(default=dict)
    # When somebody looked and what they did: kept, ended or proposed.
    seen_at = models.DateTimeField(null=True, blank=True)
    seen_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    # Empty while nobody has looked; "overtaken": a later run no longer says so.
    done = models.CharField(max_length=10, blank=True)
    # The proposal's line that pays the incentive; one that was sent back frees it again.
    line = models.ForeignKey(
        PayoutLine, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["watch", "run", "worker", "kind"], name="noted_once")
        ]
