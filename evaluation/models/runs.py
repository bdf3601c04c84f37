"""Frozen inputs, runs on them, and when runs start by themselves."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from annotation.models import Project, StoredFile, Task


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
    QUEUED = "queued", gettext_lazy("Queued")
    RUNNING = "running", gettext_lazy("Running")
    DONE = "done", gettext_lazy("Done")
    FAILED = "failed", gettext_lazy("Failed")
    CANCELLED = "cancelled", gettext_lazy("Cancelled")


# The method of a run that holds what was published or imported, and computes nothing.
PUBLISHED = "published"


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
    # Runs of one method that do not get in each other's way: one a model and way of asking.
    lane = models.CharField(max_length=160, blank=True)
    version = models.CharField(max_length=20)
    params = models.JSONField(default=dict)
    # What whoever started it holds it to: {"items": ids to ask about, "cost": the most that its
    # calls may cost, in the project's currency}; {}: nothing.
    limits = models.JSONField(default=dict, blank=True)
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
    # Its results are stored, and what they lead to (checks, notes on panels) is still to be done.
    follow_up_due = models.BooleanField(default=False)
    # Why it cannot be computed again (answers it saw were erased); empty: it can.
    spoiled = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="run_number_once"),
            # Two runs of one task at once would only wait for each other.
            models.UniqueConstraint(
                fields=["task", "method", "lane"],
                condition=Q(state__in=["queued", "running"]),
                name="one_active_run",
            ),
        ]
        indexes = [
            models.Index(fields=["task"], condition=Q(follow_up_due=True), name="run_follow_up_due")
        ]

    @property
    def is_published(self) -> bool:
        """Whether the run's results were published or imported, not computed here."""
        return self.method == PUBLISHED


class OfficialRun(models.Model):
    """That a run is what a task's money, panels, cards, boards and API read, and for how long.

    One row a time that a run became official, whose ``until`` is empty while it is. Kept for each
    method that a task's runs by themselves may have; what follows such a run belongs to it.
    """

    class Origin(models.TextChoices):
        FIRST = "first", gettext_lazy("the first by the default recipe")
        FOLLOWED = "followed", gettext_lazy("the same recipe, computed anew")
        CHOSEN = "chosen", gettext_lazy("chosen by a person")

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="official_runs")
    method = models.CharField(max_length=40)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="official")
    how = models.CharField(max_length=10, choices=Origin.choices)
    since = models.DateTimeField()
    until = models.DateTimeField(null=True, blank=True)
    by = models.ForeignKey(  # empty: by itself
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "method"], condition=Q(until__isnull=True), name="one_official_run"
            )
        ]


class RunShare(models.Model):
    """What people without an account may see of a run: by a secret link, or at a public address.

    Of a link only a digest is kept, and it expires. A public address (``slug``) shows one run until
    it is withdrawn; it can be moved to a newer run.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="shares")
    digest = models.CharField(max_length=64, unique=True, null=True)
    slug = models.CharField(max_length=60, blank=True)
    # Whether a public board can be downloaded as a table; of a link, whether it lists the items.
    files = models.BooleanField(default=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    stopped_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["slug"], condition=Q(stopped_at=None) & ~Q(slug=""), name="one_live_board"
            ),
            models.CheckConstraint(
                condition=Q(slug="", digest__isnull=False, expires_at__isnull=False)
                | (~Q(slug="") & Q(digest__isnull=True, expires_at__isnull=True)),
                name="link_or_board",
            ),
        ]

    @property
    def lists_items(self) -> bool:
        """Whether it is a link on which the items and their labels can be read."""
        return self.files and not self.slug


class BoardBundle(models.Model):
    """The file by which anybody can compute a public board again; written by a job.

    It is of one run: a board that is moved waits for another. Gone with the board.
    """

    share = models.OneToOneField(RunShare, on_delete=models.CASCADE, related_name="bundle")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    stored = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, related_name="+")
    sha256 = models.CharField(max_length=64, blank=True)
    error = models.CharField(max_length=300, blank=True)  # why there is none
    asked_at = models.DateTimeField()
    made_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(made_at__isnull=True, stored__isnull=True)
                | Q(made_at__isnull=False, stored__isnull=False, error=""),
                name="board_bundle_whole",
            )
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
                condition=Q(floor__gte=1)
                & Q(ceiling__gte=models.F("floor"))
                & Q(certainty__gt=0.5)
                & Q(certainty__lt=1),
                name="plan_sane",
            )
        ]


class ItemDraw(models.Model):
    """Items that people are asked about next, drawn with probabilities that are kept.

    The newest of a task and field stands: what people had labelled before it counts as it is, and
    what was drawn is weighted by one over its probability.
    """

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="item_draws")
    field = models.CharField(max_length=40)
    # How it was drawn: the judge's name, wanted, mix (1: at random), seed.
    recipe = models.JSONField(default=dict)
    # Ids of items: known before; the probability of each other one; which of these were drawn.
    known = models.JSONField(default=list)
    chances = models.JSONField(default=dict)
    drawn = models.JSONField(default=list)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
