"""Arena battles in, arena leaderboards out: the same votes and merits under other names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.methods.base import DataError, EmptyData, Result
from evaluation.methods.votes import FIRST, SECOND, TIE, Pairs

WINNERS = {"model_a": FIRST, "model_b": SECOND, "tie": TIE, "tie (bothbad)": TIE}
SCALE, BASE, CENTRE = 400.0, 10.0, 1000.0  # points that make the odds ten to one; the mean


class BadBattle(DataError):
    """A battle that is not one; the message names its row."""


def pairs_from_battles(battles: Iterable[Mapping[str, Any]]) -> Pairs:
    """Comparisons from battles with ``model_a`` (shown on the left), ``model_b``, ``winner`` (one
    of WINNERS) and, if known, ``judge``; other keys are ignored. Both kinds of tie are ties.

    Raises EmptyData, BadBattle.
    """
    rows = list(battles)
    if not rows:
        raise EmptyData("there are no battles")
    for at, row in enumerate(rows):
        _refuse_bad(at, row)
    names = sorted({name for row in rows for name in (row["model_a"], row["model_b"])})
    judges = sorted({str(row["judge"]) for row in rows if row.get("judge")})
    player = {name: k for k, name in enumerate(names)}
    judge = {name: k for k, name in enumerate(judges)}
    return Pairs.build(
        [player[row["model_a"]] for row in rows],
        [player[row["model_b"]] for row in rows],
        [WINNERS[row["winner"]] for row in rows],
        players=names,
        left=[1] * len(rows),
        judge=[judge[str(row["judge"])] if row.get("judge") else -1 for row in rows],
        judges=judges,
    )


def _refuse_bad(at: int, row: Mapping[str, Any]) -> None:
    for key in ("model_a", "model_b", "winner"):
        if not isinstance(row.get(key), str) or not row[key]:
            raise BadBattle(f"battle {at} has no {key}")
    if row["winner"] not in WINNERS:
        raise BadBattle(f"battle {at}: winner {row['winner']!r} is not one of {', '.join(WINNERS)}")
    if row["model_a"] == row["model_b"]:
        raise BadBattle(f"battle {at}: {row['model_a']!r} meets itself")


def arena_board(
    result: Result, players: Sequence[str] | None = None, *, component: int = 1
) -> dict[str, list[Any]]:
    """A leaderboard of one component of a Bradley-Terry result, best first.

    Keys ``competitors`` (names, or indices without ``players``), ``ratings``, ``rating_lower``,
    ``rating_upper`` and ``variances``, on the scale where 400 points are odds of ten to one and the
    mean is 1000. Ratings of different components do not compare, so a board holds one. Raises
    EmptyData where the component does not exist.
    """
    table = result.estimates["player"]
    rows = np.flatnonzero(table["component"] == component)
    if not rows.size:
        raise EmptyData(f"there is no component {component}")
    rows = rows[np.argsort(-table["estimate"][rows], kind="stable")]
    points = SCALE / np.log(BASE)
    index = table["player"][rows].tolist()
    return {
        "competitors": index if players is None else [players[k] for k in index],
        "ratings": (CENTRE + points * table["estimate"][rows]).tolist(),
        "rating_lower": (CENTRE + points * table["low"][rows]).tolist(),
        "rating_upper": (CENTRE + points * table["high"][rows]).tolist(),
        "variances": (points**2 * table["se"][rows] ** 2).tolist(),
    }
