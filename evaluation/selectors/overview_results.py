"""The tasks of a project with the state of their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, Q, Subquery

from annotation.models import Answer, Project, Task
from annotation.task_types import TYPES
from evaluation import kinds
from evaluation.models import Run, RunState
from evaluation.selectors.run_words import PAGES
from evaluation.selectors.runs import with_titles


@dataclass(frozen=True)
class TaskRow:
    """A task whose answers can be scored."""

    task: Any
    title: str
    counting: int
    run: Run | None
    new: int


def tasks(project: Project) -> list[TaskRow]:
    """Every task that has results, in three queries."""
    slugs = [slug for slug, kind in TYPES.items() if kind.shape in PAGES]
    # Nulls and published results stand beside a run of the task's own method.
    latest = Run.objects.filter(
        task=OuterRef("pk"), state=RunState.DONE, method__in=list(kinds.MAIN.values())
    ).order_by("-id")
    rows = list(
        with_titles(Task.objects.filter(project=project, type__in=slugs))
        .annotate(latest=Subquery(latest.values("pk")[:1]))
        .order_by("-id")
    )
    runs = {
        run.pk: run
        for run in Run.objects.filter(pk__in=[row.latest for row in rows if row.latest])
        .select_related("snapshot")
        .defer("snapshot__answer_ids")
    }
    counting = dict(
        Answer.objects.filter(item__task__in=[row.pk for row in rows], stage=Answer.Stage.MAIN)
        .values("item__task")
        .annotate(n=Count("pk", filter=Q(counts=True)))
        .values_list("item__task", "n")
    )
    made = []
    for row in rows:
        run, now = runs.get(row.latest), counting.get(row.pk, 0)
        seen = run.snapshot.counts["counting"] if run and run.snapshot else 0
        made.append(TaskRow(row, getattr(row, "title", ""), now, run, max(0, now - seen)))
    return made
