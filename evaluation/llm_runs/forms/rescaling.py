"""Options of a run that rescales ratings: who reads the explanations, and with which prompt."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.models import Task
from evaluation.llm_runs.forms.base import AskForm
from evaluation.rescaling.forms import ensemble_field, scale_choices, scale_field
from evaluation.rescaling.prompts import DEFAULT, JUDGES, VARIANTS, Variant


def _said(variant: Variant) -> str:
    return f"{variant.label} ({JUDGES})" if variant.judges else variant.label


class RescalingForm(AskForm):
    """A model reads the explanations."""

    variant = forms.ChoiceField(
        label="The model is told",
        choices=[(slug, _said(one)) for slug, one in VARIANTS.items()],
        initial=DEFAULT,
        help_text="The explanation always; the article as numbered sentences. Where the model "
        "sees the answer it may score that and not the explanation.",
    )
    scale = scale_field()
    ensemble = ensemble_field()

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, task=task, **kwargs)
        self.fields["scale"].choices = scale_choices(task)  # type: ignore[attr-defined]
