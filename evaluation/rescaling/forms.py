"""Options of a rescaling run and of imported scores; the actions decide."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.models import Task
from annotation.work.snapshots.explanations import scales
from evaluation.rescaling import calls as rescaling_calls

ENSEMBLE_HELP = (
    "How much of the annotator’s own mean for the label is mixed in: 0 is the score of the "
    "explanation alone, 1 the mean alone."
)


def ensemble_field() -> forms.FloatField:
    """λ of equation 1."""
    return forms.FloatField(
        min_value=0,
        max_value=1,
        initial=0.0,
        label="Ensemble λ",
        help_text=ENSEMBLE_HELP,
        widget=forms.NumberInput(attrs={"class": "short num", "step": "any"}),
    )


def scale_field() -> forms.ChoiceField:
    """Which scale; its choices are those of a task."""
    return forms.ChoiceField(label="Scale", help_text="Which rating is rescaled.")


def scale_choices(task: Task) -> list[tuple[str, str]]:
    """The scales of the version in force, by name."""
    return [(one.name, one.label) for one in scales(task.current)] if task.current else []


class ImportedForm(forms.Form):
    """Scores that were imported stand in for a model."""

    imported = forms.TypedChoiceField(coerce=int, label="Scores")
    ensemble = ensemble_field()

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.imports = rescaling_calls.imports(task)
        self.fields["imported"].choices = [  # type: ignore[attr-defined]
            (str(run.pk), f"{run.params['model_name']}, {run.params['prompt']}")
            for run in self.imports
        ]

    def params(self) -> dict[str, Any]:
        """The options as a run takes them; to be asked of a valid form."""
        chosen = dict(self.cleaned_data)
        run = next(one for one in self.imports if one.pk == chosen["imported"])
        return {**chosen, "scale": run.params["scale"]}


class ScoresForm(forms.Form):
    """A file with scores that a model gave elsewhere."""

    file = forms.FileField(
        label="CSV or JSONL",
        help_text="Columns item_id, worker_id, score (0 to 100, empty where there is none) and "
        "raw, the model’s own words. Rows of one person and item in the order of the answers.",
    )
    model_name = forms.CharField(label="Model", max_length=160)
    prompt = forms.CharField(
        label="What it was told",
        max_length=80,
        help_text="For instance: label, explanation and article.",
    )
    scale = scale_field()

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["scale"].choices = scale_choices(task)  # type: ignore[attr-defined]
