"""Runs on labels of turns: frozen, fitted with conversations as clusters, stored as figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from annotation.models import Task
from annotation.work.snapshots import turns as collected
from crowdqc.errors import Invalid
from crowdqc.numbers import plural
from evaluation.methods.core.base import Hooks, Result
from evaluation.methods.core.params import TEXT, Param
from evaluation.methods.turns.method import METHOD
from evaluation.models import Run
from evaluation.runs.freezing.options import freeze
from evaluation.runs.progress import SNAPSHOT, Recorder
from evaluation.runs.results.rows import Outcome, make_recipe
from evaluation.runs.run_types import OWN_ROWS, RunType
from evaluation.turns import dataset
from evaluation.turns.dataset import TurnsDataset

SLUG = METHOD.slug
FITTING = gettext_noop("Labels of turns")
FIELD = Param(
    "field", "", TEXT, high=40, label=gettext_noop("Field"),
    help=gettext_noop("The question about turns or tool calls whose answers are scored."),
)  # fmt: skip
GOOD = Param(
    "good", "", TEXT, high=40, label=gettext_noop("Option that means nothing is wrong"),
    help=gettext_noop("A conversation goes wrong at its first turn with another label."),
)  # fmt: skip
FIGURES = ("units", "workers", "agreement", "shares", "survival", "systems", "summary")


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has computed, before it is stored."""

    frozen: TurnsDataset
    result: Result


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze the labels of the field (or take those of the snapshot), and fit."""
    steps.begin(SNAPSHOT)
    field = collected.turn_field(run.task, run.params["field"])
    snapshot = freeze(run, partial(dataset.freeze_turns, field=field))
    frozen = dataset.load(snapshot, field, run.params["good"])
    steps.set_words(
        sub=snapshot.content_hash[:8], mono=True, count=plural(snapshot.counts["labels"], "label")
    )
    steps.begin(FITTING)
    return fit_turns(run, frozen, Hooks())


def fit_turns(run: Run, frozen: TurnsDataset, hooks: Hooks) -> Computed:
    """Fit the labels with the options and the seed of a run."""
    options = {name: run.params[name] for name in METHOD.params}
    rng = np.random.default_rng(run.seed)
    return Computed(frozen, METHOD.fit(frozen.data, rng=rng, hooks=hooks, **options))


def write(run: Run, done: Computed) -> Outcome:
    """Return the figures of a run."""
    frozen, found = done.frozen, done.result.estimates
    codes = frozen.field.codes
    figures: dict[str, Any] = {
        "units": [
            {
                "item": item,
                "unit": unit,
                **row,
                "label": codes[row["label"]] if row["label"] >= 0 else "",
            }
            for (item, unit), row in zip(frozen.units, found["unit"].rows(), strict=True)
        ],
        "workers": [
            {"worker": pk, **row}
            for pk, row in zip(frozen.workers, found["worker"].rows(), strict=True)
        ],
        "agreement": found["agreement"].rows(),
        "shares": found["share"].rows(),
        "survival": found["survival"].rows(),
        "systems": found["system"].rows(),
        "summary": {
            "field": frozen.field.name,
            "label": frozen.field.label,
            "good": frozen.field.labels[codes[frozen.data.good]],
            "options": dict(frozen.field.options),
            "conversations": len(frozen.data.conversations),
            "units": len(frozen.units),
            "workers": len(frozen.workers),
            "warnings": done.result.diagnostics["warnings"],
        },
        "recipe": make_recipe(run, done.result.name, done.result.version),
    }
    return Outcome({}, figures)


def choices(task: Task) -> dict[str, list[tuple[str, str]]]:
    """The fields of the task that can be scored, and the options of the first."""
    fields = collected.turn_fields(task.current)
    options = dict.fromkeys(one for field in fields for one in field.options)
    return {
        FIELD.name: [(one.name, one.label) for one in fields],
        GOOD.name: [("", gettext("the last option")), *options],
    }


def refuse(task: Task, params: Mapping[str, Any]) -> None:
    """Raise Invalid where the task has no such field about turns, or the field no such option."""
    known = {one.name: one for one in collected.turn_fields(task.current)}
    if params[FIELD.name] and params[FIELD.name] not in known:
        raise Invalid(
            gettext("The task has no such field about turns."),
            fields={FIELD.name: ", ".join(known)},
        )
    field = known[params[FIELD.name]] if params[FIELD.name] else next(iter(known.values()))
    if params[GOOD.name] and params[GOOD.name] not in field.codes:
        raise Invalid(
            gettext("The field has no such option."), fields={GOOD.name: ", ".join(field.codes)}
        )


def place(run: Run) -> str:
    """The address of the page of a run's results."""
    return f"{reverse('turn_results', args=[run.project_id, run.task_id])}?run={run.number}"


RUNS = RunType(
    METHOD,
    ("labels",),
    gettext_noop("labels of turns"),
    (SNAPSHOT, FITTING),
    compute,
    write,
    suits=lambda task: bool(collected.turn_fields(task.current)),
    automatic=True,
    own=(FIELD, GOOD),
    choices=choices,
    refuse=refuse,
    place=place,
    export=OWN_ROWS,
    reads_texts=False,
    detail=lambda run: str(run.params.get("field") or ""),
)
