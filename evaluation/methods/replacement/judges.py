"""Judges corrected: a share by what a judge gets wrong, its leanings, several judges as one.

Rogan and Gladen (1978, American Journal of Epidemiology 107) correct the share that a judge calls
positive by its sensitivity and specificity; the interval is that of Lang and Reiczigel (2014,
Preventive Veterinary Medicine 113), which keeps its promise with few labelled items. A leaning is
read beside people's on the same items: whether long answers win says nothing of a judge as long as
they may be better. A panel of judges is one judge with weights, and goes through PPI++ as such.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import BadParameter, BadShape, EmptyData, FloatArray
from evaluation.methods.core.units import wilson
from evaluation.methods.replacement.combined import (
    LABELS,
    Combined,
    Estimate,
    NoEstimate,
    combine_means,
)

VERSION = "1.0"
FOLDS = 5  # of a panel's weights
POSITIVES = 10  # fewest labelled items of each kind for sensitivity and specificity


@dataclass(frozen=True)
class Rates:
    """A judge against people: how often it sees what is there, and nothing where nothing is.

    ``sensitivity`` and ``specificity`` with Wilson intervals (``error`` is the binomial one).
    """

    sensitivity: Estimate
    specificity: Estimate


def judge_rates(
    human: NDArray[np.bool_], judge: NDArray[np.bool_], *, level: float = 0.95
) -> Rates:
    """Sensitivity and specificity from items that people labelled, ``human`` and ``judge`` (n,).

    Raises BadShape; NoEstimate with fewer than POSITIVES items on either side.
    """
    if human.shape != judge.shape:
        raise BadShape("human and judge must have one length")
    found = []
    for there, words in ((human, "in the class"), (~human, "outside the class")):
        n = int(there.sum())
        if n < POSITIVES:
            raise NoEstimate(f"people labelled {n} items {words}, and {POSITIVES} are needed")
        share = float((judge[there] == human[there]).mean())
        low, high = wilson(share, n, level)
        found.append(Estimate(share, float(np.sqrt(share * (1 - share) / n)), low, high, n))
    return Rates(*found)


def correct_share(positive: int, items: int, rates: Rates, *, level: float = 0.95) -> Estimate:
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
    share = (positive / items + spares.value - 1) / (sees.value + spares.value - 1)
    z = float(scipy.special.ndtri(0.5 + level / 2))
    called = (positive + z * z / 2) / (items + z * z)
    se = (sees.n * sees.value + 1) / (sees.n + 2)
    sp = (spares.n * spares.value + 1) / (spares.n + 2)
    better = se + sp - 1
    middle = (called + sp - 1) / better
    shift = (
        2
        * z
        * z
        * (middle * se * (1 - se) / (sees.n + 2) - (1 - middle) * sp * (1 - sp) / (spares.n + 2))
    )
    variance = (
        called * (1 - called) / (items + z * z)
        + middle**2 * se * (1 - se) / (sees.n + 2)
        + (1 - middle) ** 2 * sp * (1 - sp) / (spares.n + 2)
    )
    error = float(np.sqrt(variance)) / better
    low, high = middle + shift - z * error, middle + shift + z * error
    value, low, high = (float(np.clip(one, 0, 1)) for one in (share, low, high))
    return Estimate(value, error, min(low, value), max(high, value), items)


def leaning(
    judge: FloatArray, people: FloatArray, *, level: float = 0.95
) -> tuple[Estimate, Estimate, Estimate]:
    """How often a judge and people choose a side (the longer text, the judge's own, the left one).

    ``judge`` and ``people`` (n,) are the shares of each one's votes for that side on the same n
    items, .5 for a tie; items are independent. Returns the judge's mean, people's, and the
    difference, each with a t interval over items. Raises BadShape; NoEstimate below LABELS items.
    """
    if judge.shape != people.shape:
        raise BadShape("judge and people must have one length")
    n = len(judge)
    if n < LABELS:
        raise NoEstimate(f"it needs {LABELS} items that both judged, and there are {n}")
    quantile = float(scipy.special.stdtrit(n - 1, 0.5 + level / 2))

    def mean(values: FloatArray) -> Estimate:
        value, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(n))
        return Estimate(value, error, value - quantile * error, value + quantile * error, n)

    return mean(judge), mean(people), mean(judge - people)


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
    seed: int = 0,
    level: float = 0.95,
) -> Panel:
    """Mean of what people would say about all items, with several judges weighted by their use.

    ``human`` (n,), ``judges`` (n, m) on labelled items, ``rest`` (N, m) on the others. A judge's
    weight is its coefficient in a regression of people on judges, with a ridge of one item; of a
    labelled item from the other folds, so that none is corrected by a weight that it made
    (cross-fitting; Zrnic and Candes 2024, "Cross-prediction-powered inference"). The others get
    the mean of all folds' weights. Raises BadShape, EmptyData; NoEstimate below LABELS items.
    """
    n, m = judges.shape
    if len(human) != n or rest.shape[1:] != (m,):
        raise BadShape("human, judges and rest must have the same items and judges")
    if n < LABELS:
        raise NoEstimate(f"it needs {LABELS} items that people labelled, and there are {n}")
    if m < 1 or len(rest) < 2:
        raise EmptyData("one judge and two items without labels of people are the least")
    fold = np.random.default_rng(seed).permutation(n) % FOLDS
    scores, others = np.empty(n), np.zeros(len(rest))
    weights = np.zeros(m)
    for k in range(FOLDS):
        kept = fold != k
        own = _regress(human[kept], judges[kept])
        centre = human[kept].mean() - judges[kept].mean(axis=0) @ own
        scores[~kept] = centre + judges[~kept] @ own
        others += (centre + rest @ own) / FOLDS
        weights += own / FOLDS
    return Panel(weights, combine_means(human, scores, others, level=level))


def _regress(human: FloatArray, judges: FloatArray) -> FloatArray:
    """Coefficients (m,) of people on judges, which may all say the same."""
    centred = judges - judges.mean(axis=0)
    spread = centred.T @ centred
    ridge = np.diag(np.maximum(spread.diagonal() / len(human), 1e-9))
    found: FloatArray = np.linalg.solve(spread + ridge, centred.T @ (human - human.mean()))
    return found
