"""Runs on pairwise judgments: the core first, then what takes longer (nulls, intervals)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Task
from crowdqc.errors import Conflict
from crowdqc.numbers import plural
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Result, of_rows
from evaluation.methods.pairwise import checks as pairwise_checks
from evaluation.methods.pairwise import method as pairwise
from evaluation.methods.pairwise.agreement import agreement_table
from evaluation.methods.pairwise.judge_boards import judge_boards
from evaluation.methods.registry import get_method
from evaluation.methods.rescaling import ratings
from evaluation.models import Run
from evaluation.models.runs import PUBLISHED
from evaluation.pairwise import dataset as judged
from evaluation.pairwise import results as pair_results
from evaluation.pairwise.columns import TABLES
from evaluation.pairwise.dataset import PairsDataset, RatingsDataset
from evaluation.pairwise.overlap import OVERLAP, overlap
from evaluation.runs.freezing.options import freeze
from evaluation.runs.progress import SNAPSHOT, Recorder, step_of
from evaluation.runs.results import everybody, look_alikes
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import OWN_ROWS, Imported, RunType

CORE, CHECKS, RATED = pairwise.NAME, pairwise_checks.NAME, ratings.NAME


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has found before anything is written."""

    frozen: PairsDataset | RatingsDataset
    result: Result
    more: Mapping[str, Any]


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze the judgments (or take those of the source), and fit."""
    steps.begin(SNAPSHOT)
    if run.snapshot is None and run.source_id is not None:
        raise Conflict("The run that this one belongs to has no snapshot.")
    snapshot = freeze(run, judged.freeze_judgments)
    frozen: PairsDataset | RatingsDataset
    if run.method == RATED:
        frozen = judged.load_rated(snapshot)
    else:
        frozen = judged.load(snapshot, counted=run.method == CORE)
    steps.set_words(
        sub=snapshot.content_hash[:8],
        mono=True,
        count=plural(snapshot.counts["answers"], "judgment"),
    )
    done = fit(run, frozen, Hooks(progress=steps.named))
    if run.source is not None and isinstance(frozen, PairsDataset):
        steps.begin(OVERLAP)
        more = {**done.more, "overlap": overlap(run.source, frozen, advance=steps.advance)}
        return replace(done, more=more)
    return done


def fit(run: Run, frozen: PairsDataset | RatingsDataset, hooks: Hooks) -> Computed:
    """The run's method on frozen judgments. Reads no database."""
    result = get_method(run.method).fit(
        frozen.data, rng=np.random.default_rng(run.seed), hooks=hooks, **run.params
    )
    more: dict[str, Any] = {}
    if run.method == CORE and isinstance(frozen, PairsDataset) and frozen.machines:
        # A generator of its own: what models judged changes no figure of people's.
        tables = judge_boards(
            frozen.data,
            rng=np.random.default_rng([run.seed, 1]),
            settings={**pairwise.DEFAULTS, **run.params},
            hooks=hooks,
        )
        more = {name: pair_results.name_rows(frozen, table) for name, table in tables.items()}
    return Computed(frozen, result, more)


def write(run: Run, done: Computed) -> Outcome:
    """The rows and figures of a run."""
    rows, told = pair_results.content(run, done.frozen, done.result, done.more)
    beside = _look_alikes(run, done.frozen)
    if run.method in (CORE, RATED):
        beside |= everybody.figure(run, partial(_agreement_of, run))
    return Outcome(rows, told, beside=beside)


def _agreement_of(run: Run, answer_ids: list[int]) -> list[dict[str, Any]]:
    """Krippendorff's alpha of each dimension or scale in these answers."""
    rng = everybody.generator(run)
    if run.method == RATED:
        rated, settings = judged.rated(run.task, answer_ids), {**ratings.DEFAULTS, **run.params}
        scales = range(len(rated.data.scales))
        rows = [ratings.agreement_row(rated.data, k, rng, settings) for k in scales]
        return pair_results.name_rows(rated, of_rows(rows, ratings.ORDINAL_AGREED))
    frozen, settings = judged.judged(run.task, answer_ids), {**pairwise.DEFAULTS, **run.params}
    table = agreement_table(
        frozen.data.votes.first_votes(),
        rng=rng,
        resamples=settings["resamples"],
        level=settings["level"],
        units=frozen.data.units,
    )
    return pair_results.name_rows(frozen, table)


def _look_alikes(run: Run, frozen: PairsDataset | RatingsDataset) -> dict[str, Any]:
    """Workers who answer alike: of judgments each one's first on a pair, of ratings all."""
    value: FloatArray | IntArray
    if isinstance(frozen, RatingsDataset):
        data = frozen.data
        worker, item, value = data.worker, data.text, data.value
    elif run.method == CORE:
        people = frozen.data.votes.first_votes()
        worker, item, value = people.worker, people.pair, people.canonical()
    else:
        return {}
    found = look_alikes.figure_of_scales(worker, item, value, ids=frozen.workers)
    return {look_alikes.FIGURE: found}


def fail(run: Run, done: Computed) -> str:
    """The reason of a run that did not converge, in words."""
    return str(done.result.diagnostics.get("why", "The fit did not converge; no score is shown."))


def system_counts(task: Task, params: Mapping[str, Any]) -> dict[str, int]:
    """Count the systems that wrote the texts of the task's items."""
    items = task.items.order_by()
    first = items.filter(first__isnull=False).values_list("first__system")
    second = items.filter(second__isnull=False).values_list("second__system")
    return {"systems": first.union(second).count()}


PAIRS = RunType(
    pairwise.METHOD,
    ("pairs",),
    gettext_noop("pairwise judgments"),
    # Steps are the stages that the methods name.
    (SNAPSHOT, *map(step_of, pairwise.STAGES)),
    compute,
    write,
    fail,
    counts=system_counts,
    export="pair_export",
    tables=TABLES,
    follow_up=CHECKS,
    chooses=True,
    detail=lambda run: _("one competence") if run.params.get("pooled") else _("by dimension"),
    reads_texts=False,
    public_bundle=True,
)
PAIR_CHECKS = RunType(
    pairwise_checks.METHOD,
    ("pairs",),
    gettext_noop("pairwise judgments"),
    (SNAPSHOT, *map(step_of, pairwise_checks.STAGES), OVERLAP),
    compute,
    write,
    fail,
    page="pair_agreement",
    tables=TABLES,
    reads_texts=False,
)
RATINGS = RunType(
    ratings.METHOD,
    ("ratings",),
    gettext_noop("ratings"),
    (SNAPSHOT, *map(step_of, ratings.STAGES)),
    compute,
    write,
    fail,
    counts=system_counts,
    export=OWN_ROWS,
    chooses=True,
    reads_texts=False,
    public_bundle=True,
)
PUBLISHED_RUNS = RunType(
    Imported(PUBLISHED, "Published results"),
    (),
    "what was published",
    tables=TABLES,
    detail=lambda run: str(run.params.get("name") or run.params.get("model_name") or ""),
    made_of="Imported as it was published; nothing was computed.",
)
