"""Votes laid out for MACE and Dawid-Skene as sparse matrices, and MACE's parameters.

The prevalence, how often each label is true, is what MACE as published leaves out. Hovy et al.
(section 3) draw the true label uniformly. On skewed labels that calls a rare label far too often,
below what a majority does; so the prevalence is estimated here, by component, as Dawid and Skene do
(1979, eq. 2.4), with a Dirichlet prior. It belongs to the truth and so lives in canonical
coordinates, as strategies live in displayed ones.

Where a label is a place in a pair ('mirrored'), which text is stored first is an accident: first
and second share one prevalence, and only the neutral label has its own. Else labels would depend on
the ids of texts, and a system that is mostly stored first would lend its lead to single pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import DataError, FloatArray, IntArray, TooFewWorkers
from evaluation.methods.core.components import components
from evaluation.methods.core.votes import Labels


@dataclass(frozen=True, eq=False)
class Votes:
    """Labels (n,) laid out for MACE.

    A cell is an (item, label) that has votes, a strategy a (worker, shown label) that has votes.
    ``matrix`` (cells, strategies) holds the number of votes, ``transposed`` the same turned;
    ``per_item`` (items, cells) and ``per_worker`` (workers, strategies) add up. ``count`` (u,)
    and ``total`` (j,) are votes of a strategy and of a worker; ``absent`` (i,) the number of
    labels that an item did not get. ``worker_part`` and ``item_part`` number components from 1
    (0: no votes), ``parts`` is how many there are.
    """

    cell_item: IntArray
    cell_label: IntArray
    worker: IntArray
    shown: IntArray
    count: FloatArray
    total: FloatArray
    absent: FloatArray
    matrix: scipy.sparse.csr_array
    transposed: scipy.sparse.csr_array
    per_item: scipy.sparse.csr_array
    per_worker: scipy.sparse.csr_array
    worker_part: IntArray
    item_part: IntArray
    parts: int
    labels: int

    def single(self) -> Votes:
        """Return the votes with all large arrays in single precision."""
        names = ("count", "total", "absent", "matrix", "transposed", "per_item", "per_worker")
        found = replace(self, **{name: getattr(self, name).astype(np.float32) for name in names})
        # What is worked out once is filled in here, as it would be in double otherwise.
        first, second = self.other_labels
        known = {
            "not_given": (first.astype(np.float32), second.astype(np.float32)),
            "per_place": self.per_place.astype(np.float32),
        }
        found.__dict__.update(known)
        return found

    @cached_property
    def first_cell(self) -> IntArray:
        """The first cell (i,) of each item, or where it would be."""
        first = np.searchsorted(self.cell_item, np.arange(len(self.absent)))
        return np.minimum(first, len(self.cell_item) - 1)

    @cached_property
    def cell_place(self) -> IntArray:
        """Index (c,) of each cell's component and label in a table of prevalences."""
        return self.item_part[self.cell_item] * self.labels + self.cell_label

    @cached_property
    def given_labels(self) -> scipy.sparse.csr_array:
        """Matrix (items, places) with 1 where an item received the label of its component."""
        size = (len(self.item_part), (self.parts + 1) * self.labels)
        return vote_matrix(self.cell_item, self.cell_place, np.ones(len(self.cell_item)), size)

    @cached_property
    def other_labels(self) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
        """(items, places) with 1 where an item did not get the label, and the same turned."""
        item = np.repeat(np.arange(len(self.item_part)), self.labels)
        place = (self.item_part[:, None] * self.labels + np.arange(self.labels)).ravel()
        left = np.ones(len(item), dtype=bool)
        left[self.cell_item * self.labels + self.cell_label] = False
        size = (len(self.item_part), (self.parts + 1) * self.labels)
        found = vote_matrix(item[left], place[left], np.ones(int(left.sum())), size)
        return found, scipy.sparse.csr_array(found.T.tocsr())

    @cached_property
    def per_place(self) -> scipy.sparse.csr_array:
        """Matrix (places, cells) that sums cells by component and label."""
        return adding(self.cell_place, (self.parts + 1) * self.labels)


FEWER = 0.5  # of as many patterns of votes as items, from which rounds are made over patterns


