"""The one place that says which run of a task is official.

Money, bonus rules, panels, cards, domain boards, the review queue, exports and the API read this
run and no other; pages of results show it first, and mark every other one.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import Task
from evaluation.models import OfficialRun, Run

IS_OFFICIAL = Q(official__isnull=False, official__until__isnull=True)  # of a run


def official_runs(task_ids: Iterable[int]) -> dict[int, Run]:
    """The official run of each task that has one, in one query."""
    rows = Run.objects.filter(IS_OFFICIAL, task__in=list(task_ids)).select_related("snapshot")
    return {run.task_id: run for run in rows.defer("snapshot__answer_ids")}


def official_run(task: Task) -> Run | None:
    """The task's official run; None while it has none."""
    return official_runs([task.pk]).get(task.pk)


def in_force() -> Exists:
    """Whether a run, a row of a query, is official: a column to mark it by."""
    return Exists(OfficialRun.objects.filter(run=OuterRef("pk"), until__isnull=True))


def official_first(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Runs of a task's own method for a page: the official one, then the others, newest first."""
    return runs.order_by(in_force().desc(), "-id")
