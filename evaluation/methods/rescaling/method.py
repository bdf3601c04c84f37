"""Ratings rescaled by what their explanations say, and whether annotators then agree more.

Wadhwa, Chen, Li, Durrett, "Using Natural Language Explanations to Rescale Human Judgments"
(COLM 2024). A model turns a rating and its explanation into a 0-100 score f; where it gave none,
the annotator's mean score for that label, g, stands in (Algorithm 1). Agreement is Kendall's
tau-b of each pair of annotators on the items they share, averaged over pairs without weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.core.base import (
    BadParameter,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Table,
)
from evaluation.methods.core.components import components
from evaluation.methods.core.params import ANY_LEVEL, Method, Params, real, whole
from evaluation.methods.rescaling.data import (
    HIGHEST,
    LOWEST,
    Annotations,
    Shared,
    incomplete,
    shared,
)
from evaluation.methods.rescaling.tau import Agreement, agreement, without_ties

NAME, VERSION = "explanation-rescaling", "1.0"
PARAMS = Params(
    NAME,
    (
        real("ensemble", 0.0, 0, 1),
        real("noise", 0.01, above=0),
        whole("draws", 20, 1),
        ANY_LEVEL,
        whole("min_items", 10, 3),
    ),
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
    joined = shared(data)
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
    return Result(
        name=NAME,
        version=VERSION,
        estimates={
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
        intervals={},
        diagnostics=_diagnostics(data, means, joined, found, part),
        converged=True,
        recipe={"method": NAME, "version": VERSION, "params": settings},
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


METHOD = Method(
    slug=NAME,
    version=VERSION,
    title="Explanation-based rescaling",
    data=Annotations,
    fit=fit,
    options=PARAMS,
    internal="fitted by runs that ask a model for the scores",
)
