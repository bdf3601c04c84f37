"""What is independent among comparisons: single votes, judges, or pairs of candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.bradley_terry.cells import Cells
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.votes import Pairs

CLUSTERS = ("none", "judge", "pair")
FLAGS = 40_000_000  # unit-by-node flags up to this many are cheaper than sorting


@dataclass(frozen=True, eq=False)
class Units:
    """Votes by unit: entry e is ``weight`` (e,) votes of unit ``row`` (e,) of one ``kind`` (e,),
    which is 3 * cell + outcome.

    ``size`` (u,): equal votes that are each a unit of their own share a row, and ``size`` says how
    many they are (their weight); it is 1 for a cluster. ``touching`` (k,): units that bear on each
    node, in whole numbers.
    """

    row: IntArray
    kind: IntArray
    weight: FloatArray
    size: FloatArray
    touching: IntArray

    def redrawn(self, rng: np.random.Generator, cells: Cells) -> Cells:
        """The cells under random weights of the units (Rubin's Bayesian bootstrap, 1981).

        Weights are exponential, so a sum of s of them is gamma(s); no candidate loses all its
        comparisons and no connected graph falls apart.
        """
        factor = rng.standard_gamma(self.size) / self.size
        counts = np.bincount(self.kind, self.weight * factor[self.row], 3 * len(cells.first))
        win, tie, loss = counts.astype(np.float64).reshape(-1, 3).T
        return replace(cells, win=win, tie=tie, loss=loss)


LEAST = 0.01  # of the regularisation: with less, a merit that only this holds runs off


def redrawn_games(
    rng: np.random.Generator, regularisation: float, size: int
) -> tuple[FloatArray, FloatArray] | None:
    """Won and lost comparisons (size,) with the dummy under random weights, gamma(r) each.

    The prior enters a weighted bootstrap as comparisons that are drawn anew like all others (the
    posterior bootstrap: Fong, Lyddon and Holmes 2019, "Scalable nonparametric sampling from
    multimodal posteriors"). Held fixed, they would look like comparisons that came out as they did
    for sure, and who won everything like somebody exactly known. None without regularisation.
    """
    if not regularisation:
        return None
    won, lost = np.maximum(rng.standard_gamma(regularisation, (2, size)), LEAST * regularisation)
    return won, lost


def units_of(data: Pairs, cells: Cells, cluster: str) -> Units:
    """Group the votes by ``cluster``, one of CLUSTERS; a vote without a judge stands for itself."""
    weight, kind = data.weight, 3 * cells.row + data.outcome
    if cluster == "judge":
        single = data.judge < 0
        unit = np.where(single, len(data.judges) + kind, data.judge)
    else:
        weight = np.stack(cells.counts, axis=1).reshape(-1)
        kind = np.flatnonzero(weight > 0)
        weight, single = weight[kind], np.full(len(kind), cluster == "none")
        pair = cells.first * len(cells.layout) + cells.second
        unit = kind if cluster == "none" else pair[kind // 3]
    kinds, row = np.unique(unit, return_inverse=True)
    row = row.reshape(-1)
    alone = np.zeros(len(kinds), dtype=bool)
    alone[row] = single
    size = np.where(alone, np.bincount(row, weight, len(kinds)), 1.0)
    return Units(row, kind, weight, size, _touching(cells, row, kind, weight, single))


def _touching(
    cells: Cells, row: IntArray, kind: IntArray, weight: FloatArray, single: NDArray[np.bool_]
) -> IntArray:
    """Units that bear on each node: single votes by weight, a cluster once."""
    k = len(cells.layout)
    node = np.concatenate([cells.first[kind // 3], cells.second[kind // 3]])
    unit, alone = np.tile(row, 2), np.tile(single, 2)
    found = np.bincount(node[alone], np.tile(weight, 2)[alone], k)
    pairs, size = unit[~alone] * k + node[~alone], (int(row.max()) + 1) * k
    if size <= FLAGS:
        met = np.zeros(size, dtype=bool)
        met[pairs] = True
        found = found + met.reshape(-1, k).sum(axis=0)
    else:
        found = found + np.bincount(np.unique(pairs) % k, minlength=k)
    return np.maximum(np.rint(found), 1).astype(np.int64)
