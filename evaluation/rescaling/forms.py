"""Options of a rescaling run and of imported scores; the actions decide."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from annotation.models import Task
from evaluation.rescaling import calls as rescaling_calls
from evaluation.rescaling.dataset import scale_choices
from evaluation.rescaling.run import ENSEMBLE_SHARE, SCALE
from evaluation.runs.forms import field_of


def scale_field(task: Task) -> forms.Field:
    """Return the form field that chooses a scale of the version in force."""
    return field_of(SCALE, scale_choices(task))


class ImportedForm(forms.Form):
    """Scores that were imported stand in for a model."""

    imported = forms.TypedChoiceField(coerce=int, label=gettext_lazy("Scores"))
    ensemble = field_of(ENSEMBLE_SHARE)

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.imports = rescaling_calls.imports(task)
        self.fields["imported"].choices = [  # type: ignore[attr-defined]
            (str(run.pk), f"{run.params['model_name']}, {run.params['prompt']}")
            for run in self.imports
        ]

    def params(self) -> dict[str, Any]:
        """Return the options of a valid form, as a run takes them."""
        chosen = dict(self.cleaned_data)
        run = next(one for one in self.imports if one.pk == chosen["imported"])
        return {**chosen, "scale": run.params["scale"]}


class ScoresForm(forms.Form):
    """A file with scores that a model gave elsewhere."""

    file = forms.FileField(
        label=gettext_lazy("CSV or JSONL"),
        help_text=gettext_lazy(
            "Columns item_id, worker_id, score (0 to 100, empty where there is none) and "
            "raw, the model’s own words. Rows of one person and item in the order of the "
            "answers."
        ),
    )
    model_name = forms.CharField(label=gettext_lazy("Model"), max_length=160)
    prompt = forms.CharField(
        label=gettext_lazy("Input shown to the model"),
        max_length=80,
        help_text=gettext_lazy("For instance: label, explanation and article."),
    )

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["scale"] = scale_field(task)
