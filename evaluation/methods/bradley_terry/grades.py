"""Grades 1..n of the candidates of many small tables, by the recipe of CrowdRAG.

Gienapp et al., "The Viability of Crowdsourcing for RAG Evaluation" (SIGIR 2025), section 5 and
Table 7: gold labels of a topic and dimension, Bradley-Terry with Rao and Kupper's ties at a fixed
threshold, one regularising win and loss against a dummy; the grade is the ascending rank.

Many small tables (say, topic x dimension) are one fit. A candidate of a table is a player of its
own, so tables are separate blocks of one problem, and blocks of one size are solved in one array
computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.methods.bradley_terry.cells import cells_of
from evaluation.methods.bradley_terry.fit import Model, maximise
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    FloatArray,
    IntArray,
    Table,
    index_array,
)
from evaluation.methods.core.votes import Pairs


@dataclass(frozen=True, eq=False)
class Tabled:
    """Comparisons within tables of candidates, sorted by table, then candidate.

    ``table`` and ``player`` (m,) tell each player's table and candidate.
    """

    data: Pairs
    table: IntArray
    player: IntArray


def by_table(
    first: Sequence[int] | IntArray,
    second: Sequence[int] | IntArray,
    outcome: Sequence[int] | IntArray,
    table: Sequence[int] | IntArray | None = None,
    *,
    players: int,
    tables: int = 1,
    weight: Sequence[float] | FloatArray | None = None,
) -> Tabled:
    """Group comparisons (n,) by table; players become pairs of (table, candidate).

    Raises EmptyData, UnknownIndex, BadShape, BadVector.
    """
    a, b = index_array("first", first, players), index_array("second", second, players)
    where = (
        np.zeros(len(a), dtype=np.int64) if table is None else index_array("table", table, tables)
    )
    if not len(a) == len(b) == len(where):
        raise BadShape(f"first has {len(a)} entries, second {len(b)}, table {len(where)}")
    ends = np.concatenate([where * players + a, where * players + b])
    present, node = np.unique(ends, return_inverse=True)
    node = node.reshape(2, -1)
    data = Pairs.build(
        node[0],
        node[1],
        outcome,
        players=[f"{key // players}:{key % players}" for key in present],
        weight=weight,
    )
    return Tabled(data, present // players, present % players)


DUMMY = 1.0  # the dummy's log-merit
DIGITS = 8  # merits that agree so far are equal; Newton's are exact to more


def rao_kupper_grades(
    first: Sequence[int] | IntArray,
    second: Sequence[int] | IntArray,
    outcome: Sequence[int] | IntArray,
    table: Sequence[int] | IntArray | None = None,
    *,
    players: int,
    tables: int = 1,
    weight: Sequence[float] | FloatArray | None = None,
    threshold: float = 0.05,
    regularisation: float = 0.2,
) -> Table:
    """Merits and grades of every candidate in every table (say, topic x dimension), all at once.

    ``first``, ``second`` (n,) index ``players`` candidates, ``outcome`` (n,) is FIRST, TIE or
    SECOND, ``table`` (n,) indexes ``tables``; the same pair judged in both directions is two rows.
    ``threshold`` is log theta.

    Returns a row a candidate of each table, sorted by table, then candidate: ``table``, ``player``,
    ``merit`` (natural log; the dummy's is 1), ``grade`` (1 = lowest), and ``grade_low`` and
    ``grade_high``, which differ where merits are equal. Equal merits have no order: there ``grade``
    gives the earlier candidate the lower grade, as a stable sort does. The likelihood is strictly
    concave, so any optimiser finds the same merits; the paper's code runs BFGS from ones, whose
    rounding errors (and the order of a set of strings) break its ties.

    Raises EmptyData, UnknownIndex, BadShape, BadVector, BadParameter.
    """
    for name, number in (("threshold", threshold), ("regularisation", regularisation)):
        if not (np.isfinite(number) and number > 0):
            raise BadParameter(f"{name} is {number!r}; it must be above 0")
    small = by_table(first, second, outcome, table, players=players, tables=tables, weight=weight)
    cells = cells_of(small.data, side=False)
    found = maximise(cells, Model("rao_kupper", regularisation, tie=threshold))
    merit = np.empty(len(small.player))
    merit[cells.layout.player] = found.point.merit + DUMMY
    merit = np.round(merit, DIGITS)
    columns = {"table": small.table, "player": small.player, "merit": merit}
    return Table({**columns, **_graded(small.table, merit)})


def _graded(group: IntArray, merit: FloatArray) -> dict[str, IntArray]:
    """Ascending ranks within each group; ``group`` is sorted."""
    size = len(merit)
    order = np.lexsort((merit, group))
    begins = np.searchsorted(group, group)  # of each row's table
    grade = np.empty(size, dtype=np.int64)
    grade[order] = np.arange(size)
    run = np.ones(size, dtype=bool)
    run[1:] = (np.diff(merit[order]) != 0) | (np.diff(group[order]) != 0)
    number = np.cumsum(run) - 1
    starts = np.flatnonzero(run)
    ends = np.append(starts[1:], size) - 1
    low, high = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    low[order], high[order] = starts[number], ends[number]
    return {
        "grade": grade - begins + 1,
        "grade_low": low - begins + 1,
        "grade_high": high - begins + 1,
    }
