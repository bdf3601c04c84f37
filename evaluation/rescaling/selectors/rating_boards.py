"""Results of a rating task: agreement a scale, mean of every source, how workers use the scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.models import Task
from annotation.work.snapshots.judgments import AskedDimension
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.models import Run, RunFigure, RunState, SystemScore, WorkerScore
from evaluation.runs.official.selectors import official_first

SHOWN_WORKERS = 200


def shown_run(task: Task) -> Run | None:
    """The official run; while there is none the latest trial, which the page marks."""
    done = Run.objects.filter(task=task, method="ratings", state=RunState.DONE)
    return official_first(done).select_related("snapshot").defer("snapshot__answer_ids").first()


def boards(run: Run, asked: Sequence[AskedDimension]) -> list[dict[str, Any]]:
    """A board a scale; two queries."""
    told = {row["dimension"]: row for row in RunFigure.objects.get(run=run, name="agreement").data}
    scores: dict[str, list[Any]] = {}
    rows = (
        SystemScore.objects.filter(run=run)
        .order_by("-estimate", "system_id")
        .values_list(
            "dimension",
            "system__name",
            "system__prompt_strategy",
            "estimate",
            "low",
            "high",
            "n",
            "extra",
        )
    )
    for dimension, *rest in rows:
        scores.setdefault(dimension, []).append(rest)
    made = []
    for one in asked:
        found = scores.get(one.name, [])
        scale = Scale.around([value for row in found for value in (row[3], row[4], row[2])])
        # A source of texts on one scale.
        # One scale: its agreement, and the sources by their mean.
        made.append(
            {
                "asked": one,
                "alpha": told.get(one.name, {}),
                "axis": charts.forest_axis(scale),
                "rows": [
                    {
                        "name": name,
                        "detail": detail,
                        "estimate": estimate,
                        "low": low,
                        "high": high,
                        "n": n,
                        "no_interval": extra.get("no_interval") or "",
                        "plot": charts.forest_cell(scale, Estimate(estimate, low, high), name=name),
                    }
                    for name, detail, estimate, low, high, n, extra in found
                ],
            }
        )
    return made


def workers(run: Run, dimension: str) -> list[dict[str, Any]]:
    """How each worker uses one scale, the least like the others first."""
    rows = WorkerScore.objects.filter(run=run, dimension=dimension).values_list(
        "worker_id", "worker__pseudonym", "estimate", "low", "high", "n", "extra"
    )
    found = [
        {
            "id": pk,
            "name": name,
            "agrees": estimate,
            "low": low,
            "high": high,
            "n": n,
            "mean": extra.get("mean"),
            "spread": extra.get("spread"),
            "why": extra.get("no_interval") or "",
        }
        for pk, name, estimate, low, high, n, extra in rows
    ]
    found.sort(key=lambda row: (row["agrees"] is None, row["agrees"] or 0.0, row["name"]))
    return found[:SHOWN_WORKERS]
