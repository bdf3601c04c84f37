"""Runs on labels of one field: all methods on the same votes, then rows and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from django.utils.translation import gettext, gettext_noop

from annotation.models import Task
from annotation.work.snapshots import labels as collected
from crowdqc.errors import Invalid
from crowdqc.numbers import plural
from evaluation.labels import dataset, results
from evaluation.labels.columns import TABLES
from evaluation.labels.dataset import LabelsDataset
from evaluation.methods.core.base import Hooks, Result, of_rows
from evaluation.methods.core.params import TEXT, Param
from evaluation.methods.labels.agreement import agreement_row
from evaluation.methods.labels.method import METHOD, PARAMS
from evaluation.models import Run
from evaluation.runs.freezing.options import freeze
from evaluation.runs.progress import SNAPSHOT, Recorder
from evaluation.runs.results import everybody
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import RunType

LABELS = METHOD.slug
MODELS = ("Dawid-Skene", "MACE", "GLAD")  # as the method's stages begin
FIELD = Param(
    "field",
    "",
    TEXT,
    high=40,
    label=gettext_noop("Field"),
    help=gettext_noop("The question whose answers are scored."),
)


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has computed, before it is stored."""

    frozen: LabelsDataset
    result: Result


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze the labels of the field (or take those of the snapshot), and fit."""
    steps.begin(SNAPSHOT)
    field = collected.field_of(run.task, run.params["field"])
    snapshot = freeze(run, partial(dataset.freeze_labels, field=field))
    frozen = dataset.load(snapshot, field)
    steps.set_words(
        sub=snapshot.content_hash[:8], mono=True, count=plural(snapshot.counts["answers"], "label")
    )

    def advance(stage: str, done: int, total: int) -> None:
        steps.named(stage.partition(":")[0], done, total)

    return fit(run, frozen, Hooks(progress=advance))


def fit(run: Run, frozen: LabelsDataset, hooks: Hooks) -> Computed:
    """The run's method on frozen labels. Reads no database."""
    options = {name: value for name, value in run.params.items() if name != FIELD.name}
    rng = np.random.default_rng(run.seed)
    beside = {"gold": frozen.gold, "time": frozen.time, "columns": frozen.columns}
    found = METHOD.fit(frozen.data, rng=rng, hooks=hooks, **beside, **options)
    return Computed(frozen, found)


def write(run: Run, done: Computed) -> Outcome:
    """Return the rows and figures of a run."""
    beside = everybody.figure(run, partial(_agreement_of, run, done.frozen))
    return Outcome(*results.content(run, done.frozen, done.result), beside)


def _agreement_of(run: Run, frozen: LabelsDataset, answer_ids: list[int]) -> list[dict[str, Any]]:
    """Krippendorff's alpha of the labels in these answers."""
    votes = collected.first_votes(collected.of_answers(run.task, frozen.field, answer_ids))
    params = {**PARAMS.defaults, **run.params}
    drawing = {
        "rng": everybody.generator(run),
        "resamples": params["resamples"],
        "confidence": params["level"],
    }
    data = dataset.to_arrays(votes, frozen.field).data
    row = agreement_row("krippendorff_nominal", "all", data, drawing=drawing)
    [named] = of_rows([row]).rows()
    return [{**named, "dimension": "", "alpha": named["value"]}]


def fail(run: Run, done: Computed) -> str:
    """Return why a run did not converge."""
    return str(done.result.diagnostics.get("why", "The fit did not converge; no score is shown."))


def field_choices(task: Task) -> dict[str, list[tuple[str, str]]]:
    """The fields of the task that can be scored, for the form of a run."""
    return {FIELD.name: [(one.name, one.label) for one in collected.fields_of(task.current)]}


def label_counts(task: Task, params: Mapping[str, Any]) -> dict[str, int]:
    """Count the field's labels."""
    return {"labels": len(collected.field_of(task, params["field"]).codes)}


def refuse(task: Task, params: Mapping[str, Any]) -> None:
    """Raise Invalid where the task has no field of this name in which one option is chosen."""
    known = [one.name for one in collected.fields_of(task.current)]
    if params[FIELD.name] and params[FIELD.name] not in known:
        listed = ", ".join(known) or gettext("The task has none in which one option is chosen.")
        raise Invalid(
            gettext("The task has no field %(field)s that can be scored.")
            % {"field": repr(params[FIELD.name])},
            fields={FIELD.name: listed},
        )


RUNS = RunType(
    replace(METHOD, title=gettext_noop("Label study")),
    ("labels",),
    gettext_noop("labels"),
    (SNAPSHOT, *MODELS),
    compute,
    write,
    fail,
    own=(FIELD,),
    choices=field_choices,
    counts=label_counts,
    refuse=refuse,
    export="label_export",
    tables=TABLES,
    chooses=True,
    detail=lambda run: str(run.params.get("field") or ""),
    reads_texts=False,
    public_bundle=True,
)
