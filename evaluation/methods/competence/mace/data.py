"""Votes laid out for MACE and Dawid-Skene as sparse matrices, and MACE's parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from evaluation.methods.core.base import FloatArray, IntArray
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
    matrix: csr_array
    transposed: csr_array
    per_item: csr_array
    per_worker: csr_array
    worker_part: IntArray
    item_part: IntArray
    parts: int
    labels: int

    @cached_property
    def cell_place(self) -> IntArray:
        """The row (c,) of each cell's component and label in a table of prevalences."""
        return self.item_part[self.cell_item] * self.labels + self.cell_label

    @cached_property
    def given(self) -> csr_array:
        """(items, places) with 1 where an item got the label of its component."""
        size = (len(self.item_part), (self.parts + 1) * self.labels)
        return vote_matrix(self.cell_item, self.cell_place, np.ones(len(self.cell_item)), size)

    @cached_property
    def not_given(self) -> tuple[csr_array, csr_array]:
        """(items, places) with 1 where an item did not get the label, and the same turned."""
        item = np.repeat(np.arange(len(self.item_part)), self.labels)
        place = (self.item_part[:, None] * self.labels + np.arange(self.labels)).ravel()
        left = np.ones(len(item), dtype=bool)
        left[self.cell_item * self.labels + self.cell_label] = False
        size = (len(self.item_part), (self.parts + 1) * self.labels)
        found = vote_matrix(item[left], place[left], np.ones(int(left.sum())), size)
        return found, csr_array(found.T.tocsr())

    @cached_property
    def per_place(self) -> csr_array:
        """The sum of cells (places, cells) by component and label."""
        return adding(self.cell_place, (self.parts + 1) * self.labels)


@dataclass(frozen=True)
class Priors:
    """How the M-step turns expected counts into parameters; ``variational`` or smoothed EM.

    ``alpha`` and ``beta`` are the Beta prior of spamming and of knowing, ``strategy`` the
    Dirichlet prior of each label of a strategy; ``smoothing`` is added to every count in EM.
    ``prevalence`` says how often labels are true (``mace_prevalence``), with a Dirichlet prior of
    ``true`` a label.
    """

    variational: bool = True
    alpha: float = 0.5
    beta: float = 0.5
    strategy: float = 10.0
    smoothing: float = 0.1 / 3
    prevalence: str = "uniform"
    true: float = 1.0


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
        """All of them, in the order of the fields."""
        return (
            self.spam,
            self.know,
            self.strategy,
            self.knowing,
            self.cells,
            self.prevalence,
            self.true,
        )

    def map(self, change: Callable[[FloatArray], FloatArray]) -> State:
        """Every table changed alike."""
        return State(
            change(self.spam),
            change(self.know),
            change(self.strategy),
            change(self.knowing),
            change(self.cells),
            None if self.prevalence is None else change(self.prevalence),
            None if self.true is None else change(self.true),
        )

    def restarts(self, chosen: NDArray[np.bool_]) -> State:
        """These restarts (R,) only."""
        return self.map(lambda table: np.ascontiguousarray(table[:, chosen]))

    def rows(
        self,
        worker: NDArray[np.bool_],
        strategy: NDArray[np.bool_],
        place: NDArray[np.bool_],
    ) -> State:
        """These workers (j,), strategies (u,) and places of prevalences only."""
        return State(
            self.spam[worker],
            self.know[worker],
            self.strategy[strategy],
            self.knowing[worker],
            self.cells[strategy],
            None if self.prevalence is None else self.prevalence[place],
            None if self.true is None else self.true[place],
        )


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
        transposed=csr_array(matrix.T.tocsr()),
        per_item=adding(cell_item, len(data.items)),
        per_worker=adding(worker, len(data.workers)),
        worker_part=worker_part,
        item_part=item_part,
        parts=int(worker_part.max(initial=0)),
        labels=k,
    )


def vote_matrix(
    row: IntArray, column: IntArray, n: FloatArray, shape: tuple[int, int]
) -> csr_array:
    """Votes (rows, columns), equal places added up; indices of 32 bits make products faster."""
    matrix = csr_array((n, (row.astype(np.int32), column.astype(np.int32))), shape=shape)
    matrix.sum_duplicates()
    return matrix


def summed(group: IntArray, weight: FloatArray, size: int) -> FloatArray:
    """Sum of the weights of each group (size,)."""
    return np.bincount(group, weights=weight, minlength=size).astype(np.float64)


def adding(group: IntArray, size: int) -> csr_array:
    """The sparse matrix (size, n) that adds up rows of one group."""
    return vote_matrix(group, np.arange(len(group)), np.ones(len(group)), (size, len(group)))
