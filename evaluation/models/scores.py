"""The rows that dashboards read: scores, labels and named figures of runs."""

from __future__ import annotations

from django.db import models

from annotation.models import Answer, Candidate, Item, Membership, System
from evaluation.models.runs import Run


class ScoreRow(models.Model):
    """What every score has: where it is comparable, the estimate, how sure, from how many."""

    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="%(class)s_rows", db_index=False
    )
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

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="labels", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="labels")
    dimension = models.CharField(max_length=40, blank=True)
    component = models.PositiveSmallIntegerField(default=0)
    label = models.CharField(max_length=40)
    posterior = models.JSONField(default=dict)  # code -> probability
    entropy = models.FloatField(null=True)
    n = models.PositiveIntegerField()
    # What other methods say of the item (majority, dawid_skene, dawid_skene_p).
    extra = models.JSONField(default=dict)

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
