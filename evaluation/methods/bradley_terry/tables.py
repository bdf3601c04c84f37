"""Many small tables of comparisons (say, topic x dimension) in one fit.

A candidate of a table is a player of its own, so tables are separate blocks of one problem, and
blocks of one size are solved in one array computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.core.base import (
    BadShape,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Table,
    index_array,
)
from evaluation.methods.core.votes import Pairs


@dataclass(frozen=True, eq=False)
class Tabled:
    """Comparisons whose players are the candidates of tables: ``table`` and ``player`` (m,) say
    which, sorted by table, then candidate.
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
    left: Sequence[int] | IntArray | None = None,
    judge: Sequence[int] | IntArray | None = None,
    judges: Sequence[str] = (),
    weight: Sequence[float] | FloatArray | None = None,
) -> Tabled:
    """Pairs of (table, candidate) from arrays (n,); ``table`` indexes ``tables``, one by default.

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
        left=left,
        judge=judge,
        judges=judges,
        weight=weight,
    )
    return Tabled(data, present // players, present % players)


def fit_tables(
    small: Tabled, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """``bradley_terry.fit`` of every table at once; parameters and errors are the same.

    Merits, intervals and ranks are each table's (and component's) own; the tie parameter and the
    side term are one for all tables, since they belong to the judges. The ``player`` table has a
    row a candidate of each table, and a column ``table`` in front.
    """
    found = bradley_terry.fit(small.data, rng=rng, hooks=hooks, **params)
    rows = found.estimates["player"].columns
    table = Table({"table": small.table, **rows, "player": small.player})
    return replace(found, estimates={**found.estimates, "player": table})
