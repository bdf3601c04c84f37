"""Figures of pairwise runs with names in place of ids, as they leave the application."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from annotation.models import Candidate, Item, Membership, System
from evaluation.models import Run, RunFigure

# Column of a figure's rows -> what its ids are.
COLUMNS = {
    "worker": "worker",
    "system": "system",
    "system_a": "system",
    "system_b": "system",
    "machine": "system",
    "machine_a": "system",
    "machine_b": "system",
    "candidate": "candidate",
    "pair": "pair",
}


def _names(run: Run) -> dict[str, dict[int, str]]:
    project = run.project_id
    return {
        "worker": dict(Membership.objects.filter(project=project).values_list("pk", "pseudonym")),
        "system": {one.pk: str(one) for one in System.objects.filter(project=project)},
        "candidate": dict(Candidate.objects.filter(project=project).values_list("pk", "key")),
        "pair": dict(Item.objects.filter(task=run.task_id).values_list("pk", "key")),
    }


def _named(row: Any, names: Mapping[str, Mapping[int, str]]) -> Any:
    if not isinstance(row, dict):
        return row
    return {
        column: names[COLUMNS[column]].get(value, value)
        if column in COLUMNS and isinstance(value, int)
        else value
        for column, value in row.items()
    }


def figures_text(run: Run) -> str:
    """All figures of a run by name as JSON: win matrix, agreement, order effects and so on."""
    names = _names(run)
    told = RunFigure.objects.filter(run=run).order_by("name").values_list("name", "data")
    found = {
        name: [_named(row, names) for row in data] if isinstance(data, list) else data
        for name, data in told
    }
    return json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
