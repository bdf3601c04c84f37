"""What people of a project decide about results, beside what a run estimates."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import OuterRef, Q

from annotation.models import Item, Task


class LabelDecisionQuerySet(models.QuerySet["LabelDecision"]):
    """Decisions, and those that count."""

    def standing(self) -> LabelDecisionQuerySet:
        """Return decisions that neither a later one nor a revocation ended."""
        return self.filter(ended_at__isnull=True)

    def of_label(self) -> LabelDecisionQuerySet:
        """Decision in force on an ItemLabel's item and field, as a subquery."""
        return self.standing().filter(item=OuterRef("item"), field=OuterRef("dimension"))


class LabelDecision(models.Model):
    """The label that somebody of the project chose for an item, where an estimate was unsure.

    It is no answer: it enters no method, no pay and no score, and is no known answer. The one that
    has not ended counts; a later one, or its revocation, ends it. Nothing is ever deleted.
    """

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="label_decisions")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="label_decisions")
    field = models.CharField(max_length=40)
    label = models.CharField(max_length=40)
    reason = models.CharField(max_length=500, blank=True, default="")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    # Who decided, for files: people of one task are numbered in the order of their first decision.
    decider = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )

    objects = LabelDecisionQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["item", "field"],
                condition=Q(ended_at__isnull=True),
                name="label_decided_once",
            )
        ]
