"""Comparisons added up to their sufficient statistics, laid out one connected block after another.

Whatever the number of votes, the likelihood needs three counts a pair (and side). Blocks of one
size lie together, so that many small tables are solved in one array computation.

Units are what is independent among comparisons: single votes, judges, or pairs of candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.components import components
from evaluation.methods.core.inference import LEAST_EFFECTIVE
from evaluation.methods.core.votes import FIRST, SECOND, TIE, Pairs

DENSE = 16_000_000  # numbers in blocks up to which they are dense: 4,000 players of one component


@dataclass(frozen=True, eq=False)
class Layout:
    """Players that were compared as nodes (k,), sorted by component, the largest first.

    ``player`` (k,) leads back to the players, ``component`` (k,) counts from 1, ``classes`` lists
    (first node, blocks, size of each). All blocks lie in one flat array of ``size`` numbers, and
    that of nodes i and j of one block is at ``base[i] + local[j]``. Past DENSE numbers there are
    none: what is solved then is sparse.
    """

    player: IntArray
    component: IntArray
    classes: tuple[tuple[int, int, int], ...]
    local: IntArray
    base: IntArray
    size: int

    def __len__(self) -> int:
        return len(self.player)

    @property
    def dense(self) -> bool:
        """Whether matrices of whole components are kept."""
        return self.size <= DENSE

    def blocks(self, flat: FloatArray) -> list[FloatArray]:
        """Views (blocks, size, size) of a flat array, one a class."""
        out, at = [], 0
        for _, count, width in self.classes:
            out.append(flat[at : at + count * width * width].reshape(count, width, width))
            at += count * width * width
        return out

    def rows(self, columns: FloatArray) -> list[FloatArray]:
        """Views (blocks, size, p) of columns (k, p), one a class."""
        return [
            columns[node : node + count * width].reshape(count, width, -1)
            for node, count, width in self.classes
        ]

    def centred(self, values: FloatArray) -> FloatArray:
        """Values (k,) or columns (k, p) less the mean of their component."""
        if values.ndim > 1:
            return np.stack([self.centred(column) for column in values.T], axis=1)
        total = np.bincount(self.component, weights=values)
        mean = total / np.maximum(np.bincount(self.component), 1)
        return np.asarray(values - mean[self.component], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts (c,) of ``win``, ``tie`` and ``loss`` of node ``first`` against node ``second``.

    ``linear`` (c, q) is what is known of the comparison beside who met: where ``first`` was shown
    (1, 0, -1 as in Pairs), and covariates. ``row`` (n,) maps each row of the Pairs to its cell, and
    ``place`` (c,) each cell to the entry of its two nodes in the flat array of blocks.
    """

    first: IntArray
    second: IntArray
    linear: FloatArray
    win: FloatArray
    tie: FloatArray
    loss: FloatArray
    row: IntArray
    place: IntArray
    layout: Layout

    @property
    def counts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Wins, ties and losses of each cell."""
        return self.win, self.tie, self.loss


def cells_of(data: Pairs, *, side: bool, columns: FloatArray | None = None) -> Cells:
    """Add up comparisons by pair, by side if ``side`` is set, and by covariates.

    ``columns`` (n, q) has a row for each row of ``data``.
    """
    key = data.first * len(data.players) + data.second
    linear = np.zeros((len(key), 0)) if columns is None else columns
    if side:
        key = key * 3 + data.left + 1
        linear = np.column_stack([data.left.astype(np.float64), linear])
    if columns is not None:
        rows, row = np.unique(columns, axis=0, return_inverse=True)
        key = key * len(rows) + row.reshape(-1)
    # Rows are sorted by pair already, so this is nearly free without sides.
    kinds, at, row = _unique(key)
    counts = np.bincount(row * 3 + data.outcome, data.weight, 3 * len(kinds)).reshape(-1, 3)
    weight = counts.astype(np.float64)
    layout, node = layout_of(data.first[at], data.second[at], len(data.players))
    first, second = node[data.first[at]], node[data.second[at]]
    return Cells(
        first=first,
        second=second,
        linear=linear[at],
        win=weight[:, FIRST],
        tie=weight[:, TIE],
        loss=weight[:, SECOND],
        row=row,
        place=layout.base[first] + layout.local[second],
        layout=layout,
    )


def _unique(key: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Distinct keys, where each stands first, and which one each row is."""
    if not np.all(key[1:] >= key[:-1]):
        kinds, at, row = np.unique(key, return_index=True, return_inverse=True)
        return kinds, at, row.reshape(-1)
    new: NDArray[Any] = np.ones(len(key), dtype=bool)
    new[1:] = key[1:] != key[:-1]
    at = np.flatnonzero(new)
    return key[at], at, np.cumsum(new) - 1


