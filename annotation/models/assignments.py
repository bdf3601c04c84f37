"""Leased bundles of items, and what a worker has drafted in them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import pgettext_lazy

from annotation.models.files import StoredFile
from annotation.models.people import Membership
from annotation.models.tasks import Item, Task, TaskVersion


class AssignmentState(models.TextChoices):
    LEASED = "leased", pgettext_lazy("assignment", "in work")
    SUBMITTED = "submitted", pgettext_lazy("assignment", "submitted")
    RETURNED = "returned", pgettext_lazy("assignment", "returned")
    EXPIRED = "expired", pgettext_lazy("assignment", "run out of time")


class Assignment(models.Model):
    """One worker's leased bundle of items, at the pay of the version it was claimed under."""

    task = models.ForeignKey(
        Task, on_delete=models.PROTECT, related_name="assignments", db_index=False
    )
    version = models.ForeignKey(TaskVersion, on_delete=models.PROTECT, related_name="assignments")
    worker = models.ForeignKey(
        Membership, on_delete=models.PROTECT, related_name="assignments", db_index=False
    )
    state = models.CharField(
        max_length=10, choices=AssignmentState.choices, default=AssignmentState.LEASED
    )
    source = models.CharField(max_length=10, default="browser")  # browser, api, import
    # Which of the version's stretches of pairs it took; of one given back, the next one takes it.
    stretch = models.PositiveIntegerField(null=True, blank=True)
    pay = models.DecimalField(max_digits=8, decimal_places=2)
    # Drawn with the first assignment in the task and kept for the worker's later ones: whatever is
    # shuffled on their pages follows from it. Null: leased by a version that named items by row.
    seed = models.BigIntegerField(null=True, blank=True)
    leased_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    extensions = models.PositiveSmallIntegerField(default=0)
    opened_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    # The client's key: the same submit sent again is the same submit.
    submit_key = models.UUIDField(null=True, blank=True, unique=True)
    # When its interaction log was erased, by age or on request; answers and payments stay.
    log_erased_at = models.DateTimeField(null=True, blank=True)
    # Settled: an approved payout or a final rejection stands; else it waits for a decision.
    settled_at = models.DateTimeField(null=True, blank=True)

    # Words that stood open on its page, counted by a job after it was submitted; null until then.
    words_shown = models.PositiveIntegerField(null=True, blank=True)

    # Of a quiz before the first assignment: which try it is, and what came of it.
    quiz = models.PositiveSmallIntegerField(null=True, blank=True)
    quiz_right = models.PositiveSmallIntegerField(null=True, blank=True)
    quiz_passed = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["task", "worker"], condition=Q(state="leased"), name="one_lease_a_task"
            ),
            models.UniqueConstraint(fields=["task", "worker", "quiz"], name="quiz_try_once"),
            models.CheckConstraint(
                condition=Q(quiz__isnull=True) | Q(quiz__in=(1, 2)), name="quiz_two_tries"
            ),
            models.CheckConstraint(
                condition=~Q(state="submitted") | Q(submitted_at__isnull=False),
                name="submitted_has_time",
            ),
        ]
        indexes = [
            models.Index(fields=["expires_at"], condition=Q(state="leased"), name="lease_expiry"),
            models.Index(fields=["worker", "state"]),
            models.Index(fields=["task", "state"]),
            models.Index(
                fields=["id"],
                condition=Q(state="submitted", words_shown=None, quiz=None) & ~Q(source="import"),
                name="words_not_counted",
            ),
        ]


class AssignmentItem(models.Model):
    """An item within an assignment: its place, its draft, and whether it holds a slot."""

    assignment = models.ForeignKey(
        Assignment, on_delete=models.CASCADE, related_name="entries", db_index=False
    )
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="entries")
    position = models.PositiveSmallIntegerField()
    holds = models.BooleanField(default=True)
    # A pair shown the other way round: its second text stands on the left.
    flipped = models.BooleanField(default=False)
    # {"text": str, "declined": bool, "skipped": bool}; ``draft_seq`` orders saves of many tabs.
    draft = models.JSONField(default=dict, blank=True)
    draft_seq = models.BigIntegerField(default=0)
    draft_saved_at = models.DateTimeField(null=True, blank=True)
    # {"tab", "seen", "others"} as annotation.work.actions.drafts has it; null until a page saves.
    draft_versions = models.JSONField(null=True, blank=True)
    # When the worker first saw the question; with "no look back" the passage ends there.
    shown_at = models.DateTimeField(null=True, blank=True)
    # When the worker was told whether a known answer was met: from then on the draft stands.
    told_at = models.DateTimeField(null=True, blank=True)
    recorded: bool | None = None  # whether speech is kept; None until somebody has looked

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "item"], name="item_once_an_assignment"),
            models.UniqueConstraint(fields=["assignment", "position"], name="position_once"),
        ]
        indexes = [models.Index(fields=["item"], condition=Q(holds=True), name="entry_holds")]

    @property
    def public_id(self) -> int:
        """The item as its worker's pages and programs name it: its place, from 1.

        The row's id would tell when the item was written, and with that whether it is a test.
        """
        return self.item_id if self.assignment.seed is None else self.position + 1


class Recording(models.Model):
    """Speech as it is kept: checked, written anew, and replaced as a whole by its worker alone.

    It goes with the words of its assignment: on the worker's request, and after the days that the
    project keeps texts.
    """

    entry = models.OneToOneField(AssignmentItem, on_delete=models.CASCADE, related_name="recording")
    sha256 = models.CharField(max_length=64)  # of the bytes that are served
    type = models.CharField(max_length=40)  # by its bytes: "audio/webm" or "audio/wav"
    size = models.PositiveIntegerField()  # bytes
    seconds = models.FloatField()
    stored = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")
    kept_at = models.DateTimeField(auto_now=True)


class Transcript(models.Model):
    """What a model wrote down of a recording: a draft until its speaker corrects and confirms it.

    It goes with the recording. Before ``confirmed_at`` it is a machine's text and used as nobody's
    words; afterwards ``text`` is what the speaker made of it, and the machine's is kept no more.
    """

    recording = models.OneToOneField(Recording, on_delete=models.CASCADE, related_name="transcript")
    text = models.TextField()
    model = models.CharField(max_length=160)  # that wrote it down, as its endpoint calls it
    made_at = models.DateTimeField(auto_now_add=True)
    confirmed_at = models.DateTimeField(null=True, blank=True)