@dataclass(frozen=True, eq=False)
class Counts:
    """Labels laid out for Dawid-Skene; a cell is a (worker, given label), whether used or not.

    ``matrix`` (items, cells) holds the votes, ``transposed`` the same turned; ``start`` (items, K)
    the share of an item's votes that each label got; ``parts_of_items`` (parts, items) averages
    over the items of a component.
    """

    matrix: scipy.sparse.csr_array
    transposed: scipy.sparse.csr_array
    start: FloatArray
    parts_of_items: scipy.sparse.csr_array
    worker_part: IntArray
    item_part: IntArray
    total: FloatArray
    parts: int
    labels: int

    @cached_property
    def size(self) -> IntArray:
        """Number of items in each component (parts,)."""
        return np.bincount(self.item_part, minlength=self.parts + 1)[1:]

    def single(self) -> Counts:
        """Return the counts with the votes in single precision, which halves the memory."""
        short = {
            name: getattr(self, name).astype(np.float32)
            for name in ("matrix", "transposed", "parts_of_items")
        }
        return replace(self, **short)

    def patterns(self) -> tuple[Counts, IntArray, FloatArray] | None:
        """Merge items with equal votes; None if that would not halve their number.

        Returns the merged counts, the merged item of each item (i,), and the size of each.
        """
        kind, size = np.unique(self._votes_as_numbers(), return_inverse=True, return_counts=True)[
            1:
        ]
        if len(size) > FEWER * len(kind):
            return None
        first = np.zeros(len(size), dtype=np.int64)
        first[kind[::-1]] = np.arange(len(kind))[::-1]
        matrix = scipy.sparse.csr_array(self.matrix[first])
        few = replace(
            self,
            matrix=matrix,
            transposed=scipy.sparse.csr_array(matrix.multiply(size[:, None]).T.tocsr()),
            start=self.start[first],
            parts_of_items=scipy.sparse.csr_array(
                self.parts_of_items[:, first].multiply(size[None]).tocsr()
            ),
            item_part=self.item_part[first],
        )
        return few, kind.reshape(-1), size.astype(np.float64)

    def _votes_as_numbers(self) -> NDArray[np.complex128]:
        """A number (i,) an item that is the same for the same votes: sums of random numbers.

        Two of 53 bits each: that any two of a million items with other votes share both has a
        chance below 1e-18. Votes are in one order in every row, so sums of equal ones are equal.
        """
        rng, size = np.random.default_rng(0), self.matrix.shape[1]
        found: NDArray[np.complex128] = self.matrix @ (rng.random(size) + 1j * rng.random(size))
        return found

    def of_item(self, by_part: FloatArray) -> FloatArray:
        """Rows of a table (parts, ...) for the items (items, ...), or its one row for all."""
        if self.parts == 1:
            return by_part
        return by_part[np.maximum(self.item_part, 1) - 1]


@dataclass(frozen=True)
class Priors:
    """How the M-step turns expected counts into parameters; ``variational`` or smoothed EM.

    ``alpha`` and ``beta`` are the Beta prior of spamming and of knowing, ``strategy`` the
    Dirichlet prior of each label of a strategy; ``smoothing`` is added to every count in EM.
    ``prevalence`` says how often labels are true (``data``), with a Dirichlet prior of
    ``true`` a label.
    """

    variational: bool = True
    alpha: float = 0.5
    beta: float = 0.5
    strategy: float = 10.0
    smoothing: float = 0.1 / 3
    prevalence: str = "uniform"
    true: float = 1.0

    @property
    def fit_single(self) -> bool:
        """Whether no parameter can become too small for single precision: e^-20 of digamma(.05)."""
        if self.variational:
            return min(self.alpha, self.beta, self.strategy) >= 0.05
        return self.smoothing >= 1e-4


