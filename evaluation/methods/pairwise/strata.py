"""A board of systems by kind of pair: by a column of the pairs, and by how hard they are.

A pair is hard where people disagree on it. Were pairs split by all of their votes, the easy ones
would be those on which chance made the votes agree, and every gap would be too wide there. So each
vote is placed by what the *others* said of its pair: given the pair, that is independent of the
vote itself, which therefore says in every stratum what it would say anyway (leave-one-out, as in
cross-fitting).

Every stratum is a board of its own, clustered as the whole one is (``boards``). Its intervals,
ranks and groups are at a level that makes those of all strata of all columns hold together
(Bonferroni over strata; within a board over pairs of systems, as everywhere).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import DataError, FloatArray, Hooks, IntArray, Table, of_rows
from evaluation.methods.core.inference import family_level, t_quantile
from evaluation.methods.core.kinds import FEWEST, not_split, too_small
from evaluation.methods.core.votes import FIRST, SECOND
from evaluation.methods.pairwise.boards import (
    SYSTEM,
    Boards,
    BoardVotes,
    board_of,
    draws_of,
    votes_of,
)
from evaluation.methods.pairwise.judgments import Judgments, ShownVotes
from evaluation.methods.pairwise.tables import EVERY

STAGE = "kinds of pairs"
DIFFICULTY = "difficulty"
DEGREES = ("easy", "medium", "hard")  # terciles of the votes by what the others said
LEAST_OTHERS = 2  # votes without which nobody can be said to disagree
STRATUM = (
    *("dimension", "column", "stratum", "votes", "pairs", "topics", "workers", "disagreement"),
    *("level", "reason"),
)
MERIT = ("dimension", "column", "stratum", *SYSTEM[1:])
SHIFT = (
    *("dimension", "column", "system", "stratum_a", "stratum_b"),
    *("difference", "low", "high"),
)


def disagreement(outcome: IntArray, pair: IntArray) -> FloatArray:
    """Return how evenly the other votes on each vote's pair are split (n,).

    0 where they all prefer one text, 1 where as many prefer either; a tie is half a vote for each.
    NaN where there are fewer than LEAST_OTHERS.
    """
    size = int(pair.max(initial=-1)) + 1
    lead = np.where(outcome == FIRST, 1, 0) - np.where(outcome == SECOND, 1, 0)
    others = np.bincount(pair, minlength=size)[pair] - 1
    rest = np.bincount(pair, lead, size)[pair] - lead
    return np.where(others >= LEAST_OTHERS, 1 - np.abs(rest) / np.maximum(others, 1), np.nan)


def terciles(value: FloatArray) -> IntArray:
    """The third (0, 1, 2) of each value (n,), -1 for NaN; equal values stay together.

    They go where the middle of their places lies, so that fewer than three thirds may be left.
    """
    known = np.isfinite(value)
    found = np.full(len(value), -1, dtype=np.int64)
    levels, place, n = np.unique(value[known], return_inverse=True, return_counts=True)
    if len(levels):
        middle = (np.cumsum(n) - n / 2) / known.sum()
        found[known] = np.minimum((3 * middle).astype(np.int64), 2)[place]
    return found


def strata(
    data: Judgments,
    people: ShownVotes,
    competence: FloatArray | None,
    settings: dict[str, Any],
    *,
    board: Boards,
    rng: np.random.Generator,
    hooks: Hooks,
) -> dict[str, Table]:
    """The boards by column and stratum of the dimensions that have a ``board``.

    ``stratum``, a row a stratum: dimension, ``column`` (a name of ``data.columns`` or DIFFICULTY),
    stratum (its name), votes, pairs, topics, workers, ``disagreement`` (the mean; NaN but for
    DIFFICULTY), ``level`` of its intervals (NaN without a board), reason (why there is no board,
    else ""). A column that is not split has one row, whose stratum is "".

    ``stratum_system``, merits as ``system``. ``shift``, systems whose merit (against the average of
    the stratum) differs between two strata: difference (a - b), with an interval at ``level`` for
    all systems and pairs of strata of all columns at once. Its standard error is the sum of both,
    as people judge in several strata; that holds however the two go together.
    """
    known = set(board.system["dimension"].tolist())
    votes = votes_of(data, people, competence)
    rows: dict[str, list[dict[str, Any]]] = {"stratum": [], "stratum_system": [], "shift": []}
    hard = [disagreement(one.outcome, one.pair) for one in votes]
    every, evenness = BoardVotes.joined(votes), np.concatenate(hard)
    rngs = draws_of(rng, votes)
    for k in range(EVERY, len(votes)):
        hooks.step(STAGE, k + 1, len(votes) + 1)
        if k not in known:
            continue
        own, split = (every, evenness) if k == EVERY else (votes[k], hard[k])
        columns: dict[str, tuple[IntArray, tuple[str, ...]]]
        columns = {DIFFICULTY: (terciles(split), DEGREES)}
        for name, column in data.columns.items():
            columns[name] = column.of[own.pair], column.names
        parts = {
            name: [
                _part(own, of == at, stratum, split if name == DIFFICULTY else None)
                for at, stratum in enumerate(names)
            ]
            for name, (of, names) in columns.items()
        }
        together = _Together.of(parts.values())
        for name, drawn in zip(parts, rngs[k].spawn(len(parts)), strict=True):
            found = _column(data, parts[name], settings, together, rng=drawn, hooks=hooks)
            for table, lines in found.items():
                rows[table] += [{"dimension": k, "column": name, **line} for line in lines]
    hooks.step(STAGE, len(votes) + 1, len(votes) + 1)
    return {
        "stratum": of_rows(rows["stratum"], STRATUM),
        "stratum_system": of_rows(rows["stratum_system"], MERIT),
        "shift": of_rows(rows["shift"], SHIFT),
    }


@dataclass(frozen=True, eq=False)
class _Part:
    """The votes of one stratum, and what is told of them."""

    votes: BoardVotes
    told: dict[str, Any]


@dataclass(frozen=True)
class _Together:
    """How many boards, and pairs of them, the columns of a dimension have."""

    boards: int
    couples: int

    @classmethod
    def of(cls, columns: Iterable[Sequence[_Part]]) -> _Together:
        sizes = [[one.told["pairs"] for one in parts] for parts in columns]
        many = [sum(size >= FEWEST for size in own) for own in sizes if not not_split(own, "pairs")]
        return cls(sum(many), sum(n * (n - 1) // 2 for n in many))


def _part(votes: BoardVotes, rows: NDArray[np.bool_], name: str, split: FloatArray | None) -> _Part:
    own = votes.take(rows)
    told = {
        "stratum": name,
        "votes": len(own.a),
        "pairs": len(np.unique(own.pair)),
        "topics": len(np.unique(own.topic)),
        "workers": len(np.unique(own.worker)),
        "disagreement": np.nan if split is None or not rows.any() else float(split[rows].mean()),
    }
    return _Part(own, told)


def _column(
    data: Judgments,
    parts: Sequence[_Part],
    settings: dict[str, Any],
    together: _Together,
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> dict[str, list[dict[str, Any]]]:
    """The rows of one column on one dimension."""
    enough = [one for one in parts if one.told["pairs"] >= FEWEST]
    if why := not_split([one.told["pairs"] for one in parts], "pairs"):
        blank = {**_part(parts[0].votes, np.zeros(len(parts[0].votes.a), bool), "", None).told}
        return {"stratum": [{**blank, "level": np.nan, "reason": why}]}
    level = family_level(settings["level"], together.boards)
    told, merits, boards = [], [], []
    for part, drawn in zip(parts, rng.spawn(len(parts)), strict=True):
        if not part.told["votes"]:
            continue
        table, reason = None, ""
        if part in enough:
            try:
                chosen = {**settings, "level": level}
                table = board_of(data, part.votes, chosen, drawn, hooks).player
            except DataError as problem:
                reason = str(problem)
        else:
            reason = too_small(part.told["pairs"], "pairs")
        told.append({**part.told, "level": level if table else np.nan, "reason": reason})
        if table is not None:
            boards.append((part, table))
            columns = [table[name].tolist() for name in MERIT[3:]]
            merits += [
                {"stratum": part.told["stratum"], **dict(zip(MERIT[3:], row, strict=True))}
                for row in zip(*columns, strict=True)
            ]
    shifts = _shifts(boards, settings["level"], together.couples)
    return {"stratum": told, "stratum_system": merits, "shift": shifts}


def _shifts(
    boards: Sequence[tuple[_Part, Table]], level: float, tried: int
) -> list[dict[str, Any]]:
    """Systems whose place against the average differs between two strata."""
    systems = len(boards[0][1]) if boards else 0
    found = []
    for (one, a), (other, b) in combinations(boards, 2):
        both = (a["component"] == 1) & (b["component"] == 1)
        both &= np.isfinite(a["low"]) & np.isfinite(b["low"])  # else too few clusters
        freedom = np.where(both, np.minimum(a["freedom"], b["freedom"]), 1.0)
        far = t_quantile(level, freedom, systems * tried) * (a["se"] + b["se"])
        difference = a["estimate"] - b["estimate"]
        for at in np.flatnonzero(both & (np.abs(difference) > far)).tolist():
            found.append(
                {
                    "system": int(a["system"][at]),
                    "stratum_a": one.told["stratum"],
                    "stratum_b": other.told["stratum"],
                    "difference": float(difference[at]),
                    "low": float(difference[at] - far[at]),
                    "high": float(difference[at] + far[at]),
                }
            )
    return found
