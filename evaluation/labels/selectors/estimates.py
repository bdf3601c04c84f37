"""What a run of a plug-in's method stored, read without the plug-in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from crowdqc import plugins
from evaluation.labels.outside import FIGURE
from evaluation.models import ItemLabel, Run, RunFigure, WorkerScore

SHOWN = 200  # rows of each table; files have all


@dataclass(frozen=True)
class LabelRow:
    """An item with its most probable label."""

    item: str
    label: str
    probability: float | None
    n: int


@dataclass(frozen=True)
class Estimates:
    """The stored result of a plug-in's run; ``plugin`` is what the run kept of it."""

    plugin: dict[str, Any]
    is_loaded: bool
    workers: QuerySet[WorkerScore]
    worker_count: int
    labels: list[LabelRow]
    label_count: int


def stored_estimates(run: Run) -> Estimates:
    """Read what a run stored: the workers by their estimate, the items least sure first."""
    kept = RunFigure.objects.filter(run=run, name=FIGURE).values_list("data", flat=True).first()
    workers = WorkerScore.objects.filter(run=run).select_related("worker")
    labels = ItemLabel.objects.filter(run=run).select_related("item")
    return Estimates(
        plugin=dict(kept or {}),
        is_loaded=plugins.current().owner(run.method) is not None,
        workers=workers.order_by("-estimate", "pk")[:SHOWN],
        worker_count=workers.count(),
        labels=[
            LabelRow(row.item.key, row.label, row.posterior.get(row.label), row.n)
            for row in labels.order_by("-entropy", "pk")[:SHOWN]
        ],
        label_count=labels.count(),
    )