@dataclass(frozen=True, eq=False)
class State:
    """Parameters of R restarts: ``spam`` and ``know`` (j, R), ``strategy`` (u, R).

    ``knowing`` (j, R) and ``cells`` (u, R) are the expected counts of knowing votes that they came
    from (infinite at the start). In the variational M-step they do not add up to 1. ``prevalence``
    ((parts + 1) * K, R), a label of each component a row, from ``true`` expected items; None where
    all labels are equally likely.
    """

    spam: FloatArray
    know: FloatArray
    strategy: FloatArray
    knowing: FloatArray
    cells: FloatArray
    prevalence: FloatArray | None = None
    true: FloatArray | None = None

    @property
    def tables(self) -> tuple[FloatArray | None, ...]:
        """Return all tables of parameters, in the order of the fields."""
        return tuple(getattr(self, one.name) for one in fields(self))

    def map(self, change: Callable[[FloatArray], FloatArray]) -> State:
        """Return the state with ``change`` applied to every table."""
        known: list[Any] = [None if one is None else change(one) for one in self.tables]
        return State(*known)

    def of_kind(self, number: type[np.floating[Any]]) -> State:
        """Return the state with every table in this precision."""
        return self.map(lambda table: table.astype(number, copy=False))

    def restarts(self, chosen: NDArray[np.bool_]) -> State:
        """Keep only these restarts (R,)."""
        return self.map(lambda table: np.ascontiguousarray(table[:, chosen]))

    def rows(
        self,
        worker: NDArray[np.bool_],
        strategy: NDArray[np.bool_],
        place: NDArray[np.bool_],
    ) -> State:
        """Keep only these workers (j,), strategies (u,) and places of prevalences."""
        chosen = (worker, worker, strategy, worker, strategy, place, place)
        known: list[Any] = [
            None if one is None else one[rows]
            for one, rows in zip(self.tables, chosen, strict=True)
        ]
        return State(*known)


def prepare(data: Labels, worker_part: IntArray, item_part: IntArray) -> Votes:
    """Lay votes out; parts are the components of workers (j,) and items (i,)."""
    k = len(data.labels)
    cells, cell = np.unique(data.item * k + data.label, return_inverse=True)
    strategies, strategy = np.unique(data.worker * k + data.shown, return_inverse=True)
    shape = (len(cells), len(strategies))
    matrix = vote_matrix(cell, strategy, data.weight, shape)
    worker, cell_item = strategies // k, cells // k
    return Votes(
        cell_item=cell_item,
        cell_label=cells % k,
        worker=worker,
        shown=strategies % k,
        count=summed(strategy, data.weight, len(strategies)),
        total=summed(data.worker, data.weight, len(data.workers)),
        absent=k - np.bincount(cell_item, minlength=len(data.items)).astype(np.float64),
        matrix=matrix,
        transposed=scipy.sparse.csr_array(matrix.T.tocsr()),
        per_item=adding(cell_item, len(data.items)),
        per_worker=adding(worker, len(data.workers)),
        worker_part=worker_part,
        item_part=item_part,
        parts=int(worker_part.max(initial=0)),
        labels=k,
    )


def vote_matrix(
    row: IntArray, column: IntArray, n: FloatArray, shape: tuple[int, int]
) -> scipy.sparse.csr_array:
    """Votes (rows, columns), equal places added up; indices of 32 bits make products faster."""
    matrix = scipy.sparse.csr_array(
        (n, (row.astype(np.int32), column.astype(np.int32))), shape=shape
    )
    matrix.sum_duplicates()
    return matrix


def summed(group: IntArray, weight: FloatArray, size: int) -> FloatArray:
    """Sum up weights by group (size,)."""
    return np.bincount(group, weights=weight, minlength=size).astype(np.float64)


def adding(group: IntArray, size: int) -> scipy.sparse.csr_array:
    """Return the sparse matrix (size, n) that sums the rows of each group."""
    return vote_matrix(group, np.arange(len(group)), np.ones(len(group)), (size, len(group)))


class TooFewLabels(DataError):
    """Fewer than two labels to choose from, so every vote is right."""


def label_parts(data: Labels) -> tuple[IntArray, IntArray]:
    """Component numbers of workers and items; a worker who shares no item is in none.

    Raises TooFewLabels and TooFewWorkers.
    """
    if len(data.labels) < 2:
        raise TooFewLabels(f"there is only the label {data.labels[0]!r}; there must be two")
    if len(np.unique(data.worker)) < 2:
        raise TooFewWorkers("one worker alone voted; there is nobody to compare with")
    workers, items = parts_with_company(data.worker, data.item, len(data.workers), len(data.items))
    if not workers.any():
        raise TooFewWorkers("no item has votes of two workers; there is nothing to compare")
    return workers, items


def parts_with_company(
    worker: IntArray, item: IntArray, workers: int, items: int
) -> tuple[IntArray, IntArray]:
    """Number the components of workers and items; 0 for components with a single worker."""
    left, right = components(worker, item, workers, items)
    alone = np.bincount(left, minlength=1) == 1  # numbered by size, so these come last
    alone[0] = False
    return np.where(alone[left], 0, left), np.where(alone[right], 0, right)


PREVALENCES = ("estimated", "mirrored", "uniform")


