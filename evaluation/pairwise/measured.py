"""The difference between the two leaders of a board, as shares of votes: where a plan starts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.models import Task
from evaluation.models import Run
from evaluation.pairwise.run import CORE
from evaluation.pairwise.selectors.boards import default_dimension, ordered, rows_of
from evaluation.pairwise.selectors.runs import dimensions
from evaluation.runs.selectors.lists import figures_of

Told = Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """Share for the first of two sources minus share for the second; where it can lie."""

    first: str
    second: str
    dimension: str
    gap: float
    low: float
    high: float


def measured(task: Task, run: Run | None) -> Measured | None:
    """Return the measured lead of the first two on the opening board; None without such a board.

    Of decided votes the first wins tanh(difference of log-merits / 2) more than the second; the
    share of ties between the two, as counted, is taken off. The bounds are those of the board: what
    its two intervals leave open. They hold at least as often as both intervals do at once, so that
    a plan never calls apart what the board does not.
    """
    if run is None or run.method != CORE:
        return None
    asked, told = dimensions(task), figures_of(run, "win")
    chosen = default_dimension(asked)
    rows = [row for row in ordered(rows_of(run, told)) if row.dimension == chosen]
    leaders = [row for row in rows if row.component == 1 and row.estimate is not None][:2]
    if len(leaders) < 2:
        return None
    one, two = leaders
    if one.low is None or one.high is None or two.low is None or two.high is None:
        return None
    decided = _decided(told.get("win") or (), chosen, {one.id, two.id})

    def share(difference: float) -> float:
        return decided * math.tanh(difference / 2)

    return Measured(
        first=one.in_sentence,
        second=two.in_sentence,
        dimension=next((row.label for row in asked if row.name == chosen), ""),
        gap=share((one.estimate or 0.0) - (two.estimate or 0.0)),
        low=share(one.low - two.high),
        high=share(one.high - two.low),
    )


def _decided(wins: Iterable[Told], dimension: str, ids: set[int]) -> float:
    """The share of decided votes between two sources; 1 where they never met."""
    for row in wins:
        if row["dimension"] == dimension and {row["system_a"], row["system_b"]} == ids:
            n = row["wins"] + row["ties"] + row["losses"]
            return float((n - row["ties"]) / n) if n else 1.0
    return 1.0
