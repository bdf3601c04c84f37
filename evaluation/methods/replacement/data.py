"""What people and models said of the same items, as the test and the estimates take it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import BadShape, FloatArray, IntArray
from evaluation.methods.replacement import behavior

ACCURACY, RMSE, COSINE = "accuracy", "rmse", "cosine"
MOST_LABELS = 20  # classes whose share is estimated
MEAN = -1  # in the place of a label
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Items (items,) that were drawn for people: ``known``, those labelled before; ``chance``, the
    probability of each other one, NaN for items outside the draw; ``chosen``, which were drawn.
    ``trusted``: those labelled before are a random part of all.
    """

    known: BoolArray
    chance: FloatArray
    chosen: BoolArray
    trusted: bool = False

    @property
    def even(self) -> bool:
        """Whether all items had the same chance to be drawn, so that drawn ones are typical."""
        there = self.chance[~np.isnan(self.chance)]
        return not len(there) or float(np.ptp(there)) < 1e-9


@dataclass(frozen=True, eq=False)
class Beside:
    """What people and models said of the same items.

    ``person``, ``item``, ``value`` (n,): who gave which value to which item, once each; ``model``
    (models, items): the models' values, NaN where one gave none. By ``score`` a value is the index
    of one of ``labels`` (accuracy), a number (rmse), or a row of ``vectors`` (cosine). ``drawn``:
    how items were chosen for people, if they were. ``topic`` (items,): which items come together,
    as they share a text or a prompt; None where they do not. ``kind`` (items,): of which kind the
    topic of each is, where that is known.
    """

    person: IntArray
    item: IntArray
    value: FloatArray
    model: FloatArray
    people: tuple[str, ...]
    models: tuple[str, ...]
    score: str = ACCURACY
    labels: tuple[str, ...] = ()
    vectors: FloatArray | None = None
    drawn: Drawn | None = None
    aside: behavior.Aside | None = None
    lines: int = 0  # of checklists: how many questions one has, each 1 (yes) or -1 in ``vectors``
    topic: IntArray | None = None
    kind: IntArray | None = None

    @property
    def quantities(self) -> tuple[int, ...]:
        """The labels of what is estimated of all items; none of texts, which have no number."""
        if self.score == ACCURACY:
            return tuple(range(min(len(self.labels), MOST_LABELS)))
        if self.score == RMSE:
            return (MEAN,)
        return (MEAN, *range(min(self.lines, MOST_LABELS))) if self.lines else ()

    def quantity(self, label: int) -> tuple[FloatArray, FloatArray]:
        """Return people's (n,) and models' (models, items) values of a quantity.

        NaN: not answered.
        """
        if self.score == RMSE:
            return self.value, self.model
        missing = np.isnan(self.model)
        if self.score == ACCURACY:
            said, judged = self.value == label, self.model == label
        else:
            yes = self.said_yes()
            of_list = yes.mean(axis=1) if label == MEAN else yes[:, label]
            said = of_list[self.value.astype(np.int64)]
            judged = of_list[np.where(missing, 0, self.model).astype(np.int64)]
        return said.astype(np.float64), np.where(missing, np.nan, judged)

    def said_yes(self) -> FloatArray:
        """Return checklists as 1 for yes and 0 for no (lists, questions)."""
        if self.vectors is None or not self.lines:
            raise BadShape("only checklists have questions")
        return (self.vectors > 0).astype(np.float64)

    def doubt(self, at: int) -> FloatArray:
        """Return how far other models disagree with one on each item (items,); NaN without others.

        Of numbers: a share of those further than half a standard deviation away. Of a model that
        stands alone: whether it said otherwise itself when it was asked again.
        """
        own = self.model[at]
        others = np.delete(self.model, at, axis=0)
        if self.score == COSINE:
            return np.full(len(own), np.nan)
        near = 1e-9
        if self.score == RMSE and np.isfinite(own).any():
            near = max(near, float(np.nanstd(own)) / 2)
        if not len(others) and self.aside is not None:
            mine = self.aside.model == at
            item, value = self.aside.item[mine], self.aside.value[mine]
            count = np.bincount(item, minlength=len(own))
            off = np.bincount(item, np.abs(value - own[item]) > near, minlength=len(own))
            return np.where(count > 1, off / np.maximum(count - 1, 1), np.nan)
        there = ~np.isnan(others) & ~np.isnan(own)
        with np.errstate(invalid="ignore"):
            off = ((np.abs(others - own) > near) & there).sum(axis=0)
            return np.where(there.any(axis=0), off / there.sum(axis=0).clip(1), np.nan)

    def alike(self) -> Beside:
        """Return the data without people's labels of items that were drawn for being hard.

        A test on them would speak of hard items, and no longer of all.
        """
        if self.drawn is None or self.drawn.even:
            return self
        kept = np.isnan(self.drawn.chance)[self.item]
        return replace(self, person=self.person[kept], item=self.item[kept], value=self.value[kept])
