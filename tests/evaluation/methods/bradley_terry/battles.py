"""Arena battles read as comparisons, to hold ratings and exports against what the arena has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evaluation.methods.core.base import DataError, EmptyData
from evaluation.methods.core.votes import FIRST, SECOND, TIE, Pairs

WINNERS = {"model_a": FIRST, "model_b": SECOND, "tie": TIE, "both_bad": TIE, "tie (bothbad)": TIE}


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
