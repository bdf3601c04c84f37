"""What is authored: tasks, their immutable versions, and the items that versions show."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy

from annotation.models.candidates import Candidate, ChatContent
from annotation.models.files import MediaFile
from annotation.models.people import Membership, Panel, Project, User


class TaskState(models.TextChoices):
    """Where a task stands; draft means that no version was ever published."""

    DRAFT = "draft", gettext_lazy("Draft")
    OPEN = "open", gettext_lazy("Open")
    PAUSED = "paused", gettext_lazy("Paused")
    CLOSED = "closed", gettext_lazy("Closed")


class Task(models.Model):
    """One authored thing of one type."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tasks")
    type = models.CharField(max_length=20, default="free_text")
    state = models.CharField(max_length=10, choices=TaskState.choices, default=TaskState.DRAFT)
    # The version that new assignments get; empty until the first is published.
    current = models.ForeignKey(
        "TaskVersion", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    budget = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    # While a live evaluation is open: the answers that all items may ask for together, and the pay
    # of claimed and submitted assignments that no claim goes beyond. Empty: no limit.
    most_answers = models.PositiveIntegerField(null=True, blank=True, editable=False)
    most_pay = models.DecimalField(
        max_digits=12, decimal_places=2, null=True, blank=True, editable=False
    )
    # How long an assignment should take, as estimated when it was last published; empty: unknown.
    estimated_seconds = models.PositiveIntegerField(null=True, blank=True, editable=False)
    # Assignments per day that a requester plans with; empty: no plan.
    planned_per_day = models.PositiveIntegerField(null=True, blank=True, editable=False)
    # What the questions are about: tasks of one domain share a leaderboard.
    domain = models.CharField(max_length=80, blank=True)
    # Only its members may claim; empty: every worker of the project.
    panel = models.ForeignKey(
        Panel, on_delete=models.PROTECT, null=True, blank=True, related_name="tasks"
    )
    # A qualification: whoever passes it is admitted to this panel; each round is read by somebody.
    qualifies = models.ForeignKey(
        Panel, on_delete=models.PROTECT, null=True, blank=True, related_name="qualifications"
    )
    # A task whose pairs were taken from another one: a panel of experts on its hard pairs.
    source = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="derived"
    )
    # The form that it was made with: sent a second time, that makes no second task.
    form_key = models.UUIDField(null=True, editable=False)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "created_by", "form_key"], name="task_once_a_form"
            ),
            models.CheckConstraint(
                condition=Q(state="draft") | Q(current__isnull=False), name="task_open_has_version"
            ),
        ]
        indexes = [models.Index(fields=["project", "state"])]

    @property
    def published_title(self) -> str:
        """The title of the version in force; "" before the first is published."""
        return self.current.title if self.current else ""

    def version_or_draft(self) -> TaskVersion:
        """The version in force, or the draft before the first is published."""
        return self.current or self.versions.latest("number")


class TaskVersion(models.Model):
    """The wording, rules and pay of a task. Once published no column may change (a trigger)."""

    class Order(models.TextChoices):
        FIXED = "fixed", gettext_lazy("the order written here")
        RANDOM = "random", gettext_lazy("random for each worker")

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=160)
    instructions = models.TextField(blank=True, help_text="Markdown")
    order = models.CharField(max_length=10, choices=Order.choices, default=Order.RANDOM)
    redundancy = models.PositiveSmallIntegerField(default=5)
    items_per_assignment = models.PositiveSmallIntegerField(default=8)
    lease_minutes = models.PositiveSmallIntegerField(default=45)
    min_seconds = models.PositiveIntegerField(default=0)
    # What the requester expects an assignment to take; 0: no estimate of theirs.
    expected_minutes = models.PositiveSmallIntegerField(default=0)
    pay = models.DecimalField(max_digits=8, decimal_places=2, default=Decimal("0.00"))
    bonus_note = models.CharField(max_length=300, blank=True)
    # Settings of the task type (for free text: words wanted, "I don't know", skipping).
    settings = models.JSONField(default=dict, blank=True)
    updated_at = models.DateTimeField(auto_now=True)
    published_at = models.DateTimeField(null=True, blank=True)
    published_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "number"], name="version_once"),
            models.UniqueConstraint(
                fields=["task"], condition=Q(published_at__isnull=True), name="one_draft_a_task"
            ),
            models.CheckConstraint(
                condition=Q(redundancy__gte=1)
                & Q(items_per_assignment__gte=1)
                & Q(lease_minutes__gte=1)
                & Q(pay__gte=0),
                name="version_sane",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title} v{self.number}"


class VersionedQuerySet(models.QuerySet):
    """Rows which a range of version numbers sees: ``since <= number < until``."""

    def in_version(self, number: int) -> VersionedQuerySet:
        """Return the rows that are part of version ``number`` of their task."""
        return self.filter(Q(until__isnull=True) | Q(until__gt=number), since__lte=number)


