"""Kendall's tau-b, Spearman's rho and Pearson's r of many groups in one array computation.

Groups are given by an index beside the two sides, so a thousand small groups (articles, pairs of
annotators, resamples) cost one sort. Tau-b counts discordant pairs bit by bit of the ranks in
O(n log n) (Knight 1966, "A computer method for calculating Kendall's tau", with a radix sort in
place of the merge sort), and the same counts give every leave-one-out value for the jackknife.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    BadVector,
    EmptyData,
    FloatArray,
    IntArray,
    UnknownIndex,
)

EMPTY, SINGLE, FLAT_X, FLAT_Y = 1, 2, 3, 4
REASONS = ("", "no rows", "one row", "the first side is constant", "the second side is constant")


@dataclass(frozen=True, eq=False)
class Correlations:
    """One correlation a group.

    ``value`` (g,) lies in [-1, 1] and is NaN where it is undefined; ``n`` (g,) counts rows
    (weights added up); ``reason`` (g,) is 0 where it is defined, else EMPTY, SINGLE, FLAT_X or
    FLAT_Y, an index of REASONS.
    """

    value: FloatArray
    n: FloatArray
    reason: IntArray

    @property
    def defined(self) -> NDArray[np.bool_]:
        """Whether each group has a correlation (g,)."""
        return self.reason == 0

    def undefined(self) -> dict[str, int]:
        """Count the groups without a correlation, by reason."""
        counts = np.bincount(self.reason, minlength=len(REASONS))
        return {REASONS[k]: int(counts[k]) for k in range(1, len(REASONS)) if counts[k]}


@dataclass(frozen=True, eq=False)
class Sides:
    """Rows (n,) of checked input: two finite sides, their group, and a positive weight."""

    x: FloatArray
    y: FloatArray
    group: IntArray
    weight: FloatArray
    groups: int

    def add(self, values: FloatArray) -> FloatArray:
        """Return the weighted sum of ``values`` (n,) by group (g,)."""
        return _sums(self.group, self.weight * values, self.groups)

    @property
    def total(self) -> FloatArray:
        """Total weight of each group (g,)."""
        return _sums(self.group, self.weight, self.groups)


def kendall(
    x: Any, y: Any, group: Any = None, *, groups: int | None = None, weight: Any = None
) -> Correlations:
    """Kendall's tau-b of each group.

    ``x``, ``y`` (n,) are the two sides, ``group`` (n,) each row's group (default: one group),
    ``groups`` how many there are, ``weight`` (n,) how often a row counts: a row of weight 2 equals
    the row written twice. Raises EmptyData, BadShape, BadVector (an entry or weight that is not
    finite, a weight that is not positive), UnknownIndex.
    """
    sides = check_sides(x, y, group, groups=groups, weight=weight)
    return _tau(sides, *(sides.add(values) for values in _scores(sides)))


@dataclass(frozen=True, eq=False)
class LeaveOneOutTau:
    """Tau-b of a group without one cluster: ``value`` (c,) for each ``group`` and ``cluster``
    (c,) that occur together; NaN where the rest has none."""

    group: IntArray
    cluster: IntArray
    value: FloatArray


def kendall_left_out(
    x: Any, y: Any, group: Any, cluster: Any, *, groups: int | None = None
) -> tuple[Correlations, LeaveOneOutTau]:
    """Tau-b of each group, and again without each cluster of rows, for the jackknife.

    ``cluster`` (n,) numbers the rows that are left out together (the rows of one item). All come
    from one count of discordant pairs: leaving rows out takes away their pairs with all others.
    Arguments and errors as :func:`kendall`.
    """
    sides = check_sides(x, y, group, groups=groups)
    number = check_sides(x, y, cluster).group
    codes, cell = np.unique(sides.group * (number.max() + 1) + number, return_inverse=True)
    of_group, of_cluster = codes // (number.max() + 1), codes % (number.max() + 1)
    inner = Sides(sides.x, sides.y, cell.astype(np.int64), sides.weight, len(codes))
    rows = _scores(sides)
    whole = [sides.add(values) for values in rows]
    # A pair inside the cluster is in the sums of both its rows, so it is put back once.
    rest = [
        total[of_group] - 2 * inner.add(values) + inner.add(within)
        for total, values, within in zip(whole, rows, _scores(inner), strict=True)
    ]
    defined = (rest[1] > 0) & (rest[2] > 0)
    root = np.sqrt(np.where(defined, rest[1] * rest[2], 1.0))
    value = np.where(defined, np.clip(rest[0] / root, -1.0, 1.0), np.nan)
    return _tau(sides, *whole), LeaveOneOutTau(of_group, of_cluster, value)


def _scores(sides: Sides) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of each row (n,), over the other rows of its group: concordant - discordant weight, weight
    apart in x, weight apart in y."""
    total = sides.total[sides.group]
    same_x, same_y, same_both, discordant = _tie_weights(sides)
    score = total - same_x - same_y + same_both - 2 * discordant
    return score, total - same_x, total - same_y


