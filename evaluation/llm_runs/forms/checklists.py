"""Options of runs in which models think aloud, or make a stage of a checklist."""

from __future__ import annotations

from typing import Any

from django import forms
from django.urls import reverse

from evaluation.checklists.making.runs import MADE_BY_MODELS, MOST_SESSIONS
from evaluation.llm_runs.forms.base import AskForm
from evaluation.models import Checklist, ChecklistStage


def _temperature() -> forms.FloatField:
    return forms.FloatField(
        min_value=0,
        max_value=2,
        initial=0,
        help_text="0: the most probable answer. Above it, sessions of one model differ.",
        widget=forms.NumberInput(attrs={"class": "short num", "step": "any"}),
    )


class ThinkAloudForm(AskForm):
    """A model thinks aloud on every dimension of the task."""

    sessions = forms.IntegerField(
        min_value=1,
        max_value=MOST_SESSIONS,
        initial=1,
        label="Sessions a dimension",
        help_text="More than one makes sense above temperature 0 only.",
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )
    temperature = _temperature()


class ChecklistStageForm(AskForm):
    """A model makes a stage of one of the task's checklists."""

    checklist = forms.TypedChoiceField(coerce=int, label="Checklist")
    stage = forms.ChoiceField(
        choices=[(kind, ChecklistStage.Kind(kind).label) for kind in MADE_BY_MODELS]
    )
    temperature = _temperature()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = Checklist.objects.filter(task=self.task, archived_at__isnull=True)
        self.fields["checklist"].choices = [  # type: ignore[attr-defined]
            (str(pk), name) for pk, name in rows.values_list("pk", "name")
        ]

    def lacks(self) -> dict[str, str]:
        """A checklist, where the task has none yet."""
        if self.fields["checklist"].choices:  # type: ignore[attr-defined]
            return {}
        return {
            "sentence": "Make a checklist first",
            "why": "A model makes the stages of a checklist, and this task has none yet. It takes "
            "a name and the attributes that it is made from.",
            "url": reverse("checklist_new", args=[self.task.project_id, self.task.pk]),
            "label": "New checklist",
        }
