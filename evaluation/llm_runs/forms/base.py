"""Options of runs that ask a model; each kind of asking adds its own form."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.module_loading import import_string

from annotation.models import Task
from evaluation.models import LanguageModel


def _named(model: LanguageModel) -> str:
    if model.can:
        return f"{model.name} at {model.endpoint.name}"
    probed = "could not be probed" if model.probe_note else "not probed"
    return f"{model.name} at {model.endpoint.name}, {probed}"


def temperature(initial: float = 0.0, help_text: str = "") -> forms.FloatField:
    """The temperature, 0 to 2."""
    return forms.FloatField(
        min_value=0,
        max_value=2,
        initial=initial,
        help_text=help_text or "0: the most probable answer; higher: more varied ones.",
        widget=forms.NumberInput(attrs={"class": "short num", "step": "any"}),
    )


def replicates(label: str, *, most: int = 20, help_text: str = "") -> forms.IntegerField:
    """How often each question is asked, 1 to ``most``."""
    return forms.IntegerField(
        min_value=1,
        max_value=most,
        initial=1,
        label=label,
        help_text=help_text,
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )


class AskForm(forms.Form):
    """What every kind asks for: which model. ``cleaned_data["model"]`` is its id."""

    model = forms.TypedChoiceField(coerce=int, label="Model")

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.task = task
        self.models = list(
            LanguageModel.objects.filter(
                endpoint__project=task.project_id,
                endpoint__archived_at__isnull=True,
                archived_at__isnull=True,
                use=LanguageModel.Use.CHAT,
            ).select_related("endpoint")
        )
        self.models.sort(key=lambda one: not one.can)  # what can be asked now stands first
        self.fields["model"].choices = [  # type: ignore[attr-defined]
            (str(one.pk), _named(one)) for one in self.models
        ]

    def lacks(self) -> dict[str, str]:
        """What must be there before anything can be chosen: sentence, why, url, label; or {}."""
        return {}

    def params(self) -> dict[str, Any]:
        """The options as a run takes them; to be asked of a valid form."""
        return dict(self.cleaned_data)


# Kind of asking -> its form, by its address: the forms build on this file.
ASK_FORMS: dict[str, str] = {
    "think_aloud": "evaluation.llm_runs.forms.checklists.ThinkAloudForm",
    "checklist_stage": "evaluation.llm_runs.forms.checklists.ChecklistStageForm",
    "rescaling": "evaluation.llm_runs.forms.rescaling.RescalingForm",
    "checklist_answers": "evaluation.llm_runs.forms.checks.ChecklistAnswersForm",
    "g_eval": "evaluation.llm_runs.forms.checks.GEvalForm",
    "answers": "evaluation.llm_runs.forms.answers.AnswersForm",
    "judge_pairs": "evaluation.llm_runs.forms.judges.JudgePairsForm",
    "judge_points": "evaluation.llm_runs.forms.judges.JudgePointsForm",
}


def form_of(method: str) -> type[AskForm]:
    """The form of a kind of asking; one without options of its own asks for the model alone."""
    found: type[AskForm] = import_string(ASK_FORMS[method]) if method in ASK_FORMS else AskForm
    return found
