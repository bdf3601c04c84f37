"""Telling people and other systems that a run has ended, in the transaction that ends it."""

from __future__ import annotations

import datetime as dt

from django.urls import reverse
from django.utils import timezone

from annotation.notifications.actions.notices import notify, people_of
from annotation.notifications.actions.webhooks import emit
from evaluation.models import Run, RunState
from evaluation.runs.run_types import title_of

LONG = dt.timedelta(minutes=1)  # of a shorter run nobody is mailed: they may still be looking
FOLLOWS = "follows"


def tell(run: Run, state: str) -> None:
    """Tell who started it; of a failed automatic run staff, and only of the first."""
    data = {"run": run.number, "task": run.task_id, "method": run.method, "state": state}
    emit(project=run.project, event="run.finished", data=data)
    if state == RunState.CANCELLED or (state == RunState.DONE and run.trigger == FOLLOWS):
        return  # by whoever cancelled it; what follows a run is part of it
    failed = state == RunState.FAILED
    if run.started_by is not None:
        people = [run.started_by]
    elif failed and not _failed_before(run):
        people = people_of(run.project)
    else:
        return
    notify(
        to=people,
        kind="run.failed" if failed else "run.finished",
        project=run.project,
        key=f"run.ended:{run.pk}",
        url=reverse("run", args=[run.project_id, run.number]),
        text=f"Run {run.number} ({title_of(run.method)}) {'failed' if failed else 'is done'}.",
        mail=failed or timezone.now() - run.created_at > LONG,
    )


def _failed_before(run: Run) -> bool:
    """Whether the run of this kind before it, also started automatically, failed too."""
    before = Run.objects.filter(
        task=run.task_id,
        method=run.method,
        lane=run.lane,
        started_by=None,
        pk__lt=run.pk,
        state__in=[RunState.DONE, RunState.FAILED],
    )
    last = before.order_by("-pk").values_list("state", flat=True).first()
    return last == RunState.FAILED
