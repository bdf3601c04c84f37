"""Weighted correlations under many weightings at once, and the BCa interval made from them.

A bootstrap resample is a count per row, a jackknife one is 1 without one row; so both are rows of
a weight matrix (b, n), and every correlation is a few matrix products over it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from evaluation.methods.core.base import SMALL, BadParameter, FloatArray
from evaluation.methods.core.units import ALL_SAME, SAME

CORRELATIONS = ("pearson", "spearman", "kendall")
# Kendall compares every two rows.
MOST_ROWS = 3000


def correlations(x: FloatArray, y: FloatArray, weights: FloatArray, method: str) -> FloatArray:
    """Correlation (b,) of x and y (n,) under weights (b, n); NaN where one side is constant.

    'pearson', 'spearman' (mean ranks among the weighted rows) or 'kendall' (tau-b). Raises
    BadParameter.
    """
    if method not in CORRELATIONS:
        raise BadParameter(f"method is {method!r}; it must be one of {', '.join(CORRELATIONS)}")
    if method == "kendall":
        return _kendall(x, y, weights)
    if method == "pearson":
        total = weights.sum(axis=1)
        # Centred first, so that the moments do not cancel.
        x, y = x - x.mean(), y - y.mean()
        columns = np.stack([x, y, x * y, x * x, y * y], axis=1)
        mean = (weights @ columns / total[:, None]).T
        return _ratio(mean[2] - mean[0] * mean[1], mean[3] - mean[0] ** 2, mean[4] - mean[1] ** 2)
    a, b = _ranks(x, weights), _ranks(y, weights)
    total = weights.sum(axis=1, keepdims=True)
    a -= (weights * a).sum(axis=1, keepdims=True) / total
    b -= (weights * b).sum(axis=1, keepdims=True) / total
    cross, left, right = ((weights * p * q).sum(axis=1) for p, q in ((a, b), (a, a), (b, b)))
    return _ratio(cross, left, right)


def _ratio(cross: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    largest = max(float(left.max()), float(right.max()), 1e-300)
    usable = (left > 1e-12 * largest) & (right > 1e-12 * largest)
    scale = np.sqrt(np.where(usable, left * right, 1.0))
    return np.where(usable, np.clip(cross / scale, -1.0, 1.0), np.nan)


def _ranks(x: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean rank (b, n) of each row's value when row i occurs weights[., i] times."""
    _, place = np.unique(x, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(place[order]) > 0])
    mass = np.add.reduceat(weights[:, order], starts, axis=1)
    rank = np.cumsum(mass, axis=1) - mass / 2
    return np.asarray(rank[:, place])


def _kendall(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    if len(x) > MOST_ROWS:
        raise BadParameter(f"kendall takes {MOST_ROWS} rows at most; there are {len(x)}")
    one, two = (np.sign(v[:, None] - v[None, :]) for v in (x, y))
    cross, left, right = (
        ((weights @ (p * q)) * weights).sum(axis=1) for p, q in ((one, two), (one, one), (two, two))
    )
    return _ratio(cross, left, right)


def blocks(size: int, n: int) -> list[tuple[int, int]]:
    """Ranges of at most SMALL numbers that together cover ``size`` rows of n."""
    step = max(1, SMALL // max(n, 1))
    return [(start, min(start + step, size)) for start in range(0, size, step)]


@dataclass(frozen=True)
class Bca:
    """Interval and two-sided p-value (of the value 0) by BCa.

    ``low`` and ``high`` are NaN where ``reason`` says why there is no interval.
    """

    low: float
    high: float
    p: float
    bias: float
    acceleration: float
    reason: str = ""


def bca(
    point: float,
    draws: FloatArray,
    jackknife: FloatArray,
    confidence: float,
    *,
    expand: bool = True,
) -> Bca:
    """Bias-corrected and accelerated interval (Efron 1987).

    ``draws`` (b,) are the resampled values, ``jackknife`` (n,) the values without each unit. The
    p-value is the level at which the interval just reaches 0. ``expand`` moves the tails out for
    small n as a t interval would (Hesterberg 2015): plain BCa covers too little there. Where the
    draws, or both ends, are one value there is no interval: a point would say that nothing is in
    doubt, beside a p-value that may be above .05. Without any spread p is 1 at 0.

    No p lies below 2 / 2^n, the least that flipping the signs of n units can give (the exact p
    where all of them differ by the same): draws that all fall on one side do not say more.
    """
    size, n = len(draws), len(jackknife)
    least = max(1 / (size + 1), 2.0 ** (1 - n))
    if np.ptp(draws) <= 1e-12 * max(1.0, abs(point)):
        p = 1.0 if abs(point) < 1e-12 else least
        return Bca(np.nan, np.nan, p, 0.0, 0.0, ALL_SAME)
    # Ties with the point count half, as for a discrete statistic.
    below = ((draws < point).sum() + 0.5 * (draws == point).sum()) / size
    bias = float(ndtri(np.clip(below, 0.5 / size, 1 - 0.5 / size)))
    apart = jackknife.mean() - jackknife
    spread = float(np.square(apart).sum()) ** 1.5
    acceleration = float((apart**3).sum()) / (6 * spread) if spread > 0 else 0.0
    widen = float(np.sqrt(n / (n - 1)))
    tail = (1 - confidence) / 2
    reach = widen * float(stdtrit(n - 1, tail)) if expand else float(ndtri(tail))
    shifted = bias + np.array([reach, -reach])
    # The map has a pole far out, where a skewed jackknife of few rows may come to lie.
    at = ndtr(bias + shifted / np.maximum(1 - acceleration * shifted, 1e-3))
    low, high = np.quantile(draws, at)
    zero = _reach_of_zero(draws, bias, acceleration)
    beyond = float(stdtr(n - 1, zero / widen)) if expand else float(ndtr(zero))
    p = max(2 * min(beyond, 1 - beyond), least)
    if high - low < SAME:
        return Bca(np.nan, np.nan, p, bias, acceleration, ALL_SAME)
    return Bca(float(low), float(high), p, bias, acceleration)


def _reach_of_zero(draws: FloatArray, bias: float, acceleration: float) -> float:
    """The interval's map, read backwards at 0: the normal quantile whose end it is."""
    size = len(draws)
    below = ((draws < 0).sum() + 0.5 * (draws == 0).sum()) / size
    shift = float(ndtri(np.clip(below, 0.5 / size, 1 - 0.5 / size))) - bias
    return float(shift / max(1 + acceleration * shift, 1e-3) - bias)
