"""What was answered: a header and values in three closed shapes."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from annotation.models.assignments import Assignment
from annotation.models.candidates import System
from annotation.models.people import Membership
from annotation.models.tasks import Item, TaskVersion


class Answer(models.Model):
    """One author's answer to one item at one stage; its author is a worker or a system."""

    class Stage(models.TextChoices):
        ENTRY = "entry", gettext_lazy("entry")
        MAIN = "main", gettext_lazy("main")
        EXIT = "exit", gettext_lazy("exit")

    version = models.ForeignKey(TaskVersion, on_delete=models.PROTECT, related_name="answers")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="answers", db_index=False)
    stage = models.CharField(max_length=5, choices=Stage.choices, default=Stage.MAIN)
    assignment = models.ForeignKey(
        Assignment,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="answers",
        db_index=False,
    )
    worker = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="answers"
    )
    system = models.ForeignKey(
        System,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="answers",
        db_index=False,
    )
    replicate = models.PositiveSmallIntegerField(default=0)
    order_shown = models.PositiveSmallIntegerField(null=True, blank=True)
    # A pair was shown the other way round; its values are stored for the pair as it is stored.
    flipped = models.BooleanField(default=False)
    # Whether the sides are known: an imported vote may say only which text won.
    sides_known = models.BooleanField(default=True, db_default=True)
    # Whether it enters results; whether it is paid is another decision (payouts).
    counts = models.BooleanField(default=True)
    uncounted_reason = models.CharField(max_length=200, blank=True)
    answered_at = models.DateTimeField()
    # Columns of an imported table that no field reads, by name; erased with what was written.
    meta = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "item", "stage"], name="answer_once_an_assignment"
            ),
            models.UniqueConstraint(
                fields=["system", "item", "stage", "replicate"], name="answer_once_a_system"
            ),
            models.CheckConstraint(
                condition=Q(worker__isnull=True) ^ Q(system__isnull=True),
                name="worker_xor_system",
            ),
            models.CheckConstraint(
                condition=Q(worker__isnull=True) | Q(assignment__isnull=False),
                name="worker_answers_in_assignments",
            ),
            models.CheckConstraint(
                condition=Q(counts=True) | ~Q(uncounted_reason=""), name="uncounted_has_reason"
            ),
        ]
        indexes = [
            # Covering: pages count a task's answers, and would else read every one of them.
            models.Index(
                fields=["item", "counts"],
                include=["stage", "worker", "version", "id"],
                name="answer_by_item",
            ),
        ]

    @property
    def flipped_if_known(self) -> bool | None:
        """Whether the second text was shown on the left; None where that was not recorded."""
        return self.flipped if self.sides_known else None


class TextValue(models.Model):
    """A text: an answer, an explanation, an attribute."""

    answer = models.ForeignKey(
        Answer, on_delete=models.CASCADE, related_name="texts", db_index=False
    )
    field = models.CharField(max_length=40)
    index = models.PositiveSmallIntegerField(default=0)
    text = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["answer", "field", "index"], name="text_value_once")
        ]


class ChoiceValue(models.Model):
    """A choice among codes: a judgment on a dimension, a rating, a tick, "I don't know"."""

    answer = models.ForeignKey(
        Answer, on_delete=models.CASCADE, related_name="choices", db_index=False
    )
    field = models.CharField(max_length=40)
    code = models.CharField(max_length=40)
    ordinal = models.SmallIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["answer", "field"], name="choice_value_once")
        ]


class JudgmentCount(models.Model):
    """How often a pair's two systems got one vote; triggers on answers and their values keep it.

    A vote counts here if its answer counts, is to a pair, and is no designed repeat and no answer
    to a pair whose answer is known. Several rows have one key, and their sum is the count: who
    counts takes a row that nobody else holds, so that nobody waits. A single row may be below 0.
    """

    version = models.ForeignKey(
        TaskVersion, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    field = models.CharField(max_length=40)
    code = models.CharField(max_length=40)
    # By a person, or by a model.
    people = models.BooleanField()
    # The second text of the pair stood left.
    flipped = models.BooleanField()
    first = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    n = models.BigIntegerField()

    class Meta:
        indexes = [
            models.Index(
                fields=["version", "field", "first", "second", "code", "people", "flipped"],
                include=["n"],
                name="judgment_count_by_key",
            ),
        ]


class AnswerCount(models.Model):
    """How many main answers of a worker count; a trigger on answers keeps it.

    ``worker`` is null for those of systems, ``known`` says that their items' answers are known.
    ``digest`` is the sum of the hashes of their ids (hashint8extended). As in ``JudgmentCount``,
    several rows may have one key, and their sum is the count.
    """

    version = models.ForeignKey(
        TaskVersion, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    worker = models.ForeignKey(
        Membership, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    known = models.BooleanField()
    n = models.BigIntegerField()
    digest = models.DecimalField(max_digits=40, decimal_places=0)

    class Meta:
        indexes = [models.Index(fields=["version", "worker"], name="answer_count_by_key")]


class SpanValue(models.Model):
    """A stretch of a text pointed at: evidence or a citation."""

    answer = models.ForeignKey(
        Answer, on_delete=models.CASCADE, related_name="spans", db_index=False
    )
    field = models.CharField(max_length=40)
    index = models.PositiveSmallIntegerField(default=0)
    target = models.CharField(max_length=80, blank=True)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["answer", "field", "index"], name="span_value_once"),
            models.CheckConstraint(condition=Q(end__gte=models.F("start")), name="span_range"),
        ]
