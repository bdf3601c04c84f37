"""Agreement of pairs of annotators before and after rescaling, with intervals over items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from evaluation.methods.agreement.rank_correlation import (
    EMPTY,
    Correlations,
    kendall,
    kendall_left_out,
)
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.units import RANKED, too_few
from evaluation.methods.rescaling.data import Annotations, Shared

# Rows of the join that one pass over noisy draws may hold (some 300 MB).
CHUNK = 1_000_000


@dataclass(frozen=True)
class Aggregate:
    """Mean tau-b over the pairs that have one on both sides, and the interval of its change.

    ``low`` and ``high`` are NaN where ``reason`` says why.
    """

    before: float
    after: float
    low: float
    high: float
    pairs: int
    reason: str = ""


NO_AGGREGATE = Aggregate(np.nan, np.nan, np.nan, np.nan, 0)


@dataclass(frozen=True, eq=False)
class Agreement:
    """Tau-b of each pair (p,) before and after, the change and its interval, and the means."""

    joined: Shared
    before: Correlations
    after: Correlations
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    mean: Aggregate


def agreement(
    data: Annotations,
    joined: Shared,
    before: FloatArray,
    after: FloatArray,
    *,
    level: float = 0.95,
    min_items: int = 10,
) -> Agreement:
    """Pairwise and aggregate tau-b of two scorings (n,) of the same annotations (section 6.1).

    The aggregate is the plain mean over pairs; pairs where either tau is undefined (a constant
    side, one row) are left out of both means. Standard errors are the jackknife over items, each
    left out of all pairs at once, since the pairs share items; t with items - 1 degrees of
    freedom. A pair gets an interval from ``min_items`` items on, and none if it rests on one item.
    """
    p = len(joined)
    if not len(joined.left):
        none, gap = np.full(p, np.nan), Correlations(np.full(p, np.nan), np.zeros(p), _empty(p))
        return Agreement(joined, gap, gap, none, none, none, NO_AGGREGATE)
    item = data.item[joined.left]
    (old, old_without), (new, new_without) = (
        kendall_left_out(scores[joined.left], scores[joined.right], joined.pair, item, groups=p)
        for scores in (before, after)
    )
    both = old.defined & new.defined
    difference = np.where(both, new.value - old.value, np.nan)
    pair = old_without.group
    moved = new_without.value - old_without.value - difference[pair]
    k = np.bincount(pair, minlength=p)
    centre = np.bincount(pair, weights=moved, minlength=p) / np.maximum(k, 1)
    squares = np.bincount(pair, weights=(moved - centre[pair]) ** 2, minlength=p)
    error = np.sqrt(squares * (k - 1) / np.maximum(k, 1))
    reach = np.where(both & (k >= min_items), _quantile(level, k) * error, np.nan)
    rows = both[pair]
    mean = _aggregate(
        old.value[both],
        new.value[both],
        moved=np.nan_to_num(moved[rows]),
        item=old_without.cluster[rows],
        level=level,
    )
    return Agreement(joined, old, new, difference, difference - reach, difference + reach, mean)


def _empty(p: int) -> IntArray:
    return np.full(p, EMPTY, dtype=np.int64)


def _aggregate(
    before: FloatArray, after: FloatArray, *, moved: FloatArray, item: IntArray, level: float
) -> Aggregate:
    """Means over the pairs (q,) that have both taus.

    ``moved`` is how far each pair's change goes when it loses each of its items ``item``.
    """
    pairs = len(before)
    if not pairs:
        return NO_AGGREGATE
    items, cell = np.unique(item, return_inverse=True)
    k = len(items)
    old, new = float(before.mean()), float(after.mean())
    if few := too_few(k, "items", RANKED):
        return Aggregate(old, new, np.nan, np.nan, pairs, few)
    mean_moved = np.bincount(cell, weights=moved) / pairs
    error = float(np.sqrt(((mean_moved - mean_moved.mean()) ** 2).sum() * (k - 1) / k))
    reach = float(_quantile(level, np.array(k))) * error
    return Aggregate(old, new, new - old - reach, new - old + reach, pairs)


def _quantile(level: float, clusters: IntArray) -> FloatArray:
    found: FloatArray = -stdtrit(np.maximum(clusters - 1, 1), (1 - level) / 2)
    return found


def without_ties(
    joined: Shared,
    before: FloatArray,
    after: FloatArray,
    *,
    rng: np.random.Generator,
    noise: float = 0.01,
    draws: int = 20,
) -> tuple[float, float]:
    """Aggregate tau-b before and after with Gaussian noise on each rating, mean over draws (6.2).

    A rating gets one draw that all its pairs share. ``noise`` is the standard deviation on the
    scale of the scores; small noise only breaks ties.
    """
    before_mean, after_mean = (
        float(np.mean(_noisy(joined, scores, rng, noise, draws))) for scores in (before, after)
    )
    return before_mean, after_mean


def _noisy(
    joined: Shared, scores: FloatArray, rng: np.random.Generator, noise: float, draws: int
) -> FloatArray:
    """(draws,) aggregates, several draws in one pass."""
    p, out = len(joined), []
    at_once = max(1, CHUNK // len(joined.left))
    for first in range(0, draws, at_once):
        size = min(at_once, draws - first)
        noisy = scores + rng.normal(0.0, noise, (size, len(scores)))
        group = (np.arange(size)[:, None] * p + joined.pair).ravel()
        left, right = noisy[:, joined.left].ravel(), noisy[:, joined.right].ravel()
        taus = kendall(left, right, group, groups=size * p).value.reshape(size, p)
        out.append(np.nanmean(taus, axis=1))
    return np.concatenate(out)
