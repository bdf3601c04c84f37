"""How little decides who is first: the votes, the judge or the item without which another is.

What leaves a comparison out does to the lead of the first over another is known to first order
without a fit: the inverse of the information times the comparison's score (the infinitesimal
jackknife; Broderick, Giordano and Meager 2020, "An automatic finite-sample robustness metric").
It says where to look; whatever is reported was confirmed by a fit without these votes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.bradley_terry import ties as bt_ties
from evaluation.methods.bradley_terry.cells import Cells, cells_of
from evaluation.methods.bradley_terry.fit import (
    Model,
    Point,
    derivatives,
    log_likelihood_terms,
    log_odds,
    maximise,
    solve,
    tie_of,
)
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.votes import Pairs

RIVALS = 8  # those next to the first who may come to stand above; others are far off
REFITS = 40  # fits without one unit, of those whose absence is likely to matter most
FEW, TRIED, FROM = 3, 60, 10  # smaller sets of votes: the largest, fits, votes they are made of
SLACK = 0.5  # of the lead may be left to first order, and yet be gone by a fit
SHARE, AT_LEAST = 0.25, 10  # of the votes, or so many: where more are needed, the top is robust


@dataclass(frozen=True, eq=False)
class Change:
    """Without ``rows`` (of the Pairs) player ``first`` leads, by ``gap`` before who was first.

    ``unit`` is the judge or item that the rows belong to; -1 for a set of votes.
    """

    rows: IntArray
    first: int
    gap: float
    unit: int = -1


@dataclass(frozen=True, eq=False)
class Fragility:
    """``first`` and ``second`` of the largest board, who is ``gap`` ahead (log-merit; infinitesimal
    jackknife ``error``, by the units given). ``votes`` is the smallest set found, None where ten
    votes and a quarter of all do not do; ``units`` by name all single ones that change the first,
    fewest votes first.
    """

    first: int
    second: int
    gap: float
    error: float
    votes: Change | None
    units: dict[str, list[Change]]


def fragility(
    data: Pairs, model: Model, units: Mapping[str, IntArray], *, columns: FloatArray | None = None
) -> Fragility | None:
    """Who is first on the largest board, and what would change it.

    Rows of ``data`` stand for one vote each (StyledPairs); ``units`` (n,) by name say which judge,
    or which item, each belongs to; ``columns`` are covariates. None where nobody is alone first.
    """
    whole = _Whole.fitted(data, model, columns)
    if whole is None or not len(whole.rivals):
        return None
    moved = whole.moved()
    found = {name: _single(whole, moved, unit) for name, unit in units.items()}
    variance = max((_squares(moved[:, 0], unit) for unit in units.values()), default=0.0)
    if len(units) == 2:  # clustered two ways: by one + by the other - by both
        one, two = units.values()
        both = one * (int(two.max()) + 1) + two
        crossed = _squares(moved[:, 0], one) + _squares(moved[:, 0], two)
        variance = max(variance, crossed - _squares(moved[:, 0], both))
    return Fragility(
        first=whole.player(whole.first),
        second=whole.player(int(whole.rivals[0])),
        gap=float(whole.gaps[0]),
        error=float(np.sqrt(variance)),
        votes=_fewest(whole, moved, [_ordered(column, units) for column in moved.T]),
        units=found,
    )


def _squares(moved: FloatArray, unit: IntArray) -> float:
    total = np.bincount(unit, moved)
    return float((total**2).sum())


@dataclass(frozen=True, eq=False)
class _Whole:
    """The fit of all votes: nodes ``first`` and ``rivals`` (j,), the nearest first, ``gaps`` (j,)
    behind."""

    data: Pairs
    cells: Cells
    model: Model
    point: Point
    first: int
    rivals: IntArray
    gaps: FloatArray

    @classmethod
    def fitted(cls, data: Pairs, model: Model, columns: FloatArray | None) -> _Whole | None:
        cells = cells_of(data, side=model.side, columns=columns)
        if not cells.tie.any():
            model = replace(model, ties="none")
        point = maximise(cells, model).point
        merit = np.round(point.merit, 9)
        board = np.flatnonzero(cells.layout.component == 1)
        order = board[np.argsort(-merit[board], kind="stable")]
        rivals = order[1 : RIVALS + 1]
        gaps = point.merit[order[0]] - point.merit[rivals]
        if len(rivals) and merit[order[0]] == merit[rivals[0]]:
            return None
        return cls(data, cells, model, point, int(order[0]), rivals, gaps)

    def player(self, node: int) -> int:
        """Return the player that a node of the fit stands for."""
        return int(self.cells.layout.player[node])

    @cached_property
    def kind(self) -> IntArray:
        """Votes (n,) that are as good as each other have one number."""
        return 3 * self.cells.row + self.data.outcome

    def moved(self) -> FloatArray:
        """Return how much each vote (n, j) moves the first ahead of each rival, to first order."""
        cells, model, point = self.cells, self.model, self.point
        part, _ = log_likelihood_terms(cells, model, point)
        _, curvature = derivatives(cells, model, point, part)
        by_x, by_tie = bt_ties.scores(
            model.ties, log_odds(cells, model, point), tie_of(model, point)
        )
        row, outcome = cells.row, self.data.outcome
        found = np.empty((len(row), len(self.rivals)))
        for j, rival in enumerate(self.rivals):
            lead = np.zeros(len(point.merit))
            lead[self.first], lead[rival] = 1.0, -1.0
            merit, shared = solve(cells, curvature, Point(lead, np.zeros(len(point.shared))))
            along = merit[cells.first] - merit[cells.second]
            for i in range(len(model.linear)):
                along = along + shared[i] * cells.linear[:, i]
            found[:, j] = by_x[outcome, row] * along[row]
            if len(model.shared) > len(model.linear):
                found[:, j] += by_tie[outcome, row] * shared[-1]
        return found * self.data.weight[:, None]

    def without(self, rows: IntArray | NDArray[np.bool_]) -> tuple[int, float] | None:
        """Who is first without these rows, by how much before who was; None where it still is.

        None too where the two no longer compare, or nothing can be fitted.
        """
        cells, data = self.cells, self.data
        kind = 3 * cells.row[rows] + data.outcome[rows]
        gone = np.bincount(kind, data.weight[rows], 3 * len(cells.first)).reshape(-1, 3)
        left = np.maximum(np.column_stack(cells.counts) - gone, 0.0)
        left[left < 1e-9] = 0.0
        win, tie, loss = left.T
        less, model, start = replace(cells, win=win, tie=tie, loss=loss), self.model, self.point
        if model.ties != "none" and model.tie is None and not tie.any():
            # Davidson's ties can go to none, where it is Bradley-Terry of what was decided.
            model, start = replace(model, ties="none"), Point(start.merit, start.shared[:-1])
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                found = maximise(less, model, start)
        except (np.linalg.LinAlgError, FloatingPointError):
            return None
        lead = found.point.merit[self.rivals] - found.point.merit[self.first]
        best = int(np.argmax(lead))
        if not found.converged or lead[best] <= 1e-9:
            return None
        if not _compare(less, self.first, int(self.rivals[best])):
            return None
        return self.player(int(self.rivals[best])), float(lead[best])


def _compare(cells: Cells, one: int, other: int) -> bool:
    """Whether a chain of comparisons that are left leads from one node to the other."""
    there = cells.win + cells.tie + cells.loss > 0
    k = len(cells.layout)
    graph = scipy.sparse.coo_array(
        (np.ones(int(there.sum()), dtype=np.int8), (cells.first[there], cells.second[there])),
        shape=(k, k),
    )
    _, label = scipy.sparse.csgraph.connected_components(graph, directed=False)
    return bool(label[one] == label[other])


def _single(whole: _Whole, moved: FloatArray, unit: IntArray) -> list[Change]:
    """Every unit without which another is first; past REFITS, of those that matter most."""
    known, at = np.unique(unit, return_inverse=True)
    at = at.reshape(-1)
    sums = np.column_stack([np.bincount(at, column, len(known)) for column in moved.T])
    left = (whole.gaps - sums).min(axis=1)
    found = []
    for k in np.argsort(left, kind="stable")[:REFITS]:
        rows = np.flatnonzero(at == k)
        then = whole.without(rows)
        if then is not None:
            found.append(Change(rows, *then, unit=int(known[k])))
    return sorted(found, key=lambda one: (len(one.rows), -one.gap, one.unit))


def _ordered(moved: FloatArray, units: Mapping[str, IntArray]) -> IntArray:
    """Votes by their influence; of equal ones those whose judge and item move the most first."""
    beside = np.zeros(len(moved))
    for unit in units.values():
        beside += np.bincount(unit, moved)[unit]
    return np.lexsort((-beside, -np.round(moved, 9)))


def _fewest(whole: _Whole, moved: FloatArray, orders: Sequence[IntArray]) -> Change | None:
    """The smallest set of votes found, over all rivals: the most influential ones together."""
    best: Change | None = None
    for j in range(len(whole.rivals)):
        limit = len(best.rows) - 1 if best else max(int(SHARE * len(moved)), AT_LEAST)
        found = _greedy(whole, moved[:, j], float(whole.gaps[j]), orders[j][:limit])
        best = found or best
    if best is None:
        return None
    return _smaller(whole, moved, orders, min(len(best.rows) - 1, FEW)) or best


def _greedy(whole: _Whole, moved: FloatArray, gap: float, order: IntArray) -> Change | None:
    """The fewest of the votes in the order of their influence without which another is first."""
    sums = np.cumsum(moved[order])
    if not len(order) or sums[-1] < SLACK * gap:
        return None

    def tried(size: int) -> Change | None:
        then = whole.without(order[:size])
        return None if then is None else Change(order[:size], *then)

    # To first order so many do it; leverage makes it a few more or less.
    low, high = 0, min(int(np.searchsorted(sums, gap)) + 1, len(order))
    found = tried(high)
    while found is None and high < len(order):
        low, high = high, min(len(order), max(high + 1, int(high * 1.2)))
        found = tried(high)
    if found is None:
        return None
    step = 1  # downwards in growing steps, then by halves
    while high - low > 1:
        middle = max(low + 1, high - step) if low == 0 else (low + high) // 2
        less = tried(middle)
        if less is None:
            low = middle
        else:
            found, high, step = less, middle, 2 * step
    return found


def _smaller(
    whole: _Whole, moved: FloatArray, orders: Sequence[IntArray], most: int
) -> Change | None:
    """A set of at most ``most`` votes, where one does: the likeliest sets, the smallest first."""
    by, kind = moved.T.tolist(), whole.kind.tolist()  # lists: the sets are many and tiny
    for size in range(1, most + 1):
        sets: dict[tuple[int, ...], tuple[float, tuple[int, ...]]] = {}
        for j, gap in enumerate(whole.gaps.tolist()):
            for rows in combinations(_varied(whole, orders[j], size), size):
                left = gap - sum(by[j][row] for row in rows)
                if left > SLACK * gap:
                    continue
                kinds = tuple(sorted(kind[row] for row in rows))
                if kinds not in sets or left < sets[kinds][0]:
                    sets[kinds] = (left, rows)
        for _, rows in sorted(sets.values(), key=lambda one: one[0])[:TRIED]:
            then = whole.without(np.array(rows))
            if then is not None:
                return Change(np.array(rows), *then)
    return None


def _varied(whole: _Whole, top: IntArray, size: int) -> list[int]:
    """The first votes of ``top`` of FROM kinds, at most ``size`` of each."""
    chosen: list[int] = []
    count: dict[int, int] = {}
    for row in top.tolist():
        kind = int(whole.kind[row])
        if kind not in count and len(count) == FROM:
            break
        if count.get(kind, 0) < size:
            count[kind] = count.get(kind, 0) + 1
            chosen.append(row)
    return chosen