def layout_of(first: IntArray, second: IntArray, players: int) -> tuple[Layout, IntArray]:
    """The blocks of the comparison graph, and the node of each player (-1: never compared)."""
    own = np.unique(np.concatenate([first, second]))
    number, _ = components(
        np.concatenate([first, own]), np.concatenate([second, own]), players, players
    )
    player = np.argsort(number, kind="stable")[players - len(own) :]
    node = np.full(players, -1, dtype=np.int64)
    node[player] = np.arange(len(player))
    component = number[player]
    sizes = np.bincount(component)[1:]
    begins = np.cumsum(sizes) - sizes
    offset = np.cumsum(sizes**2) - sizes**2
    block = component - 1
    local = np.arange(len(player)) - begins[block]
    width, which, count = np.unique(-sizes, return_index=True, return_counts=True)
    classes = tuple(
        (int(begins[b]), int(c), int(-w)) for w, b, c in zip(width, which, count, strict=True)
    )
    base: IntArray = (offset[block] + local * sizes[block]).astype(np.int64)
    return Layout(player, component, classes, local, base, int((sizes**2).sum())), node


CLUSTERS = ("none", "judge", "pair")
SUMS = 4_000_000  # unit-by-node sums up to this many are cheaper than sorting


@dataclass(frozen=True, eq=False)
class Units:
    """Votes by unit: entry e is ``weight`` (e,) votes of unit ``row`` (e,) of one ``kind`` (e,),
    which is 3 * cell + outcome.

    ``size`` (u,): equal votes that are each a unit of their own share a row, and ``size`` says how
    many they are (their weight); it is 1 for a cluster. ``single`` (u,): whether the votes of a row
    are each a unit of their own.
    """

    row: IntArray
    kind: IntArray
    weight: FloatArray
    size: FloatArray
    single: NDArray[np.bool_]

    @property
    def clustered(self) -> bool:
        """Whether any unit may hold several votes, that are alike."""
        return not self.single.all()

    def redrawn(self, rng: np.random.Generator, cells: Cells) -> Cells:
        """Reweight the cells by random weights of the units (Bayesian bootstrap, Rubin 1981).

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
    """Draw the numbers (size,) of wins and losses against the dummy, for the bootstrap.

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
    """Group the votes into units by ``cluster``, one of CLUSTERS."""
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
    return Units(row, kind, weight, size, alone)


@dataclass(frozen=True, eq=False)
class Clusters:
    """How evenly the votes on each node (k,), or on all together (1,), lie in units.

    ``units`` in whole numbers, ``effective`` ones ((sum n)^2 / sum n^2) and degrees of ``freedom``
    (Bell and McCaffrey's, as ``core.inference.bell_mccaffrey``; 0 where one unit has everything).
    ``single``: every unit is one vote.
    """

    units: IntArray
    effective: FloatArray
    freedom: FloatArray
    single: bool = False

    @property
    def has_interval(self) -> NDArray[np.bool_]:
        """Say which players have enough effective units (k,); single votes always do."""
        enough = self.single | (self.effective >= LEAST_EFFECTIVE)
        return np.asarray(enough & (self.freedom > 0), dtype=np.bool_)

    def take(self, part: slice) -> Clusters:
        """Keep only the nodes in ``part``."""
        return Clusters(
            self.units[part], self.effective[part], self.freedom[part], single=self.single
        )

    @classmethod
    def of_votes(cls, votes: FloatArray) -> Clusters:
        """Treat votes (k,) as single, independent units."""
        units = np.maximum(np.rint(votes), 1).astype(np.int64)
        freedom = np.maximum(units, 2) - 1.0
        return cls(units, units.astype(np.float64), freedom, single=True)

    def scarcer(self, other: Clusters) -> Clusters:
        """Combine two clusterings: for each node the one with fewer degrees of freedom."""
        fewer = other.freedom < self.freedom
        return Clusters(
            np.where(fewer, other.units, self.units),
            np.where(fewer, other.effective, self.effective),
            np.where(fewer, other.freedom, self.freedom),
        )


