"""Runs that learn a scorer from the scores of a rescaling run; ours, beside the published method.

The scores are those of the newest finished run; the scorer gives the explanations that have none
a score without asking a model. It changes no other result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Task
from annotation.work.snapshots.explanations import Explained, RatingScale
from crowdqc.errors import Invalid
from crowdqc.numbers import plural
from evaluation.embeddings import vectors
from evaluation.free_text import run as text_runs
from evaluation.methods.core.base import Hooks, Result
from evaluation.methods.rescaling import learned
from evaluation.models import AnswerScore, Run, RunState
from evaluation.rescaling import dataset as rescaling_data
from evaluation.rescaling.run import SLUG as RESCALING
from evaluation.runs.progress import EMBEDDINGS, SNAPSHOT, Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import OWN_ROWS, RunType

SLUG = learned.NAME
FITTING = gettext_noop("Fitting the scorer")
FIGURE = "scorer"


@dataclass(frozen=True, eq=False)
class Training:
    """Explained ratings of a run in its order, and the scores that some of them have."""

    source: Run
    scale: RatingScale
    rows: tuple[Explained, ...]
    scores: Mapping[int, float]  # of an answer


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has found before anything is written."""

    training: Training
    result: Result
    encoder: str


def load(task: Task) -> Training:
    """Load the explanations of the newest finished rescaling run; Invalid if there is none."""
    rows = Run.objects.filter(task=task, method=RESCALING, state=RunState.DONE)
    source = rows.select_related("snapshot").order_by("-pk").first()
    if source is None or source.snapshot is None:
        raise Invalid(_("Rescale ratings first: a scorer learns from such scores."))
    scale = rescaling_data.scale_of(task, source.params.get("scale", ""))
    explained = [
        row for row in rescaling_data.reload_explanations(source.snapshot, scale) if row.explanation
    ]
    scored = AnswerScore.objects.filter(run=source, extra__f__isnull=False)
    scores = {pk: extra["f"] for pk, extra in scored.values_list("answer_id", "extra")}
    return Training(
        source, scale, tuple(explained), {k: v for k, v in scores.items() if v is not None}
    )


def training_shortage(training: Training) -> str:
    """Why nothing can be learned from these scores; "" where it can."""
    known = [row for row in training.rows if row.answer_id in training.scores]
    return learned.shortage_reason(
        len(known), [row.worker_id for row in known], [row.item_id for row in known]
    )


def refuse(task: Task, params: Mapping[str, Any]) -> None:
    """Raise Invalid if there are too few scores to learn from."""
    if why := training_shortage(load(task)):
        raise Invalid(why[:1].upper() + why[1:] + ".", fields={"encoder": why})


def compute(run: Run, steps: Recorder) -> Computed:
    """Take the scores of the newest rescaling run, embed the explanations, fit."""
    steps.begin(SNAPSHOT)
    training = load(run.task)
    steps.set_words(
        count=f"{plural(len(training.rows), 'explanation')}, {len(training.scores):,} scored"
    )
    texts = list(dict.fromkeys(row.explanation for row in training.rows))
    steps.begin(EMBEDDINGS, total=len(texts), sub="opening the encoder")
    encoder = text_runs.encoder_of(run, steps)
    found = vectors.vectors_of(texts, encoder, advance=lambda done, cached: steps.advance(done))
    steps.begin(FITTING)
    place = {text: at for at, text in enumerate(texts)}
    rows, values = training.rows, [point.value for point in training.scale.points]
    data = learned.Explanations.build(
        np.asarray(found.matrix)[[place[row.explanation] for row in rows]],
        [values.index(row.value) for row in rows],
        [row.worker_id for row in rows],
        [row.item_id for row in rows],
        [training.scores.get(row.answer_id, np.nan) for row in rows],
        labels=len(values),
    )
    result = learned.fit(
        data,
        rng=np.random.default_rng(run.seed),
        hooks=Hooks(progress=lambda stage, done, total: steps.advance(done, total)),
        **{name: run.params[name] for name in learned.METHOD.params},
    )
    return Computed(training, result, encoder.identity)


def write(run: Run, done: Computed) -> Outcome:
    """Return the scorer's error and its scores of explanations that had none."""
    training = done.training
    rows = [
        {
            "answer_id": training.rows[row["row"]].answer_id,
            "dimension": training.scale.name,
            "component": 1,
            "estimate": row["score"],
            "n": 1,
            "extra": {"learned": True, "no_interval": "a prediction for one explanation"},
        }
        for row in done.result.estimates["predicted"].rows()
    ]
    told = {
        FIGURE: done.result.estimates["scheme"].rows(),
        "frame": {
            **done.result.diagnostics,
            "label": training.scale.label,
            "run": training.source.number,
        },
        "recipe": {
            "method": SLUG,
            "version": done.result.version,
            "params": dict(run.params),
            "seed": run.seed,
            "encoder": done.encoder,
            "source": training.source.result_hash,
        },
    }
    return Outcome({AnswerScore: rows}, told)


RUNS = RunType(
    learned.METHOD,
    ("ratings",),
    gettext_noop("ratings with explanations"),
    (SNAPSHOT, EMBEDDINGS, FITTING),
    compute,
    write,
    own=(text_runs.ENCODER,),
    complete=text_runs.with_encoder,
    refuse=refuse,
    place=lambda run: reverse("rescaling", args=[run.project_id, run.task_id]) + "?view=scorer",
    export=OWN_ROWS,
    made_of=gettext_noop("Scores that a run of rescaling gave to explanations."),
)
