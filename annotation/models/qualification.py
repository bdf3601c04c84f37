"""Qualification: rounds of work that a person reads before somebody is let onto a panel."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy

from annotation.models.assignments import Assignment
from annotation.models.people import User


class Qualification(models.Model):
    """What became of one submitted round: another one, onto the panel, or not; with words."""

    class Verdict(models.TextChoices):
        AGAIN = "again", gettext_lazy("another round")
        ADMITTED = "admitted", gettext_lazy("on the panel")
        DECLINED = "declined", gettext_lazy("not this time")

    assignment = models.OneToOneField(
        Assignment, on_delete=models.PROTECT, related_name="qualification"
    )
    round = models.PositiveSmallIntegerField()
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    feedback = models.TextField()  # the worker reads it
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
