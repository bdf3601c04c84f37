"""Agreement of two: Cohen's kappa, Kendall's tau-b, and every pair of workers who share items.

All of it follows from contingency tables (..., v, v): how often one said c where the other said
k. So a pair of workers, a pair of dimensions and every bootstrap resample cost the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from evaluation.methods.agreement.counts import NoVariation, TooFewVotes
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    BadVector,
    FloatArray,
    IntArray,
    Table,
    index_array,
)
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