@dataclass(frozen=True, eq=False)
class Shares:
    """How the votes of a board are spread over its units.

    ``nodes`` and ``whole``: by node, and of all together. ``entry`` (e,): the share that an entry's
    cluster has of the votes on its two nodes, their mean; 0 for single votes. ``entry_whole`` (e,):
    its share of all votes.
    """

    nodes: Clusters
    whole: Clusters
    entry: FloatArray
    entry_whole: FloatArray


def shares_of(cells: Cells, units: Units) -> Shares:
    """Spread the weights over units: by node, and of all together.

    Single votes are as many units as they weigh, and two or more.
    """
    k, cell = len(cells.layout), units.kind // 3
    if not units.clustered:
        node = np.concatenate([cells.first[cell], cells.second[cell]])
        votes = np.bincount(node, np.tile(units.weight, 2), k).astype(np.float64)
        none = np.zeros(len(units.kind))
        whole = np.array([units.weight.sum()])
        return Shares(Clusters.of_votes(votes), Clusters.of_votes(whole), none, none)
    single = units.single[units.row]
    node = np.concatenate([cells.first[cell], cells.second[cell]])
    entry, nodes = _shares(np.tile(units.row, 2), node, np.tile(units.weight, 2), single, k)
    whole, every = _shares(units.row, np.zeros_like(cell), units.weight, single, 1)
    return Shares(nodes, every, entry.reshape(2, -1).mean(axis=0), whole)


def _shares(
    row: IntArray, node: IntArray, weight: FloatArray, single: NDArray[np.bool_], k: int
) -> tuple[FloatArray, Clusters]:
    """The share of each entry's cluster in its node, and how the votes on nodes (k,) cluster."""
    alone = np.tile(single, len(row) // len(single))
    total = np.bincount(node, weight, k)
    safe = np.where(total > 0, total, 1.0)
    own = row[~alone] * k + node[~alone]
    size = (int(row.max()) + 1) * k
    if size <= SUMS:
        mass = np.bincount(own, weight[~alone], size) / np.tile(safe, size // k)
        known, place = np.flatnonzero(mass), own
        part = mass[known]
    else:
        known, place = np.unique(own, return_inverse=True)
        part = mass = np.bincount(place, weight[~alone], len(known)) / safe[known % k]
    share = np.zeros(len(row))
    share[~alone] = mass[place]
    votes = np.bincount(node[alone], weight[alone], k).astype(np.float64)
    return share, _clusters(part, known % k, votes, safe)


def _clusters(part: FloatArray, node: IntArray, votes: FloatArray, total: FloatArray) -> Clusters:
    """Make clusters of their shares (c,) in their nodes, and single votes on each node (k,)."""
    k = len(votes)
    all_of_it = part > 1 - 1e-9
    curve = part**2 / np.where(all_of_it, 1.0, 1 - part)
    one = 1 / np.maximum(total, 1.0)  # the share of a single vote
    bent = one**2 / np.maximum(1 - one, 1e-9)
    squares = np.bincount(node, part**2, k) + votes * one**2
    curves = np.bincount(node, curve, k) + votes * bent
    rest = np.bincount(node, curve**2, k) + votes * bent**2
    units = np.bincount(node, minlength=k) + votes
    lonely = np.bincount(node, all_of_it, k) > 0
    freedom = 1 / np.maximum(squares + curves**2 - rest, 1e-300)
    return Clusters(
        np.maximum(np.rint(units), 1).astype(np.int64),
        1 / np.maximum(squares, 1e-300),
        np.where(lonely, 0.0, freedom),
    )
