"""The leaderboard of a run as arena tools take it, from the rows that the run wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from annotation.models import Task
from crowdqc.errors import Invalid, Missing
from evaluation.methods.arena import BASE, CENTRE, SCALE
from evaluation.models import Run, RunState, SystemScore
from evaluation.selectors.official import official_run

METHOD = "pairwise"
POINTS = SCALE / float(np.log(BASE))  # of one unit of merit


def core_run(task: Task, number: int | None = None) -> Run:
    """The official core run of a task, or the finished one of this number; else Missing."""
    if number is None:
        run = official_run(task)
    else:
        run = task.runs.filter(method=METHOD, state=RunState.DONE, number=number).first()
    if run is None and number is None:
        raise Missing("This task has no official run. Name a run to export a trial.")
    if run is None:
        raise Missing(f"There is no run {number} of this task that is finished.")
    return run


def board(run: Run, dimension: str, component: int = 1) -> dict[str, list[Any]]:
    """One component's sources of texts, best first, on one dimension.

    Keys ``competitors``, ``ratings``, ``rating_lower``, ``rating_upper`` and ``variances``, on the
    scale where 400 points are odds of ten to one and the mean is 1000; None where the run has no
    interval. Raises Invalid where the run has no such board.
    """
    rows = list(
        SystemScore.objects.filter(
            run=run, dimension=dimension, component=component, estimate__isnull=False
        )
        .select_related("system")
        .order_by("-estimate", "system__name", "system__prompt_strategy")
    )
    if not rows:
        known = SystemScore.objects.filter(run=run, component=component)
        names = sorted(set(known.values_list("dimension", flat=True)))
        raise Invalid(
            f"Run {run.number} has no board {component} on {dimension}.",
            fields={"dimension": ", ".join(name for name in names if name) or "none"},
        )
    spread = [row.extra.get("se") for row in rows]
    return {
        "competitors": [str(row.system) for row in rows],
        "ratings": [_rating(row.estimate) for row in rows],
        "rating_lower": [_rating(row.low) for row in rows],
        "rating_upper": [_rating(row.high) for row in rows],
        "variances": [None if se is None else POINTS**2 * se**2 for se in spread],
    }


def lines(run: Run, dimension: str, component: int = 1) -> Iterator[str]:
    """The board as one JSON document."""
    yield json.dumps(board(run, dimension, component), ensure_ascii=False, indent=1) + "\n"


def _rating(merit: float | None) -> float | None:
    return None if merit is None else CENTRE + POINTS * merit
