"""Responses that are written from passages; they are described, and nobody is compared."""

from __future__ import annotations

from django.utils.translation import gettext, gettext_lazy, gettext_noop

from crowdqc.numbers import plural
from evaluation.llm_runs.answering import responses
from evaluation.runs.adapters import FirstRun, ShapeAdapter

FIRST_RESPONSES = 5  # of anybody: describing texts compares nobody


class Responses(ShapeAdapter):
    """One response to a topic in a style."""

    shape = "responses"
    answer_noun, item_noun = "response", "topic"
    main_run = "writing"
    start_title = gettext_noop("Describe the responses")
    new_noun = "response"
    fixed_words = gettext_lazy(
        "Intervals are 95% and drawn over topics; fewer than 10 topics have none. Thresholds of "
        "the signals are those of the method and stand beside each signal. A worker’s pace is held "
        "against their own other responses."
    )
    told_figures = {
        "general": ("responses", "mean"),
        "ranks": ("value",),
        "reuse": ("mean", "share"),
    }
    results = "writing_results"
    cites = True
    answering = responses.Responses()
    without_models = gettext_lazy(
        "Responses are written by people, and those of systems can be imported."
    )

    @property
    def first_run_when(self) -> str:
        return gettext("there are %(responses)s") % {
            "responses": plural(FIRST_RESPONSES, "response")
        }

    def first_run(self, given: list[int]) -> FirstRun:
        return FirstRun(0, given, max(0, FIRST_RESPONSES - sum(given)))
