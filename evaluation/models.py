"""Tables of the judging side: frozen inputs, runs, and the rows that dashboards read."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models import Answer, Candidate, Item, Membership, Project, System, Task


class Snapshot(models.Model):
    """The answers that a run saw, frozen: the same content gives the same hash."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="snapshots")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="snapshots")
    content_hash = models.CharField(max_length=64)
    # Ids of the answers in the order of the arrays, and what was left out and why.
    answer_ids = models.JSONField()
    counts = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "content_hash"], name="snapshot_once")
        ]


class RunState(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class Run(models.Model):
    """One method on one snapshot: its recipe, its progress and how it ended."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="runs")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="runs")
    number = models.PositiveIntegerField()
    snapshot = models.ForeignKey(
        Snapshot, on_delete=models.PROTECT, null=True, blank=True, related_name="runs"
    )
    # The run whose results this one reads (nulls and intervals follow the core), if any.
    source = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="followers"
    )
    method = models.CharField(max_length=40)
    version = models.CharField(max_length=20)
    params = models.JSONField(default=dict)
    seed = models.BigIntegerField(default=0)
    state = models.CharField(max_length=10, choices=RunState.choices, default=RunState.QUEUED)
    trigger = models.CharField(max_length=20, default="browser")  # browser, schedule, answers, api
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    # Steps in order: [{"name", "state", "done", "total", "seconds", "note"}].
    progress = models.JSONField(default=list)
    cancel_requested = models.BooleanField(default=False)
    # How often a worker took it up; each time but the last, that worker died.
    attempts = models.PositiveSmallIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True)
    # Hash of all rows written; the same recipe on the same snapshot gives it again.
    result_hash = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="run_number_once"),
            # Two runs of one task at once would only wait for each other.
            models.UniqueConstraint(
                fields=["task", "method"],
                condition=Q(state__in=["queued", "running"]),
                name="one_active_run",
            ),
        ]


class RunSchedule(models.Model):
    """When a task's run starts by itself: every so often, or after N new answers."""

    task = models.OneToOneField(Task, on_delete=models.CASCADE, related_name="run_schedule")
    every_minutes = models.PositiveIntegerField(null=True, blank=True)
    after_answers = models.PositiveIntegerField(null=True, blank=True)
    params = models.JSONField(default=dict, blank=True)
    enabled = models.BooleanField(default=True)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )


class AdaptivePlan(models.Model):
    """How votes of a pairwise task are spent as they come in: off unless somebody switched it on.

    ``floor`` votes go to every pair; a pair whose label on ``dimension`` has a posterior of
    ``certainty`` gets no more; what that saves goes to the others, ``ceiling`` at most.
    """

    task = models.OneToOneField(Task, on_delete=models.CASCADE, related_name="adaptive_plan")
    enabled = models.BooleanField(default=False)
    dimension = models.CharField(max_length=40)
    floor = models.PositiveSmallIntegerField(default=3)
    ceiling = models.PositiveSmallIntegerField(default=9)
    certainty = models.FloatField(default=0.95)
    # Of the two the one whose intervals stay honest; "label" stops pairs one by one.
    target = models.CharField(max_length=10, default="ranking")
    # All votes of the study; empty: as many as the task asked for without a plan.
    budget = models.PositiveIntegerField(null=True, blank=True)
    # What the simulation said, and of which settings: switching on needs it to be of these.
    simulated = models.JSONField(default=dict, blank=True)
    # The last planning: votes so far, pairs certain, wanted, saved.
    planned = models.JSONField(default=dict, blank=True)
    planned_at = models.DateTimeField(null=True, blank=True)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(floor__gte=1) & Q(ceiling__gte=models.F("floor"))
                & Q(certainty__gt=0.5) & Q(certainty__lt=1),
                name="plan_sane",
            )
        ]  # fmt: skip


class ScoreRow(models.Model):
    """What every score has: where it is comparable, the estimate, how sure, from how many."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="%(class)s_rows")
    dimension = models.CharField(max_length=40, blank=True)
    component = models.PositiveSmallIntegerField(default=0)
    estimate = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    n = models.PositiveIntegerField()
    # Method's other figures of this row (uniterated, adjusted, weight, normalised, no_interval...).
    extra = models.JSONField(default=dict)

    class Meta:
        abstract = True


class RankedRow(ScoreRow):
    """A score on a board: possible ranks, and the group that cannot be separated."""

    rank_low = models.PositiveIntegerField(null=True)
    rank_high = models.PositiveIntegerField(null=True)
    group = models.PositiveIntegerField(null=True)

    class Meta:
        abstract = True


class WorkerScore(RankedRow):
    worker = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="scores")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "worker", "dimension", "component"], name="worker_score_once"
            )
        ]


class SystemScore(RankedRow):
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="scores")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "system", "dimension", "component"], name="system_score_once"
            )
        ]


class CandidateScore(RankedRow):
    """A judged text among those of its topic: merit, and its grade with the possible ones."""

    candidate = models.ForeignKey(Candidate, on_delete=models.PROTECT, related_name="scores")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "candidate", "dimension", "component"], name="candidate_score_once"
            )
        ]


class ItemLabel(models.Model):
    """The label that a method finds for an item on one dimension, with its posterior."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="labels")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="labels")
    dimension = models.CharField(max_length=40, blank=True)
    component = models.PositiveSmallIntegerField(default=0)
    label = models.CharField(max_length=40)
    posterior = models.JSONField(default=dict)  # code -> probability
    entropy = models.FloatField(null=True)
    n = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "item", "dimension"], name="item_label_once")
        ]
        indexes = [models.Index(fields=["run", "dimension"])]


class AnswerScore(ScoreRow):
    answer = models.ForeignKey(Answer, on_delete=models.CASCADE, related_name="scores")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "answer", "dimension"], name="answer_score_once")
        ]


class ItemScore(ScoreRow):
    """A question: mean closeness and spread of its answers, and the best one (App. I)."""

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="scores")
    best_answer = models.ForeignKey(Answer, on_delete=models.CASCADE, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "item", "dimension"], name="item_score_once")
        ]


class RunFigure(models.Model):
    """A named figure of a run as JSON: convergence trace, groups, warnings, bounds."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="figures")
    name = models.CharField(max_length=60)
    data = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="figure_once")]


class Embedding(models.Model):
    """A text's vector under one encoder, as little-endian float32 bytes."""

    encoder = models.CharField(max_length=120)
    text_hash = models.CharField(max_length=64)
    vector = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["encoder", "text_hash"], name="embedding_once")
        ]
