"""Runs of methods that plug-ins add for labels: frozen votes in, checked estimates out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np
from django.utils.translation import gettext_noop

from annotation.work.snapshots import labels as collected
from crowdqc import plugins
from crowdqc.api import LabelEstimates, LabelMethod, LabelVotes, Option
from crowdqc.numbers import plural
from crowdqc.plugins import Loaded
from evaluation.labels import dataset
from evaluation.labels.dataset import LabelsDataset
from evaluation.labels.run import FIELD, field_choices, label_counts, refuse
from evaluation.methods.core.base import DataError, FloatArray
from evaluation.methods.core.params import (
    Method,
    Param,
    Params,
    choice,
    flag,
    real_number,
    whole_number,
)
from evaluation.methods.core.votes import Labels
from evaluation.models import ItemLabel, Run, WorkerScore
from evaluation.runs.freezing.options import freeze
from evaluation.runs.progress import SNAPSHOT, Recorder
from evaluation.runs.results.rows import Outcome, make_recipe
from evaluation.runs.run_types import OWN_ROWS, RunType, outside_page

FITTING = gettext_noop("Fitting")
FIGURE = "plugin"  # what a run keeps of the plug-in that computed it
CLOSE = 1e-6  # to which the probabilities of an item sum to 1
MOST_NOTES = 50
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Computed:
    """What a plug-in's method has made of the frozen votes."""

    frozen: LabelsDataset
    estimates: LabelEstimates


def run_types() -> Mapping[str, RunType]:
    """Return a type of runs for each method of a plug-in that is loaded."""
    return {
        name: _run_type(plugin, name, method)
        for plugin in plugins.current().loaded.values()
        for name, method in plugin.methods.items()
    }


def _run_type(plugin: Loaded, name: str, method: LabelMethod) -> RunType:
    options = Params(name, tuple(map(_param, method.options)), version=method.version)
    return RunType(
        Method(name, method.version, method.title, Labels, _fit_nothing, options),
        ("labels",),
        gettext_noop("labels"),
        (SNAPSHOT, FITTING),
        partial(compute, method=method),
        partial(write, plugin=plugin, method=method),
        own=(FIELD,),
        choices=field_choices,
        counts=label_counts,
        refuse=refuse,
        place=outside_page,
        export=OWN_ROWS,
        detail=lambda run: str(run.params.get("field") or ""),
        reads_texts=False,
        plugin=plugin.name,
    )


def _fit_nothing(*args: object, **kwargs: object) -> NoReturn:
    raise NotImplementedError("A plug-in's method is fitted by its runs alone.")


def _param(option: Option) -> Param:
    """Return an option of a plug-in as the registry of methods has it."""
    words = {"label": option.label, "help": option.help}
    if option.kind == "flag":
        return flag(option.name, bool(option.default), **words)
    if option.kind == "choice":
        return choice(option.name, str(option.default), option.choices, **words)
    if option.kind == "whole":
        low, high = int(option.low or 0), None if option.high is None else int(option.high)
        return whole_number(option.name, int(option.default), low, high, **words)
    return real_number(option.name, float(option.default), option.low, option.high, **words)


def compute(run: Run, steps: Recorder, *, method: LabelMethod) -> Computed:
    """Freeze the votes of the field, and fit the plug-in's method. Raises DataError."""
    steps.begin(SNAPSHOT)
    field = collected.field_of(run.task, run.params["field"])
    snapshot = freeze(run, partial(dataset.freeze_labels, field=field))
    frozen = dataset.load(snapshot, field)
    count = plural(snapshot.counts["answers"], "label")
    steps.set_words(sub=snapshot.content_hash[:8], mono=True, count=count)
    steps.begin(FITTING)
    options = {name: value for name, value in run.params.items() if name != FIELD.name}
    estimates = method.fit(votes_of(frozen), rng=np.random.default_rng(run.seed), **options)
    check_estimates(estimates, len(frozen.items), len(frozen.workers), len(field.codes))
    return Computed(frozen, estimates)


def votes_of(frozen: LabelsDataset) -> LabelVotes:
    """Return frozen votes as plug-ins get them: a row a vote, and nobody's name or id."""
    data = frozen.data
    each = np.repeat(np.arange(len(data)), data.weight.astype(np.int64))
    return LabelVotes(
        worker=data.worker[each],
        item=data.item[each],
        label=data.label[each],
        workers=len(frozen.workers),
        items=len(frozen.items),
        labels=tuple(frozen.field.codes),
        known=frozen.gold.copy(),
    )


def check_estimates(found: LabelEstimates, items: int, workers: int, labels: int) -> None:
    """Raise DataError where estimates are not what the surface says that they are."""
    if not isinstance(found, LabelEstimates):
        raise DataError("the plug-in returned no LabelEstimates")
    probability = np.asarray(found.probability, dtype=np.float64)
    if probability.shape != (items, labels):
        raise DataError(f"the plug-in's probabilities have the shape {probability.shape}")
    if not (np.isfinite(probability).all() and (probability >= 0).all()):
        raise DataError("the plug-in returned probabilities below 0, or that are no numbers")
    if np.abs(probability.sum(axis=1) - 1).max(initial=0.0) > CLOSE:
        raise DataError("the plug-in's probabilities of an item do not sum to 1")
    for name in ("quality", "low", "high"):
        values = getattr(found, name)
        if values is not None and np.shape(values) != (workers,):
            raise DataError(f"the plug-in's {name} has the shape {np.shape(values)}")
    if (found.low is None) != (found.high is None):
        raise DataError("the plug-in returned half of the intervals")


def write(run: Run, done: Computed, *, plugin: Loaded, method: LabelMethod) -> Outcome:
    """Return the rows and figures of a plug-in's run."""
    frozen, found = done.frozen, done.estimates
    figures = {
        FIGURE: {
            "name": plugin.name,
            "title": plugin.title,
            "package": plugin.package,
            "method": method.title,
            "notes": dict(list(found.notes.items())[:MOST_NOTES]),
        },
        "recipe": make_recipe(run, run.method, method.version),
    }
    return Outcome(
        {WorkerScore: _worker_rows(frozen, found), ItemLabel: _rows(frozen, found)}, figures
    )


def _number(values: FloatArray | None, at: int) -> float | None:
    value = float("nan") if values is None else float(values[at])
    return value if np.isfinite(value) else None


def _worker_rows(frozen: LabelsDataset, found: LabelEstimates) -> list[Row]:
    if found.quality is None:
        return []
    votes = np.bincount(frozen.data.worker, frozen.data.weight, len(frozen.workers))
    return [
        {
            "worker_id": worker,
            "dimension": "",
            "component": 0,
            "estimate": _number(found.quality, at),
            "low": _number(found.low, at),
            "high": _number(found.high, at),
            "n": int(votes[at]),
            "extra": {},
        }
        for at, worker in enumerate(frozen.workers)
    ]


def _rows(frozen: LabelsDataset, found: LabelEstimates) -> list[Row]:
    codes = frozen.field.codes
    votes = np.bincount(frozen.data.item, frozen.data.weight, len(frozen.items))
    probability = np.asarray(found.probability, dtype=np.float64)
    logs = np.log(np.where(probability > 0, probability, 1.0))
    entropy = -(probability * logs).sum(axis=1)
    return [
        {
            "item_id": item,
            "dimension": frozen.field.name,
            "component": 0,
            "label": codes[int(probability[at].argmax())],
            "posterior": dict(zip(codes, probability[at].tolist(), strict=True)),
            "entropy": float(entropy[at]),
            "n": int(votes[at]),
            "extra": {},
        }
        for at, item in enumerate(frozen.items)
    ]
