"""The interaction log: append-only batches whose sequence ranges cannot overlap."""

from __future__ import annotations

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import BigIntegerRangeField, RangeOperators
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.expressions import CombinedExpression

from annotation.models.assignments import Assignment

SEQ_BITS = 24  # a stream holds 16.7 million events at most


class EventStream(models.Model):
    """One opening of an assignment's page: a tab, whose events are numbered from 0."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="streams")
    # Made by the page, so that opening it again after a lost answer gives the same stream.
    key = models.UUIDField(unique=True)
    opened_at = models.DateTimeField(auto_now_add=True)
    # Milliseconds between the opening of the assignment and that of this page.
    offset_ms = models.BigIntegerField(default=0)
    next_seq = models.PositiveIntegerField(default=0)
    stored_bytes = models.PositiveIntegerField(default=0)


def _packed(seq: str) -> CombinedExpression:
    """Stream and sequence number in one bigint, so that plain GiST does without an extension."""
    shifted = CombinedExpression(F("stream"), "*", Value(1 << SEQ_BITS))
    return CombinedExpression(shifted, "+", F(seq))


class EventBatch(models.Model):
    """Events ``first_seq .. last_seq`` of a stream as one JSON array (formats.md names)."""

    stream = models.ForeignKey(EventStream, on_delete=models.CASCADE, related_name="batches")
    first_seq = models.PositiveIntegerField()
    last_seq = models.PositiveIntegerField()
    events = models.JSONField()
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["stream", "first_seq"]
        constraints = [
            models.CheckConstraint(
                condition=Q(last_seq__gte=F("first_seq")) & Q(last_seq__lt=1 << SEQ_BITS),
                name="event_range",
            ),
            ExclusionConstraint(
                name="event_ranges_apart",
                expressions=[
                    (
                        Func(
                            _packed("first_seq"),
                            _packed("last_seq"),
                            Value("[]"),
                            function="int8range",
                            output_field=BigIntegerRangeField(),
                        ),
                        RangeOperators.OVERLAPS,
                    )
                ],
            ),
        ]
