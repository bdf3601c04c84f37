"""What a run does for each method: its steps, its options, its computing and its writing.

The types themselves stand in ``evaluation.registry``, above the rooms that do the work; they are
loaded when one is first asked for, as their modules import half of the judging side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from annotation.models import Task
from annotation.task_types import get_type
from crowdqc.errors import DomainError
from evaluation.methods.core.base import Result
from evaluation.methods.core.params import Method, Param, Params
from evaluation.methods.registry import METHODS, get_method
from evaluation.models import Run
from evaluation.runs.asking import Asking
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome

CORE, CHECKS = "pairwise", "pairwise_checks"  # of a pairwise study
PUBLISHED = "published"  # the method of a run that holds what was published, and computes nothing


class Computed(Protocol):
    """What a run has found before anything is written."""

    @property
    def result(self) -> Result: ...


class Module(Protocol):
    """The module of a kind of runs; one whose fit may not converge has ``fail(run, done)`` too."""

    def clean_params(self, method: Any, raw: Mapping[str, Any]) -> dict[str, Any]: ...
    def compute(self, run: Run, steps: Recorder) -> Any: ...
    def write(self, run: Run, done: Any) -> Outcome: ...


@dataclass(frozen=True)
class RunType:
    """A kind of runs: which tasks it is for, in words too, and the module that does it.

    ``asking`` holds the recipes of a kind that asks models instead of fitting a method.
    """

    shapes: tuple[str, ...]
    what: str
    module: Any
    names: Mapping[str, Sequence[str]]
    asking: Mapping[str, Asking] = field(default_factory=dict)
    own: tuple[Param, ...] = ()  # what its runs take beside the options of their method

    def fits(self, task: Task) -> bool:
        """Whether the task's answers are of a shape that these runs are for."""
        return get_type(task.type).shape in self.shapes

    def steps(self, method: str) -> Sequence[str]:
        return self.names[method]

    def recipe(self, method: str) -> Method | Asking:
        """The method of this slug, or the way of asking."""
        return self.asking.get(method) or get_method(method)

    def options(self, method: str) -> Params:
        """Everything that a run of a method takes; empty for a way of asking models."""
        recipe = self.recipe(method)
        return Params(
            method, (*self.own, *recipe.options.options) if isinstance(recipe, Method) else ()
        )

    def clean_params(self, method: Method | Asking, raw: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.module.clean_params(method, raw)
        return found

    def compute(self, run: Run, steps: Recorder) -> Any:
        return self.module.compute(run, steps)

    def write(self, run: Run, done: Any) -> Outcome:
        """Write what the run made beside its results, and give these; the engine stores them."""
        found: Outcome = self.module.write(run, done)
        return found

    def fail(self, run: Run, done: Any) -> str:
        """Why the run has no result, in words; modules whose runs always end say nothing."""
        told = getattr(self.module, "fail", None)
        return str(told(run, done)) if told else "It did not converge; nothing was written."


@cache
def _registry() -> Any:
    return import_module("evaluation.registry")


def run_types() -> Mapping[str, RunType]:
    """The types of runs that people and programs may start, by method."""
    found: Mapping[str, RunType] = _registry().RUN_TYPES
    return found


def methods_of(task: Task) -> list[tuple[Method, Params]]:
    """The methods that can be run on the task's answers, with all that such a run takes.

    Ways of asking models stand apart.
    """
    found = []
    for slug, kind in run_types().items():
        recipe = kind.recipe(slug)
        if kind.fits(task) and isinstance(recipe, Method):
            found.append((recipe, kind.options(slug)))
    return found


def type_of(method: str) -> RunType:
    """The type of a run, also of one that only an import makes. Raises KeyError for no method."""
    found: RunType = run_types().get(method) or _registry().IMPORTED[method]
    return found


def fits(task: Task, method: str) -> bool:
    """Whether the task's answers are of a shape that runs of this method are for."""
    return type_of(method).fits(task)


def require_fit(task: Task, method: str, otherwise: DomainError) -> None:
    """The guard of whatever shows, or acts on, runs of a method: raise where it does not fit."""
    if not fits(task, method):
        raise otherwise


def method_after(method: str) -> str | None:
    """The method of the run that follows a finished one of this method; None for none."""
    found: str | None = _registry().FOLLOWS.get(method)
    return found


def tell_rooms(run: Run) -> None:
    """Let the rooms that look at results know of a run that is done or became official."""
    for note in _registry().AFTER:
        note(run)


def title_of(method: str) -> str:
    """What a run of this method is called on pages."""
    if method in METHODS:
        return METHODS[method].title
    if method == PUBLISHED:
        return "Published results"
    kind = run_types().get(method)
    return kind.asking[method].title if kind and method in kind.asking else method


def asking_of(method: str) -> Asking | None:
    """The way of asking of this slug; None for a method that fits answers."""
    kind = run_types().get(method)
    return kind.asking.get(method) if kind is not None else None


def asks_models(method: str, params: Mapping[str, Any]) -> bool:
    """Whether a run of this method with these options talks to a language model's endpoint."""
    return asking_of(method) is not None or str(params.get("encoder", "")).startswith("endpoint:")