class ItemGroup(models.Model):
    """A passage or topic shared by items. Empty passage: the items simply stand together."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="groups")
    key = models.CharField(max_length=80)
    position = models.PositiveIntegerField(default=0)
    title = models.CharField(max_length=160, blank=True)
    passage = models.TextField(blank=True, help_text="Markdown")
    # What a response may cite, the best first: [{"key", "title", "text"}], rank = index + 1.
    passages = models.JSONField(default=list, blank=True)
    # What kind of topic it is, for boards by kind; no worker sees it.
    category = models.CharField(max_length=60, blank=True, default="", db_default="")
    # False: the server stops showing the passage once the worker has gone on to the questions.
    look_back = models.BooleanField(default=True)
    since = models.PositiveIntegerField()
    until = models.PositiveIntegerField(null=True, blank=True)

    objects = VersionedQuerySet.as_manager()

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "key"], condition=Q(until__isnull=True), name="group_key_once"
            ),
            models.CheckConstraint(
                condition=Q(until__isnull=True) | Q(until__gt=F("since")), name="group_range"
            ),
        ]


class Item(models.Model):
    """One question. Its wording is immutable once answered (a trigger); its counters are not."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="items")
    group = models.ForeignKey(ItemGroup, on_delete=models.PROTECT, related_name="items")
    key = models.CharField(max_length=80)
    position = models.PositiveIntegerField(default=0)
    question = models.TextField()
    # Settings that differ from the version's (for free text: min_words, max_words, dont_know...).
    settings = models.JSONField(default=dict, blank=True)
    since = models.PositiveIntegerField()
    until = models.PositiveIntegerField(null=True, blank=True)
    # What is judged: one text, or a pair in canonical order (first.pk < second.pk).
    first = models.ForeignKey(
        Candidate, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    second = models.ForeignKey(
        Candidate, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    # The image or sound that it shows; its question is then the description of that.
    media = models.ForeignKey(
        MediaFile, on_delete=models.PROTECT, null=True, blank=True, related_name="items"
    )
    # The conversation that it shows; its question is then the same as plain text.
    chat = models.ForeignKey(
        ChatContent, on_delete=models.PROTECT, null=True, blank=True, related_name="items"
    )
    # How a pair is shown: 0 drawn for each worker, 1 as stored, -1 turned.
    side = models.SmallIntegerField(default=0)
    # A designed repeat of the same pair; a worker may meet it again, the other way round.
    repeat = models.BooleanField(default=False)
    # Its answer is known: by what is asked (annotation.task_types.known). Such an item has no
    # slots and never counts, and nothing of this is shown to who works before they answered.
    expected = models.JSONField(null=True, blank=True)
    # Why that is the answer, read after it was given, where the task gives feedback or in a quiz.
    known_why = models.CharField(max_length=600, blank=True)
    # Slots: wanted, and how many are held by a live lease, by an answer that counts, or by one
    # that was left out and is not collected again.
    redundancy = models.PositiveSmallIntegerField(default=0)
    held = models.PositiveSmallIntegerField(default=0)
    priority = models.SmallIntegerField(default=0)

    objects = VersionedQuerySet.as_manager()

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "key"], condition=Q(until__isnull=True), name="item_key_once"
            ),
            models.CheckConstraint(
                condition=Q(until__isnull=True) | Q(until__gt=F("since")), name="item_range"
            ),
            models.CheckConstraint(
                condition=Q(held__lte=F("redundancy")), name="never_over_redundancy"
            ),
            models.CheckConstraint(
                condition=Q(second__isnull=True) | Q(first__lt=F("second")), name="pair_canonical"
            ),
            models.CheckConstraint(condition=Q(side__in=(-1, 0, 1)), name="pair_side"),
            models.UniqueConstraint(
                fields=["task", "first", "second", "side", "repeat"],
                condition=Q(until__isnull=True, second__isnull=False, expected__isnull=True),
                name="pair_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["task", "-priority", "position", "id"],
                condition=Q(held__lt=F("redundancy")),
                name="item_open_slots",
            )
        ]


class ExclusionQuerySet(models.QuerySet):
    """Exclusions of workers from results."""

    def in_force(self) -> ExclusionQuerySet:
        """Exclusions that were not undone."""
        return self.filter(undone_at__isnull=True)

    def in_force_at(self, when: dt.datetime) -> ExclusionQuerySet:
        """Exclusions that held at this moment."""
        open_then = Q(undone_at__isnull=True) | Q(undone_at__gt=when)
        return self.filter(open_then, created_at__lte=when)


class Exclusion(models.Model):
    """That a worker's answers to a task are left out of results; undone, they count again.

    It changes no answer and no pay: it is an input of the next snapshot.
    """

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="exclusions")
    worker = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="exclusions")
    reason = models.CharField(max_length=300)
    # Their answers stopped counting, so that others are asked; and they get no more work here.
    collects_again = models.BooleanField(default=False, db_default=False)
    stops_work = models.BooleanField(default=False, db_default=False)
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    undone_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    undone_at = models.DateTimeField(null=True, blank=True)

    objects = ExclusionQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "worker"], condition=Q(undone_at__isnull=True), name="excluded_once"
            )
        ]
