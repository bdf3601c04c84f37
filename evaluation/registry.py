"""What a run does for each method: its steps, its options, its computing and its writing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evaluation.checklists.filled import ask as checks_ask
from evaluation.checklists.filled import g_eval
from evaluation.checklists.filled import run as checks
from evaluation.checklists.making import diversity as attribute_diversity
from evaluation.checklists.making import runs as checklist_runs
from evaluation.free_text import run as text_runs
from evaluation.grading import study_run as study_runs
from evaluation.llm_runs.answering import run as answering
from evaluation.llm_runs.judging import pairs as judging_runs
from evaluation.llm_runs.judging import points as judging_runs_points
from evaluation.methods.core.base import Method, Result
from evaluation.methods.registry import METHODS, get_method
from evaluation.models import Run
from evaluation.pairwise import run as pair_runs
from evaluation.panels import run as panel_runs
from evaluation.published.studies import crowdrag_checks as published_checks
from evaluation.rescaling import run as rescaling
from evaluation.runs.asking import Asking
from evaluation.runs.progress import Recorder
from evaluation.runs.results import Outcome
from evaluation.writing import run as writing_runs


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

    def write(self, run: Run, done: Any) -> Outcome:
        """Write what the run made beside its results, and give these; the engine stores them."""
        found: Outcome = self.module.write(run, done)
        return found

    def fail(self, run: Run, done: Any) -> str:
        """Why the run has no result, in words; modules whose runs always end say nothing."""
        told = getattr(self.module, "fail", None)
        return str(told(run, done)) if told else "It did not converge; nothing was written."


_TEXTS = Kind(("texts",), "free text", text_runs, {"aqer": text_runs.STEPS})
_STUDY = Kind(("texts",), "free text", study_runs, study_runs.STEPS)
_PAIRS = Kind(("pairs",), "pairwise judgments", pair_runs, pair_runs.STEPS)
_RATINGS = Kind(("ratings",), "ratings", pair_runs, pair_runs.STEPS)
_RESPONSES = Kind(("responses",), "writing with sources", writing_runs, writing_runs.STEPS)
KINDS: dict[str, Kind] = {
    "aqer": _TEXTS, "aqer_study": _STUDY, "pairwise": _PAIRS, "pairwise_checks": _PAIRS,
    "ratings": _RATINGS, "writing": _RESPONSES,
}  # fmt: skip
KINDS[panel_runs.SLUG] = Kind(("texts",), "free text", panel_runs, panel_runs.STEPS)
KINDS[rescaling.SLUG] = Kind(
    ("ratings",), "ratings with explanations", rescaling, rescaling.STEPS,
    {rescaling.SLUG: rescaling.ASKING},
)  # fmt: skip
KINDS[attribute_diversity.SLUG] = Kind(
    ("attributes",), "think-alouds", attribute_diversity, attribute_diversity.STEPS
)
_THOUGHTS = Kind(
    ("attributes",), "think-alouds", checklist_runs, checklist_runs.STEPS,
    {one.slug: one for one in (checklist_runs.THINKING, checklist_runs.MAKING)},
)  # fmt: skip
KINDS.update({slug: _THOUGHTS for slug in checklist_runs.STEPS})
KINDS[answering.SLUG] = Kind(
    ("texts", "responses"), "free text and writing with sources", answering, answering.STEPS,
    {answering.SLUG: answering.ANSWERS},
)  # fmt: skip
KINDS[judging_runs.SLUG] = Kind(
    ("pairs",), "pairwise judgments", judging_runs, judging_runs.STEPS,
    {judging_runs.SLUG: judging_runs.JUDGE_PAIRS},
)  # fmt: skip
KINDS[judging_runs_points.SLUG] = Kind(
    ("texts", "pairs", "ratings"), "answers and texts", judging_runs_points,
    judging_runs_points.STEPS, {judging_runs_points.SLUG: judging_runs_points.JUDGE_POINTS},
)  # fmt: skip
_CHECKS = ("checks",), "filled checklists"
KINDS[checks.SLUG] = Kind(*_CHECKS, checks, checks.STEPS)
KINDS[checks_ask.SLUG] = Kind(
    *_CHECKS, checks_ask, checks_ask.STEPS, {checks_ask.SLUG: checks_ask.ASKING}
)
KINDS[g_eval.SLUG] = Kind(*_CHECKS, g_eval, g_eval.STEPS, {g_eval.SLUG: g_eval.ASKING})
# What belongs to an imported result and is never started by hand.
IMPORTED = {
    published_checks.METHOD: Kind(
        ("pairs",), "pairwise judgments", published_checks, published_checks.STEPS
    )
}
PUBLISHED = "published"  # the method of a run that holds what was published, and computes nothing
# The method that runs by itself on tasks of a shape, and what follows a finished run.
MAIN = {
    "texts": "aqer", "pairs": "pairwise", "ratings": "ratings", "responses": "writing",
    "attributes": attribute_diversity.SLUG, "checks": checks.SLUG,
}  # fmt: skip
FOLLOWS = {"pairwise": "pairwise_checks"}


def title_of(method: str) -> str:
    """What a run of this method is called on pages."""
    if method in METHODS:
        return METHODS[method].title
    if method == PUBLISHED:
        return "Published results"
    kind = KINDS.get(method)
    return kind.asking[method].title if kind and method in kind.asking else method


def asking_of(method: str) -> Asking | None:
    """The way of asking of this slug; None for a method that fits answers."""
    kind = KINDS.get(method)
    return kind.asking.get(method) if kind is not None else None


def asks_models(method: str, params: Mapping[str, Any]) -> bool:
    """Whether a run of this method with these options talks to a language model's endpoint."""
    return asking_of(method) is not None or str(params.get("encoder", "")).startswith("endpoint:")
