"""The difference between the two leaders of a board, as shares of votes: where a plan starts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import scipy

from annotation.models import Task
from evaluation.models import Run
from evaluation.pairwise.run import CORE
from evaluation.pairwise.selectors.boards import default_dimension, rows_of
from evaluation.pairwise.selectors.runs import dimensions
from evaluation.runs.selectors.lists import figures_of

Told = Mapping[str, Any]
NORMAL = float(scipy.special.ndtri(0.975))


@dataclass(frozen=True)
class Measured:
    """Share for the first of two sources minus share for the second, with its 95% interval."""

    first: str
    second: str
    dimension: str
    gap: float
    low: float
    high: float


def measured(task: Task, run: Run | None) -> Measured | None:
    """That of the first two of the board a page opens with; None where the run has no such figure.

    The board holds a difference of log-merits with its jackknife error. Of decided votes the first
    then wins tanh(difference / 2) more than the second; the share of ties between the two, as
    counted, is taken off.
    """
    if run is None or run.method != CORE:
        return None
    told, asked = figures_of(run, "top", "win"), dimensions(task)
    chosen = default_dimension(asked)
    top = next((row for row in told.get("top") or () if row["dimension"] == chosen), None)
    if top is None or top["gap"] is None or top["error"] is None:
        return None
    ids = {top["system_a"], top["system_b"]}
    names = {row.id: row.in_sentence for row in rows_of(run, {}) if row.id in ids}
    decided = _decided(told.get("win") or (), chosen, ids)
    low, high = (top["gap"] + side * NORMAL * top["error"] for side in (-1, 1))
    return Measured(
        first=names.get(top["system_a"], ""),
        second=names.get(top["system_b"], ""),
        dimension=next((one.label for one in asked if one.name == chosen), ""),
        gap=decided * math.tanh(top["gap"] / 2),
        low=decided * math.tanh(low / 2),
        high=decided * math.tanh(high / 2),
    )


def _decided(wins: Iterable[Told], dimension: str, ids: set[int]) -> float:
    """The share of decided votes between two sources; 1 where they never met."""
    for row in wins:
        if row["dimension"] == dimension and {row["system_a"], row["system_b"]} == ids:
            n = row["wins"] + row["ties"] + row["losses"]
            return (n - row["ties"]) / n if n else 1.0
    return 1.0
