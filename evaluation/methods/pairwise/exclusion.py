"""What leaving workers out would change, seen before it is done.

Both sides are fitted alike, from the same random numbers, so that what differs is the workers'
doing: their votes, and what these made MACE think of everybody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Table, of_rows
from evaluation.methods.pairwise.agreement import alpha_of
from evaluation.methods.pairwise.boards import boards
from evaluation.methods.pairwise.gold import gold_labels
from evaluation.methods.pairwise.judgments import MISSING, Judgments
from evaluation.methods.pairwise.method import FEW, PARAMS, parts_of
from evaluation.methods.pairwise.tables import EVERY, mean_of, votes_behind

ALPHA = ("dimension", "before", "after")
SYSTEM = (
    "dimension",
    "system",
    "component_before",
    "component_after",
    "before",
    "after",
    "low_before",
    "high_before",
    "low_after",
    "high_after",
    "rank_before",
    "rank_after",
)
GOLD = ("dimension", "changed", "lost", "n")
LABEL = ("dimension", "pair", "before", "after")


@dataclass(frozen=True, eq=False)
class Exclusion:
    """Before and after.

    ``alpha``: dimension (-1: mean), before, after. ``system``: dimension, system, and before and
    after its component (0: never compared), estimate, bounds and rank. ``gold``: dimension (-1:
    all), ``changed`` labels of the ``n`` before, of which ``lost`` have none after. ``labels``: a
    row each of these, with dimension, pair, label before and after (-1: none). ``judgments`` are
    removed, ``workers`` named; ``thin`` pairs have fewer than 3 votes before and after, and
    ``parts`` of the worker-pair graph are there before and after.
    """

    alpha: Table
    system: Table
    gold: Table
    labels: Table
    judgments: int
    workers: tuple[str, ...]
    thin: tuple[int, int]
    parts: tuple[int, int]


@dataclass(frozen=True, eq=False)
class _Side:
    alpha: FloatArray
    system: Table
    gold: IntArray
    thin: int
    parts: int


def exclusion_effect(
    data: Judgments,
    workers: Sequence[int] | IntArray,
    *,
    seed: int,
    hooks: Hooks | None = None,
    **params: Any,
) -> Exclusion:
    """Compare the study with and without these ``workers`` (indices).

    ``params`` are those of ``pairwise`` (give a run's own); ``draws`` are not needed. Raises
    UnknownIndex, EmptyData (nobody is left), BadParameter, Cancelled.
    """
    settings, hooks = {**PARAMS.settings(params), "draws": 0}, hooks or Hooks()
    rest = data.without_workers(workers)
    hooks.step("before", 0, 2)
    before = _side(data, settings, seed)
    hooks.step("after", 1, 2)
    after = _side(rest, settings, seed)
    hooks.step("after", 2, 2)
    return Exclusion(
        alpha=of_rows(
            [
                {"dimension": k, "before": one, "after": two}
                for k, one, two in zip(
                    range(EVERY, len(before.alpha)),
                    [mean_of(before.alpha), *before.alpha],
                    [mean_of(after.alpha), *after.alpha],
                    strict=True,
                )
            ],
            ALPHA,
        ),
        system=_systems(before.system, after.system),
        gold=_changed(before.gold, after.gold),
        labels=_labels(before.gold, after.gold),
        judgments=len(data) - len(rest),
        workers=tuple(data.votes.workers[k] for k in sorted({int(k) for k in workers})),
        thin=(before.thin, after.thin),
        parts=(before.parts, after.parts),
    )


def _side(data: Judgments, settings: dict[str, Any], seed: int) -> _Side:
    people = data.votes.first_votes()
    rngs = np.random.default_rng(seed).spawn(2)
    gold = gold_labels(data, people, settings, rng=rngs[0], hooks=Hooks())
    competence = gold.competence if settings["rank_by"] == "competence" else None
    board = boards(data, people, competence, settings, rng=rngs[1], hooks=Hooks())
    thin = int((votes_behind(people).max(axis=1) < FEW).sum())
    return _Side(alpha_of(people), board.system, gold.gold, thin, len(parts_of(people)))


def _systems(before: Table, after: Table) -> Table:
    """Put both boards side by side; NaN for a dimension without a board on one side."""
    sides = [
        {(row["dimension"], row["system"]): row for row in table.rows()}
        for table in (before, after)
    ]
    rows = []
    for key in sorted(set(sides[0]) | set(sides[1])):
        row: dict[str, Any] = {"dimension": key[0], "system": key[1]}
        for name, side in zip(("before", "after"), sides, strict=True):
            own = side.get(key, {})
            row[name] = _number(own.get("estimate"))
            row |= {f"{end}_{name}": _number(own.get(end)) for end in ("low", "high")}
            row |= {f"{what}_{name}": own.get(what, 0) for what in ("rank", "component")}
        rows.append(row)
    return of_rows(rows, SYSTEM)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _changed(before: IntArray, after: IntArray) -> Table:
    had = before != MISSING
    lost = had & (after == MISSING)
    changed = had & (before != after)
    rows = [
        {
            "dimension": k,
            "changed": int(changed[:, k].sum()),
            "lost": int(lost[:, k].sum()),
            "n": int(had[:, k].sum()),
        }
        for k in range(before.shape[1])
    ]
    every = {name: sum(row[name] for row in rows) for name in GOLD[1:]}
    return of_rows([{"dimension": EVERY, **every}, *rows], GOLD)


def _labels(before: IntArray, after: IntArray) -> Table:
    pair, dimension = np.nonzero((before != MISSING) & (before != after))
    columns = {
        "dimension": dimension,
        "pair": pair,
        "before": before[pair, dimension],
        "after": after[pair, dimension],
    }
    return Table({name: columns[name] for name in LABEL})
