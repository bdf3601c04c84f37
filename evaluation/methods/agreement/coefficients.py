"""Agreement between workers: Krippendorff's alpha and its relatives, with intervals.

Intervals draw items (or groups of items) with replacement. They say how the figure would vary
over other items judged by such a crowd; the workers are taken as they are.

Agreement of two: Cohen's kappa, Kendall's tau-b, and every pair of workers who share items.

All of it follows from contingency tables (..., v, v): how often one said c where the other said
k. So a pair of workers, a pair of dimensions and every bootstrap resample cost the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from evaluation.methods.agreement import counts as parts
from evaluation.methods.agreement.counts import (
    Counts,
    Estimate,
    NoVariation,
    TooFewVotes,
    alpha_rows,
    alpha_statistic,
    estimate,
    grouped,
    patterns,
)
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    BadVector,
    FloatArray,
    IntArray,
    Table,
    index_array,
)
from evaluation.methods.core.order_clustered import Clustered
from evaluation.methods.core.order_clustered import share as clustered_share
from evaluation.methods.core.units import PERCENT
from evaluation.methods.core.votes import Labels

WEIGHTINGS = ("none", "linear", "quadratic")


def contingency(first: IntArray, second: IntArray, size: int) -> FloatArray:
    """How often ``first`` (n,) is c and ``second`` (n,) is k (size, size); -1 is left out."""
    both = (first >= 0) & (second >= 0)
    flat = np.bincount(first[both] * size + second[both], minlength=size * size)
    return flat.reshape(size, size).astype(np.float64)


def kappa_of(table: FloatArray, weighting: str = "none") -> FloatArray:
    """Cohen's kappa (...) of contingency tables (..., v, v); NaN where chance leaves no room.

    kappa = 1 - sum(d * observed) / sum(d * product of the margins), d = 0 on the diagonal and 1,
    |c - k| or (c - k)^2 off it (Cohen 1960; weighted: Cohen 1968).
    """
    if weighting not in WEIGHTINGS:
        raise BadParameter(f"weighting is {weighting!r}; it must be {', '.join(WEIGHTINGS)}")
    place = np.arange(table.shape[-1])
    apart = np.abs(place[:, None] - place[None, :]).astype(np.float64)
    cost = {"none": (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[
        weighting
    ]
    total = table.sum(axis=(-2, -1))
    chance = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
    observed = (cost * table).sum(axis=(-2, -1)) * total
    expected = (cost * chance).sum(axis=(-2, -1))
    share = np.divide(observed, expected, out=np.full_like(expected, np.nan), where=expected > 0)
    return np.asarray(1.0 - share)


def tau_of(table: FloatArray) -> FloatArray:
    """Kendall's tau-b (...) of contingency tables (..., v, v); NaN where one side is constant.

    (concordant - discordant) / sqrt((pairs - ties of one) (pairs - ties of the other)).
    """
    above = np.zeros_like(table)  # pairs' partners that are larger on both sides
    above[..., :-1, :-1] = _from_end(table)[..., 1:, 1:]
    across = np.zeros_like(table)  # larger on the first side, smaller on the second
    across[..., :-1, 1:] = _from_end(table[..., ::-1])[..., ::-1][..., 1:, :-1]
    difference = (table * (above - across)).sum(axis=(-2, -1))
    total = table.sum(axis=(-2, -1))
    pairs = total * (total - 1) / 2
    free = [
        pairs - (margin * (margin - 1) / 2).sum(axis=-1)
        for margin in (table.sum(axis=-1), table.sum(axis=-2))
    ]
    scale = np.sqrt(np.maximum(free[0], 0) * np.maximum(free[1], 0))
    return np.asarray(
        np.divide(difference, scale, out=np.full_like(scale, np.nan), where=scale > 0)
    )


def _from_end(table: FloatArray) -> FloatArray:
    """Sums over all cells at or after each in both directions."""
    turned = table[..., ::-1, ::-1]
    return np.asarray(turned.cumsum(axis=-1).cumsum(axis=-2)[..., ::-1, ::-1])


def cohen_kappa(
    first: Sequence[int] | IntArray,
    second: Sequence[int] | IntArray,
    *,
    labels: int | None = None,
    weighting: str = "none",
) -> float:
    """Cohen's kappa of two workers' label indices (n,) on the same items; -1 is no answer.

    ``labels`` is how many labels there are (else the largest index says). ``weighting`` 'none',
    'linear' or 'quadratic' (for ordered labels). Cohen 1960, 1968. Raises BadParameter, BadShape,
    UnknownIndex, TooFewVotes, NoVariation.
    """
    one, two = np.asarray(first), np.asarray(second)
    if one.shape != two.shape or one.ndim != 1:
        raise BadShape(f"the two workers' labels have shapes {one.shape} and {two.shape}")
    size = int(max(one.max(initial=0), two.max(initial=0))) + 1 if labels is None else labels
    both = (one != -1) & (two != -1)
    if not both.any():
        raise TooFewVotes("the two workers share no item")
    found = contingency(
        index_array("first", one[both], size), index_array("second", two[both], size), size
    )
    value = float(kappa_of(found, weighting))
    if np.isnan(value):
        raise NoVariation("both workers gave one and the same label throughout")
    return value


def kendall_tau_b(x: Any, y: Any) -> float:
    """Kendall's tau-b of two columns of numbers (n,), O(n log n).

    Kendall, "The treatment of ties in ranking problems" (1945). Raises BadShape, BadVector (not
    finite), TooFewVotes (n < 2), NoVariation (one side is constant).
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise BadShape(f"the two columns have shapes {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise BadVector("a column holds something that is not a finite number")
    if len(a) < 2:
        raise TooFewVotes("one row has no order to agree about")
    if (a == a[0]).all() or (b == b[0]).all():
        raise NoVariation("one side is the same throughout; tau-b is not defined")
    return float(kendalltau(a, b).statistic)


def worker_pairs(data: Labels, *, weighting: str = "none") -> Table:
    """A row for every two workers who voted on the same items.

    Columns ``first``, ``second`` (worker indices, first < second), ``n`` (votes compared),
    ``percent``, ``kappa`` (Cohen), ``tau_b`` (labels in the order of ``data.labels``), ``reason``
    (why kappa or tau_b is NaN, else ""). Cost is linear in the votes compared. Raises
    TooFewVotes, BadParameter.
    """
    left, right = _met(data)
    if not len(left):
        raise TooFewVotes("no item has votes of two workers")
    size, workers = len(data.labels), len(data.workers)
    # Rows of an item are sorted by worker, so the left one has the smaller index.
    code = data.worker[left] * workers + data.worker[right]
    met, pair = np.unique(code, return_inverse=True)
    cell = (pair * size + data.label[left]) * size + data.label[right]
    weight = data.weight[left] * data.weight[right]
    flat = np.bincount(cell, weights=weight, minlength=len(met) * size * size)
    table = flat.reshape(len(met), size, size).astype(np.float64)
    n = table.sum(axis=(1, 2))
    kappa, tau = kappa_of(table, weighting), tau_of(table)
    reason = np.where(
        np.isnan(kappa),
        "both gave one label throughout",
        np.where(np.isnan(tau), "one of them gave one label throughout", ""),
    )
    return Table(
        {
            "first": met // workers,
            "second": met % workers,
            "n": n,
            "percent": np.trace(table, axis1=1, axis2=2) / n,
            "kappa": kappa,
            "tau_b": tau,
            "reason": reason,
        }
    )


def _met(data: Labels) -> tuple[IntArray, IntArray]:
    """Rows (p,), (p,) of two different workers on one item, each pair once."""
    lefts, rights = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    row = np.arange(len(data))
    for lag in range(1, int(np.bincount(data.item).max())):
        # Rows are sorted by item, so a row that ran out of its item has no later partner.
        row = row[row + lag < len(data)]
        row = row[data.item[row] == data.item[row + lag]]
        met = row[data.worker[row] != data.worker[row + lag]]
        lefts.append(met)
        rights.append(met + lag)
    return np.concatenate(lefts), np.concatenate(rights)


__all__ = [
    "COEFFICIENTS",
    "Estimate",
    "NoVariation",
    "TooFewVotes",
    "alpha_from_counts",
    "alpha_interval",
    "cohen_kappa",
    "differentiability_split",
    "fleiss_kappa",
    "kappa_interval",
    "kendall_tau_b",
    "krippendorff_alpha",
    "percent_agreement",
    "percent_interval",
    "worker_pairs",
]

COEFFICIENTS = ("alpha", "fleiss", "percent")


def krippendorff_alpha(
    data: Labels, level: str = "nominal", values: Sequence[float] | FloatArray | None = None
) -> float:
    """Krippendorff's alpha of the votes: 1 is full agreement, 0 what chance gives.

    ``level`` is 'nominal', 'ordinal', 'interval' or 'ratio'. ``values`` (k,) is a number per
    label; without it, labels that read as numbers are those, and for ordinal data their order in
    ``data.labels`` counts. Any number of votes per item; items with fewer than two are left out.
    Cost is linear in the votes plus items x values^2.

    Krippendorff, "Content Analysis" (4th ed. 2019), chapter 12. Raises BadParameter, BadVector (a
    weight that is no count), TooFewVotes and NoVariation.
    """
    scale, place = parts.scale(data.labels, level, values)
    return _alpha(parts.value_counts(data, place, len(scale)), level, scale)


def alpha_from_counts(
    counts: Any, level: str = "nominal", values: Sequence[float] | FloatArray | None = None
) -> float:
    """The same from value counts (items, values); ``values`` is 0, 1, 2, ... if left out.

    Raises BadShape, BadVector, BadParameter, TooFewVotes and NoVariation.
    """
    found = parts.checked_counts(counts)
    given = np.arange(float(found.shape[1])) if values is None else values
    scale, place = parts.scale([""] * found.shape[1], level, given)
    merged = np.zeros((len(scale), len(found)))
    np.add.at(merged, place, found.T)
    return _alpha(merged.T, level, scale)


def _alpha(counts: Counts, level: str, scale: FloatArray) -> float:
    matrix, margins = parts.coincidences(counts)
    if not margins.any():
        raise TooFewVotes("no item has two votes; there is nothing to agree about")
    value = float(parts.alpha(matrix, margins, level, scale))
    if np.isnan(value):
        raise NoVariation("all votes that share an item are the same; alpha is not defined")
    return value


def alpha_interval(
    data: Labels,
    level: str = "nominal",
    values: Sequence[float] | FloatArray | None = None,
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    confidence: float = 0.95,
    group: IntArray | None = None,
    noun: str = "items",
) -> Estimate:
    """Alpha with a bootstrap interval over items, or over groups where ``group`` (items,) is given.

    Group what is not independent: both directions of a pair, the items of a topic; ``noun`` names
    what is drawn, for the reason why there is no interval. Raises as ``krippendorff_alpha`` does.
    """
    scale, place = parts.scale(data.labels, level, values)
    counts = parts.value_counts(data, place, len(scale))
    return _interval(
        counts,
        alpha_rows,
        alpha_statistic(level, scale),
        group,
        rng=rng,
        resamples=resamples,
        confidence=confidence,
        noun=noun,
    )


def _interval(
    counts: Counts, rows: Any, statistic: Any, group: IntArray | None, **drawing: Any
) -> Estimate:
    """Only items with two votes are drawn; without groups, equal items are one pattern."""
    paired = parts.pair_weights(counts) > 0
    if not paired.any():
        raise TooFewVotes("no item has two votes; there is nothing to agree about")
    if not isinstance(counts, np.ndarray):
        raise BadParameter("values has too many values to resample; put them into bins")
    if group is None:
        kinds, times = patterns(counts[paired])
        return estimate(rows(kinds), times, statistic, **drawing)
    if np.shape(group) != paired.shape:
        raise BadShape(f"group has shape {np.shape(group)}; it must be {paired.shape}")
    summed = grouped(rows(counts[paired]), group[paired])
    return estimate(summed, np.ones(len(summed)), statistic, **drawing)


def _agreeing(counts: FloatArray) -> FloatArray:
    """Rows (items, 2 + v): share of agreeing pairs, 1, and the votes' shares; 0 without pairs."""
    votes = counts.sum(axis=1, keepdims=True)
    weight = parts.pair_weights(counts)[:, None]
    same = (counts * (counts - 1)).sum(axis=1, keepdims=True)
    paired = (weight > 0).astype(np.float64)
    share = same * weight / np.maximum(votes, 1)
    return np.hstack([share, paired, counts * paired])


def _kappa(sums: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = sums[..., 0] / sums[..., 1]
        votes = sums[..., 2:]
        share = votes / votes.sum(axis=-1, keepdims=True)
        expected = np.square(share).sum(axis=-1)
        return np.asarray(
            np.where(expected < 1 - 1e-12, (observed - expected) / (1 - expected), np.nan)
        )


def _percent(sums: FloatArray) -> FloatArray:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _sums(data: Labels) -> FloatArray:
    counts = _nominal(data)
    if not isinstance(counts, np.ndarray):
        counts = counts.toarray()
    sums: FloatArray = _agreeing(counts).sum(axis=0)
    if not sums[1]:
        raise TooFewVotes("no item has two votes; there is nothing to agree about")
    return sums


def _nominal(data: Labels) -> Counts:
    scale, place = parts.scale(data.labels, "nominal")
    return parts.value_counts(data, place, len(scale))


def fleiss_kappa(data: Labels) -> float:
    """Fleiss' kappa: agreeing pairs against what the labels' shares alone would give.

    Items may have different numbers of votes, each item counting the same (one vote: left out).
    Fleiss, "Measuring nominal scale agreement among many raters" (1971), eq. 1-7. Raises
    TooFewVotes, NoVariation, BadVector.
    """
    value = float(_kappa(_sums(data)))
    if np.isnan(value):
        raise NoVariation("all votes that share an item are the same; kappa is not defined")
    return value


def percent_agreement(data: Labels) -> float:
    """Mean over items of the share of pairs of votes that agree, in [0, 1].

    Raises TooFewVotes, BadVector.
    """
    return float(_percent(_sums(data)))


def kappa_interval(
    data: Labels,
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    confidence: float = 0.95,
    group: IntArray | None = None,
    noun: str = "items",
) -> Estimate:
    """Fleiss' kappa with a bootstrap interval, as ``alpha_interval``."""
    return _interval(
        _nominal(data),
        _agreeing,
        _kappa,
        group,
        rng=rng,
        resamples=resamples,
        confidence=confidence,
        noun=noun,
    )


def percent_interval(
    data: Labels,
    *,
    confidence: float = 0.95,
    group: IntArray | None = None,
    noun: str = "items",
) -> Clustered:
    """Percent agreement with Wilson's interval on its effective number of pairs of votes.

    Clustered by item, or by ``group`` (items,); it does not collapse where all votes agree. Raises
    TooFewVotes, BadVector, BadShape.
    """
    counts = _nominal(data)
    counts = counts if isinstance(counts, np.ndarray) else counts.toarray()
    rows = _agreeing(counts)
    if not rows[:, 1].any():
        raise TooFewVotes("no item has two votes; there is nothing to agree about")
    unit = np.arange(len(rows)) if group is None else group
    if np.shape(unit) != (len(rows),):
        raise BadShape(f"group has shape {np.shape(unit)}; it must be ({len(rows)},)")
    votes = counts.sum(axis=1)
    pairs = float((votes * (votes - 1)).sum() / 2)
    return clustered_share(
        rows[:, 0],
        rows[:, 1],
        np.unique(unit, return_inverse=True)[1],
        confidence,
        trials=pairs,
        nouns=(noun, ""),
        kind=PERCENT,
    )


def differentiability_split(
    data: Mapping[str, Labels], *, dimensions: int = 5, share: float = 0.6
) -> NDArray[np.bool_]:
    """Items (items,) whose candidates can be told apart: True, minimally differentiable: False.

    True where on at least ``dimensions`` of the dimensions (the keys of ``data``, all on the same
    items) one label has at least ``share`` of the votes. CrowdRAG, section 5.1: 5 of 7
    dimensions, 3 of 5 votes. An item without votes on a dimension has no majority there.
    Raises BadParameter, BadShape.
    """
    if not 1 <= dimensions <= len(data):
        raise BadParameter(f"dimensions is {dimensions}; it must lie between 1 and {len(data)}")
    if not 0 < share <= 1:
        raise BadParameter(f"share is {share}; it must lie in (0, 1]")
    decided: list[NDArray[np.bool_]] = []
    items = next(iter(data.values())).items
    for name, votes in data.items():
        if votes.items != items:
            raise BadShape(f"dimension {name!r} is on other items")
        counts = _nominal(votes)
        top = counts.max(axis=1)
        top = top if isinstance(top, np.ndarray) else top.toarray().ravel()
        total = np.asarray(counts.sum(axis=1)).ravel()
        decided.append((total > 0) & (top >= share * total - 1e-9))
    found: NDArray[np.bool_] = np.sum(decided, axis=0) >= dimensions
    return found
