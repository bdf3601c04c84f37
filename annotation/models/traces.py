"""Traces that applications send: where they come from, their spans, and who has seen what."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q, Value
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from annotation.models.people import Project, User
from annotation.models.tasks import Item, Task


class TraceSource(models.Model):
    """An application, or a tool that holds its traces; a token opens its own source only."""

    class Kind(models.TextChoices):
        OTLP = "otlp", gettext_lazy("Sends traces (OpenTelemetry)")
        PHOENIX = "phoenix", "Phoenix"
        LANGFUSE = "langfuse", "Langfuse"
        LANGSMITH = "langsmith", "LangSmith"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="trace_sources")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.OTLP)
    name = models.CharField(max_length=80)
    # Of the token that the application sends; empty of a source that is only read.
    prefix = models.CharField(max_length=8, blank=True)
    digest = models.CharField(max_length=64, null=True, unique=True)
    # Idle time, masks, sampling rules, retention (annotation.traces.settings.SourceSettings).
    settings = models.JSONField(default=dict)
    # The review queue: traces that are drawn become items of this task.
    task = models.ForeignKey(
        Task, on_delete=models.SET_NULL, null=True, blank=True, related_name="trace_sources"
    )
    # Of a source that is read: its address, its project there, its key, and how far it was read.
    api_url = models.CharField(max_length=300, blank=True)
    api_project = models.CharField(max_length=200, blank=True)
    key_sealed = models.BinaryField(default=bytes, blank=True)
    cursor = models.JSONField(default=dict)
    next_at = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)
    sends_scores = models.BooleanField(default=False)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    rejected = models.PositiveBigIntegerField(default=0)  # spans that could not be stored
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                condition=Q(ended_at__isnull=True),
                name="trace_source_once",
            )
        ]

    def __str__(self) -> str:
        return self.name


class Trace(models.Model):
    """What one request to an application did, as its spans say; drawn for review once or never."""

    class State(models.TextChoices):
        RECEIVING = "receiving", gettext_lazy("Receiving")
        SETTLED = "settled", gettext_lazy("Not drawn")
        QUEUED = "queued", gettext_lazy("Drawn for review")

    LABELS: ClassVar[dict[str, str | Promise]] = dict(State.choices)

    source = models.ForeignKey(TraceSource, on_delete=models.CASCADE, related_name="traces")
    trace_id = models.CharField(max_length=64)
    state = models.CharField(
        max_length=10, choices=State.choices, default=State.RECEIVING, db_default=State.RECEIVING
    )
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)
    is_due = models.BooleanField(default=True, db_default=True)  # something came since
    # Spans as sent, with those that came twice; spans stored that came after it was settled.
    received = models.PositiveIntegerField(default=0, db_default=0)
    late = models.PositiveIntegerField(default=0, db_default=0)
    # As its spans say when it is settled.
    digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    started_at = models.DateTimeField(null=True, blank=True)
    title = models.CharField(max_length=200, blank=True, default="", db_default="")
    service = models.CharField(max_length=120, blank=True, default="", db_default="")
    seconds = models.FloatField(null=True, blank=True)
    spans_kept = models.PositiveIntegerField(default=0, db_default=0)
    turns = models.PositiveIntegerField(default=0, db_default=0)
    errors = models.PositiveIntegerField(default=0, db_default=0)
    size = models.PositiveIntegerField(default=0, db_default=0)  # bytes of its spans
    # Attributes that the sender left out, and how many texts each mask changed.
    dropped = models.PositiveIntegerField(default=0, db_default=0)
    masked = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    # What others say of it: the user's feedback (-1 to 1), and scores of judges by name.
    feedback = models.FloatField(null=True, blank=True)
    score = models.FloatField(null=True, blank=True)
    scores = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    # How it was drawn: its probability by the rules, and as the day's budget lowered it; the rules
    # that matched, and the one that drew it.
    base_inclusion = models.FloatField(null=True, blank=True)
    inclusion = models.FloatField(null=True, blank=True)
    stratum = models.CharField(max_length=120, blank=True, default="", db_default="")
    drawn_by = models.CharField(max_length=20, blank=True, default="", db_default="")
    item = models.OneToOneField(
        Item, on_delete=models.SET_NULL, null=True, blank=True, related_name="trace"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["source", "trace_id"], name="trace_once_a_source")
        ]
        indexes = [
            models.Index(fields=["last_seen_at"], condition=Q(is_due=True), name="trace_due"),
            models.Index(fields=["source", "state", "-settled_at"], name="trace_by_state"),
        ]

    def __str__(self) -> str:
        return self.title or self.trace_id


class TraceSpan(models.Model):
    """A span after masking. The first of a trace with its id stays; later ones are counted."""

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="spans", db_index=False)
    span_id = models.CharField(max_length=64)
    parent_id = models.CharField(max_length=64, blank=True, default="", db_default="")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, default="other")
    # Nanoseconds since 1970, as sent; empty where unknown or open.
    start_ns = models.BigIntegerField(null=True)
    end_ns = models.BigIntegerField(null=True)
    is_error = models.BooleanField(default=False)
    message = models.CharField(max_length=1000, blank=True, default="", db_default="")
    attributes = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    events = models.JSONField(default=list)
    dropped = models.PositiveIntegerField(default=0, db_default=0)
    masked = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    size = models.PositiveIntegerField(default=0, db_default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trace", "span_id"], name="span_once_a_trace")
        ]


class TraceView(models.Model):
    """That a person saw a judge's score or other reviews of a trace, when first."""

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="views")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["trace", "user"], name="trace_view_once")]


class TraceScore(models.Model):
    """A score or comment on its way back to the source, sent at least once under one identity."""

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("Waiting")
        DONE = "done", gettext_lazy("Sent")
        FAILED = "failed", gettext_lazy("Failed")

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="outgoing")
    span_id = models.CharField(max_length=64, blank=True)  # empty: the whole trace
    name = models.CharField(max_length=80)
    identity = models.CharField(max_length=80)  # of the reviewer, pseudonymous
    label = models.CharField(max_length=80, blank=True)
    value = models.FloatField(null=True, blank=True)
    comment = models.TextField(blank=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField()
    error = models.CharField(max_length=300, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["trace", "span_id", "name", "identity"], name="trace_score_once"
            )
        ]
        indexes = [
            models.Index(fields=["next_at"], condition=Q(state="waiting"), name="trace_score_due")
        ]
