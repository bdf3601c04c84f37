"""Options of runs in which models answer items."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.models import Task
from evaluation.llm_runs.answering import run as answering
from evaluation.llm_runs.forms.base import AskForm, replicates, temperature
from evaluation.llm_runs.parts import MOST_REPLICATES, MOST_TOKENS


def tokens_field(initial: int, help_text: str) -> forms.IntegerField:
    """The most tokens of one answer."""
    return forms.IntegerField(
        min_value=1,
        max_value=MOST_TOKENS,
        initial=initial,
        label="Most tokens of an answer",
        help_text=help_text,
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )


class AnswersForm(AskForm):
    """Which prompt, with or without the passage, how warm, how often."""

    strategy = forms.ChoiceField(
        label="Prompt",
        help_text="A model under another prompt is another system, and is scored by itself.",
    )
    passage = forms.BooleanField(
        required=False,
        initial=True,
        label="Show the model the text that people are shown",
    )
    temperature = temperature()
    max_tokens = tokens_field(
        answering.DEFAULTS["max_tokens"],
        "An answer that is longer is cut off and counts as failed. Thinking in steps needs room.",
    )
    replicates = replicates(
        "Times each item is answered",
        most=MOST_REPLICATES,
        help_text="More than once shows how steady a model is, at a temperature above 0.",
    )

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, task=task, **kwargs)
        self.fields["strategy"].choices = answering.strategies(task)  # type: ignore[attr-defined]
        if label := answering.way_of(task).passage_label:
            self.fields["passage"].label = label
