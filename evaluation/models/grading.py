"""People who grade: answers by two blind experts, and explanations by one blind judge."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotation.models import Answer, Task

USER = settings.AUTH_USER_MODEL


class Grading(models.Model):
    """Answers of a task that two graders mark from 0 to 100, blind to author and score."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="gradings")
    first = models.ForeignKey(USER, on_delete=models.PROTECT, related_name="+")
    second = models.ForeignKey(USER, on_delete=models.PROTECT, related_name="+")
    answer_ids = models.JSONField()
    seed = models.BigIntegerField(default=0)  # of the order in which each grader meets them
    gap = models.PositiveSmallIntegerField(default=33)  # beyond it the two must be reconciled
    # What the graders agreed on as right, by item id as text; empty where nothing was written.
    keys = models.JSONField(null=True, blank=True)
    created_by = models.ForeignKey(USER, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=~Q(first=F("second")), name="two_graders"),
            models.UniqueConstraint(
                fields=["task"], condition=Q(closed_at__isnull=True), name="one_open_grading"
            ),
        ]


class Grade(models.Model):
    """One grader's mark of one answer; ``grader`` empty: the mark both agreed on afterwards."""

    grading = models.ForeignKey(
        Grading, on_delete=models.CASCADE, related_name="grades", db_index=False
    )
    answer = models.ForeignKey(Answer, on_delete=models.CASCADE, related_name="grades")
    grader = models.ForeignKey(USER, on_delete=models.PROTECT, null=True, related_name="+")
    value = models.PositiveSmallIntegerField()
    note = models.CharField(max_length=300, blank=True)
    by = models.ForeignKey(USER, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["grading", "answer", "grader"], nulls_distinct=False, name="grade_once"
            ),
            models.CheckConstraint(condition=Q(value__lte=100), name="grade_range"),
        ]


class ExplanationAudit(models.Model):
    """Explanations drawn equally by worker and label, for a judge who does not see the label."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="audits")
    judge = models.ForeignKey(USER, on_delete=models.PROTECT, related_name="+")
    scale = models.CharField(max_length=40)
    answer_ids = models.JSONField()  # in the order shown
    per_label = models.PositiveSmallIntegerField()
    seed = models.BigIntegerField(default=0)
    created_by = models.ForeignKey(USER, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]


class AuditVerdict(models.Model):
    """Whether the judge agrees with one explanation."""

    audit = models.ForeignKey(ExplanationAudit, on_delete=models.CASCADE, related_name="verdicts")
    answer = models.ForeignKey(Answer, on_delete=models.CASCADE, related_name="+")
    agrees = models.BooleanField()
    note = models.CharField(max_length=300, blank=True)
    at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["audit", "answer"], name="verdict_once")]
