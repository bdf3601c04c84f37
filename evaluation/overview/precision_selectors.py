"""How exact the results of a drafted task will be: the engine's planning studies, in words.

Small simulations that take a second or so; the command ``crowdqc_plan`` runs larger ones.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.core.cache import caches

from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.pairs import PairBuild
from annotation.models import Task
from crowdqc import numbers
from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.redundancy import FEW
from evaluation.methods.simulation.planning.planner import VERSION, plan, study

SEED = 20417
WEEK = 7 * 24 * 3600
GAP = 0.10  # of net preference: 40 to 30 per cent, say, with 30 per cent ties
TEXTS_MODEL = "f2"  # thirds of three qualities
LARGEST = 8_000  # workers x questions of one simulated study of texts, 0.2 s each
PAIR_REPLICATES = 400
SECONDS_A_CELL, SECONDS_AN_ANSWER = 2e-5, 4.5e-5  # of a simulated study of texts, measured
FEWEST, MOST = 4, 60


@dataclass(frozen=True)
class Precision:
    """Half the expected width of an interval and its Monte Carlo error, or why there is none."""

    what: str = ""  # whose interval: a score, a net preference
    half: float | None = None
    error: float = 0.0
    sentences: tuple[str, ...] = ()
    why_not: str = ""
    recipe: str = ""

    @property
    def digits(self) -> int:
        return 2 if self.half is None or self.half >= 0.02 else 3

    @property
    def line(self) -> str:
        """For the line of costs."""
        if self.half is None:
            return f"precision: {self.why_not}"
        return f"{self.what} is known to ± {numbers.score(self.half, self.digits)}"


def precision(task: Task) -> Precision:
    """What the newest version of a task would show, once every slot is filled."""
    build = Build(task)
    if not build.questions:
        return Precision(why_not="nothing to simulate yet")
    if build.shape == "pairs":
        return _of_pairs(build)
    if build.shape == "texts":
        return _of_texts(build)
    return Precision(why_not="not simulated for ratings")


def _planned(model: str, replicates: int, **values: Any) -> dict[str, Any]:
    """The answers of a planning study: quantity -> (estimate, Monte Carlo error); kept a week."""
    key = f"plan:{VERSION}:{model}:{replicates}:" + ":".join(
        f"{name}={value}" for name, value in sorted(values.items())
    )
    found: dict[str, Any] | None = caches["shared"].get(key)
    if found is None:
        rng = np.random.default_rng(SEED)
        result = plan(study(model, **values), rng=rng, replicates=replicates)
        table = result.estimates["answer"]
        found = {
            name: (float(estimate), float(error))
            for name, estimate, error in zip(
                table["quantity"].tolist(), table["estimate"], table["mc_error"], strict=True
            )
        }
        found["items_for_80_percent"] = result.diagnostics["items_for_80_percent"]
        caches["shared"].set(key, found, WEEK)
    return found


def _recipe(model: str, replicates: int, **values: Any) -> str:
    said = ", ".join(f"{name} {value:g}" for name, value in values.items())
    return f"planning {VERSION}, {model}: {said}; {replicates} replicates, seed {SEED}"


# Pairs -----------------------------------------------------------------------------------------


def _of_pairs(build: Build) -> Precision:
    """The interval of one source's net preference over another, on one dimension."""
    meetings = PairBuild(build).meetings()
    if not meetings:
        return Precision(why_not="all texts come from one source, so that none is compared")
    pairs = round(statistics.median(meetings.values()))
    votes = build.version.redundancy
    if pairs < 2:
        return Precision(why_not="two sources meet in one pair only; an interval needs two")
    values = {
        "workers": max(2, votes, build.cost().assignments),
        "items": pairs,
        "votes": votes,
        "gap": GAP,
    }
    try:
        found = _planned("pairwise", PAIR_REPLICATES, **values)
    except BadParameter as problem:
        return Precision(why_not=f"not simulated: {problem}")
    half, error = (value / 2 for value in found["difference_width"])
    chance, chance_error = found["separated"]
    sentences = [
        f"On one dimension, how much one source is preferred to another (share for it minus share "
        f"for the other, from −1 to 1) will be known to ± {numbers.score(half)}, "
        f"from {numbers.plural(pairs, 'pair')} that put the two side by side and "
        f"{numbers.plural(votes, 'judge')} each.",
        f"Two sources that differ by {numbers.score(GAP, 2)} are told apart with a chance of "
        f"{numbers.percent(chance)} (simulation error {numbers.percent(chance_error)})"
        f"{_enough(found['items_for_80_percent'], pairs)}.",
        f"Simulated with a crowd that agrees and ties as CrowdRAG’s did; error of the width "
        f"± {numbers.score(error)}. Comparisons with third sources, which a ranking uses as well, "
        "and pairs that are asked again are not counted in.",
    ]
    return Precision(
        "preference between two sources",
        half,
        error,
        tuple(sentences),
        recipe=_recipe("pairwise", PAIR_REPLICATES, **values),
    )


