"""Runs that rescale ratings by their explanations (Wadhwa et al. 2024, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from annotation.models import Task
from crowdqc.errors import Invalid
from crowdqc.numbers import plural
from evaluation.llm_runs.parts import chat_model
from evaluation.methods.core.base import BadParameter, Hooks
from evaluation.methods.rescaling import method
from evaluation.methods.rescaling.data import NothingShared
from evaluation.models import Run
from evaluation.rescaling import calls as rescaling_calls
from evaluation.rescaling import dataset as rescaling_data
from evaluation.rescaling import prompts
from evaluation.rescaling import results as rescaling_results
from evaluation.rescaling.calls import Scored
from evaluation.rescaling.dataset import FrozenExplained
from evaluation.rescaling.results import Computed
from evaluation.runs.asking import Asking, Plan
from evaluation.runs.freezing import options as freezing
from evaluation.runs.freezing.options import freeze
from evaluation.runs.progress import SNAPSHOT, Recorder, step_of
from evaluation.runs.results.rows import Outcome

SLUG, VERSION = "rescaling", method.VERSION
SCORES, ENSEMBLE = "Scores from explanations", "Ensembles"
STEPS = {SLUG: (SNAPSHOT, SCORES, step_of("agreement"), step_of("no ties"), ENSEMBLE)}
OF_METHOD = ("ensemble", "noise", "draws", "level", "min_items")
# Table 8 without ties moves by about .01 with a draw of the noise; so many make it settle.
PARAMS: dict[str, Any] = {
    "model": 0,
    "imported": 0,
    "variant": prompts.DEFAULT,
    "scale": "",
    **method.DEFAULTS,
    "draws": 50,
}


def check(**params: Any) -> None:
    """Raise BadParameter, naming it, on an option that a run would not take."""
    for name, value in params.items():
        if name in ("model", "imported"):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise BadParameter(f"{name} is {value!r}; it must be the number of one")
        elif name == "variant":
            if value not in prompts.VARIANTS:
                known = ", ".join(prompts.VARIANTS)
                raise BadParameter(f"variant is {value!r}; choose one of: {known}")
        elif name == "scale":
            if not isinstance(value, str):
                raise BadParameter("scale must be the name of a scale")
        else:
            method.METHOD.check(**{name: value})


def clean_params(asking: Any, raw: Mapping[str, Any]) -> dict[str, Any]:
    """All options; Invalid names a bad one, and says so where there is no source of scores."""
    clean = freezing.clean_params(asking, raw)
    if bool(clean["model"]) == bool(clean["imported"]):
        raise Invalid(
            "Choose a model that reads the explanations, or scores that were imported.",
            fields={"model": "Choose one."},
        )
    return clean


def plan(task: Task, params: Mapping[str, Any]) -> Plan:
    """What a run with these options would ask; raises a DomainError that says what is missing."""
    chosen = {**PARAMS, **params}
    model = chat_model(task, chosen["model"])
    scale = rescaling_data.scale_of(task, chosen["scale"])
    frozen = rescaling_data.now(task, scale)
    asked = prompts.asks(task, frozen, chosen["variant"])
    left = len(frozen.rows) - len(asked)
    sentence = (
        f"{plural(len(asked), 'explanation')} of {plural(len(frozen.workers), 'worker')} on "
        f"“{scale.label}”, each scored from 0 to 100."
    )
    if left:
        sentence += f" {plural(left, 'rating has', 'ratings have')} none and gets a mean instead."
    return Plan(model, asked, sentence)


ASKING = Asking(SLUG, VERSION, "Explanation-based rescaling", plan, PARAMS, check)


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze the ratings, get a score for every explanation, rescale, compare annotators."""
    params = run.params
    steps.begin(SNAPSHOT)
    scale = rescaling_data.scale_of(run.task, params["scale"])
    snapshot = freeze(run, lambda task: rescaling_data.take(task, scale))
    frozen = rescaling_data.load(snapshot, scale)
    counts = snapshot.counts
    steps.say(
        sub=snapshot.content_hash[:8],
        mono=True,
        count=f"{plural(counts['answers'], 'rating')}, {counts['explained']:,} explained",
    )
    steps.begin(SCORES, total=counts["explained"])
    scored = _scores(run, frozen, steps)
    steps.say(count=f"{len(scored.score):,} of {plural(counts['explained'], 'explanation')}")
    data = frozen.annotations(scored.score)
    means = method.label_means(data)
    after = method.rescale(data, means, ensemble=params["ensemble"])
    rng = np.random.default_rng(run.seed)
    chosen = {name: params[name] for name in OF_METHOD}
    try:
        fitted = method.fit(data, rng=rng, hooks=Hooks(progress=steps.named), **chosen)
    except NothingShared:
        fitted = None
    steps.begin(ENSEMBLE)
    ensembles = rescaling_results.ensembles(data, means, chosen) if fitted is not None else []
    return Computed(frozen, data, scored, after, fitted, ensembles)


def _scores(run: Run, frozen: FrozenExplained, steps: Recorder) -> Scored:
    params = run.params
    if params["imported"]:
        return rescaling_calls.by_import(run, frozen, params["imported"])
    model = chat_model(run.task, params["model"])
    return rescaling_calls.by_model(run, model, frozen, params["variant"], steps)


def write(run: Run, done: Computed) -> Outcome:
    """The rows and figures of a run."""
    return rescaling_results.write(run, done)
