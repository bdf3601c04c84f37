"""Options of runs in which models judge pairs, answers and texts."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.models import Task
from evaluation.llm_runs.forms.answers import tokens_field
from evaluation.llm_runs.forms.base import AskForm, replicates, temperature
from evaluation.llm_runs.judging import pairs as judging_runs
from evaluation.llm_runs.judging import points as judging_runs_points
from evaluation.llm_runs.judging.prompts import COMBINED, INDIVIDUAL
from evaluation.runs.adapters import adapter_of


class JudgePairsForm(AskForm):
    """How a model judges pairs; both orders of each pair are always asked."""

    mode = forms.ChoiceField(
        label="Dimensions",
        choices=[(COMBINED, "All in one call"), (INDIVIDUAL, "A call for each")],
        help_text="The two are two judges. One call is cheaper; a call for each keeps what is "
        "said of one dimension from colouring the others.",
    )
    only_judged = forms.BooleanField(
        required=False,
        label="Only pairs that people have judged",
    )
    temperature = temperature()
    max_tokens = tokens_field(
        judging_runs.DEFAULTS["max_tokens"], "A letter for each dimension needs few."
    )
    replicates = replicates(
        "Times each order is asked",
        help_text="Only the first time counts for agreement; the others show how steady it is.",
    )


class JudgePointsForm(AskForm):
    """How a model scores answers, or texts on each dimension, from 0 to 100."""

    whose = forms.ChoiceField(
        label="Answers of",
        choices=[("all", "Workers and systems"), ("workers", "Workers"), ("systems", "Systems")],
    )
    passage = forms.BooleanField(
        required=False,
        label="Show the model the text that the question is about",
        help_text="The paper’s judge sees the question and the answer alone.",
    )
    temperature = temperature()
    max_tokens = tokens_field(judging_runs_points.DEFAULTS["max_tokens"], "A number needs few.")

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, task=task, **kwargs)
        if not adapter_of(task).scores_answers:
            del self.fields["whose"], self.fields["passage"]
