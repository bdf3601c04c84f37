"""What the operations page and the metrics remember: samples of figures, and jobs that failed."""

from __future__ import annotations

from django.db import models


class Sample(models.Model):
    """One figure of the installation at one time, for its lines over the past day.

    ``name`` says which: "waiting:runs", "finished:runs", "database_bytes", "owed:EUR".
    """

    name = models.CharField(max_length=60)
    at = models.DateTimeField()  # the beginning of five minutes
    value = models.FloatField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "at"], name="sample_once")]
        indexes = [models.Index(fields=["at"])]


class JobFailure(models.Model):
    """A job that ended with an error that no row of its own tells, counted by job and error.

    A periodic job that fails at every turn stays one row. The error is a class and a line of code:
    its message may quote what people wrote.
    """

    job = models.CharField(max_length=120)
    error = models.CharField(max_length=160)
    queue = models.CharField(max_length=16)
    args = models.JSONField(default=list)  # of the last time, to do it again
    count = models.PositiveIntegerField(default=1)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        ordering = ["-last_at"]
        constraints = [models.UniqueConstraint(fields=["job", "error"], name="failure_once")]


class DeletedRows(models.Model):
    """How many rows of one kind (evaluation.retention.kinds) retention deleted on one day."""

    kind = models.CharField(max_length=24)
    day = models.DateField()
    rows = models.PositiveBigIntegerField(default=0)
    # When nothing was left to delete on that day; empty: the job was stopped before.
    finished_at = models.DateTimeField(null=True, blank=True)
    # When the audit log got its entry of the whole day.
    recorded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "day"], name="deleted_once_a_day")]


class DiscardedFailure(models.Model):
    """A failure of a row (a run, a file, a webhook delivery) that the operations page hides."""

    kind = models.CharField(max_length=16)
    row = models.BigIntegerField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "row"], name="discarded_once")]
