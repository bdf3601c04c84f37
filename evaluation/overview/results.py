"""The tasks of a project with the state of their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q

from annotation.authoring.selectors.tasks import with_titles
from annotation.models import Answer, Project, Task
from evaluation.models import Run, RunState
from evaluation.runs.adapters import judged_types, main_methods
from evaluation.runs.official.selectors import official_runs


@dataclass(frozen=True)
class TaskRow:
    """A task whose answers can be scored."""

    task: Any
    title: str
    counting: int
    run: Run | None
    new: int
    trials: bool  # runs are finished, and none is official


def tasks(project: Project) -> list[TaskRow]:
    """List every task with results and its verdict (three queries)."""
    done = Run.objects.filter(task=OuterRef("pk"), state=RunState.DONE, method__in=main_methods())
    found = Task.objects.filter(project=project, type__in=judged_types()).annotate(
        scored=Exists(done)
    )
    rows: list[Any] = list(with_titles(found).order_by("-id"))
    runs = official_runs([row.pk for row in rows])
    counting = dict(
        Answer.objects.filter(item__task__in=[row.pk for row in rows], stage=Answer.Stage.MAIN)
        .values("item__task")
        .annotate(n=Count("pk", filter=Q(counts=True)))
        .values_list("item__task", "n")
    )
    made = []
    for row in rows:
        run, now = runs.get(row.pk), counting.get(row.pk, 0)
        seen = run.snapshot.counts["counting"] if run and run.snapshot else 0
        made.append(
            TaskRow(
                row,
                getattr(row, "title", ""),
                now,
                run,
                max(0, now - seen),
                run is None and row.scored,
            )
        )
    return made
