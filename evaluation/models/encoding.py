"""Texts' vectors, and the parts of a run's texts that workers encode."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from evaluation.models.runs import Run


class Embedding(models.Model):
    """A text's vector under one encoder, as little-endian float32 bytes."""

    encoder = models.CharField(max_length=120)
    text_hash = models.CharField(max_length=64)
    vector = models.BinaryField()
    # When a run last read it, to within a tenth of the days for which vectors are kept.
    used_on = models.DateField(default=timezone.localdate, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["encoder", "text_hash"], name="embedding_once")
        ]


class EncodingShard(models.Model):
    """A part of a run's texts that one worker encodes at a time.

    A worker claims an open shard until ``lease_until`` and renews that while it works; a shard
    whose lease ran out may be claimed again. Its vectors are stored as it is closed.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="shards")
    number = models.PositiveIntegerField()
    encoder = models.CharField(max_length=120)  # its identity
    # One answer of each text, sorted by the text's length and hash; empty once closed.
    answer_ids = models.JSONField()
    texts = models.PositiveIntegerField()
    attempts = models.PositiveSmallIntegerField(default=0)
    worker = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    began_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="encoding_shard_once")
        ]
        indexes = [
            models.Index(
                fields=["lease_until"],
                condition=Q(closed_at__isnull=True),
                name="encoding_shard_open",
            )
        ]
