"""What was thought aloud, which becomes checklists, and the checklists that were filled in."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from evaluation.checklists.filled import run as filled
from evaluation.checklists.making import diversity
from evaluation.runs.adapters import ShapeAdapter


class Attributes(ShapeAdapter):
    """Sessions of thinking aloud about a dimension."""

    shape = "attributes"
    answer_noun, item_noun = "session", "dimension"
    main_run = diversity.SLUG
    told_figures = {"diversity": ("n", "value", "estimate", "mean", "count")}
    results = "think_aloud_results"
    without_models = gettext_lazy(
        "People think aloud, and every stage of the checklist can be written by hand."
    )


class Checks(ShapeAdapter):
    """The same yes/no questions about every text; runs score the texts, not the people."""

    shape = "checks"
    answer_noun, item_noun = "filled checklist", "text"
    main_run = filled.SLUG
    told_figures = {
        "agreement": ("estimate", "alpha"),
        "correlation": ("estimate", "value"),
        "question": ("share", "alpha"),
    }
    results = "checklist_results"
    without_models = gettext_lazy(
        "People answer the checklist, and answers from elsewhere can be imported."
    )
