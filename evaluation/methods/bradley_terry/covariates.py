"""Covariates of comparisons: how two texts differ in length and style, beside who wrote them.

Bradley-Terry with covariates adds to the log-odds of a comparison what is known of its two texts:
a coefficient times a column. The merits that are left are those at equal length and style (the
"style control" of Chatbot Arena: Li, Angelopoulos and Chiang 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.methods.core.base import BadShape, FloatArray, IntArray, refuse_unequal
from evaluation.methods.core.votes import Pairs


def relative_difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the relative difference (first - second) / (first + second) of counts (n, p).

    0 where both are 0. Raises BadShape where the shapes differ or a count is negative.
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape or (one < 0).any() or (other < 0).any():
        raise BadShape("counts of two texts must have one shape, and none may be negative")
    total = one + other
    return np.divide(one - other, total, out=np.zeros_like(total), where=total > 0)


@dataclass(frozen=True, eq=False)
class Covariates:
    """Columns ``values`` (n, p) by ``names``, a row for each row of the Pairs they belong to.

    Each column is standardised: divided by ``scale`` (p,), its standard deviation over the
    comparisons in both orders, whose mean is 0. (Arena subtracts the mean of one order too; where
    texts are stored in no random order, that would favour those who stand first.)
    """

    names: tuple[str, ...]
    values: FloatArray
    scale: FloatArray


@dataclass(frozen=True, eq=False)
class StyledPairs:
    """Comparisons (n,) of which each stands for itself, with what is known of their texts.

    ``order`` (n,) leads back to the rows as they came, ``dropped`` names columns that are the same
    for both texts of every comparison, so that they say nothing.
    """

    pairs: Pairs
    covariates: Covariates
    order: IntArray
    dropped: tuple[str, ...]

    @classmethod
    def build(
        cls,
        first: IntArray,
        second: IntArray,
        outcome: IntArray,
        difference: FloatArray,
        *,
        players: Sequence[str],
        names: Sequence[str],
        left: IntArray | None = None,
        weight: FloatArray | None = None,
        unit: IntArray | None = None,
    ) -> StyledPairs:
        """Check and put every comparison in canonical order, its differences with it.

        ``difference`` (n, p): first minus second, by ``names``; ``unit`` (n,): the judge, or
        whatever else is independent. Raises as Pairs.build, and BadShape.
        """
        n = len(np.asarray(first))
        columns = np.asarray(difference, dtype=np.float64)
        if columns.shape != (n, len(names)) or not np.isfinite(columns).all():
            raise BadShape(f"difference must hold ({n}, {len(names)}) finite numbers")
        every = [str(k) for k in range(n)]
        # Rows that stand for themselves are not added up: equal votes may be on other texts.
        pairs = Pairs.build(
            first,
            second,
            outcome,
            players=players,
            left=left,
            weight=weight,
            judge=np.arange(n),
            judges=every,
        )
        order = pairs.judge
        turned = np.asarray(first)[order] > np.asarray(second)[order]
        columns = np.where(turned[:, None], -columns[order], columns[order])
        scale = np.sqrt(np.average(columns**2, axis=0, weights=pairs.weight))
        varies = scale > 1e-12
        found = Covariates(
            tuple(name for name, kept in zip(names, varies, strict=True) if kept),
            # Rounded, so that texts that differ alike are counted together.
            np.round(columns[:, varies] / scale[varies], 12),
            scale[varies],
        )
        dropped = tuple(name for name, kept in zip(names, varies, strict=True) if not kept)
        made = cls(pairs, found, order, dropped)
        return made if unit is None else replace(made, pairs=made.clustered(np.asarray(unit)))

    def clustered(self, unit: IntArray) -> Pairs:
        """Return the comparisons with these units (n,) as judges.

        ``unit`` is in the input's order.
        """
        refuse_unequal(unit=unit, first=self.pairs.first)
        known, judge = np.unique(unit[self.order], return_inverse=True)
        names = tuple(str(one) for one in known.tolist())
        return replace(self.pairs, judge=judge.reshape(-1).astype(np.int64), judges=names)