def _tau(sides: Sides, score: FloatArray, apart_x: FloatArray, apart_y: FloatArray) -> Correlations:
    reason = _reasons(sides)
    root = np.sqrt(np.where(reason == 0, apart_x * apart_y, 1.0))
    return _correlations(sides, np.clip(score / root, -1.0, 1.0), reason)


def spearman(
    x: Any, y: Any, group: Any = None, *, groups: int | None = None, weight: Any = None
) -> Correlations:
    """Spearman's rho of each group: Pearson's r of the ranks, ties sharing their mean rank.

    Arguments and errors as :func:`kendall`.
    """
    sides = check_sides(x, y, group, groups=groups, weight=weight)
    ranked = Sides(
        _midranks(sides, sides.x),
        _midranks(sides, sides.y),
        sides.group,
        sides.weight,
        sides.groups,
    )
    return _correlations(sides, _product_moment(ranked), _reasons(sides))


def pearson(
    x: Any, y: Any, group: Any = None, *, groups: int | None = None, weight: Any = None
) -> Correlations:
    """Pearson's product-moment correlation of each group. Arguments and errors as kendall."""
    sides = check_sides(x, y, group, groups=groups, weight=weight)
    return _correlations(sides, _product_moment(sides), _reasons(sides))


KINDS: dict[str, Callable[..., Correlations]] = {
    "spearman": spearman,
    "kendall": kendall,
    "pearson": pearson,
}


