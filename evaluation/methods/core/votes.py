"""Votes as index arrays: labels that workers gave to items, and comparisons of two candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import (
    BadShape,
    BadVector,
    EmptyData,
    FloatArray,
    IntArray,
    UnknownIndex,
    index_array,
    indices,
)


@dataclass(frozen=True, eq=False)
class Labels:
    """Votes (n,) sorted by item, worker, label, shown; identical rows are one row of more weight.

    ``worker``, ``item`` and ``label`` index the names ``workers``, ``items`` and ``labels``, in
    canonical coordinates. ``shown`` is the label as the worker saw it (equal to ``label`` where
    nothing was flipped): a worker who does not look votes in these coordinates. ``weight`` (n,)
    counts votes and is positive. ``source`` (m,) maps each of the m input rows to its row here.
    """

    worker: IntArray
    item: IntArray
    label: IntArray
    shown: IntArray
    weight: FloatArray
    source: IntArray
    workers: tuple[str, ...]
    items: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.worker)

    @classmethod
    def build(
        cls,
        worker: Sequence[int] | IntArray,
        item: Sequence[int] | IntArray,
        label: Sequence[int] | IntArray,
        *,
        workers: Sequence[str],
        items: Sequence[str],
        labels: Sequence[str],
        shown: Sequence[int] | IntArray | None = None,
        weight: Sequence[float] | FloatArray | None = None,
    ) -> Labels:
        """Check index arrays (m,) and add identical rows up.

        Raises EmptyData, UnknownIndex, BadShape, and BadVector on a weight that is not a
        positive finite number.
        """
        w, i, y = indices(worker=(worker, workers), item=(item, items), label=(label, labels))
        s = y if shown is None else index_array("shown", shown, len(labels))
        g = _weights(weight, len(w))
        _same_length(worker=w, item=i, label=y, shown=s, weight=g)
        (i, w, y, s), g, source = _aggregated((i, w, y, s), g)
        return cls(w, i, y, s, g, source, tuple(workers), tuple(items), tuple(labels))

    def take(self, rows: IntArray | NDArray[np.bool_]) -> Labels:
        """Keep only these rows; names stay, and ``source`` refers to the rows given here."""
        return Labels.build(
            self.worker[rows],
            self.item[rows],
            self.label[rows],
            workers=self.workers,
            items=self.items,
            labels=self.labels,
            shown=self.shown[rows],
            weight=self.weight[rows],
        )


FIRST, TIE, SECOND = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Pairs:
    """Comparisons (n,) in canonical order; identical rows are one row of more weight.

    ``first`` and ``second`` index ``players`` with first < second; ``outcome`` is FIRST, TIE or
    SECOND, who won. ``left`` says where ``first`` was shown: 1 on the left, -1 on the right, 0
    not known. ``judge`` indexes ``judges`` (-1: nobody named). ``weight`` (n,) is positive.
    ``source`` (m,) maps each input row to its row here. Input in the other order is turned round.
    """

    first: IntArray
    second: IntArray
    outcome: IntArray
    left: IntArray
    judge: IntArray
    weight: FloatArray
    source: IntArray
    players: tuple[str, ...]
    judges: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def build(
        cls,
        first: Sequence[int] | IntArray,
        second: Sequence[int] | IntArray,
        outcome: Sequence[int] | IntArray,
        *,
        players: Sequence[str],
        left: Sequence[int] | IntArray | None = None,
        judge: Sequence[int] | IntArray | None = None,
        judges: Sequence[str] = (),
        weight: Sequence[float] | FloatArray | None = None,
    ) -> Pairs:
        """Check, put every pair in canonical order (the one place that flips), add rows up.

        Raises EmptyData, UnknownIndex, BadShape (also for a player against itself), BadVector.
        """
        a, b = indices(first=(first, players), second=(second, players))
        y = index_array("outcome", outcome, 3)
        side = np.zeros(len(a), dtype=np.int64) if left is None else np.asarray(left)
        who = np.full(len(a), -1, dtype=np.int64) if judge is None else np.asarray(judge)
        g = _weights(weight, len(a))
        _same_length(first=a, second=b, outcome=y, left=side, judge=who, weight=g)
        if not np.isin(side, (-1, 0, 1)).all():
            raise UnknownIndex("left holds something other than 1, 0 and -1")
        if ((who < -1) | (who >= len(judges))).any():
            raise UnknownIndex(f"judge points outside the {len(judges)} judges")
        itself = np.flatnonzero(a == b)
        if itself.size:
            raise BadShape(f"row {int(itself[0])} compares {players[a[itself[0]]]!r} with itself")
        turned = a > b
        a, b = np.where(turned, b, a), np.where(turned, a, b)
        y, side = np.where(turned, SECOND - y, y), np.where(turned, -side, side)
        (a, b, y, side, who), g, source = _aggregated((a, b, y, side, who), g)
        return cls(a, b, y, side, who, g, source, tuple(players), tuple(judges))

    def take(self, rows: IntArray | NDArray[np.bool_]) -> Pairs:
        """Keep only these rows; names stay."""
        return Pairs.build(
            self.first[rows],
            self.second[rows],
            self.outcome[rows],
            players=self.players,
            left=self.left[rows],
            judge=self.judge[rows],
            judges=self.judges,
            weight=self.weight[rows],
        )


def _weights(weight: Any, size: int) -> FloatArray:
    if weight is None:
        return np.ones(size)
    found = np.asarray(weight, dtype=np.float64)
    wrong = np.flatnonzero(~(np.isfinite(found) & (found > 0)))
    if wrong.size:
        at = int(wrong[0])
        raise BadVector(f"weight[{at}] is {found[at]}; a weight is a positive number")
    return found


def _same_length(**arrays: NDArray[Any]) -> None:
    sizes = {name: array.shape for name, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{name} {shape}" for name, shape in sizes.items())
        raise BadShape(f"the arrays differ in shape: {said}")
    if not next(iter(arrays.values())).size:
        raise EmptyData("there are no votes")


def _aggregated(
    columns: tuple[IntArray, ...], weight: FloatArray
) -> tuple[tuple[IntArray, ...], FloatArray, IntArray]:
    """Rows sorted by the columns, the first column first, equal rows added up."""
    order = _order(columns)
    ordered = [column[order] for column in columns]
    new = np.zeros(len(order), dtype=bool)
    new[0] = True
    for column in ordered:
        new[1:] |= column[1:] != column[:-1]
    row = np.cumsum(new) - 1
    source = np.empty(len(order), dtype=np.int64)
    source[order] = row
    added: FloatArray = np.bincount(row, weights=weight[order]).astype(np.float64)
    return tuple(column[new] for column in ordered), added, source


def _order(columns: tuple[IntArray, ...]) -> IntArray:
    """Positions sorted by the columns; by one packed key where that fits, which is far faster."""
    lows = [int(column.min()) for column in columns]
    spans = [int(column.max()) - low + 1 for column, low in zip(columns, lows, strict=True)]
    if math.prod(spans) >= 2**63:
        return np.lexsort(columns[::-1])
    key = np.zeros(len(columns[0]), dtype=np.int64)
    for column, low, span in zip(columns, lows, spans, strict=True):
        key *= span
        key += column - low
    return np.argsort(key, kind="stable")
