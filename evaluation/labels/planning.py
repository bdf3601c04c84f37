"""How many workers an item needs: simulated with the workers of a run, or at a stated accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from annotation.authoring.selectors.builder.frame import Build
from annotation.work.snapshots import labels as collected
from crowdqc.numbers import percent, plural
from evaluation.methods.core.base import BadParameter, Table
from evaluation.methods.simulation.planning import redundancy
from evaluation.methods.simulation.planning.redundancy import VOTES, LabelPool
from evaluation.models import Run, WorkerScore
from evaluation.runs.planning.precision import SEED, Precision, keep_for_a_week

USUAL = 0.8  # share of single labels that are right, where nobody says
PER_WORKER = 40  # labels
REPLICATES = 60
FEWEST, MOST = 50, 300  # items of a simulated study
BOUND = 1.96  # standard deviations from the middle to the bound of a 95% interval


@dataclass(frozen=True)
class Row:
    """A number of workers per item: the share of labels right by each method, with its range."""

    votes: int
    majority: float
    majority_low: float
    majority_high: float
    dawid_skene: float | None
    low: float | None
    high: float | None
    error: float | None = None  # Monte Carlo, of dawid_skene


@dataclass(frozen=True)
class Plan:
    """Rows by workers per item, and by what they were simulated."""

    rows: Sequence[Row]
    items: int
    per_worker: int
    crowd: str
    recipe: str

    def least(self, target: float, *, sure: bool = False) -> int | None:
        """Return the fewest workers per item that reach ``target``; None if no number does.

        The mean must lie above by more than its Monte Carlo error leaves open. Numbers up to the
        most simulated are looked at.
        """
        for row in self.rows:
            if row.dawid_skene is None or row.low is None or row.error is None:
                continue
            value = row.low if sure else row.dawid_skene - BOUND * row.error
            if value >= target:
                return row.votes
        return None


def pool_of(run: Run, prevalence: Sequence[float]) -> LabelPool | None:
    """Return the run's scored workers with their confusion matrices; None without any."""
    matrices, sizes = [], []
    rows = WorkerScore.objects.filter(run=run).order_by("worker_id")
    for extra in rows.values_list("extra", flat=True):
        told = extra.get("confusion")
        if not told:
            continue
        share, low, high = (
            np.array(told[name], dtype=np.float64) for name in ("probability", "low", "high")
        )
        if np.isnan(share).any():
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            size = share * (1 - share) / np.square((high - low) / (2 * BOUND)) - 1
        usable = size[np.isfinite(size)]
        matrices.append(share)
        sizes.append(float(np.median(usable).clip(2, 1e6)) if usable.size else np.inf)
    if not matrices:
        return None
    return LabelPool(np.stack(matrices), np.array(sizes), np.array(prevalence))


def plan(
    pool: LabelPool, crowd: str, key: str, *, items: int, per_worker: int, votes: Any = VOTES
) -> Plan:
    """Simulate the curve of right labels by votes per item. Cached under ``key`` for a week."""
    asked, items = items, min(max(items, FEWEST), MOST)

    def simulated() -> Table:
        return redundancy.expected_accuracy(
            pool,
            items=items,
            per_worker=per_worker,
            replicates=REPLICATES,
            rng=np.random.default_rng(SEED),
            votes=votes,
        )

    last = ",".join(map(str, votes))
    whole = f"label-plan:{redundancy.VERSION}:{key}:{items}:{per_worker}:{last}"
    found = keep_for_a_week(whole, lambda: simulated().rows())
    rows = [
        Row(
            one["votes"],
            *(one[name] for name in ("accuracy", "low", "high")),
            *(other[name] for name in ("accuracy", "low", "high", "error")),
        )
        for one, other in zip(found[::2], found[1::2], strict=True)
    ]
    recipe = (
        f"label planning {redundancy.VERSION}: {crowd}, {asked} items ({items} simulated), "
        f"{per_worker} labels a worker; {REPLICATES} replicates, seed {SEED}"
    )
    return Plan(rows, asked, per_worker, crowd, recipe)


def stated(accuracy: float, labels: int, **sizes: Any) -> Plan:
    """Simulate the curve for workers of a stated accuracy."""
    crowd = _("single labels right %(accuracy)s, %(classes)s") % {
        "accuracy": percent(accuracy),
        "classes": plural(labels, "class", "classes"),
    }
    key = f"stated:{accuracy:.4f}:{labels}"
    return plan(redundancy.stated(accuracy, labels), crowd, key, **sizes)


def precision_of(build: Build) -> Precision:
    """Estimate the share of labels that will be right at the draft's redundancy."""
    fields = collected.fields_of(build.version)
    votes, cost = build.version.redundancy, build.cost()
    if not fields:
        return Precision(why_not=_("no field in which one option is chosen"))
    if votes < 2:
        return Precision(why_not=_("one label per item, so that none is compared"))
    if build.questions < 2:
        return Precision(why_not=_("fewer than 2 items"))
    field = fields[0]
    per_worker = max(2, cost.per_assignment)
    try:
        found = stated(
            USUAL,
            len(field.options),
            items=build.questions,
            per_worker=per_worker,
            votes=(min(votes, VOTES[-1]),),
        )
    except BadParameter as problem:
        return Precision(why_not=_("not simulated: %(problem)s") % {"problem": problem})
    row = found.rows[0]
    if row.dawid_skene is None or row.low is None or row.high is None:
        return Precision(why_not=_("not simulated"))
    half = (row.high - row.low) / 2
    sentences = (
        _(
            "If single labels are right %(usual)s of the time, about %(right)s of "
            "the estimated labels of “%(field)s” will be right (Dawid-Skene; %(low)s to "
            "%(high)s in %(inner)s of %(studies)s simulated studies), from %(workers)s per item."
        )
        % {
            "usual": percent(USUAL),
            "right": percent(row.dawid_skene),
            "field": field.label,
            "low": percent(row.low),
            "high": percent(row.high),
            "inner": round(0.95 * REPLICATES),
            "studies": REPLICATES,
            "workers": plural(row.votes, "worker"),
        },
        _("By majority vote %(majority)s. That is for %(items)s and %(labels)s per worker.")
        % {
            "majority": percent(row.majority),
            "items": plural(found.items, "item"),
            "labels": plural(per_worker, "label"),
        },
    )
    error = half / math.sqrt(REPLICATES)
    return Precision(_("the share of right labels"), half, error, sentences, recipe=found.recipe)
