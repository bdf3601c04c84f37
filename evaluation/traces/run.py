"""Runs on the traces of a review queue: frozen, estimated, stored as figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext_noop

from annotation.models import Task
from crowdqc.numbers import plural
from evaluation.methods.core.base import Hooks, Result
from evaluation.methods.traces.method import METHOD, RATES
from evaluation.models import Run, Snapshot
from evaluation.runs.freezing.options import freeze
from evaluation.runs.progress import SNAPSHOT, Recorder
from evaluation.runs.results.rows import Outcome, make_recipe
from evaluation.runs.run_types import OWN_ROWS, RunType
from evaluation.traces import dataset
from evaluation.traces.dataset import Counted, DrawnTrace, FrozenTraces

SLUG = METHOD.slug
FITTING = gettext_noop("Rates")
FIGURES = ("rates", "agreement", "weeks", "differences", "summary", "recipe")


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has computed, before it is stored."""

    frozen: FrozenTraces
    result: Result


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze the traces of the queue as they are now, and estimate.

    Traces come all the time: a run that is taken up again freezes them anew.
    """
    steps.begin(SNAPSHOT)
    frozen = dataset.read_traces(run.task)

    def take(task: Task) -> Snapshot:
        return dataset.freeze_traces(task, frozen)

    run.snapshot = None
    snapshot = freeze(run, take)
    steps.set_words(
        sub=snapshot.content_hash[:8], mono=True, count=plural(snapshot.counts["traces"], "trace")
    )
    steps.begin(FITTING)
    return fit(run, frozen, Hooks())


def fit(run: Run, frozen: FrozenTraces, hooks: Hooks) -> Computed:
    """The run's method on frozen traces. Reads no database."""
    rng = np.random.default_rng(run.seed)
    return Computed(
        frozen, METHOD.fit(dataset.to_arrays(frozen), rng=rng, hooks=hooks, **run.params)
    )


def write(run: Run, done: Computed) -> Outcome:
    """Return the figures of a run, with the frozen traces among them."""
    frozen, found = done.frozen, done.result.estimates
    complete = [row for row in frozen.drawn if row.complete]
    by_week = ("week", "weeks"), ("difference", "differences")
    figures: dict[str, Any] = {
        "rates": dict(zip(RATES, found["rate"].rows(), strict=True)),
        "agreement": found["alpha"].rows(),
        **{
            figure: [
                {"monday": monday, **row}
                for monday, row in zip(frozen.weeks, found[table].rows(), strict=True)
            ]
            for table, figure in by_week
        },
        "summary": {
            "traces": frozen.size,
            "drawn": len(frozen.drawn),
            "complete": len(complete),
            "left_out": frozen.left_out,
            "unsure": sum(row.item not in frozen.fails for row in complete),
            **done.result.diagnostics,
        },
        "traces": [row._asdict() for row in frozen.drawn],
        "counts": [row._asdict() for row in frozen.counted],
        "fields": {str(pk): [name, list(codes)] for pk, (name, codes) in frozen.fields.items()},
        "recipe": make_recipe(run, done.result.name, done.result.version),
    }
    return Outcome({}, figures)


def frozen_of(figures: Mapping[str, Any]) -> FrozenTraces:
    """The traces that a run froze, out of its figures, but for the reviews."""
    return FrozenTraces(
        {int(pk): (name, tuple(codes)) for pk, (name, codes) in figures["fields"].items()},
        tuple(Counted(**row) for row in figures["counts"]),
        tuple(DrawnTrace(**row) for row in figures["traces"]),
        (),
        figures["summary"]["left_out"],
    )


def place(run: Run) -> str:
    """The address of the page of a run's results."""
    return f"{reverse('trace_list', args=[run.project_id])}?run={run.number}"


RUNS = RunType(
    METHOD,
    ("labels",),
    gettext_noop("reviews of traces"),
    (SNAPSHOT, FITTING),
    compute,
    write,
    suits=lambda task: bool(dataset.live_queue_sources(task)),
    automatic=True,
    place=place,
    export=OWN_ROWS,
    reads_texts=False,
)
