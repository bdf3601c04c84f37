"""Dawid-Skene: each worker's confusion matrix and the labels, by EM from the majority.

Dawid and Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm"
(Applied Statistics 28, 1979). Truth and votes are in canonical coordinates. Each component of the
worker-item graph has label probabilities of its own, and nothing compares across components.

EM is two sparse products a round; intervals come from draws of the posterior. Worker j gives label
l to an item of true label t with probability pi_jtl; labels have probabilities p_t, of their own in
each component.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from evaluation.methods.competence.confusion import RowPrior, Sampler, accuracy
from evaluation.methods.competence.mace import tables as mace_tables
from evaluation.methods.competence.mace.data import (
    Counts,
    adding,
    label_parts,
    summed,
    vote_matrix,
)
from evaluation.methods.competence.mace.draws import CHAINS, TINY, Draws, Rounds
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Result, Table
from evaluation.methods.core.params import (
    LEVEL,
    PART_OF_LABELS,
    Params,
    real_number,
    resamples,
    whole_number,
)
from evaluation.methods.core.votes import Labels


@dataclass(frozen=True, eq=False)
class Fitted:
    """``confusion`` (workers, true, given), ``prior`` (parts, K), ``posterior`` (items, K).

    ``likelihood`` (rounds,) is the log-likelihood of all votes before each M-step and at the end;
    ``by_part`` (parts,) the last one of each component.
    """

    confusion: FloatArray
    prior: FloatArray
    posterior: FloatArray
    likelihood: FloatArray
    by_part: FloatArray
    converged: bool


def prepare(data: Labels, worker_part: IntArray, item_part: IntArray) -> Counts:
    """Lay votes out; the start is the paper's (eq. 3.1), uniform where an item has no votes."""
    k, n_items, n_workers = len(data.labels), len(data.items), len(data.workers)
    shape = (n_items, n_workers * k)
    # Votes that differ only in what was shown are added up.
    matrix = vote_matrix(data.item, data.worker * k + data.label, data.weight, shape)
    votes = summed(data.item * k + data.label, data.weight, n_items * k).reshape(n_items, k)
    n = votes.sum(axis=1, keepdims=True)
    parts = int(worker_part.max(initial=0))
    mean = adding(item_part, parts + 1)[1:]
    size = np.bincount(item_part, minlength=parts + 1)[1:]
    return Counts(
        matrix=matrix,
        transposed=scipy.sparse.csr_array(matrix.T.tocsr()),
        start=np.where(n > 0, votes / np.where(n > 0, n, 1.0), 1.0 / k),
        parts_of_items=scipy.sparse.csr_array(mean.multiply((1.0 / size)[:, None]).tocsr()),
        worker_part=worker_part,
        item_part=item_part,
        total=summed(data.worker, data.weight, n_workers),
        parts=parts,
        labels=k,
    )


def m_step(counts: Counts, posterior: FloatArray, smoothing: float) -> tuple[FloatArray, ...]:
    """Estimate confusion (workers, given, true) and prior (parts, K): eq. 2.3 and 2.4, smoothed."""
    k = counts.labels
    given = (counts.transposed @ posterior).reshape(-1, k, k)
    given += smoothing
    given /= np.einsum("jlt->jt", given)[:, None]
    return given, counts.parts_of_items @ posterior


