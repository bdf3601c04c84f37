"""The plan of a task: looked up by pages, simulated by a job, which takes seconds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.core.cache import caches
from django.urls import reverse

from annotation.models import Task
from crowdqc import queue
from evaluation.methods.core.base import BadParameter
from evaluation.models import Run
from evaluation.runs.adapters import adapter_of
from evaluation.runs.planning.precision import (
    NotSimulated,
    Planner,
    PlanPage,
    cached_simulations_only,
)

MINUTE = 60  # a job that did not come is asked for again


def planner_of(task: Task) -> Planner | None:
    """Return the planner for the task's kind of answers; None where nothing can be simulated."""
    planner: Planner | None = adapter_of(task).planner
    return planner if planner is not None and planner.can_plan(task) else None


def plan_url(task: Task) -> str:
    """Return the address of the task's plan; "" where nothing can be simulated."""
    if planner_of(task) is None:
        return ""
    return reverse("task_plan", args=[task.project_id, task.pk])


def find_plan(
    planner: Planner, task: Task, run: Run | None, values: Mapping[str, Any]
) -> PlanPage | None:
    """The plan if it is simulated; else None, and a job makes it. Raises BadParameter."""
    try:
        with cached_simulations_only():
            return planner.page(task, run, values)
    except NotSimulated:
        # By what is planned: its simulations come one by one, and the next one missing is no
        # reason for a second job.
        plan = json.dumps([task.pk, run.pk if run else None, dict(values)], default=str)
        name = hashlib.sha256(plan.encode()).hexdigest()
    if caches["shared"].add(f"simulating:{name}", True, MINUTE):
        queue.enqueue(
            "evaluation.jobs.simulate_plan", task.pk, run.pk if run else None, dict(values)
        )
    return None


def simulate_plan(task_id: int, run_id: int | None, values: Mapping[str, Any]) -> str:
    """Make the plan that a page waits for; what it cannot be made of is kept for the page, too."""
    task = Task.objects.filter(pk=task_id).first()
    run = Run.objects.filter(pk=run_id).first() if run_id else None
    planner = planner_of(task) if task else None
    if task is None or planner is None or (run_id and run is None):
        return "gone"
    try:
        planner.page(task, run, values)
    except BadParameter as problem:
        return f"refused: {problem}"
    return "done"
