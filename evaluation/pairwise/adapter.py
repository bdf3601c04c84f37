"""Judgments of texts: which of two is better, or how good each is on a scale."""

from __future__ import annotations

from annotation.authoring.selectors.builder.frame import Build
from evaluation.pairwise.precision import of_pairs
from evaluation.runs.adapters import AGREEMENT, COMPETENCE, ShapeAdapter
from evaluation.runs.precision import Precision


class Pairs(ShapeAdapter):
    """Two texts side by side."""

    shape = "pairs"
    answer_noun, item_noun = "judgment", "pair"
    main_run = "pairwise"
    start_title = "Run the evaluation"
    new_noun = "judgment"
    fixed_words = (
        "Votes are held against the pair as it is stored, whichever side it was shown on. Of "
        "somebody who met a pair twice the first vote counts. Nulls, cross-fitting and resampled "
        "labels follow in a run of their own, when this one is done."
    )
    results = "pair_results"
    item_page = "pair"
    exclusion, after_exclusion = "pair_exclude", "pair_agreement"
    worker_score = COMPETENCE
    pools = ("competence",)
    without_models = (
        "Pairs are judged by people, with competence, agreement and a ranking. Judgments that "
        "models gave elsewhere can be imported."
    )

    def precision(self, build: Build) -> Precision:
        return of_pairs(build)


class Ratings(ShapeAdapter):
    """One text at a time."""

    shape = "ratings"
    answer_noun, item_noun = "rating", "text"
    main_run = "ratings"
    told_figures = {"agreement": ("alpha",)}
    results = "rating_results"
    worker_score = AGREEMENT
    without_models = (
        "Texts are rated by people, with agreement and means. Scores that were published "
        "elsewhere can be imported."
    )
