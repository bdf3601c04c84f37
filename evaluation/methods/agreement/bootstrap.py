"""Bootstrap intervals of agreement: items are drawn with replacement, sums give the coefficient.

Every coefficient here is a function of sums over items (coincidences, margins, shares of agreeing
pairs). Items with the same votes are one pattern, so a resample is one multinomial draw over the
patterns and all resamples are one matrix product; the cost does not grow with the items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evaluation.methods.agreement.counts import Counts, NoVariation, alpha, pair_weights
from evaluation.methods.core.base import SMALL, BadParameter, BadShape, FloatArray, IntArray
from evaluation.methods.core.bootstrap import percentile_interval
from evaluation.methods.core.units import AGREEMENT, ALL_SAME, SAME, too_few

# Sums (..., s) -> coefficient (...), NaN where it is not defined.
Statistic = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Estimate:
    """A number with its interval at ``confidence``, from ``n`` units that were resampled.

    ``undefined`` of the ``resamples`` had no value (all votes the same) and were left out. Without
    an interval ``low`` and ``high`` are NaN and ``reason`` says why.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    n: int
    resamples: int
    undefined: int
    reason: str = ""


def check_resampling(resamples: int, confidence: float) -> None:
    """Raise BadParameter on fewer than 100 resamples or a confidence outside (0, 1)."""
    if isinstance(resamples, bool) or not isinstance(resamples, int) or resamples < 100:
        raise BadParameter(f"resamples is {resamples!r}; it must be a whole number, 100 or more")
    if not 0 < confidence < 1:
        raise BadParameter(f"confidence is {confidence!r}; it must lie between 0 and 1")


def alpha_rows(counts: Counts) -> FloatArray:
    """What each item (items, v*v + v) adds to the coincidence matrix and to its margins."""
    if not isinstance(counts, np.ndarray):
        raise BadParameter("values has too many values to resample; put them into bins")
    size = counts.shape[1]
    weight = pair_weights(counts)
    matrix = np.einsum("ic,ik,i->ick", counts, counts, weight)
    matrix[:, np.arange(size), np.arange(size)] -= counts * weight[:, None]
    paired = counts * (weight > 0)[:, None]
    return np.hstack([matrix.reshape(len(counts), size * size), paired])


def alpha_statistic(level: str, values: FloatArray) -> Statistic:
    """Alpha from summed ``alpha_rows`` of one set of counts."""
    size = len(values)

    def statistic(sums: FloatArray) -> FloatArray:
        matrix = sums[..., : size * size].reshape(*sums.shape[:-1], size, size)
        return alpha(matrix, sums[..., size * size :], level, values)

    return statistic


def patterns(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The different rows of counts (p, k) and how many items have each (p,)."""
    base = int(counts.max(initial=0)) + 1
    if base ** counts.shape[1] < 2**62:
        code = counts.astype(np.int64) @ base ** np.arange(counts.shape[1], dtype=np.int64)
        _, first, times = np.unique(code, return_index=True, return_counts=True)
        return counts[first], times.astype(np.float64)
    found, times = np.unique(counts, axis=0, return_counts=True)
    return found, times.astype(np.float64)


def grouped(rows: FloatArray, group: IntArray) -> FloatArray:
    """Rows (items, s) added up by group (items,): what is resampled together."""
    if np.shape(group) != (len(rows),):
        raise BadShape(f"group has shape {np.shape(group)}; it must be ({len(rows)},)")
    _, place = np.unique(group, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(place[order]) > 0])
    return np.add.reduceat(rows[order], starts, axis=0)


def draw_sums(
    rows: FloatArray, times: FloatArray, rng: np.random.Generator, resamples: int
) -> FloatArray:
    """Sums (resamples, s) of rows (p, s) that occur ``times`` (p,) each, drawn with replacement."""
    total = int(times.sum())
    block = max(1, SMALL // len(rows))
    parts = []
    for start in range(0, resamples, block):
        drawn = rng.multinomial(total, times / total, size=min(block, resamples - start))
        parts.append(drawn.astype(np.float64) @ rows)
    return np.concatenate(parts)


def estimate(
    rows: FloatArray,
    times: FloatArray,
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    resamples: int,
    confidence: float,
    noun: str = "items",
) -> Estimate:
    """The statistic of the summed rows (p, s) that occur ``times`` (p,), with its interval.

    Percentile interval, moved out for small numbers of units (see ``bootstrap``); none where these,
    called by the plural ``noun``, are too few (``units``) or every resample gives one value.
    Raises NoVariation where the statistic, or every resample of it, is not defined.
    """
    check_resampling(resamples, confidence)
    point = float(statistic((times @ rows)[None, :])[0])
    draws = statistic(draw_sums(rows, times, rng, resamples))
    if np.isnan(point) or not np.isfinite(draws).any():
        raise NoVariation("all votes that share an item are the same; agreement is not defined")
    n = int(times.sum())
    low, high, reason = bounds(draws, n, confidence, noun)
    undefined = int(len(draws) - np.isfinite(draws).sum())
    return Estimate(point, low, high, confidence, n, resamples, undefined, reason)


def bounds(
    draws: FloatArray, n: int, confidence: float, noun: str, kind: str = AGREEMENT
) -> tuple[float, float, str]:
    """Percentile interval of draws (b,) over ``n`` units, or NaN twice and why there is none."""
    known = draws[np.isfinite(draws)]
    reason = too_few(n, noun, kind)
    if not reason and (not len(known) or np.ptp(known) < SAME):
        reason = ALL_SAME
    if reason:
        return np.nan, np.nan, reason
    low, high = percentile_interval(known[:, None], np.array([n]), confidence, complete=True)
    return float(low[0]), float(high[0]), ""
