"""The tasks of a project with the state of their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef

from annotation.authoring.selectors.tasks import with_titles
from annotation.models import Project, Task
from evaluation.models import Run, RunState, SystemScore
from evaluation.runs.adapters import adapter_of, judged_types, main_methods
from evaluation.runs.official.selectors import official_runs
from evaluation.runs.schedules import mark_of


@dataclass(frozen=True)
class TaskRow:
    """A task whose answers can be scored."""

    task: Any
    title: str
    run: Run | None
    systems: int  # on the leaderboard of the run
    new: int
    trials: bool  # runs are finished, and none is official


def tasks(project: Project) -> list[TaskRow]:
    """List every task with results and its verdict (four queries)."""
    done = Run.objects.filter(task=OuterRef("pk"), state=RunState.DONE, method__in=main_methods())
    found = Task.objects.filter(project=project, type__in=judged_types()).annotate(
        scored=Exists(done)
    )
    rows: list[Any] = list(with_titles(found).order_by("-id"))
    runs = official_runs([row.pk for row in rows])
    new = _count_new(rows, runs)
    systems = _count_systems(runs)
    made = []
    for row in rows:
        run = runs.get(row.pk)
        made.append(
            TaskRow(
                row,
                getattr(row, "title", ""),
                run,
                systems.get(row.pk, 0),
                new.get(row.pk, 0),
                run is None and row.scored,
            )
        )
    return made


def _count_systems(runs: Mapping[int, Run]) -> dict[int, int]:
    """Count the systems that each task's run scores (1 query)."""
    scored = SystemScore.objects.filter(run__in=[run.pk for run in runs.values()]).order_by()
    return dict(scored.values_list("run__task").annotate(n=Count("system", distinct=True)))


def _count_new(tasks: Sequence[Task], runs: Mapping[int, Run]) -> dict[int, int]:
    """Count the answers that would count in a run and came after the official one (1 query)."""
    parts = [
        adapter_of(task)
        .counting_rows(task)
        .filter(pk__gt=mark_of(run).get("max_id", 0))
        .order_by()
        .values_list("item__task")
        .annotate(n=Count("pk"))
        for task in tasks
        if (run := runs.get(task.pk)) is not None and run.snapshot is not None
    ]
    return dict(parts[0].union(*parts[1:], all=True)) if parts else {}
