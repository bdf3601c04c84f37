"""Options of runs in which a model answers a checklist, or rates texts after G-Eval."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.models import Task
from evaluation.checklists.filled.ask import LONGEST
from evaluation.checklists.filled.texts import rubric_of, shown_version
from evaluation.llm_runs.forms.base import AskForm


def _definition(task: Task, *, needed: bool) -> forms.CharField:
    rubric = rubric_of(task)
    help_text = "Stands in every prompt. "
    help_text += (
        "Left empty, the rubric behind the checklist."
        if rubric
        else "The evaluation steps are made from it."
        if needed
        else "It may stay empty."
    )
    return forms.CharField(
        required=needed and not rubric,
        max_length=LONGEST,
        strip=True,
        help_text=help_text,
        label="What the dimension means",
        widget=forms.Textarea(attrs={"rows": 4}),
    )


class ChecklistAnswersForm(AskForm):
    """A model answers the list for every text."""

    way = forms.ChoiceField(
        choices=[
            ("auto", "one question a call where probabilities are told, else all in one"),
            ("each", "one question a call"),
            ("all", "all questions of a text in one call"),
        ],
        initial="auto",
        label="How it is asked",
    )

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, task=task, **kwargs)
        self.fields["definition"] = _definition(task, needed=False)


class GEvalForm(AskForm):
    """A model rates every text from 1 to 5."""

    dimension = forms.CharField(
        max_length=80,
        required=False,
        label="What is rated",
        help_text="Left empty, the dimension of the task.",
    )
    way = forms.ChoiceField(
        choices=[
            ("auto", "the mean over probabilities where they are told, else over samples"),
            ("samples", "the mean over samples"),
        ],
        initial="auto",
        label="How scores are made",
    )
    samples = forms.IntegerField(
        min_value=1,
        max_value=50,
        initial=5,
        label="Samples a text",
        help_text="Asked only where probabilities are not used.",
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )
    temperature = forms.FloatField(
        min_value=0,
        max_value=2,
        initial=1.0,
        help_text="Of the samples. At 0 they are all alike.",
        widget=forms.NumberInput(attrs={"class": "short num", "step": "any"}),
    )

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, task=task, **kwargs)
        self.fields["definition"] = _definition(task, needed=True)
        self.fields["dimension"].required = not shown_version(task).settings.get("dimension")
