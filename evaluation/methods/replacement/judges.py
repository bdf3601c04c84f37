"""Judges corrected: a share by what a judge gets wrong, its leanings, several judges as one.

Rogan and Gladen (1978, American Journal of Epidemiology 107) correct the share that a judge calls
positive by its sensitivity and specificity; the interval is that of Lang and Reiczigel (2014,
Preventive Veterinary Medicine 113), which keeps its promise with few labelled items. A leaning is
read beside people's on the same items: whether long answers win says nothing of a judge as long as
they may be better. A panel of judges is one judge with weights, and goes through PPI++ as such.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import BadParameter, BadShape, EmptyData, FloatArray, IntArray
from evaluation.methods.core.inference import Spread, cluster_spread, normal_quantile, t_quantile
from evaluation.methods.core.units import LEAST, MEAN, effective_trials, wilson
from evaluation.methods.replacement.combined import (
    LABELS,
    Combined,
    Estimate,
    NoEstimate,
    Topics,
    combine_means,
    two_part_spread,
)

VERSION = "1.1"
FOLDS = 5  # of a panel's weights
POSITIVES = 10  # fewest labelled items of each kind for sensitivity and specificity


@dataclass(frozen=True)
class Rates:
    """A judge against people: how often it sees what is there, and nothing where nothing is.

    ``sensitivity`` and ``specificity`` with Wilson intervals. ``trials``: how many independent
    items each rests on, where that is not its n.
    """

    sensitivity: Estimate
    specificity: Estimate
    trials: tuple[float, float] | None = None


def judge_rates(
    human: NDArray[np.bool_] | FloatArray,
    judge: NDArray[np.bool_],
    *,
    topic: IntArray | None = None,
    level: float = 0.95,
) -> Rates:
    """Sensitivity and specificity from items that people labelled, ``human`` and ``judge`` (n,).

    ``human`` is 1 or 0, or a part between them on which people are even: to leave such items out
    would keep those that are easy. ``topic`` (n,): the units, where items come in topics.
    Raises BadShape; NoEstimate with fewer than POSITIVES items on either side, or too few topics.
    """
    if human.shape != judge.shape:
        raise BadShape("human and judge must have one length")
    units = np.arange(len(judge)) if topic is None else topic
    found, trials = [], []
    truth = np.asarray(human, dtype=np.float64)
    for weight, hit, words in (
        (truth, judge, "in the class"),
        (1 - truth, ~judge, "outside the class"),
    ):
        n = float(weight.sum())
        if n < POSITIVES:
            whole = math.floor(n)  # items on which people are even count in parts
            raise NoEstimate(f"people labelled {whole} items {words}, and {POSITIVES} are needed")
        share = float((weight * hit).sum() / n)
        spread = cluster_spread(weight * (hit - share) / n, weight, units, noun="topics")
        if topic is not None and (few := spread.why_no_interval(LEAST[MEAN])):
            raise NoEstimate(f"the items that people labelled {words} are of {few}")
        trials.append(_trials(share, spread, n, level))
        low, high = wilson(share, trials[-1], level)
        found.append(Estimate(share, spread.se, low, high, round(n), spread.freedom))
    return Rates(found[0], found[1], (trials[0], trials[1]))


def _trials(share: float, spread: Spread, n: float, level: float) -> float:
    """Return how many independent items a share of ``n`` is worth."""
    if not 0 < share < 1:
        return min(n, spread.freedom + 1)
    return effective_trials(
        share, spread.variance, trials=n, freedom=spread.freedom, confidence=level
    )


def correct_share(
    positive: int,
    items: int,
    rates: Rates,
    *,
    level: float = 0.95,
) -> Estimate:
    """Share of ``items`` that are in the class, of which the judge calls ``positive`` so.

    The estimate is Rogan and Gladen's, kept within 0 and 1; bounds as Lang and Reiczigel's
    equations 10 to 13. The labelled items must be like the others, in each class.
    Raises BadParameter; NoEstimate where the judge is not surely better than a coin.
    """
    if not 0 <= positive <= items or items < 1:
        raise BadParameter(f"positive is {positive} of {items} items")
    if not 0 < level < 1:
        raise BadParameter(f"level is {level:g}; it must lie between 0 and 1")
    sees, spares = rates.sensitivity, rates.specificity
    if sees.low + spares.low <= 1:
        raise NoEstimate("the judge is not surely better than a coin, so nothing can be corrected")
    of_sees, of_spares = rates.trials or (sees.n, spares.n)
    share = (positive / items + spares.value - 1) / (sees.value + spares.value - 1)
    z = normal_quantile(level)
    called = (positive + z * z / 2) / (items + z * z)
    se = (of_sees * sees.value + 1) / (of_sees + 2)
    sp = (of_spares * spares.value + 1) / (of_spares + 2)
    better = se + sp - 1
    middle = (called + sp - 1) / better
    se_variance, sp_variance = se * (1 - se) / (of_sees + 2), sp * (1 - sp) / (of_spares + 2)
    shift = 2 * z * z * (middle * se_variance - (1 - middle) * sp_variance)
    variance = called * (1 - called) / (items + z * z)
    variance += middle**2 * se_variance + (1 - middle) ** 2 * sp_variance
    error = float(np.sqrt(variance)) / better
    low, high = middle + shift - z * error, middle + shift + z * error
    value, low, high = (float(np.clip(one, 0, 1)) for one in (share, low, high))
    return Estimate(value, error, min(low, value), max(high, value), items)


def correct_share_by_topic(
    human: FloatArray,
    judge: NDArray[np.bool_],
    rest: NDArray[np.bool_],
    topics: Topics,
    *,
    level: float = 0.95,
) -> Estimate:
    """Estimate the share of a label corrected by the judge's errors, with topics as units.

    ``human`` and ``judge`` (n,) as of judge_rates, ``rest`` (N,) the judge on the other items. The
    estimate is linearised and its variance taken between topics. Raises as judge_rates and
    correct_share.
    """
    rates = judge_rates(human, judge, topic=topics[0], level=level)
    everywhere = np.concatenate([judge, rest]).astype(np.float64)
    found = correct_share(int(everywhere.sum()), len(everywhere), rates, level=level)
    see, spare, own = rates.sensitivity.value, rates.specificity.value, judge.astype(np.float64)
    called = float(everywhere.mean())
    share = (called + spare - 1) / (see + spare - 1)
    n = len(human)
    moved = (1 - share) * (1 - human) * (1 - own - spare) / (1 - human).sum()
    moved -= share * human * (own - see) / human.sum()
    parts = (n * moved, everywhere - called, (topics[0], np.concatenate(topics)))
    spread = two_part_spread(*parts)
    error = spread.se / (see + spare - 1)
    half = float(t_quantile(level, spread.freedom)) * error
    low, high = (float(np.clip(share + one, 0, 1)) for one in (-half, half))
    return replace(found, error=error, low=low, high=high, freedom=spread.freedom)


def leaning(
    judge: FloatArray,
    people: FloatArray,
    *,
    topic: IntArray | None = None,
    level: float = 0.95,
) -> tuple[Estimate, Estimate, Estimate]:
    """Compare how often a judge and people choose a side, such as the longer text.

    ``judge`` and ``people`` (n,) are the shares of each one's votes for that side on the same n
    items, .5 for a tie. Returns the judge's mean, people's, and the difference, each with a t
    interval over items, or over topics (n,). Raises BadShape; NoEstimate below LABELS items and
    from too few topics.
    """
    if judge.shape != people.shape:
        raise BadShape("judge and people must have one length")
    n = len(judge)
    if n < LABELS:
        raise NoEstimate(f"it needs {LABELS} items that both judged, and there are {n}")
    one, two, more = (
        mean_estimate(values, topic, level=level) for values in (judge, people, judge - people)
    )
    return one, two, more


def mean_estimate(
    values: FloatArray, topic: IntArray | None = None, *, level: float = 0.95
) -> Estimate:
    """Average values (n,) with a t interval over items, or over topics if given.

    No bounds where all are the same. Raises NoEstimate from too few topics.
    """
    n, middle = len(values), float(values.mean())
    if topic is None:
        spread = Spread(float(values.var(ddof=1)) / n, n - 1, n, n, "items")
    else:
        spread = cluster_spread((values - middle) / n, np.ones(n), topic, noun="topics")
        if few := spread.why_no_interval(LEAST[MEAN]):
            raise NoEstimate(f"the items are of {few}")
    half = spread.reach(level) if np.ptp(values) > 0 else float("nan")
    return Estimate(middle, spread.se, middle - half, middle + half, n, spread.freedom)


@dataclass(frozen=True, eq=False)
class Panel:
    """Several judges as one: ``weights`` (m,) on average over folds, and what they come to."""

    weights: FloatArray
    combined: Combined


def combine_panel(
    human: FloatArray,
    judges: FloatArray,
    rest: FloatArray,
    *,
    topics: Topics | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> Panel:
    """Estimate people's mean over all items from several judges, weighted by their use.

    ``human`` (n,), ``judges`` (n, m) on labelled items, ``rest`` (N, m) on the others. A judge's
    weight is its coefficient in a regression of people on judges, with a ridge of one item; of a
    labelled item from the other folds, so that none is corrected by a weight that it made
    (cross-fitting; Zrnic and Candes 2024, "Cross-prediction-powered inference"). The others get
    the mean of all folds' weights. ``topics``: as of combine_means; folds keep them whole.
    Raises BadShape, EmptyData; NoEstimate below LABELS items.
    """
    n, m = judges.shape
    if len(human) != n or rest.shape[1:] != (m,):
        raise BadShape("human, judges and rest must have the same items and judges")
    if n < LABELS:
        raise NoEstimate(f"it needs {LABELS} items that people labelled, and there are {n}")
    if m < 1 or len(rest) < 2:
        raise EmptyData("one judge and two items without labels of people are the least")
    units = np.arange(n) if topics is None else np.unique(topics[0], return_inverse=True)[1]
    fold = (np.random.default_rng(seed).permutation(int(units.max()) + 1) % FOLDS)[units]
    scores, others = np.empty(n), np.zeros(len(rest))
    weights = np.zeros(m)
    for k in range(FOLDS):
        kept = fold != k
        own = _regress(human[kept], judges[kept])
        centre = human[kept].mean() - judges[kept].mean(axis=0) @ own
        scores[~kept] = centre + judges[~kept] @ own
        others += (centre + rest @ own) / FOLDS
        weights += own / FOLDS
    return Panel(weights, combine_means(human, scores, others, topics=topics, level=level))


def _regress(human: FloatArray, judges: FloatArray) -> FloatArray:
    """Coefficients (m,) of people on judges, which may all say the same."""
    centred = judges - judges.mean(axis=0)
    spread = centred.T @ centred
    ridge = np.diag(np.maximum(spread.diagonal() / len(human), 1e-9))
    found: FloatArray = np.linalg.solve(spread + ridge, centred.T @ (human - human.mean()))
    return found
