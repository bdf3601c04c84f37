"""Recipes: what a task's runs are computed by, and whether two runs were computed alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from annotation.models import Task
from crowdqc.errors import Invalid
from evaluation.models import Run, RunFigure, RunSchedule, RunState
from evaluation.runs import run_types
from evaluation.runs.adapters import adapter_of
from evaluation.runs.official.selectors import official_run

DEFAULT_SEED = 20417


class Recipe(NamedTuple):
    """The options and the seed of a run; its method is that of the task."""

    params: dict[str, Any]
    seed: int


def main_method(task: Task) -> str:
    """Return the method that runs automatically on this task; "" if there is none."""
    return adapter_of(task).main_run


def default_recipe(task: Task) -> Recipe:
    """Return the recipe of automatic runs while no run is official.

    Those are the options of the task's schedule; those it leaves open are the method's own. Raises
    Invalid where this installation cannot compute by them.
    """
    chosen = RunSchedule.objects.filter(task=task).values_list("params", flat=True).first()
    return _complete_recipe(task, chosen or {}, DEFAULT_SEED)


def recipe_in_force(task: Task, method: str = "") -> Recipe:
    """The official run's recipe, by which it is computed anew; the default one before that.

    Of another ``method`` than the task's own it is that of its newest finished run. Raises Invalid
    where this installation cannot compute by it any more.
    """
    if method and method != main_method(task):
        done = task.runs.filter(method=method, state=RunState.DONE, lane="").order_by("-pk").first()
        if done is None:
            return _complete_recipe(task, {}, DEFAULT_SEED, method)
        return _complete_recipe(task, done.params, done.seed, method)
    official = official_run(task)
    if official is None:
        return default_recipe(task)
    return _complete_recipe(task, official.params, official.seed)


def _complete_recipe(task: Task, options: Mapping[str, Any], seed: int, method: str = "") -> Recipe:
    """The recipe as a run stores it: with options that the method has got since."""
    kind = run_types.run_types()[method or main_method(task)]
    return Recipe(kind.clean_params(options), seed)


def is_default(run: Run) -> bool:
    """Whether the run is by its task's own method, with the options and seed of nobody's choice."""
    if run.method != main_method(run.task):
        return False
    try:
        return default_recipe(run.task) == (run.params, run.seed)
    except Invalid:  # what cannot be computed here is no default
        return False


def same_recipe(one: Run, other: Run) -> bool:
    """Whether both have method, version, options, seed and, where they have one, encoder alike."""
    mine, theirs = ((run.method, run.version, run.params, run.seed) for run in (one, other))
    return mine == theirs and _encoder(one) == _encoder(other)


def _encoder(run: Run) -> str:
    """The identity of the encoder as it was when the run was computed; empty without one."""
    figure = RunFigure.objects.filter(run=run, name="recipe").values_list("data", flat=True).first()
    return str((figure or {}).get("encoder", ""))