def e_step(
    counts: Counts, confusion: FloatArray, prior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute posteriors (items, K) by eq. 2.5, and each item's log-likelihood (items,)."""
    log = counts.matrix @ np.log(confusion).reshape(-1, counts.labels)
    log += counts.of_item(np.log(np.maximum(prior, TINY)))
    top = log[:, 0].copy()  # label by label: numpy is slow along a short last axis
    for t in range(1, counts.labels):
        np.maximum(top, log[:, t], out=top)
    log -= top[:, None]
    np.exp(log, out=log)
    total = np.einsum("it->i", log)
    log *= (1.0 / total)[:, None]
    return log, np.where(counts.item_part > 0, np.log(total) + top, 0.0)


def em(
    counts: Counts, *, smoothing: float, iterations: int, tolerance: float, hooks: Hooks
) -> Fitted:
    """EM from majority shares until the log-likelihood a vote rises by less than ``tolerance``.

    Items with the same votes share a posterior, so rounds are made over patterns of votes where
    these are few. Raises Cancelled.
    """
    whole, patterns = counts, counts.patterns()
    if patterns is not None:
        counts, kind, size = patterns
    posterior, history, converged = counts.start, [-np.inf], False
    scored = counts.total[counts.worker_part > 0].sum()
    for done in range(1, iterations + 1):
        confusion, prior = m_step(counts, posterior, smoothing)
        posterior, each = e_step(counts, confusion, prior)
        history.append(float(each.sum() if patterns is None else each @ size))
        hooks.step("rounds", done, iterations)
        converged = abs(history[-1] - history[-2]) < tolerance * scored
        if converged:
            break
    if patterns is not None:
        posterior, each = posterior[kind], each[kind]
    return Fitted(
        confusion=confusion.transpose(0, 2, 1),
        prior=prior,
        posterior=posterior,
        likelihood=np.array(history[1:]),
        by_part=summed(whole.item_part, each, whole.parts + 1)[1:],
        converged=converged,
    )


def draw_accuracy(
    counts: Counts,
    fitted: Fitted,
    *,
    draws: int,
    strength: float,
    rng: np.random.Generator,
    hooks: Hooks,
) -> Draws:
    """``draws`` (rounded up to whole chains) of every worker's accuracy.

    With the prior of even strategies: a row has ``strength`` pseudo-votes. Raises Cancelled.
    """
    sampler = Sampler(
        counts, (fitted.confusion, fitted.prior), RowPrior(strength, counts.labels), rng
    )
    for stage in Rounds.of(draws, counts.matrix.nnz).stages():
        kept = np.empty((CHAINS, stage.each, len(counts.total)), dtype=np.float32)
        for done in range(stage.total):
            sampler.step()
            place = stage.draw_after(done)
            if place is not None:
                kept[:, place] = accuracy(counts, sampler.confusion, sampler.p).T
            if done % 10 == 0:
                hooks.step("intervals", done, stage.total)
        found = Draws.of_chains(kept)
        if found.is_settled(counts.worker_part > 0):
            break
    return found


NAME, VERSION = "dawid-skene", "1.2"
PARAMS = Params(
    NAME,
    (
        whole_number("iterations", 1000, 1),
        real_number("tolerance", 1e-7, 0, 1),
        real_number("smoothing", 0.01, 1e-10, 1e6),
        real_number("threshold", 1.0, above=0, high=1),
        real_number("min_posterior", 0.0, 0, 1),
        real_number("strength", 6.0, 0.1, 1e3),
        resamples(1000),
        LEVEL,
    ),
    version=VERSION,
)


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
    NaN. Intervals are quantiles of the sampled posterior (draw_accuracy): they hold if the
    model holds, and do not say how often a worker is right where labels are wrong together.

    Raises TooFewWorkers, TooFewLabels, BadParameter, Cancelled.
    """
    settings = PARAMS.settings(params)
    hooks = hooks or Hooks()
    counts = prepare(data, *label_parts(data))
    fitted = em(
        counts,
        smoothing=settings["smoothing"],
        iterations=settings["iterations"],
        tolerance=settings["tolerance"],
        hooks=hooks,
    )
    draws = None
    if settings["resamples"]:
        draws = draw_accuracy(
            counts,
            fitted,
            draws=settings["resamples"],
            strength=settings["strength"],
            rng=rng,
            hooks=hooks,
        )
    return PARAMS.result(
        settings,
        _tables(data, counts, fitted, draws, settings=settings),
        _diagnostics(data, counts, fitted, draws),
        converged=fitted.converged,
    )


def _tables(
    data: Labels,
    counts: Counts,
    fitted: Fitted,
    draws: Draws | None,
    *,
    settings: dict[str, Any],
) -> dict[str, Table]:
    scored = counts.worker_part > 0
    probability = np.where((counts.item_part > 0)[:, None], fitted.posterior, np.nan)
    estimate = accuracy(counts, fitted.confusion, fitted.prior)
    low, high = mace_tables.interval(estimate, draws, settings["level"])
    k, rows = counts.labels, np.flatnonzero(scored)
    return {
        "worker": Table(
            {
                "worker": np.arange(len(scored)),
                "accuracy": np.where(scored, estimate, np.nan),
                "low": np.where(scored, low, np.nan),
                "high": np.where(scored, high, np.nan),
                "n": mace_tables.to_integers(counts.total),
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
        "posterior": mace_tables.posterior_rows(probability),
    }


def _diagnostics(
    data: Labels, counts: Counts, fitted: Fitted, draws: Draws | None
) -> dict[str, Any]:
    sizes = mace_tables.components_of(data, counts.worker_part, counts.item_part)
    return {
        "components": [
            {**row, "log_likelihood": float(value)}
            for row, value in zip(sizes, fitted.by_part, strict=True)
        ],
        "log_likelihood": float(fitted.likelihood[-1]),
        "rounds": len(fitted.likelihood),
        **mace_tables.unscored_workers(data, counts.worker_part),
        **mace_tables.cautions(data, counts.worker_part, draws, model="Dawid and Skene's"),
    }


METHOD = PARAMS.as_method("Dawid-Skene", Labels, fit, internal=PART_OF_LABELS)