def prevalence_groups(prevalence: str, labels: int) -> IntArray:
    """The group (K,) of each label; the labels of a group are equally likely."""
    own = np.arange(labels)
    return np.minimum(own, own[::-1]) if prevalence == "mirrored" else own


def start_prevalence(votes: Votes, priors: Priors, restarts: int) -> FloatArray | None:
    """Return the starting prevalence of all restarts: equal for all labels."""
    if priors.prevalence == "uniform":
        return None
    return np.full(((votes.parts + 1) * votes.labels, restarts), 1.0 / votes.labels)


def absent_weight(votes: Votes, prevalence: FloatArray | None) -> FloatArray:
    """Return the number (i, 1) or prevalence (i, R) of the labels that an item did not get."""
    if prevalence is None:
        return votes.absent[:, None]
    found: FloatArray = votes.other_labels[0] @ prevalence
    return found


def expected_labels(
    votes: Votes, prevalence: FloatArray, posterior: FloatArray, missing: FloatArray
) -> FloatArray:
    """Expected number of items ((parts + 1) * K, R) of which each label is true.

    ``posterior`` (c, R) of the cells, ``missing`` (i, R) what a label without votes has times its
    prevalence.
    """
    found: FloatArray = votes.other_labels[1] @ missing
    found *= prevalence
    found += votes.per_place @ posterior
    return found


def improve_prevalence(votes: Votes, priors: Priors, true: FloatArray) -> FloatArray:
    """New prevalences from expected numbers: exp-digamma of a Dirichlet posterior, or smoothed."""
    counts, share = _grouped(votes, priors, true)
    total = counts.sum(axis=1, keepdims=True)
    ratio = (
        np.exp(scipy.special.digamma(counts) - scipy.special.digamma(total))
        if priors.variational
        else counts / total
    )
    return _spread(votes, priors, ratio, share).astype(true.dtype, copy=False)


def draw_prevalence(
    votes: Votes, priors: Priors, true: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Prevalences drawn from their Dirichlet posterior given how many items have each label."""
    counts, share = _grouped(votes, priors, true)
    found = np.maximum(rng.standard_gamma(counts), 1e-300)
    return _spread(votes, priors, found / found.sum(axis=1, keepdims=True), share)


def mean_prevalence(votes: Votes, priors: Priors, state: State) -> FloatArray:
    """Posterior mean (parts, K) of the prevalences of one restart; uniform where not estimated."""
    if state.true is None:
        return np.full((votes.parts, votes.labels), 1.0 / votes.labels)
    counts, share = _grouped(votes, priors, state.true)
    found = _spread(votes, priors, counts / counts.sum(axis=1, keepdims=True), share)
    return found[votes.labels :, 0].reshape(votes.parts, votes.labels)


def prevalence_divergence(votes: Votes, priors: Priors, true: FloatArray) -> FloatArray:
    """KL (parts, R) of the prevalences' Dirichlet posterior from the prior."""
    counts, share = _grouped(votes, priors, true)
    prior = (priors.true * share)[None, :, None]
    n = counts - prior
    one = (
        n * scipy.special.digamma(counts)
        - scipy.special.gammaln(counts)
        + scipy.special.gammaln(prior)
    )
    total, start = counts.sum(axis=1), prior.sum()
    found: FloatArray = (
        one.sum(axis=1) + scipy.special.gammaln(total) - scipy.special.gammaln(start)
    )
    return (found - n.sum(axis=1) * scipy.special.digamma(total))[1:]


def _grouped(votes: Votes, priors: Priors, true: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Counts with their prior (parts + 1, groups, R), and the labels in each group (groups,)."""
    of = prevalence_groups(priors.prevalence, votes.labels)
    share = np.bincount(of).astype(np.float64)
    by_label = true.reshape(votes.parts + 1, votes.labels, -1)
    counts = np.zeros((votes.parts + 1, len(share), by_label.shape[2]))
    for label, group in enumerate(of):
        counts[:, group] += by_label[:, label]
    counts += ((priors.true if priors.variational else priors.smoothing) * share)[None, :, None]
    return counts, share


def _spread(votes: Votes, priors: Priors, by_group: FloatArray, share: FloatArray) -> FloatArray:
    """A table ((parts + 1) * K, R) in which the labels of a group share it evenly."""
    of = prevalence_groups(priors.prevalence, votes.labels)
    even = by_group / share[None, :, None]
    return even[:, of].reshape((votes.parts + 1) * votes.labels, -1)
