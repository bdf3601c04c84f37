"""Ratings with a score drawn from their explanation, and the pairs of ratings of one item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import (
    BadShape,
    BadVector,
    DataError,
    FloatArray,
    IntArray,
    indices,
    look_up,
    refuse_unequal,
)

LOWEST, HIGHEST = 0.0, 100.0


@dataclass(frozen=True, eq=False)
class Annotations:
    """Ratings (n,) of items by annotators, as given; an annotator may rate an item repeatedly.

    ``worker``, ``item`` and ``label`` index the names ``workers``, ``items`` and ``labels``;
    ``labels`` run from the worst to the best and ``values`` (l,) are their places on a numeric
    scale, increasing. ``score`` (n,) is the 0-100 score that a model gave label and explanation
    (f in the paper), NaN where it gave none; ``explained`` (n,) is False where the annotator
    wrote no explanation, so that no score may be used.
    """

    worker: IntArray
    item: IntArray
    label: IntArray
    score: FloatArray
    explained: NDArray[np.bool_]
    values: FloatArray
    workers: tuple[str, ...]
    items: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.worker)

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Return which ratings (n,) have a score from their explanation."""
        return self.explained & np.isfinite(self.score)

    @property
    def rating(self) -> FloatArray:
        """(n,) the rating as a number of ``values``."""
        return self.values[self.label]

    @classmethod
    def build(
        cls,
        worker: Sequence[int] | IntArray,
        item: Sequence[int] | IntArray,
        label: Sequence[int] | IntArray,
        score: Sequence[float] | FloatArray,
        *,
        workers: Sequence[str],
        items: Sequence[str],
        labels: Sequence[str],
        values: Sequence[float] | FloatArray | None = None,
        explained: Sequence[bool] | NDArray[np.bool_] | None = None,
    ) -> Annotations:
        """Check index arrays, scores and values (default 0, 1, ...).

        Raises EmptyData, UnknownIndex, BadShape, BadVector (a score outside 0-100, values that
        do not increase).
        """
        w, i, y = indices(worker=(worker, workers), item=(item, items), label=(label, labels))
        s = np.asarray(score, dtype=np.float64)
        e = np.ones(len(w), dtype=bool) if explained is None else np.asarray(explained, dtype=bool)
        refuse_unequal(worker=w, item=i, label=y, score=s, explained=e)
        wrong = np.flatnonzero(np.isinf(s) | (s < LOWEST) | (s > HIGHEST))
        if wrong.size:
            raise BadVector(f"score[{wrong[0]}] is {s[wrong[0]]}; it must lie in 0-100 or be NaN")
        scale = np.arange(len(labels)) if values is None else values
        return cls(
            w, i, y, s, e, _scale(scale, len(labels)), tuple(workers), tuple(items), tuple(labels)
        )

    @classmethod
    def from_names(
        cls,
        worker: Sequence[str],
        item: Sequence[str],
        label: Sequence[str],
        score: Sequence[float] | FloatArray,
        *,
        labels: Sequence[str],
        **more: Any,
    ) -> Annotations:
        """Map names to indices once: workers and items in sorted order, ``labels`` as given."""
        workers, items = sorted(set(worker)), sorted(set(item))
        return cls.build(
            look_up("worker", worker, workers),
            look_up("item", item, items),
            look_up("label", label, labels),
            score,
            workers=workers,
            items=items,
            labels=labels,
            **more,
        )

    def take(self, rows: IntArray | NDArray[np.bool_]) -> Annotations:
        """Keep only these rows; names stay."""
        return Annotations.build(
            self.worker[rows],
            self.item[rows],
            self.label[rows],
            self.score[rows],
            workers=self.workers,
            items=self.items,
            labels=self.labels,
            values=self.values,
            explained=self.explained[rows],
        )


def _scale(values: Any, size: int) -> FloatArray:
    out = np.asarray(values, dtype=np.float64)
    if out.shape != (size,):
        raise BadShape(f"values has shape {out.shape}; it must be ({size},), one a label")
    if size < 2 or not np.isfinite(out).all() or (np.diff(out) <= 0).any():
        raise BadVector(f"values are {out.tolist()}; they must increase from the worst label on")
    return out


@dataclass(frozen=True, eq=False)
class Shared:
    """Pairs of annotators (p,) and the items they share, as an inner join on the item.

    ``first`` < ``second`` (p,) index the annotators. Row k of the join pairs annotation
    ``left[k]`` of the first with ``right[k]`` of the second, both of one item; ``pair[k]`` says of
    which pair. Repeated ratings of an item cross-multiply, as in the published analysis.
    """

    first: IntArray
    second: IntArray
    left: IntArray
    right: IntArray
    pair: IntArray

    def __len__(self) -> int:
        return len(self.first)

    def select_rows(self, rows: NDArray[np.bool_]) -> Shared:
        """Keep only these rows of the join; pairs stay."""
        return Shared(self.first, self.second, self.left[rows], self.right[rows], self.pair[rows])


class NothingShared(DataError):
    """No two annotators rated the same item, so there is nothing to compare."""


def shared_pairs(data: Annotations) -> Shared:
    """Join the ratings of all pairs of annotators on their common items. Raises NothingShared."""
    order = np.lexsort((data.worker, data.item))
    item = data.item[order]
    new = np.concatenate(([True], item[1:] != item[:-1]))
    start = np.flatnonzero(new)[np.cumsum(new) - 1]
    size = np.bincount(item, minlength=len(data.items))[item]
    left = np.repeat(np.arange(len(order)), size)
    within = np.arange(len(left)) - np.repeat(np.cumsum(size) - size, size)
    right = np.repeat(start, size) + within
    a, b = data.worker[order[left]], data.worker[order[right]]
    rows = a < b
    if not rows.any():
        raise NothingShared("no two annotators rated the same item; there is nothing to compare")
    left, right = order[left[rows]], order[right[rows]]
    codes, pair = np.unique(a[rows] * len(data.workers) + b[rows], return_inverse=True)
    first, second = codes // len(data.workers), codes % len(data.workers)
    by_pair = np.argsort(pair, kind="stable")
    return Shared(first, second, left[by_pair], right[by_pair], pair[by_pair].astype(np.int64))


def incomplete(data: Annotations, joined: Shared) -> Shared:
    """Remove the rows where both annotators gave the best label (section 6.1)."""
    best = len(data.labels) - 1
    both = (data.label[joined.left] == best) & (data.label[joined.right] == best)
    return joined.select_rows(~both)
