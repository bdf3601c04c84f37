"""What a run does for each method: its steps, its options, its computing and its writing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evaluation import pair_runs, published_checks, text_runs, writing_runs
from evaluation.asked import Asking
from evaluation.methods.base import Method, Result
from evaluation.methods.registry import METHODS, get_method
from evaluation.models import Run
from evaluation.progress import Recorder


class Computed(Protocol):
    """What a run has found before anything is written."""

    @property
    def result(self) -> Result: ...


class Module(Protocol):
    """The module of a kind of runs."""

    def clean_params(self, method: Any, raw: Mapping[str, Any]) -> dict[str, Any]: ...
    def compute(self, run: Run, steps: Recorder) -> Any: ...
    def write(self, run: Run, done: Any, progress: list[dict[str, Any]]) -> None: ...
    def fail(self, run: Run, done: Any) -> str: ...


@dataclass(frozen=True)
class Kind:
    """A kind of runs: which tasks it is for, in words too, and the module that does it.

    ``asking`` holds the recipes of a kind that asks models instead of fitting a method.
    """

    shapes: tuple[str, ...]
    what: str
    module: Any
    names: Mapping[str, Sequence[str]]
    asking: Mapping[str, Asking] = field(default_factory=dict)

    def steps(self, method: str) -> Sequence[str]:
        return self.names[method]

    def recipe(self, method: str) -> Method | Asking:
        """The method of this slug, or the way of asking."""
        return self.asking.get(method) or get_method(method)

    def clean_params(self, method: Method | Asking, raw: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.module.clean_params(method, raw)
        return found

    def compute(self, run: Run, steps: Recorder) -> Any:
        return self.module.compute(run, steps)

    def write(self, run: Run, done: Any, progress: list[dict[str, Any]]) -> None:
        self.module.write(run, done, progress)

    def fail(self, run: Run, done: Any) -> str:
        return str(self.module.fail(run, done))


_TEXTS = Kind(("texts",), "free text", text_runs, {"aqer": text_runs.STEPS})
_PAIRS = Kind(("pairs",), "pairwise judgments", pair_runs, pair_runs.STEPS)
_RATINGS = Kind(("ratings",), "ratings", pair_runs, pair_runs.STEPS)
_RESPONSES = Kind(("responses",), "writing with sources", writing_runs, writing_runs.STEPS)
KINDS: dict[str, Kind] = {
    "aqer": _TEXTS, "pairwise": _PAIRS, "pairwise_checks": _PAIRS, "ratings": _RATINGS,
    "writing": _RESPONSES,
}  # fmt: skip
# What belongs to an imported result and is never started by hand.
IMPORTED = {
    published_checks.METHOD: Kind(
        ("pairs",), "pairwise judgments", published_checks, published_checks.STEPS
    )
}
# The method that runs by itself on tasks of a shape, and what follows a finished run.
MAIN = {
    "texts": "aqer", "pairs": "pairwise", "ratings": "ratings", "responses": "writing",
}  # fmt: skip
FOLLOWS = {"pairwise": "pairwise_checks"}


def title_of(method: str) -> str:
    """What a run of this method is called on pages."""
    if method in METHODS:
        return METHODS[method].title
    kind = KINDS.get(method)
    return kind.asking[method].title if kind and method in kind.asking else method
