"""Runs that rescale ratings by their explanations (Wadhwa et al. 2024, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from annotation.models import Task
from crowdqc.errors import Invalid
from crowdqc.numbers import count, plural
from evaluation.llm.own import selectors as own
from evaluation.llm_runs.parts import MODEL, PROMPT, chat_model
from evaluation.methods.core.base import Hooks, Result
from evaluation.methods.core.params import TEXT, Param, Params, choice, whole_number
from evaluation.methods.rescaling import method
from evaluation.methods.rescaling.data import NothingShared
from evaluation.models import Run
from evaluation.rescaling import calls as rescaling_calls
from evaluation.rescaling import dataset as rescaling_data
from evaluation.rescaling import prompts
from evaluation.rescaling import results as rescaling_results
from evaluation.rescaling.calls import ScoredExplanations
from evaluation.rescaling.dataset import ExplanationsDataset
from evaluation.rescaling.results import Computed
from evaluation.runs.asking import LLMRunSpec, Plan
from evaluation.runs.freezing.options import freeze
from evaluation.runs.progress import SNAPSHOT, Recorder, step_of
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import OWN_ROWS, RunType

SLUG, VERSION = "rescaling", method.VERSION
SCORES, ENSEMBLE = gettext_noop("Scores from explanations"), gettext_noop("Ensembles")
OF_METHOD = tuple(method.DEFAULTS)
_OF_METHOD = {one.name: one for one in method.PARAMS.options}
ENSEMBLE_SHARE = replace(
    _OF_METHOD.pop("ensemble"),
    label="Ensemble λ",
    help=gettext_noop(
        "How much of the annotator’s own mean for the label is mixed in: 0 is the score of the "
        "explanation alone, 1 the mean alone."
    ),
)
INSTEAD = gettext_noop(
    "An own prompt replaces the choice above: its placeholders say what the model is told."
)
SCALE = Param(
    "scale", "", TEXT, label=gettext_noop("Scale"), help=gettext_noop("Which rating is rescaled.")
)


def _label_of(variant: prompts.Variant) -> str:
    return f"{variant.label} ({prompts.JUDGES})" if variant.judges else variant.label


OPTIONS = Params(
    SLUG,
    (
        MODEL,
        whole_number("imported", 0, 0, 2**31),
        choice(
            "variant",
            prompts.DEFAULT,
            tuple(prompts.VARIANTS),
            label=gettext_noop("The model is told"),
            words=tuple(map(_label_of, prompts.VARIANTS.values())),
            help=gettext_noop(
                "The explanation always; the article as numbered sentences. Where the model sees "
                "the answer it may score that and not the explanation."
            ),
        ),
        PROMPT,
        SCALE,
        ENSEMBLE_SHARE,
        # Table 8 without ties moves by about .01 with a draw of the noise; 50 make it settle.
        *(_OF_METHOD | {"draws": replace(_OF_METHOD["draws"], default=50)}).values(),
    ),
)


def _with_source(settings: dict[str, Any]) -> dict[str, Any]:
    """The options; Invalid where there is no source of scores, or two."""
    if bool(settings["model"]) == bool(settings["imported"]):
        raise Invalid(
            _("Choose a model that reads the explanations, or scores that were imported."),
            fields={"model": _("Choose one.")},
        )
    return settings


def plan(task: Task, params: Mapping[str, Any]) -> Plan:
    """Plan a run: its questions and cost. Raises a DomainError if something is missing."""
    chosen = {**OPTIONS.defaults, **params}
    model = chat_model(task, chosen["model"])
    scale = rescaling_data.scale_of(task, chosen["scale"])
    frozen = rescaling_data.current_explanations(task, scale)
    asked = prompts.rating_questions(task, frozen, chosen["variant"], chosen["prompt"])
    left = len(frozen.rows) - len(asked)
    sentence = _("%(explanations)s of %(workers)s on “%(label)s”, each scored from 0 to 100.") % {
        "explanations": plural(len(asked), "explanation"),
        "workers": plural(len(frozen.workers), "worker"),
        "label": scale.label,
    }
    if left:
        none = ngettext(
            "%(left)s rating has none and gets a mean instead.",
            "%(left)s ratings have none and get a mean instead.",
            left,
        )
        sentence += " " + none % {"left": count(left)}
    return Plan(model, asked, sentence)


ASKING = LLMRunSpec(
    SLUG,
    VERSION,
    gettext_noop("Explanation-based rescaling"),
    plan,
    OPTIONS,
    on_task=lambda task: {
        "scale": {"choices": rescaling_data.scale_choices(task)},
        "prompt": {"choices": own.choices(task.project_id, [prompts.PURPOSE]), "help": INSTEAD},
    },
)


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze the ratings, get a score for every explanation, rescale, compare annotators."""
    params = run.params
    steps.begin(SNAPSHOT)
    scale = rescaling_data.scale_of(run.task, params["scale"])
    snapshot = freeze(run, lambda task: rescaling_data.freeze_explanations(task, scale))
    frozen = rescaling_data.to_dataset(rescaling_data.reload_explanations(snapshot, scale), scale)
    counts = snapshot.counts
    steps.set_words(
        sub=snapshot.content_hash[:8],
        mono=True,
        count=f"{plural(counts['answers'], 'rating')}, {counts['explained']:,} explained",
    )
    steps.begin(SCORES, total=counts["explained"])
    scored = _scores(run, frozen, steps)
    steps.set_words(count=f"{len(scored.score):,} of {plural(counts['explained'], 'explanation')}")
    return fit(run, frozen, scored, Hooks(progress=steps.named))


def fit(
    run: Run, frozen: ExplanationsDataset, scored: ScoredExplanations, hooks: Hooks
) -> Computed:
    """Rescale, and compare annotators; reads no database."""
    params = run.params
    data = frozen.annotations(scored.score)
    means = method.label_means(data)
    after = method.rescale(data, means, ensemble=params["ensemble"])
    rng = np.random.default_rng(run.seed)
    chosen = {name: params[name] for name in OF_METHOD}
    fitted: Result | None = None
    with suppress(NothingShared):
        fitted = method.fit(data, rng=rng, hooks=hooks, **chosen)
    hooks.step(ENSEMBLE, 0, 0)
    ensembles = rescaling_results.ensembles(data, means, chosen) if fitted is not None else []
    return Computed(frozen, data, scored, after, fitted, ensembles)


def _scores(run: Run, frozen: ExplanationsDataset, steps: Recorder) -> ScoredExplanations:
    params = run.params
    if params["imported"]:
        return rescaling_calls.by_import(run, frozen, params["imported"])
    model = chat_model(run.task, params["model"])
    asked = prompts.rating_questions(run.task, frozen, params["variant"], params.get("prompt", ""))
    return rescaling_calls.by_model(run, model, asked, params["variant"], steps)


def write(run: Run, done: Computed) -> Outcome:
    """The rows and figures of a run."""
    return rescaling_results.write(run, done)


RUNS = RunType(
    ASKING,
    ("ratings",),
    gettext_noop("ratings with explanations"),
    (SNAPSHOT, SCORES, step_of("agreement"), step_of("no ties"), ENSEMBLE),
    compute,
    write,
    complete=_with_source,
    page="rescaling",
    export=OWN_ROWS,
)
