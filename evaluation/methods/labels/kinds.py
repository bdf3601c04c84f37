"""Labels by kind of item: how far people agree in each, and who agrees less in one than in another.

A worker's figure in a kind is the share of their labels there that the other labels of the item
make most likely (as of drift.py, the own label left out): competence by Dawid-Skene needs more
labels than one kind has. That it differs between two kinds is said where Fisher's exact test
rejects that both shares are equal, at a level shared by all workers, pairs of kinds and columns.
The test cannot tell a worker who is weak in a kind from a kind that is hard: the others' labels
say how hard it is.

``kind``, a row a kind: column, kind (its name), items (with labels), votes, workers, alpha
(Krippendorff, nominal), low, high, units, reason (why there is no board or no interval), level. A
column that is not split has one row, whose kind is "".

``kind_worker``, a row a kind with a board and a worker: column, kind, worker, n (labels that others
labelled too), agree, low, high (Wilson), reason.

``kind_shift``, a row a worker and two kinds that differ: column, worker, kind_a, kind_b, a, b.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, Table, of_rows
from evaluation.methods.core.inference import family_level
from evaluation.methods.core.kinds import FEWEST, Column, checked_column, not_split, too_small
from evaluation.methods.core.units import SHARE, too_few_units, wilson
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels.agreement import agreement_row

KIND = (
    *("column", "kind", "items", "votes", "workers"),
    *("alpha", "low", "high", "units", "reason", "level"),
)
WORKER = ("column", "kind", "worker", "n", "agree", "low", "high", "reason")
SHIFT = ("column", "worker", "kind_a", "kind_b", "a", "b")
Row = dict[str, Any]
# A kind, and each worker's labels in it that could be held against others, and that agree.
_Counted = tuple[str, NDArray[np.int64], NDArray[np.int64]]


def by_kind(
    data: Labels,
    agrees: FloatArray,
    columns: Mapping[str, Column],
    settings: Mapping[str, Any],
    *,
    rng: np.random.Generator,
) -> dict[str, Table]:
    """The tables of the module's docstring; ``agrees`` (n,) 1, 0 or NaN (not used).

    ``settings``: ``level`` and ``resamples``. Raises BadShape.
    """
    level = settings["level"]
    drawing = {"rng": rng, "resamples": settings["resamples"]}
    kinds: list[Row] = []
    workers: list[Row] = []
    shifts: list[Row] = []
    boards: dict[str, list[_Counted]] = {}
    split: dict[str, tuple[Column, list[NDArray[np.bool_]], list[int]]] = {}
    for name, given in columns.items():
        column = checked_column(name, given, len(data.items), "items")
        parts = [column.of[data.item] == at for at in range(len(column.names))]
        split[name] = column, parts, [len(np.unique(data.item[part])) for part in parts]
    many = [sizes for _, _, sizes in split.values() if not not_split(sizes, "items")]
    own = family_level(level, sum(size >= FEWEST for sizes in many for size in sizes))
    for name, (column, parts, sizes) in split.items():
        why = not_split(sizes, "items")
        if why:
            none: Row = {"items": 0, "votes": 0, "workers": 0, **_nothing(why)}
            kinds.append({"column": name, "kind": "", **none})
            continue
        counted = boards[name] = []
        for kind, part, size in zip(column.names, parts, sizes, strict=True):
            if not size:
                continue
            votes = data.take(part)
            row: Row = {"items": size, "votes": len(votes), "workers": len(np.unique(votes.worker))}
            row |= _nothing(too_small(size, "items"))
            if size >= FEWEST:
                asked = {**drawing, "confidence": own}
                found = agreement_row("krippendorff_nominal", "kind", votes, drawing=asked)
                row |= {"alpha": found["value"], "level": own}
                row |= {one: found[one] for one in ("low", "high", "units", "reason")}
                counted.append((kind, *_counts(data, agrees, part)))
            kinds.append({"column": name, "kind": kind, **row})
        workers += [{"column": name, **row} for row in _workers(counted, own)]
    tried = {name: _tried(counted) for name, counted in boards.items()}
    limit = 1 - family_level(level, sum(map(len, tried.values())))
    for name, couples in tried.items():
        shifts += [{"column": name, **row} for row in _shifts(couples, limit)]
    return {
        "kind": of_rows(kinds, KIND),
        "kind_worker": of_rows(workers, WORKER),
        "kind_shift": of_rows(shifts, SHIFT),
    }


def _nothing(why: str) -> Row:
    bare = dict.fromkeys(("alpha", "low", "high", "level"), np.nan)
    return {**bare, "units": 0, "reason": why}


def _counts(
    data: Labels, agrees: FloatArray, part: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count each worker's comparable labels of a kind (workers,), and those that agree."""
    used = part & ~np.isnan(agrees)
    size = len(data.workers)
    n = np.bincount(data.worker[used], minlength=size)
    hits = np.bincount(data.worker[used], agrees[used], minlength=size)
    return n.astype(np.int64), hits.round().astype(np.int64)


def _workers(counted: Sequence[_Counted], level: float) -> list[Row]:
    rows = []
    for kind, n, hits in counted:
        for worker in np.flatnonzero(n).tolist():
            why = too_few_units(int(n[worker]), "labels", SHARE)
            share = hits[worker] / n[worker]
            low, high = (np.nan, np.nan) if why else wilson(share, n[worker], level)
            rows.append(
                {
                    **{"kind": kind, "worker": worker, "n": int(n[worker])},
                    **{"agree": float(share), "low": low, "high": high, "reason": why},
                }
            )
    return rows


def _tried(counted: Sequence[_Counted]) -> list[tuple[int, _Counted, _Counted]]:
    """The workers and two kinds with enough labels in both."""
    return [
        (worker, one, other)
        for one, other in combinations(counted, 2)
        for worker in np.flatnonzero((one[1] >= FEWEST) & (other[1] >= FEWEST)).tolist()
    ]


def _shifts(tried: Sequence[tuple[int, _Counted, _Counted]], limit: float) -> list[Row]:
    """Workers whose share differs between two kinds, beyond chance."""
    rows = []
    for worker, (a, n, hits), (b, m, others) in tried:
        agreed, given = np.array([hits[worker], others[worker]]), np.array([n[worker], m[worker]])
        if scipy.stats.fisher_exact([agreed, given - agreed]).pvalue <= limit:
            shares = {"a": hits[worker] / n[worker], "b": others[worker] / m[worker]}
            rows.append({"worker": worker, "kind_a": a, "kind_b": b, **shares})
    return rows