def correlate(kind: str, x: Any, y: Any, group: Any = None, **more: Any) -> Correlations:
    """The correlation named ``kind`` (a key of KINDS); raises BadParameter on another name."""
    if kind not in KINDS:
        raise BadParameter(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    return KINDS[kind](x, y, group, **more)


def check_sides(
    x: Any, y: Any, group: Any = None, *, groups: int | None = None, weight: Any = None
) -> Sides:
    """Check and convert the input of a correlation; errors as :func:`kendall`."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    k = np.zeros(len(a), dtype=np.int64) if group is None else np.asarray(group)
    w = np.ones(len(a)) if weight is None else np.asarray(weight, dtype=np.float64)
    if a.ndim != 1 or not a.shape == b.shape == k.shape == w.shape:
        raise BadShape(
            f"the sides, the group and the weight have shapes {a.shape}, {b.shape}, {k.shape} and "
            f"{w.shape}; they must be one-dimensional and equally long"
        )
    if not len(a):
        raise EmptyData("there are no rows to correlate")
    for name, values in (("the first side", a), ("the second side", b), ("the weight", w)):
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            raise BadVector(f"row {int(wrong[0])} of {name} is {values[wrong[0]]}")
    if (w <= 0).any():
        raise BadVector(f"row {int(np.flatnonzero(w <= 0)[0])} has a weight that is not positive")
    size = int(k.max()) + 1 if groups is None else groups
    if not np.issubdtype(k.dtype, np.integer) or k.min() < 0 or k.max() >= size:
        raise UnknownIndex(f"group holds something other than the integers 0 to {size - 1}")
    return Sides(a, b, k.astype(np.int64), w, size)


def _sums(index: IntArray, values: FloatArray, size: int = 0) -> FloatArray:
    """Sum of the values at each index."""
    return np.bincount(index, weights=values, minlength=size).astype(np.float64, copy=False)


def _correlations(sides: Sides, value: FloatArray, reason: IntArray) -> Correlations:
    return Correlations(np.where(reason == 0, value, np.nan), sides.total, reason)


def _reasons(sides: Sides) -> IntArray:
    """Why a group has no correlation, by exact comparison rather than by a variance near 0."""
    n = sides.total
    out = np.zeros(sides.groups, dtype=np.int64)
    out[_flat(sides, sides.y)] = FLAT_Y
    out[_flat(sides, sides.x)] = FLAT_X
    out[n == 1] = SINGLE
    out[n == 0] = EMPTY
    return out


def _flat(sides: Sides, values: FloatArray) -> NDArray[np.bool_]:
    low, high = np.full(sides.groups, np.inf), np.full(sides.groups, -np.inf)
    np.minimum.at(low, sides.group, values)
    np.maximum.at(high, sides.group, values)
    return low >= high


def _product_moment(sides: Sides) -> FloatArray:
    """Weighted Pearson per group, centred and scaled first so that large offsets do no harm."""
    n = np.maximum(sides.total, 1e-300)

    def centred(values: FloatArray) -> FloatArray:
        for _ in range(2):  # the second pass removes what rounding left of the mean
            values = values - (sides.add(values) / n)[sides.group]
        scale = np.zeros(sides.groups)
        np.maximum.at(scale, sides.group, np.abs(values))
        return values / np.where(scale > 0, scale, 1.0)[sides.group]

    a, b = centred(sides.x), centred(sides.y)
    root = np.sqrt(sides.add(a * a)) * np.sqrt(sides.add(b * b))
    return np.clip(sides.add(a * b) / np.where(root > 0, root, 1.0), -1.0, 1.0)


def _runs(keys: tuple[NDArray[Any], ...]) -> tuple[IntArray, IntArray]:
    """Order of the rows by the keys (last key first), and the run of equal keys of each row."""
    order = np.lexsort(keys)
    new = np.zeros(len(order), dtype=bool)
    for key in keys:
        ordered = key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    run = np.empty(len(order), dtype=np.int64)
    run[order] = np.cumsum(new)
    return order, run


def _midranks(sides: Sides, values: FloatArray) -> FloatArray:
    """Mean rank of each row in its group, equal values sharing one."""
    _, run = _runs((values, sides.group))
    size = _sums(run, sides.weight)
    before = np.cumsum(size) - size
    total = sides.total
    start = np.cumsum(total) - total
    ranks: FloatArray = (before + (size + 1) / 2)[run] - start[sides.group]
    return ranks


def _tie_weights(sides: Sides) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Weight of the rows of the same group tied with each row (itself included) in x, in y, in
    both, and of those discordant with it."""
    _, by_x = _runs((sides.x, sides.group))
    _, by_y = _runs((sides.y, sides.group))
    order, both = _runs((by_y, by_x))
    tied = [_sums(run, sides.weight)[run] for run in (by_x, by_y, both)]
    first = np.full(sides.groups, len(order), dtype=np.int64)
    np.minimum.at(first, sides.group, by_y)
    rank = by_y - first[sides.group]
    discordant = np.empty(len(order))
    discordant[order] = _inversions(rank[order], sides.group[order], sides.weight[order])
    return tied[0], tied[1], tied[2], discordant


def _inversions(rank: IntArray, group: IntArray, weight: FloatArray) -> FloatArray:
    """Weight of the rows inverted with each row: before it with a larger rank, or after with less.

    Rows are sorted by group. Going down the bits of the ranks, rows that share all higher bits
    form a node; in a node each 1 before a 0 is an inversion; then the node is split, 0s first.
    """
    n = len(rank)
    counts = np.bincount(group)
    start = (np.cumsum(counts) - counts)[group].astype(np.int32)
    size = counts[group].astype(np.int32)
    rank = rank.astype(np.int32)
    row, at = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32)
    weighted = bool((weight != 1).any())
    found = np.zeros(n)
    for bit in range(int(rank.max()).bit_length() - 1, -1, -1):
        one = ((rank >> bit) & 1).astype(bool)
        zeros = _sums_before(~one, np.int32)
        zeros_start = zeros[start]
        zeros_before, zeros_here = zeros[:-1] - zeros_start, zeros[start + size] - zeros_start
        ones_before = at - start - zeros_before
        if weighted:
            lighter, heavier = _sums_before(weight * ~one), _sums_before(weight * one)
            zero_weight = lighter[start + size] - lighter[:-1]
            found[row] += np.where(one, zero_weight, heavier[:-1] - heavier[start])
        else:
            found[row] += np.where(one, zeros_here - zeros_before, ones_before)
        place = start + np.where(one, zeros_here + ones_before, zeros_before)
        start, size = start + one * zeros_here, np.where(one, size - zeros_here, zeros_here)
        back = np.empty_like(at)
        back[place] = at
        rank, row, start, size = rank[back], row[back], start[back], size[back]
        weight = weight[back] if weighted else weight
    return found


def _sums_before(values: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
    """(n + 1,) sums of the values before each place."""
    out = np.zeros(len(values) + 1, dtype=dtype)
    np.cumsum(values, out=out[1:])
    return out
