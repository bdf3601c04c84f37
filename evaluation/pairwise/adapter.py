"""Judgments of texts: which of two is better, or how good each is on a scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, gettext_noop, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from annotation.authoring.selectors.builder.frame import Build
from crowdqc import numbers
from evaluation.charts.labels import Reached
from evaluation.llm_runs.answering.documents import DocumentQuestions
from evaluation.methods.core.base import BadParameter
from evaluation.pairwise.planning import (
    GAP,
    MOST_PAIRS,
    PairDesign,
    PairPlanner,
    judgments_per_worker,
    pairs_of,
)
from evaluation.pairwise.selectors.workers import withhold_competence
from evaluation.runs.adapters import AGREEMENT, COMPETENCE, KnownWords, ShapeAdapter
from evaluation.runs.planning.precision import Precision

WANTED = 0.8  # chance to tell two systems apart


def of_pairs(build: Build) -> Precision:
    """The interval of one system's net preference over another, on one dimension."""
    pairs, votes = pairs_of(build), build.version.redundancy
    if pairs is None:
        return Precision(
            why_not=gettext("all texts come from one system, so that none is compared")
        )
    if pairs < 2:
        return Precision(
            why_not=gettext("two systems meet in one pair only; an interval needs two")
        )
    design = PairDesign(GAP, judgments_per_worker(build))
    try:
        found, chance = design.reach(pairs, votes), design.chance(pairs, votes)
        needed = pairs
        if chance.low < WANTED:
            needed = design.fewest_pairs(votes, WANTED, above=pairs) or 0
    except BadParameter as problem:
        return Precision(why_not=gettext("not simulated: %(problem)s") % {"problem": problem})
    half = found["difference_width"][0] / 2
    return Precision(
        gettext("preference between two systems"),
        half,
        sentences=_sentences(pairs, half, chance, needed),
        recipe=design.recipe(pairs),
        plain=_plain(pairs, needed),
    )


def _plain(pairs: int, needed: int) -> str:
    """Say whether so many pairs of two systems tell close ones apart, and how many would.

    ``needed``: pairs; 0 where the most do not do.
    """
    told = {"pairs": numbers.plural(pairs, "pair")}
    if needed == pairs:
        return gettext("%(pairs)s of two systems can separate close ones") % told
    if not needed:
        told["needed"] = numbers.plural(max(pairs, MOST_PAIRS), "pair")
        said = gettext("%(pairs)s of two systems cannot separate close ones; over %(needed)s can")
        return said % told
    told["needed"] = numbers.plural(needed, "pair")
    return (
        gettext("%(pairs)s of two systems cannot separate close ones; about %(needed)s can") % told
    )


def _sentences(pairs: int, half: float, chance: Reached, needed: int) -> tuple[str, ...]:
    told = {
        "half": numbers.score(half),
        "pairs": numbers.plural(pairs, "pair"),
        "judges": numbers.plural(chance.votes, "judge"),
        "gap": numbers.score(GAP, 2),
        "chance": numbers.percent(chance.share),
        "wanted": numbers.percent(WANTED),
        "needed": numbers.count(needed or max(pairs, MOST_PAIRS)),
    }
    apart = gettext(
        "Two systems that differ by %(gap)s are told apart with a chance of %(chance)s."
    )
    if not needed:
        apart = gettext(
            "Two systems that differ by %(gap)s are told apart with a chance of %(chance)s; "
            "%(wanted)s would take over %(needed)s pairs of them."
        )
    elif needed != pairs:
        apart = gettext(
            "Two systems that differ by %(gap)s are told apart with a chance of %(chance)s; "
            "%(wanted)s would take about %(needed)s pairs of them."
        )
    return (
        gettext(
            "On one dimension, how much one system is preferred to another (share for it minus "
            "share for the other, from −1 to 1) will be known to ± %(half)s, from %(pairs)s that "
            "put the two side by side and %(judges)s each."
        )
        % told,
        apart % told,
        gettext(
            "Simulated with a crowd that agrees and ties as CrowdRAG’s did. Comparisons with third "
            "systems, which a ranking uses as well, and pairs that are asked again are not counted "
            "in."
        ),
    )


ATTENTION = KnownWords(
    _("Attention pairs"),
    _("pairs with one sensible answer; they never count as judgments"),
    "attention pair",
    pgettext_lazy("check", "Passed"),
    pgettext_lazy("check", "Failed"),
    _("Share passed"),
    _(
        "from one attention pair that nothing was read; a slip looks the same. With few pairs the "
        "interval says so."
    ),
)


class Pairs(ShapeAdapter):
    """Two texts side by side."""

    shape = "pairs"
    answer_noun, item_noun = "judgment", "pair"
    main_run = "pairwise"
    start_title = gettext_noop("Run the evaluation")
    new_noun = "judgment"
    fixed_words = _(
        "Votes are held against the pair as it is stored, whichever side it was shown on. Of "
        "somebody who met a pair twice the first vote counts. Nulls, cross-fitting and resampled "
        "labels follow in a run of their own, when this one is done."
    )
    known_words = ATTENTION
    planner = PairPlanner()
    results = "pair_results"
    item_page = "pair"
    after_exclusion = "pair_agreement"
    told_figures = {"agreement": ("alpha",)}
    worker_score = COMPETENCE
    pools = ("competence",)
    without_models = _(
        "Pairs are judged by people, with competence, agreement and a ranking. Judgments that "
        "models gave elsewhere can be imported."
    )

    def withhold_competence(self, score: Any) -> str:
        return withhold_competence(score)

    def overall_alpha(self, figures: Mapping[str, Any]) -> float | None:
        rows = figures.get("agreement") or []  # the mean first, where there are several dimensions
        return next((row["alpha"] for row in rows if not row["dimension"] or len(rows) == 1), None)

    def precision(self, build: Build) -> Precision:
        return of_pairs(build)


class Ratings(ShapeAdapter):
    """One text at a time."""

    shape = "ratings"
    answer_noun, item_noun = "rating", "text"
    main_run = "ratings"
    answering = DocumentQuestions()
    told_figures = {"agreement": ("alpha",)}
    results = "rating_results"
    worker_score = AGREEMENT
    without_models = _(
        "Texts are rated by people, with agreement and means. Scores that were published "
        "elsewhere can be imported."
    )
