"""Claims about single workers that hold for all workers of a board at once.

Among many equal workers somebody's own 95% interval lies below the median: of 30 in 60 % of
studies, of 100 in all. So a worker is set apart from the others, or from guessing, only by a
comparison that allows for how many were compared. Both rules read draws of the posterior.

Tails that lie beyond the draws are those of a normal distribution on that side: the distance of an
outer quantile from the median of the draws, stretched. Posteriors of a competence are skewed, so
each side is stretched by its own distance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.inference import Claim, family_level, normal_quantile

FEWEST_BEYOND = 4  # draws beyond a quantile of them
LEAST_COMPARED = 3  # workers of a part from which there is a median to compare with
TOO_FEW_SHARED = "too few shared pairs"
TOO_WIDE = "the interval covers nearly the whole scale"
NOTHING_KNOWN = 0.9  # width of an interval on the scale from 0 to 1
MEDIAN_GAP = ("median_gap", "median_gap_low", "median_gap_high")


def median_gaps(
    draws: FloatArray | NDArray[np.float32], part: IntArray, *, level: float = 0.95
) -> dict[str, FloatArray]:
    """Compare each worker's competence with the median of their part, for all at once.

    ``draws`` (draws, workers) of the posterior; ``part`` (workers,) numbers the parts of the crowd
    that share items, 0 for who is not scored. Columns MEDIAN_GAP (workers,): the median of the
    draws and its bounds, which hold for all workers of the part with probability ``level``
    (Bonferroni). NaN in parts of fewer than LEAST_COMPARED.
    """
    found = no_gaps(len(part))
    for own in _parts(part):
        wanted = family_level(level, len(own))
        # As far out as draws reach.
        drawn = min(wanted, max(1 - 2 * FEWEST_BEYOND / len(draws), 0.5))
        middle, below, above = _sides(draws[:, own] - _medians(draws[:, own]), drawn)
        stretch = normal_quantile(wanted) / normal_quantile(drawn)
        bounds = (middle, middle - stretch * below, middle + stretch * above)
        for name, values in zip(MEDIAN_GAP, bounds, strict=True):
            found[name][own] = values
    return found


def no_gaps(workers: int) -> dict[str, FloatArray]:
    """The columns of ``median_gaps`` where nothing was drawn."""
    return {name: np.full(workers, np.nan) for name in MEDIAN_GAP}


def median_claim(row: Mapping[str, Any], *, family: int, level: float = 0.95) -> Claim:
    """Make a claim about a worker against the median of ``family`` workers.

    Results of earlier versions have no such columns: then there is no interval.
    """
    gap, low, high = (row.get(name) for name in MEDIAN_GAP)
    known = low is not None and high is not None
    none = float("nan")
    return Claim(
        "competence minus the median of the workers",
        none if gap is None else gap,
        none if low is None else low,
        none if high is None else high,
        level=level,
        n=row.get("n", 0),
        compared_with=family,
        simultaneous_over=family,
        adjustment="bonferroni",
        reason="" if known else "the run compares no workers with their median",
    )


def competence_claim(
    estimate: float | None, low: float | None, high: float | None, *, n: int = 0
) -> Claim:
    """Make a claim about a worker's competence, from ``n`` votes.

    An interval over nearly the whole scale is the prior's, and its estimate an accident.
    """
    value, below, above = (float("nan") if one is None else one for one in (estimate, low, high))
    reason = ""
    if estimate is None:
        reason = TOO_FEW_SHARED
    elif low is not None and high is not None and high - low >= NOTHING_KNOWN:
        reason = TOO_WIDE
    return Claim("competence", value, below, above, n=n, reason=reason)


def rank_side(rank_low: int, rank_high: int, ranked: int) -> int:
    """1 where more than half of the others are surely worse, -1 surely better, else 0.

    ``rank_low`` and ``rank_high``: best and worst possible rank among ``ranked`` workers, from one
    simultaneous comparison of all.
    """
    half = (ranked - 1) / 2
    return int(ranked - rank_high > half) - int(rank_low - 1 > half)


def family_bounds(
    estimate: FloatArray, low: FloatArray, high: FloatArray, *, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Bounds that hold for all workers at once, from each one's own at ``level`` (Bonferroni).

    Each side is stretched by the ratio of normal quantiles; the family are the workers (workers,)
    who have bounds.
    """
    family = int(np.isfinite(low).sum())
    stretch = normal_quantile(level, family) / normal_quantile(level)
    return estimate - stretch * (estimate - low), estimate + stretch * (high - estimate)


def sure_sides(
    draws: FloatArray | NDArray[np.float32], null: FloatArray, *, level: float = 0.95
) -> IntArray:
    """1 where a worker's competence is surely above ``null`` (workers,), -1 below, else 0.

    ``draws`` (draws, workers). By Holm's procedure, one-sided: with probability ``level`` nobody
    of all whose ``null`` is known is put above it wrongly, and with as much nobody below it.
    """
    known = np.flatnonzero(np.isfinite(null))
    side = np.zeros(len(null), dtype=np.int64)
    if not known.size:
        return side
    gaps = draws[:, known] - null[known]
    middle, below, above = _sides(gaps, level)
    toward = np.where(middle > 0, below, above)  # the side on which the null lies
    beyond = np.minimum((gaps <= 0).mean(axis=0), (gaps >= 0).mean(axis=0))
    steps = np.abs(middle) / np.maximum(toward, 1e-12) * normal_quantile(level)
    p = np.maximum(beyond, scipy.special.ndtr(-steps))
    order = np.argsort(p, kind="stable")
    passed = p[order] * np.arange(len(p), 0, -1) <= 1 - level
    sure = order[np.logical_and.accumulate(passed)]
    side[known[sure]] = np.sign(middle[sure]).astype(np.int64)
    return side


def _parts(part: IntArray) -> Iterator[IntArray]:
    """The workers of each part that is large enough."""
    for number in np.unique(part[part > 0]):
        own = np.flatnonzero(part == number)
        if len(own) >= LEAST_COMPARED:
            yield own


def _sides(
    gaps: FloatArray | NDArray[np.float32], level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Median of each column of draws, and how far its bounds at ``level`` lie below and above."""
    order = np.sort(np.ascontiguousarray(gaps.T), axis=1)  # numpy is slow along the first axis
    tail, last = (1 - level) / 2, order.shape[1] - 1
    places = np.round(last * np.array([tail, 0.5, 1 - tail])).astype(np.int64)
    low, middle, high = order[:, places].T.astype(np.float64)
    return middle, middle - low, high - middle


def _medians(draws: FloatArray | NDArray[np.float32]) -> NDArray[np.floating]:
    """The median of each row (draws, 1)."""
    k = draws.shape[1]
    middle = [(k - 1) // 2, k // 2]
    found: NDArray[np.floating] = np.partition(draws, middle, axis=1)[:, middle].mean(
        axis=1, keepdims=True
    )
    return found
