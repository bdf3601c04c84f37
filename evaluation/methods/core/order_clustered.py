"""Shares, means, differences and slopes with intervals clustered by worker, topic or item.

The votes of one worker are alike, so that the number of workers, not of votes, says how much is
known. Linearised variances over clusters (Cochran 1977, ratio estimators; Liang and Zeger 1986
for the slope), with t quantiles of (clusters - 1) degrees of freedom; shares have Wilson's interval
on their effective number of trials, which does not collapse where all votes are the same. From
how many clusters there is an interval, and what it then covers: ``units``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from evaluation.methods.core.base import BadParameter, FloatArray, IntArray
from evaluation.methods.core.units import MEAN, SHARE, effective_trials, too_few, wilson

# What clusters, and crossed clusters, are called in a reason.
NOUNS = ("workers", "pairs")


@dataclass(frozen=True)
class Clustered:
    """An estimate with its clustered standard error and interval; NaN with a ``reason``.

    From too few clusters there is an estimate without bounds, and ``reason`` says so.
    """

    estimate: float
    se: float
    low: float
    high: float
    clusters: int
    reason: str = ""


def check_confidence(confidence: float) -> None:
    """Raise BadParameter on a confidence outside (0, 1)."""
    if not 0 < confidence < 1:
        raise BadParameter(f"confidence is {confidence!r}; it must lie between 0 and 1")


def ratio(
    above: FloatArray,
    below: FloatArray,
    cluster: IntArray,
    confidence: float = 0.95,
    *,
    crossed: IntArray | None = None,
    nouns: tuple[str, str] = NOUNS,
) -> Clustered:
    """sum(above) / sum(below) over rows (n,), clustered by ``cluster`` and, if given, ``crossed``.

    Two-way: variance by the one + by the other - by both (Cameron, Gelbach and Miller 2011).
    ``nouns`` name what clusters and what is crossed. For shares: :func:`share`.
    """
    total = float(below.sum())
    if total <= 0:
        return _none(0, "there is nothing to count")
    value = float(above.sum()) / total
    influence = (above - value * below) / total
    return _interval(value, influence, cluster, below > 0, confidence, crossed=crossed, nouns=nouns)


def share(
    above: FloatArray,
    below: FloatArray,
    cluster: IntArray,
    confidence: float = 0.95,
    *,
    crossed: IntArray | None = None,
    trials: float | None = None,
    nouns: tuple[str, str] = NOUNS,
    kind: str = SHARE,
) -> Clustered:
    """The same where each row's ``above`` counts hits among its ``below`` trials: bounds in [0, 1].

    Wilson's interval on the effective number of trials; ``trials`` are as many as there are at
    most (default: the sum of ``below``); ``kind`` of ``units`` says from how many clusters.
    """
    check_confidence(confidence)
    total = float(below.sum())
    if total <= 0:
        return _none(0, "there is nothing to count")
    value = float(above.sum()) / total
    spread = _spread((above - value * below) / total, cluster, below > 0, crossed, nouns)
    if reason := too_few(spread.fewest, spread.noun, kind):
        return Clustered(value, np.nan, np.nan, np.nan, spread.clusters, reason)
    effective = effective_trials(
        value,
        spread.variance,
        trials=total if trials is None else trials,
        units=spread.fewest,
        confidence=confidence,
    )
    low, high = wilson(value, effective, confidence)
    return Clustered(value, float(np.sqrt(spread.variance)), low, high, spread.clusters)


def difference(
    one: tuple[FloatArray, FloatArray],
    two: tuple[FloatArray, FloatArray],
    cluster: IntArray,
    confidence: float = 0.95,
) -> Clustered:
    """Ratio ``two`` - ratio ``one``, each (above, below) over the same rows (n,)."""
    totals = [float(below.sum()) for _, below in (one, two)]
    if min(totals) <= 0:
        return _none(0, "one of the two parts has no votes")
    values = [float(part[0].sum()) / total for part, total in zip((one, two), totals, strict=True)]
    shares = [
        (above - value * below) / total
        for (above, below), value, total in zip((one, two), values, totals, strict=True)
    ]
    used = (one[1] > 0) | (two[1] > 0)
    return _interval(values[1] - values[0], shares[1] - shares[0], cluster, used, confidence)


def within_slope(
    x: FloatArray, y: FloatArray, weight: FloatArray, cluster: IntArray, confidence: float = 0.95
) -> Clustered:
    """Slope of y on x within clusters: each cluster has its own level (fixed effects)."""
    size = int(cluster.max()) + 1
    mass = np.bincount(cluster, weights=weight, minlength=size)
    safe = np.where(mass > 0, mass, 1.0)

    def centred(values: FloatArray) -> FloatArray:
        means = np.bincount(cluster, weights=weight * values, minlength=size) / safe
        return np.asarray(values - means[cluster])

    x, y = centred(x), centred(y)
    spread = float((weight * x * x).sum())
    if spread <= 1e-12:
        return _none(0, "nobody's votes differ in position")
    slope = float((weight * x * y).sum()) / spread
    return _interval(slope, weight * x * (y - slope * x) / spread, cluster, weight > 0, confidence)


@dataclass(frozen=True)
class _Spread:
    """The variance of an estimate, its clusters, and the fewest of any kind with their name."""

    variance: float
    clusters: int
    fewest: int
    noun: str


def _spread(
    influence: FloatArray,
    cluster: IntArray,
    used: NDArray[np.bool_],
    crossed: IntArray | None,
    nouns: tuple[str, str],
) -> _Spread:
    """From each row's influence (n,) on the estimate."""
    variance, clusters = _variance(influence, cluster, used)
    if crossed is None or clusters < 2:
        return _Spread(variance, clusters, clusters, nouns[0])
    other, crosses = _variance(influence, crossed, used)
    _, cell = np.unique(cluster * (int(crossed.max()) + 1) + crossed, return_inverse=True)
    shared, _ = _variance(influence, cell, used)
    # The difference can fall below what a single row gives; never claim less than that.
    variance = max(variance + other - shared, shared)
    fewest, noun = min((clusters, nouns[0]), (crosses, nouns[1]))
    return _Spread(variance, clusters, fewest, noun)


def _interval(
    value: float,
    influence: FloatArray,
    cluster: IntArray,
    used: NDArray[np.bool_],
    confidence: float,
    *,
    crossed: IntArray | None = None,
    nouns: tuple[str, str] = NOUNS,
) -> Clustered:
    check_confidence(confidence)
    spread = _spread(influence, cluster, used, crossed, nouns)
    if reason := too_few(spread.fewest, spread.noun, MEAN):
        return Clustered(value, np.nan, np.nan, np.nan, spread.clusters, reason)
    se = float(np.sqrt(spread.variance))
    reach = float(stdtrit(spread.fewest - 1, (1 + confidence) / 2)) * se
    return Clustered(value, se, value - reach, value + reach, spread.clusters)


def _variance(
    influence: FloatArray, cluster: IntArray, used: NDArray[np.bool_]
) -> tuple[float, int]:
    """The variance of a sum of influences, and the clusters in it."""
    size = int(cluster.max()) + 1
    clusters = int((np.bincount(cluster[used], minlength=size) > 0).sum())
    summed = np.bincount(cluster, weights=influence, minlength=size)
    return clusters / max(clusters - 1, 1) * float(np.square(summed).sum()), clusters


def _none(clusters: int, reason: str) -> Clustered:
    return Clustered(np.nan, np.nan, np.nan, np.nan, clusters, reason)