def _enough(needed: int | None, pairs: int) -> str:
    if needed is None or needed <= pairs:
        return ""
    return f"; 80% would take about {numbers.count(_rounded(needed))} pairs of them"


def _rounded(value: int) -> int:
    """Two digits: it is extrapolated."""
    step = 10 ** max(0, int(math.log10(max(1, value))) - 1)
    return int(round(value / step) * step)


# Free text -------------------------------------------------------------------------------------


def _redundancy(votes: int, now: float, more: float) -> tuple[str, ...]:
    """A warning where few people answer a question, and what one more would bring."""
    brings = (
        f"Scores will correlate with workers’ quality by about {numbers.score(now, 2)}; with "
        f"{votes + 1} answers per question by about {numbers.score(more, 2)}, if the same people "
        "write them. Real crowds reach less than simulated ones."
    )
    if votes >= FEW:
        return (brings,)
    return (
        f"Ask for {FEW} or more answers per question: with {votes} a score depends mostly on whose "
        "answers it was compared with.",
        brings,
    )


def _of_texts(build: Build) -> Precision:
    """The interval of a worker's AQER score, where everybody takes one assignment."""
    cost, votes = build.cost(), build.version.redundancy
    per, items = cost.per_assignment, build.questions
    if votes < 2:
        return Precision(why_not="one answer a question, so that none is compared")
    if per < 2:
        return Precision(why_not="one question an assignment; an interval needs two")
    # The width depends on answers a worker and answers a question, not on how many questions
    # there are; so a large task is simulated by a part of it.
    items = max(per, min(items, int(math.sqrt(LARGEST * per / votes))))
    workers = max(3, votes, math.ceil(items * votes / per))
    if workers * items > 5 * LARGEST:
        return Precision(why_not="too large to be simulated here")
    values = {"workers": workers, "items": items, "votes": votes}
    # The same people, each with more questions.
    more = {**values, "workers": max(workers, votes + 1), "votes": votes + 1}
    taken = SECONDS_A_CELL * workers * items + SECONDS_AN_ANSWER * items * votes
    replicates = int(np.clip(0.5 / taken, FEWEST, MOST))
    try:
        found, after = (_planned(TEXTS_MODEL, replicates, **one) for one in (values, more))
    except BadParameter as problem:
        return Precision(why_not=f"not simulated: {problem}")
    half, error = (value / 2 for value in found["score_width"])
    sentences = (
        *_redundancy(votes, found["score_truth"][0], after["score_truth"][0]),
        f"A worker’s score will be known to ± {numbers.score(half)}, from "
        f"{numbers.plural(per, 'answer')} each and {numbers.plural(votes, 'answer')} a question, "
        "if everybody takes one assignment.",
        "Simulated with workers of three qualities, a third each (model F2); error of the width "
        f"± {numbers.score(error)}.",
    )
    return Precision(
        "a score", half, error, sentences, recipe=_recipe(TEXTS_MODEL, replicates, **values)
    )
