"""The tasks of a project with the state of their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef

from annotation.authoring.selectors.tasks import with_titles
from annotation.models import Project, Task
from crowdqc.tally import Tally
from evaluation.models import Run, RunFigure, RunState, SystemScore
from evaluation.runs.adapters import judged_types, main_methods
from evaluation.runs.official.selectors import official_runs
from evaluation.runs.results import votes_used
from evaluation.runs.schedules import count_new_answers


@dataclass(frozen=True)
class TaskRow:
    """A task whose answers can be scored."""

    task: Any
    title: str
    run: Run | None
    systems: int  # on the leaderboard of the run
    used: int  # of the answers that came to the run
    new: int  # came or changed since the run
    trials: bool  # runs are finished, and none is official


def tasks(project: Project) -> list[TaskRow]:
    """List every task with results and its verdict: five queries, and one a task with a run."""
    done = Run.objects.filter(task=OuterRef("pk"), state=RunState.DONE, method__in=main_methods())
    found = Task.objects.filter(project=project, type__in=judged_types()).annotate(
        scored=Exists(done)
    )
    rows: list[Any] = list(with_titles(found).order_by("-id"))
    runs = official_runs([row.pk for row in rows])
    systems, tallies = _count_systems(runs), _read_tallies(runs)
    made = []
    for row in rows:
        run = runs.get(row.pk)
        made.append(
            TaskRow(
                row,
                getattr(row, "title", ""),
                run,
                systems.get(row.pk, 0),
                _count_used(run, tallies.get(row.pk)),
                count_new_answers(row, run).any if run is not None else 0,
                run is None and row.scored,
            )
        )
    return made


def _count_used(run: Run | None, tally: Tally | None) -> int:
    """Count the answers that a run used, as its page says; all that it saw if it tells no tally."""
    if tally is not None:
        return tally.used
    counts = run.snapshot.counts if run is not None and run.snapshot is not None else {}
    used: int = counts.get("answers", 0)
    return used


def _count_systems(runs: Mapping[int, Run]) -> dict[int, int]:
    """Count the systems that each task's run scores (1 query)."""
    scored = SystemScore.objects.filter(run__in=[run.pk for run in runs.values()]).order_by()
    return dict(scored.values_list("run__task").annotate(n=Count("system", distinct=True)))


def _read_tallies(runs: Mapping[int, Run]) -> dict[int, Tally]:
    """Read how many of the votes each task's run uses (1 query); without runs that tell none."""
    rows = RunFigure.objects.filter(run__in=runs.values(), name=votes_used.FIGURE)
    return {
        task: tally
        for task, data in rows.values_list("run__task", "data")
        if (tally := votes_used.tally_of({votes_used.FIGURE: data})) is not None
    }
