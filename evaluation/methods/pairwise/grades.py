"""Grades of the texts of each topic from gold labels, and how systems and groups compare.

CrowdRAG, section 5.2 and Table 7: Bradley-Terry in every topic and dimension (``grades``), the
ascending rank is the grade. Here a canonical pair is one comparison, equal merits share the mean
of their grades (the paper lets rounding errors decide), and systems are compared by topic: the
grades of a topic add up to a constant, so texts of one topic are not independent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.significance import wilcoxon_bh
from evaluation.methods.bradley_terry.grades import rao_kupper_grades
from evaluation.methods.core.base import FloatArray, IntArray, Table, of_rows
from evaluation.methods.core.components import components
from evaluation.methods.pairwise.judgments import MISSING, Judgments
from evaluation.methods.pairwise.tables import EVERY, mean_interval

CANDIDATE = (
    "dimension",
    "topic",
    "component",
    "candidate",
    "merit",
    "rank",
    "grade",
    "grade_low",
    "grade_high",
    "of",
    "pairs",
    "n",
)
MEAN = ("dimension", "system", "grade", "se", "low", "high", "n")
TEST = (
    "dimension",
    "system_a",
    "system_b",
    "n",
    "zero",
    "difference",
    "low",
    "high",
    "effect",
    "p",
    "adjusted",
    "differs",
    "reason",
)
GROUP_MEAN = ("grouping", "dimension", "group", "grade", "se", "low", "high", "n")
GROUP_TEST = ("grouping", "dimension", "group_a", "group_b", *TEST[3:])
MOST = 40  # systems that are tested two by two: 780 tests a dimension


@dataclass(frozen=True, eq=False)
class Grades:
    """The tables of grades, described at ``pairwise.fit``, and notes in words."""

    candidate: Table
    mean: Table
    test: Table
    group_mean: Table
    group_test: Table
    notes: list[str]


def graded(data: Judgments, gold: IntArray, votes: IntArray, *, level: float) -> Grades:
    """Compute grades from gold labels (pairs, d), MISSING where there is none.

    ``votes`` (pairs, d) are the votes behind each label; ``level`` is that of the intervals.
    """
    candidate = candidates(data, gold, votes)
    cells, notes = _by_topic(data, candidate)
    systems = [(k, cells[:, :, k]) for k in range(len(data.systems))]
    tests = systems
    if len(systems) > MOST:
        notes.append(
            f"{len(systems)} systems are too many to be tested two by two (at most {MOST})"
        )
        tests = []
    means, group_tests = [], []
    for name, group in data.groups.items():
        parts = [
            (int(one), _mean(cells[:, :, group == one], axis=2))
            for one in np.unique(group[group >= 0])
        ]
        means += [{"grouping": name, **row} for row in _means(parts, "group", level)]
        group_tests += [{"grouping": name, **row} for row in _tests(parts, "group", level)]
    return Grades(
        candidate,
        of_rows(_means(systems, "system", level), MEAN),
        of_rows(_tests(tests, "system", level), TEST),
        of_rows(means, GROUP_MEAN),
        of_rows(group_tests, GROUP_TEST),
        notes,
    )


def candidates(data: Judgments, gold: IntArray, votes: IntArray) -> Table:
    """A row a candidate of each dimension that has gold labels; see ``pairwise.fit``."""
    pair, dimension = np.nonzero(gold != MISSING)
    if not len(pair):
        return of_rows([], CANDIDATE)
    size = len(data.candidates)
    ends = [dimension * size + end[pair] for end in (data.first, data.second)]
    own = np.unique(np.concatenate(ends))
    whole = size * len(data.dimensions)
    # A graph on one set of nodes: everybody also meets themself.
    number, _ = components(
        np.concatenate([ends[0], own]), np.concatenate([ends[1], own]), whole, whole
    )
    table = number[ends[0]] - 1  # pairs stay in a topic, so a component is in one topic too
    found = rao_kupper_grades(
        data.first[pair],
        data.second[pair],
        gold[pair, dimension],
        table,
        players=size,
        tables=int(number.max()),
    )
    dimension_of = np.empty(int(number.max()), dtype=np.int64)
    dimension_of[number[own] - 1] = own // size
    node = dimension_of[found["table"]] * size + found["player"]
    of = np.bincount(found["table"])[found["table"]]
    columns = {
        "dimension": node // size,
        "topic": data.topic[found["player"]],
        "candidate": found["player"],
        "merit": found["merit"],
        "rank": of - found["grade_high"] + 1,
        "grade": (found["grade_low"] + found["grade_high"]) / 2,
        "grade_low": found["grade_low"],
        "grade_high": found["grade_high"],
        "of": of,
        "pairs": _met(ends, np.ones(len(pair)), whole)[node],
        "n": _met(ends, votes[pair, dimension].astype(np.float64), whole)[node],
    }
    columns["component"] = _number_components(
        columns["dimension"], columns["topic"], found["table"]
    )
    order = np.lexsort((columns["candidate"], columns["topic"], columns["dimension"]))
    return Table({name: columns[name][order] for name in CANDIDATE})


def _met(ends: list[IntArray], weight: FloatArray, size: int) -> IntArray:
    """Weight of what each node (size,) is an end of."""
    both = sum(np.bincount(end, weights=weight, minlength=size) for end in ends)
    return np.rint(both).astype(np.int64)


def _number_components(dimension: IntArray, topic: IntArray, table: IntArray) -> IntArray:
    """The components of each topic and dimension, numbered from 1, the largest first."""
    known = np.unique(np.stack([dimension, topic, table]), axis=1)  # components come by size
    cell = known[0] * (int(known[1].max()) + 1) + known[1]
    number = np.arange(len(cell)) - np.searchsorted(cell, cell) + 1
    place = np.empty(int(table.max()) + 1, dtype=np.int64)
    place[known[2]] = number
    return place[table]


def _by_topic(data: Judgments, candidate: Table) -> tuple[FloatArray, list[str]]:
    """Mean grade (d, topics, systems); NaN where a topic is not graded as a whole.

    A topic counts on a dimension where all its texts that are in any pair form one component:
    grades of other topics run over other ranges.
    """
    shape = (len(data.dimensions), len(data.topics), len(data.systems))
    paired = np.zeros(len(data.candidates), dtype=bool)
    paired[data.first] = paired[data.second] = True
    wanted = np.bincount(data.topic[paired], minlength=shape[1])
    whole = candidate["of"] == wanted[candidate["topic"]]
    cell = (candidate["dimension"] * shape[1] + candidate["topic"]) * shape[2] + data.system[
        candidate["candidate"]
    ]
    total = np.bincount(cell[whole], candidate["grade"][whole], minlength=int(np.prod(shape)))
    n = np.bincount(cell[whole], minlength=int(np.prod(shape)))
    cells = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0).reshape(shape)
    notes = []
    left = int((wanted > 0).sum()) * shape[0] - int((~np.isnan(cells)).any(axis=2).sum())
    if left:
        notes.append(
            f"{left} of {int((wanted > 0).sum()) * shape[0]} topics (by dimension) are left out of "
            "the mean grades: their texts are not all connected by gold labels"
        )
    sizes = np.unique(wanted[wanted > 0])
    if len(sizes) > 1:
        notes.append(
            f"topics have {sizes[0]} to {sizes[-1]} texts, and a grade runs from 1 to their "
            "number: mean grades compare only systems that have the same topics"
        )
    return cells, notes


def _mean(values: FloatArray, axis: int) -> FloatArray:
    """Means of what is defined, without a word about what is not."""
    n = (~np.isnan(values)).sum(axis=axis)
    total = np.nan_to_num(values).sum(axis=axis)
    found: FloatArray = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0)
    return found


def _means(
    parts: Iterable[tuple[int, FloatArray]], name: str, level: float
) -> list[dict[str, Any]]:
    """Means over topics of grades (d, topics) and of their mean over the dimensions."""
    rows = []
    for key, cells in parts:
        known = ~np.isnan(cells).any(axis=0)  # topics graded on every dimension
        for k in range(EVERY, len(cells)):
            values = cells[:, known].mean(axis=0) if k == EVERY else cells[k]
            found = mean_interval(values, level)
            rows.append({"dimension": k, name: key, "grade": found.pop("mean"), **found})
    return sorted(rows, key=lambda row: (row["dimension"], row[name]))


def _tests(parts: list[tuple[int, FloatArray]], name: str, level: float) -> list[dict[str, Any]]:
    """Wilcoxon's signed rank test by topic of every two, corrected over all rows."""
    columns: dict[str, tuple[FloatArray, FloatArray]] = {}
    keys: list[dict[str, Any]] = []
    for (a, one), (b, two) in combinations(parts, 2):
        for k in range(len(one)):
            both: NDArray[np.bool_] = ~(np.isnan(one[k]) | np.isnan(two[k]))
            if both.any():
                columns[f"{k} {a} {b}"] = one[k][both], two[k][both]
                keys.append({"dimension": k, f"{name}_a": a, f"{name}_b": b})
    if not keys:
        return []
    rows = []
    for key, row, (first, second) in zip(
        keys, wilcoxon_bh(columns, level=1 - level).rows(), columns.values(), strict=True
    ):
        span = mean_interval(first - second, level)
        rows.append(
            {
                **key,
                **row,
                **{end: span[end] for end in ("low", "high")},
                **{end: np.nan if row[end] is None else row[end] for end in ("p", "adjusted")},
            }
        )
    return sorted(rows, key=lambda row: tuple(row[x] for x in key))
