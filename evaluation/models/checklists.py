"""Checklists: from think-aloud attributes, stage by stage, to frozen yes/no questions."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy

from annotation.models import Item, Project, Task
from evaluation.models.runs import Run


class Checklist(models.Model):
    """A checklist in the making for one dimension (an item of a think-aloud task)."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="checklists")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="checklists")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="checklists")
    name = models.CharField(max_length=120)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["task", "name"], name="checklist_name_once")]

    def __str__(self) -> str:
        return self.name


class ChecklistStage(models.Model):
    """What one stage put out, as it stands; an edit or a new run is a new row, the last one rules.

    ``data`` by kind, every entry with an id of its own ("a1", "c1", "q1", "s1"):
    attributes [{"id", "text", "from": answer id, "author", "kind": person | model}];
    components [{"id", "text"}]; clusters [{"component", "attributes": [ids]}];
    key_questions [{"id", "component", "text"}];
    sub_questions and validation [{"id", "component", "text", "attributes": [ids]}].
    """

    class Kind(models.TextChoices):
        ATTRIBUTES = "attributes", gettext_lazy("Attributes")
        COMPONENTS = "components", gettext_lazy("Components")
        CLUSTERS = "clusters", gettext_lazy("Clusters")
        KEY_QUESTIONS = "key_questions", gettext_lazy("Key questions")
        SUB_QUESTIONS = "sub_questions", gettext_lazy("Sub-questions")
        VALIDATION = "validation", gettext_lazy("Validated questions")

    checklist = models.ForeignKey(Checklist, on_delete=models.CASCADE, related_name="stages")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    number = models.PositiveSmallIntegerField()
    data = models.JSONField()
    # The stage before it that it was made from; a newer one there makes this one out of date.
    made_from = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="+")
    # Who wrote or edited it; empty: a model did.
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["checklist", "kind", "number"], name="stage_once")
        ]


class ChecklistVersion(models.Model):
    """A frozen checklist: its questions never change; texts are scored by a version."""

    checklist = models.ForeignKey(Checklist, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveSmallIntegerField()
    # [{"name", "text", "component", "attributes": [{"text", "author", "kind"}]}]
    questions = models.JSONField()
    # Whose attributes it was made from: {"people": n, "models": n, "condition": words}.
    made_of = models.JSONField(default=dict)
    content_hash = models.CharField(max_length=64)
    # Where people answer it: one task for each set of texts, round or crowd that is wanted.
    tasks = models.ManyToManyField(Task, related_name="checklist_versions")
    frozen_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    frozen_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["checklist", "number"], name="checklist_version_once")
        ]


class SetComparison(models.Model):
    """One person's blind comparison of two sets of attributes (InteractEval, App. G)."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="set_comparisons")
    # The two sets as frozen, by their true names; ``turned``: the second one was shown as A.
    sets = models.JSONField()
    turned = models.BooleanField()
    answers = models.JSONField(default=dict)  # question -> text, and "prefers" -> "A" | "B" | ""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
