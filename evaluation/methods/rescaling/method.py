"""Ratings rescaled by what their explanations say, and whether annotators then agree more.

Wadhwa, Chen, Li, Durrett, "Using Natural Language Explanations to Rescale Human Judgments" (COLM
2024). A model turns a rating and its explanation into a 0-100 score f; where it gave none, the
annotator's mean score for that label, g, stands in (Algorithm 1). Agreement is Kendall's tau-b of
each pair of annotators on the items they share, averaged over pairs without weights, with intervals
over items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.agreement.rank_correlation import (
    EMPTY,
    Correlations,
    kendall,
    kendall_left_out,
)
from evaluation.methods.core.base import BadParameter, FloatArray, Hooks, IntArray, Result, Table
from evaluation.methods.core.components import components
from evaluation.methods.core.inference import jackknife_spread, t_quantile
from evaluation.methods.core.params import ANY_LEVEL, Params, real_number, whole_number
from evaluation.methods.core.units import LEAST, RANKED
from evaluation.methods.rescaling.data import (
    HIGHEST,
    LOWEST,
    Annotations,
    Shared,
    incomplete,
    shared_pairs,
)

# Rows of the join that one pass over noisy draws may hold (some 300 MB).
CHUNK = 1_000_000


@dataclass(frozen=True)
class Aggregate:
    """Mean tau-b over the pairs that have one on both sides, and the interval of its change.

    ``low`` and ``high`` are NaN where ``reason`` says why.
    """

    before: float
    after: float
    low: float
    high: float
    pairs: int
    reason: str = ""


NO_AGGREGATE = Aggregate(np.nan, np.nan, np.nan, np.nan, 0)


@dataclass(frozen=True, eq=False)
class Agreement:
    """Tau-b of each pair (p,) before and after, the change and its interval, and the means."""

    joined: Shared
    before: Correlations
    after: Correlations
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    mean: Aggregate


def agreement(
    data: Annotations,
    joined: Shared,
    before: FloatArray,
    after: FloatArray,
    *,
    level: float = 0.95,
    min_items: int = 10,
) -> Agreement:
    """Pairwise and aggregate tau-b of two scorings (n,) of the same annotations (section 6.1).

    The aggregate is the plain mean over pairs; pairs where either tau is undefined (a constant
    side, one row) are left out of both means. Standard errors are the jackknife over items, each
    left out of all pairs at once, since the pairs share items; t with items - 1 degrees of
    freedom. A pair gets an interval from ``min_items`` items on, and none if it rests on one item.
    """
    p = len(joined)
    if not len(joined.left):
        none, gap = np.full(p, np.nan), Correlations(np.full(p, np.nan), np.zeros(p), _empty(p))
        return Agreement(joined, gap, gap, none, none, none, NO_AGGREGATE)
    item = data.item[joined.left]
    (old, old_without), (new, new_without) = (
        kendall_left_out(scores[joined.left], scores[joined.right], joined.pair, item, groups=p)
        for scores in (before, after)
    )
    both = old.defined & new.defined
    difference = np.where(both, new.value - old.value, np.nan)
    pair = old_without.group
    moved = new_without.value - old_without.value - difference[pair]
    k = np.bincount(pair, minlength=p)
    centre = np.bincount(pair, weights=moved, minlength=p) / np.maximum(k, 1)
    squares = np.bincount(pair, weights=(moved - centre[pair]) ** 2, minlength=p)
    error = np.sqrt(squares * (k - 1) / np.maximum(k, 1))
    factor = t_quantile(level, np.maximum(k - 1.0, 1.0))
    reach = np.where(both & (k >= min_items), factor * error, np.nan)
    rows = both[pair]
    mean = _aggregate(
        old.value[both],
        new.value[both],
        moved=np.nan_to_num(moved[rows]),
        item=old_without.cluster[rows],
        level=level,
    )
    return Agreement(joined, old, new, difference, difference - reach, difference + reach, mean)


def _empty(p: int) -> IntArray:
    return np.full(p, EMPTY, dtype=np.int64)


def mean_tau(
    scores: FloatArray,
    joined: Shared,
    unit: IntArray,
    *,
    level: float = 0.95,
    noun: str = "items",
) -> Aggregate:
    """Mean tau-b of one scoring (n,) over pairs of annotators, as ``after``.

    ``unit`` (n,) numbers what was sampled, of each annotation; the interval is the jackknife over
    it, each left out of all pairs at once. Pairs where a side is constant are left out.
    """
    left, right = scores[joined.left], scores[joined.right]
    tau, without = kendall_left_out(left, right, joined.pair, unit[joined.left], groups=len(joined))
    rows = tau.defined[without.group]
    moved = without.value - tau.value[without.group]
    value = tau.value[tau.defined]
    return _aggregate(
        np.zeros(len(value)),
        value,
        moved=np.nan_to_num(moved[rows]),
        item=without.cluster[rows],
        level=level,
        noun=noun,
    )


def _aggregate(
    before: FloatArray,
    after: FloatArray,
    *,
    moved: FloatArray,
    item: IntArray,
    level: float,
    noun: str = "items",
) -> Aggregate:
    """Means over the pairs (q,) that have both taus.

    ``moved`` is how far each pair's change goes when it loses each of its items ``item``.
    """
    pairs = len(before)
    if not pairs:
        return NO_AGGREGATE
    cell = np.unique(item, return_inverse=True)[1]
    old, new = float(before.mean()), float(after.mean())
    # An item weighs by how many pairs of annotators share it.
    spread = jackknife_spread(
        np.bincount(cell, weights=moved) / pairs, np.bincount(cell), noun=noun
    )
    if few := spread.why_no_interval(LEAST[RANKED]):
        return Aggregate(old, new, np.nan, np.nan, pairs, few)
    reach = spread.reach(level)
    return Aggregate(old, new, new - old - reach, new - old + reach, pairs)


def without_ties(
    joined: Shared,
    before: FloatArray,
    after: FloatArray,
    *,
    rng: np.random.Generator,
    noise: float = 0.01,
    draws: int = 20,
) -> tuple[float, float]:
    """Aggregate tau-b before and after with Gaussian noise on each rating, mean over draws (6.2).

    A rating gets one draw that all its pairs share. ``noise`` is the standard deviation on the
    scale of the scores; small noise only breaks ties.
    """
    before_mean, after_mean = (
        float(np.mean(_noisy(joined, scores, rng, noise, draws))) for scores in (before, after)
    )
    return before_mean, after_mean


def _noisy(
    joined: Shared, scores: FloatArray, rng: np.random.Generator, noise: float, draws: int
) -> FloatArray:
    """(draws,) aggregates, several draws in one pass."""
    p, out = len(joined), []
    at_once = max(1, CHUNK // len(joined.left))
    for first in range(0, draws, at_once):
        size = min(at_once, draws - first)
        noisy = scores + rng.normal(0.0, noise, (size, len(scores)))
        group = (np.arange(size)[:, None] * p + joined.pair).ravel()
        left, right = noisy[:, joined.left].ravel(), noisy[:, joined.right].ravel()
        taus = kendall(left, right, group, groups=size * p).value.reshape(size, p)
        known = np.isfinite(taus)
        with np.errstate(invalid="ignore"):  # of one item no pair has a tau
            out.append(np.where(known, taus, 0.0).sum(axis=1) / known.sum(axis=1))
    return np.concatenate(out)


NAME, VERSION = "explanation-rescaling", "1.1"
PARAMS = Params(
    NAME,
    (
        real_number("ensemble", 0.0, 0, 1),
        real_number("noise", 0.01, above=0),
        whole_number("draws", 20, 1),
        ANY_LEVEL,
        whole_number("min_items", 10, 3),
    ),
    version=VERSION,
)
DEFAULTS = PARAMS.defaults
ANNOTATOR, LABEL, SCALE = 0, 1, 2
FROM = ("the annotator's mean", "the label's mean over annotators", "the label's place")


@dataclass(frozen=True, eq=False)
class LabelMeans:
    """g: the mean score c_jl of annotator j for label l (section 5.2, Algorithm 1).

    ``mean`` (m, l) in 0-100, over ``n`` (m, l) scored annotations. Where an annotator has none
    with a label, ``source`` (m, l) says what stands in: LABEL, the mean of all annotators' scores
    for it, or SCALE, the label's place between the worst and the best label.
    """

    mean: FloatArray
    n: IntArray
    source: IntArray


def label_means(data: Annotations) -> LabelMeans:
    """Mean score a label and annotator, over the annotations that have one."""
    m, k = len(data.workers), len(data.labels)
    cell = (data.worker * k + data.label)[data.scored]
    n = np.bincount(cell, minlength=m * k).reshape(m, k)
    total = np.bincount(cell, weights=data.score[data.scored], minlength=m * k).reshape(m, k)
    reach = (data.values - data.values[0]) / (data.values[-1] - data.values[0])
    stand_in = LOWEST + (HIGHEST - LOWEST) * reach
    seen = n.sum(axis=0)
    everybody = np.where(seen > 0, total.sum(axis=0) / np.maximum(seen, 1), stand_in)
    mean = np.where(n > 0, total / np.maximum(n, 1), everybody)
    source = np.where(n > 0, ANNOTATOR, np.where(seen > 0, LABEL, SCALE))
    return LabelMeans(mean, n, source)


def rescale(
    data: Annotations, means: LabelMeans | None = None, *, ensemble: float = 0.0
) -> FloatArray:
    """Scores s' (n,) in 0-100: lambda g + (1 - lambda) f, with g where f is missing (eq. 1).

    ``ensemble`` is lambda: 0 is explanation-based rescaling as proposed, 1 the annotator's mean
    for the label alone. ``means`` may come from other annotations of the same annotators and
    labels. Raises BadParameter unless 0 <= ensemble <= 1.
    """
    if not 0 <= ensemble <= 1:
        raise BadParameter(f"ensemble is {ensemble!r}; it must lie between 0 and 1")
    g = (label_means(data) if means is None else means).mean[data.worker, data.label]
    f = np.where(data.scored, data.score, g)
    return ensemble * g + (1 - ensemble) * f


def fit(
    data: Annotations, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Rescaled scores, and agreement of annotators before and after.

    Parameters (defaults in DEFAULTS): ``ensemble`` (lambda of eq. 1), ``noise`` (standard
    deviation of the Gaussian noise that breaks ties) and ``draws`` (how often it is drawn),
    ``level`` of intervals, ``min_items`` a pair must share for one.

    Estimates: tables ``annotation`` (worker, item, label, score, defaulted), ``label_mean``
    (worker, label, mean, n, source), ``pair`` and ``pair_incomplete`` (first, second, n,
    component, tau before, after, difference, and low, high of the difference) and ``aggregate``
    (setting, tau before, after, difference with low, high, pairs, undefined). A pair without tau
    has component 0. Intervals treat the items as the sample and the annotators as given.

    Raises NothingShared, BadParameter, Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    means = label_means(data)
    after = rescale(data, means, ensemble=settings["ensemble"])
    joined = shared_pairs(data)
    part, _ = components(data.worker, data.item, len(data.workers), len(data.items))
    limits = {"level": settings["level"], "min_items": settings["min_items"]}
    found = {}
    for done, (name, rows) in enumerate(
        (("all", joined), ("incomplete", incomplete(data, joined)))
    ):
        hooks.step("agreement", done, 3)
        found[name] = agreement(data, rows, data.rating, after, **limits)
    hooks.step("no ties", 2, 3)
    untied = without_ties(
        joined, data.rating, after, rng=rng, noise=settings["noise"], draws=settings["draws"]
    )
    defaulted = ~data.scored
    return PARAMS.result(
        settings,
        {
            "annotation": Table(
                {
                    "worker": data.worker,
                    "item": data.item,
                    "label": data.label,
                    "score": after,
                    "defaulted": defaulted,
                }
            ),
            "label_mean": _mean_table(means),
            "pair": _pair_table(found["all"], part),
            "pair_incomplete": _pair_table(found["incomplete"], part),
            "aggregate": _aggregate_table(found, untied),
        },
        _diagnostics(data, means, joined, found, part),
    )


def _mean_table(means: LabelMeans) -> Table:
    worker, label = np.indices(means.mean.shape)
    return Table(
        {
            "worker": worker.ravel(),
            "label": label.ravel(),
            "mean": means.mean.ravel(),
            "n": means.n.ravel(),
            "source": means.source.ravel(),
        }
    )


def _pair_table(found: Agreement, part: IntArray) -> Table:
    both = found.before.defined & found.after.defined
    return Table(
        {
            "first": found.joined.first,
            "second": found.joined.second,
            "n": found.before.n.astype(np.int64),
            "component": np.where(both, part[found.joined.first], 0),
            "before": found.before.value,
            "after": found.after.value,
            "difference": found.difference,
            "low": found.low,
            "high": found.high,
        }
    )


def _aggregate_table(found: dict[str, Agreement], untied: tuple[float, float]) -> Table:
    """Rows all, incomplete and no ties; the last has no interval, since noise is no sample."""
    tables = list(found.values())
    rows = [[t.mean.before, t.mean.after, t.mean.low, t.mean.high] for t in tables]
    rows.append([*untied, np.nan, np.nan])
    before, after, low, high = np.array(rows).T
    pairs = [t.mean.pairs for t in tables]
    undefined = [len(t.joined) - t.mean.pairs for t in tables]
    return Table(
        {
            "setting": np.array([*found, "no ties"]),
            "before": before,
            "after": after,
            "difference": after - before,
            "low": low,
            "high": high,
            "pairs": np.array([*pairs, len(tables[0].joined)]),
            "undefined": np.array([*undefined, 0]),
            "reason": np.array([*(t.mean.reason for t in tables), ""]),
        }
    )


def _diagnostics(
    data: Annotations,
    means: LabelMeans,
    joined: Shared,
    found: dict[str, Agreement],
    part: IntArray,
) -> dict[str, Any]:
    ordered = np.diff(means.mean, axis=1) >= 0
    workers = len(np.unique(data.worker))
    return {
        "defaulted": int((~data.scored).sum()),
        "unexplained": int((~data.explained).sum()),
        "means_filled": {
            FROM[k]: int((means.source == k).sum()) for k in (LABEL, SCALE)
        },  # g is not forced to rise with the label; say whose does not
        "not_monotone": [data.workers[j] for j in np.flatnonzero(~ordered.all(axis=1))],
        "pairs": len(joined),
        "pairs_sharing_nothing": workers * (workers - 1) // 2 - len(joined),
        "undefined": {
            name: {"before": table.before.undefined(), "after": table.after.undefined()}
            for name, table in found.items()
        },
        "no_interval": {
            name: f"{int(np.isnan(table.low).sum())} pairs: fewer items than min_items, no tau, "
            "or none without one of the items"
            for name, table in found.items()
        },
        "components": int(part.max()),
    }


METHOD = PARAMS.as_method(
    "Explanation-based rescaling",
    Annotations,
    fit,
    internal="fitted by runs that ask a model for the scores",
)
