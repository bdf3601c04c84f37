"""Dawid-Skene: each worker's confusion matrix and the labels, by EM from the majority.

Dawid and Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm"
(Applied Statistics 28, 1979). Truth and votes are in canonical coordinates. Each component of the
worker-item graph has label probabilities of its own, and nothing compares across components.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation.methods.competence import dawid_skene_core as core
from evaluation.methods.competence.mace import tables as mace_tables
from evaluation.methods.competence.mace.sampler import Draws
from evaluation.methods.core.base import Hooks, Result, Table
from evaluation.methods.core.mace_checks import label_parts
from evaluation.methods.core.params import (
    LEVEL,
    PART_OF_STUDY,
    Method,
    Params,
    real,
    resamples,
    whole,
)
from evaluation.methods.core.votes import Labels

NAME, VERSION = "dawid-skene", "1.0"
PARAMS = Params(
    NAME,
    (
        whole("iterations", 1000, 1),
        real("tolerance", 1e-7, 0, 1),
        real("smoothing", 0.01, 1e-10, 1e6),
        real("threshold", 1.0, above=0, high=1),
        real("min_posterior", 0.0, 0, 1),
        real("strength", 6.0, 0.1, 1e3),
        resamples(1000),
        LEVEL,
    ),
)
DEFAULTS = PARAMS.defaults


def fit(
    data: Labels, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Score workers and find the labels of items.

    Parameters (defaults in DEFAULTS): at most ``iterations`` rounds, until the log-likelihood a
    vote rises by less than ``tolerance``; ``smoothing`` on every count of a confusion matrix
    (1e-10: maximum likelihood, as in the paper); ``threshold`` share of items kept, least entropy
    first, and ``min_posterior`` of a kept label; ``resamples`` draws and ``level`` of the
    intervals, whose prior lets the rows of a confusion matrix keep
    together with ``strength`` votes.

    Estimates: ``worker`` (accuracy: chance to label an item of the component right, with low and
    high; ``n`` votes), ``confusion`` (worker, true, given, probability), ``prior`` (component,
    label, probability), ``item`` (label -1 where not scored, its posterior, entropy in nats,
    ``kept``), ``posterior`` (item, label, probability). ``component`` 0 means not scored, with
    NaN. Intervals are quantiles of the sampled posterior (dawid_skene_core.draw): they hold if the
    model holds, and do not say how often a worker is right where labels are wrong together.

    Raises TooFewWorkers, TooFewLabels, BadParameter, Cancelled.
    """
    settings = PARAMS.settings(params)
    hooks = hooks or Hooks()
    counts = core.prepare(data, *label_parts(data))
    fitted = core.em(
        counts,
        smoothing=settings["smoothing"],
        iterations=settings["iterations"],
        tolerance=settings["tolerance"],
        hooks=hooks,
    )
    draws = None
    if settings["resamples"]:
        draws = core.draw(
            counts,
            fitted,
            draws=settings["resamples"],
            strength=settings["strength"],
            rng=rng,
            hooks=hooks,
        )
    return Result(
        name=NAME,
        version=VERSION,
        estimates=_tables(data, counts, fitted, draws, settings=settings),
        intervals={},
        diagnostics=_diagnostics(data, counts, fitted, draws),
        converged=fitted.converged,
        recipe={"method": NAME, "version": VERSION, "params": settings},
    )


def _tables(
    data: Labels,
    counts: core.Counts,
    fitted: core.Fitted,
    draws: Draws | None,
    *,
    settings: dict[str, Any],
) -> dict[str, Table]:
    scored = counts.worker_part > 0
    probability = np.where((counts.item_part > 0)[:, None], fitted.posterior, np.nan)
    estimate = core.accuracy(counts, fitted.confusion, fitted.prior)
    low, high = mace_tables.interval(estimate, draws, settings["level"])
    k, rows = counts.labels, np.flatnonzero(scored)
    return {
        "worker": Table(
            {
                "worker": np.arange(len(scored)),
                "accuracy": np.where(scored, estimate, np.nan),
                "low": np.where(scored, low, np.nan),
                "high": np.where(scored, high, np.nan),
                "n": mace_tables.whole(counts.total),
                "component": counts.worker_part,
            }
        ),
        "confusion": Table(
            {
                "worker": np.repeat(rows, k * k),
                "true": np.tile(np.repeat(np.arange(k), k), len(rows)),
                "given": np.tile(np.arange(k), len(rows) * k),
                "probability": fitted.confusion[rows].ravel(),
            }
        ),
        "prior": mace_tables.prior(fitted.prior),
        "item": mace_tables.items(
            probability,
            counts.item_part,
            mace_tables.per_item(data),
            threshold=settings["threshold"],
            min_posterior=settings["min_posterior"],
        ),
        "posterior": mace_tables.long(probability),
    }


def _diagnostics(
    data: Labels, counts: core.Counts, fitted: core.Fitted, draws: Draws | None
) -> dict[str, Any]:
    sizes = mace_tables.components_of(data, counts.worker_part, counts.item_part)
    return {
        "components": [
            {**row, "log_likelihood": float(value)}
            for row, value in zip(sizes, fitted.by_part, strict=True)
        ],
        "log_likelihood": float(fitted.likelihood[-1]),
        "rounds": len(fitted.likelihood),
        **mace_tables.left_out(data, counts.worker_part),
        **mace_tables.cautions(data, counts.worker_part, draws, model="Dawid and Skene's"),
    }


METHOD = Method(
    slug=NAME,
    version=VERSION,
    title="Dawid-Skene",
    data=Labels,
    fit=fit,
    options=PARAMS,
    internal=PART_OF_STUDY,
)
