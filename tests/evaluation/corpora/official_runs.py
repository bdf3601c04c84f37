"""Tasks whose recipe is quick, so that their runs are official as those of a real task are."""

from __future__ import annotations

from typing import Any

from annotation.models import Task
from evaluation.models import Run, RunState
from evaluation.runs import engine as runs
from evaluation.runs import schedules
from evaluation.runs.official import actions as official

QUICK = {"encoder": "char-svd", "resamples": 200}


def use_recipe(task: Task, **params: Any) -> None:
    """Let the task's runs by themselves have these options: its default recipe."""
    schedules.change_schedule(
        by=task.project.owner,
        task=task,
        enabled=True,
        after_answers=20,
        every_minutes=None,
        params=params,
    )


def finish(task: Task, *, seed: int = runs.DEFAULT_SEED, **params: Any) -> Run:
    """A finished run with these options; official only where it is of the default recipe."""
    run = runs.start(by=task.project.owner, task=task, params=params, seed=seed)
    assert runs.execute(run.pk) == RunState.DONE
    run.refresh_from_db()
    return run


def make_official(run: Run) -> Run:
    """The run, which the project's owner has made official."""
    official.make_official(by=run.project.owner, run=run)
    return run
