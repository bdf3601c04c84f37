"""MACE's fit put into tables: a row a worker, strategy, item and posterior probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.competence.mace.core import Fitted
from evaluation.methods.competence.mace.data import Priors, Votes, mean_prevalence, summed
from evaluation.methods.competence.mace.draws import ERROR, Draws
from evaluation.methods.core.base import FloatArray, IntArray, Table
from evaluation.methods.core.votes import Labels
from evaluation.methods.workers.claims import median_gaps, no_gaps

UNSETTLED = 1.1  # r_hat from which chains are said to differ
NEAR = 0.5  # of log likelihood: a restart this close found the same optimum


def tables(
    data: Labels,
    votes: Votes,
    priors: Priors,
    fitted: Fitted,
    draws: Draws | None,
    *,
    averaged: FloatArray | None,
    others: Mapping[str, NDArray[Any]],
    settings: dict[str, Any],
) -> dict[str, Table]:
    """Make the tables of estimates of a fit (described at ``mace.fit``).

    ``averaged`` (i, K) takes the place of the fit's posterior.
    """
    probability = averaged
    if probability is None:
        probability = posterior(votes, fitted.posterior, fitted.missing, fitted.state.prevalence)
    probability[votes.item_part == 0] = np.nan
    item = items(
        probability,
        votes.item_part,
        per_item(data),
        threshold=settings["threshold"],
        min_posterior=settings["min_posterior"],
    )
    return {
        "worker": _workers(votes, priors, fitted, draws, settings["level"]),
        "strategy": _strategies(votes, priors, fitted),
        "prior": prior(mean_prevalence(votes, priors, fitted.state)),
        "item": Table({**item.columns, **others}),
        "posterior": posterior_rows(probability),
    }


def prior(probability: FloatArray) -> Table:
    """Make the table of prevalences (parts, K): a row per component and label."""
    parts, k = probability.shape
    return Table(
        {
            "component": np.repeat(np.arange(1, parts + 1), k),
            "label": np.tile(np.arange(k), parts),
            "probability": probability.ravel(),
        }
    )


def posterior(
    votes: Votes, cells: FloatArray, missing: FloatArray, prevalence: FloatArray | None = None
) -> FloatArray:
    """Return the posterior of every label of every item (i, K); rows sum to 1."""
    found = np.repeat(missing[:, None], votes.labels, axis=1)
    if prevalence is not None:
        found *= prevalence.reshape(-1, votes.labels)[votes.item_part]
    found[votes.cell_item, votes.cell_label] = cells
    return found


def per_item(data: Labels) -> FloatArray:
    """Return the number of votes on each item (i,)."""
    return summed(data.item, data.weight, len(data.items))


def to_integers(counts: FloatArray) -> Any:
    """Convert counts to integers if they are all whole."""
    rounded = counts.round()
    return rounded.astype(np.int64) if np.array_equal(rounded, counts) else counts


def items(
    probability: FloatArray,
    part: IntArray,
    n: FloatArray,
    *,
    threshold: float = 1.0,
    min_posterior: float = 0.0,
) -> Table:
    """Make the table of items: label (-1: not scored), posterior, entropy, kept.

    ``kept`` are the ``threshold`` share of scored items with the least entropy (Hovy et al.,
    section 4.2; all that tie with the last one stay) whose label has ``min_posterior``.
    """
    scored = part > 0
    label = np.where(scored, np.nan_to_num(probability, nan=-1.0).argmax(axis=1), -1)
    best = np.where(scored, np.nan_to_num(probability).max(axis=1), np.nan)
    log = np.log(np.where(probability > 0, probability, 1.0))
    entropy = np.maximum(-(probability * log).sum(axis=1), 0.0)
    kept = scored & (np.nan_to_num(best) >= min_posterior)
    if threshold < 1 and scored.any():
        last = max(1, int(np.ceil(threshold * scored.sum())))
        kept &= np.nan_to_num(entropy, nan=np.inf) <= np.sort(entropy[scored])[last - 1]
    return Table(
        {
            "item": np.arange(len(part)),
            "label": label,
            "posterior": best,
            "entropy": entropy,
            "n": to_integers(n),
            "kept": kept,
            "component": part,
        }
    )


def posterior_rows(probability: FloatArray) -> Table:
    """Posteriors (i, K) as rows of item, label and probability; items not scored are left out."""
    rows = np.flatnonzero(~np.isnan(probability[:, 0]))
    k = probability.shape[1]
    return Table(
        {
            "item": np.repeat(rows, k),
            "label": np.tile(np.arange(k), len(rows)),
            "probability": probability[rows].ravel(),
        }
    )


def competence(votes: Votes, priors: Priors, fitted: Fitted) -> FloatArray:
    """Probability of knowing (j,): the posterior mean in VB, the smoothed estimate in EM."""
    know = fitted.state.knowing[:, 0]
    if not priors.variational:
        return (know + priors.smoothing) / (votes.total + 2 * priors.smoothing)
    return (know + priors.beta) / (votes.total + priors.alpha + priors.beta)


def interval(
    estimate: FloatArray, draws: Draws | None, level: float
) -> tuple[FloatArray, FloatArray]:
    """Equal-tailed quantiles of the draws of each worker (j,), NaN without draws."""
    if draws is None:
        return np.full_like(estimate, np.nan), np.full_like(estimate, np.nan)
    low, high = draws.quantiles(level)
    # An estimate outside what was sampled is one more reason to be unsure.
    return np.fmin(low, estimate), np.fmax(high, estimate)


def _workers(
    votes: Votes, priors: Priors, fitted: Fitted, draws: Draws | None, level: float
) -> Table:
    scored = votes.worker_part > 0
    estimate = np.where(scored, competence(votes, priors, fitted), np.nan)
    low, high = interval(estimate, draws, level)
    return Table(
        {
            "worker": np.arange(len(scored)),
            "competence": estimate,
            "low": np.where(scored, low, np.nan),
            "high": np.where(scored, high, np.nan),
            "spam": np.where(scored, fitted.state.spam[:, 0], np.nan),
            "n": to_integers(votes.total),
            "component": votes.worker_part,
            **_gaps(votes, draws, level),
        }
    )


def _gaps(votes: Votes, draws: Draws | None, level: float) -> dict[str, FloatArray]:
    """Competence minus the median of the worker's component, for all workers at once."""
    if draws is None:
        return no_gaps(len(votes.worker_part))
    return median_gaps(draws.competence, votes.worker_part, level=level)


def _strategies(votes: Votes, priors: Priors, fitted: Fitted) -> Table:
    """Posterior mean of every scored worker's strategy, a row a shown label."""
    k = votes.labels
    start = priors.strategy if priors.variational else priors.smoothing
    drawn = np.full((len(votes.total), k), start)
    drawn[votes.worker, votes.shown] += votes.count - fitted.state.cells[:, 0]
    rows = np.flatnonzero(votes.worker_part > 0)
    share = drawn[rows] / drawn[rows].sum(axis=1, keepdims=True)
    return Table(
        {
            "worker": np.repeat(rows, k),
            "shown": np.tile(np.arange(k), len(rows)),
            "probability": share.ravel(),
        }
    )


def diagnostics(
    data: Labels,
    votes: Votes,
    fitted: Fitted,
    draws: Draws | None,
    *,
    by_bound: bool,
) -> dict[str, Any]:
    """Return the diagnostics of each component, what was left out, and warnings."""
    score = fitted.bound if by_bound else fitted.likelihood
    near = (score >= score.max(axis=1, keepdims=True) - NEAR).sum(axis=1)
    likelihood, bound = fitted.at_end
    return {
        "components": [
            {
                **row,
                "log_marginal_likelihood": float(likelihood[k]),
                "bound": float(bound[k]) if np.isfinite(bound[k]) else None,
                "restart": int(fitted.best[k]) + 1,
                "restarts_at_the_optimum": int(near[k]),
                "last_change": float(fitted.change[k]),
            }
            for k, row in enumerate(components_of(data, votes.worker_part, votes.item_part))
        ],
        "objective": "bound" if by_bound else "log marginal likelihood",
        "log_marginal_likelihood": float(likelihood.sum()),
        "rounds": fitted.rounds,
        "polished": fitted.polished,
        "last_change": float(fitted.change.max(initial=0.0)),
        **unscored_workers(data, votes.worker_part),
        **cautions(data, votes.worker_part, draws),
    }


def components_of(data: Labels, worker_part: IntArray, item_part: IntArray) -> list[dict[str, Any]]:
    """Number, name and size of every component."""
    parts = int(worker_part.max(initial=0))
    workers = np.bincount(worker_part, minlength=parts + 1)
    items_ = np.bincount(item_part, minlength=parts + 1)
    n = summed(worker_part[data.worker], data.weight, parts + 1)
    return [
        {
            "number": k,
            "name": f"Component {k} of {parts}",
            "workers": int(workers[k]),
            "items": int(items_[k]),
            "votes": float(n[k]),
        }
        for k in range(1, parts + 1)
    ]


def cautions(
    data: Labels, worker_part: IntArray, draws: Draws | None, model: str = "this"
) -> dict[str, Any]:
    """Return labels nobody gave, the kind of interval, agreement of the chains, and warnings."""
    given = summed(data.label, data.weight, len(data.labels))
    found: dict[str, Any] = {
        "labels_never_given": [data.labels[k] for k in np.flatnonzero(given == 0)],
        "interval": "none: no draws"
        if draws is None
        else f"quantiles of the sampled posterior, if {model} model holds",
        "warnings": [],
    }
    if (given > 0).sum() == 1:
        found["warnings"].append(
            "every vote is the same label: knowing cannot be told from always voting so"
        )
    if draws is not None:
        found["r_hat"] = float(draws.r_hat[worker_part > 0].max(initial=1.0))
        found["warnings"] += unsettled(draws, worker_part > 0)
    return found


def unsettled(draws: Draws, scored: NDArray[np.bool_]) -> list[str]:
    """Warn if chains differ, or if bounds would change from seed to seed; [] if not."""
    r_hat, n = draws.r_hat[scored], len(draws.competence)
    apart = int((r_hat > UNSETTLED).sum())
    if apart:
        return [
            f"the sampled chains differ for {apart} of {len(r_hat)} workers after {n:,} draws "
            f"(r_hat above {UNSETTLED}), so another seed gives other intervals"
        ]
    if draws.effective is None or draws.is_settled(scored):
        return []
    loose = draws.error()[scored] > ERROR
    return [
        f"the intervals of {int(loose.sum())} of {len(loose)} workers are not settled after "
        f"{n:,} draws: with another seed a bound may move by {2 * draws.error()[scored].max():.2f}"
    ]


def unscored_workers(data: Labels, worker_part: IntArray) -> dict[str, Any]:
    """Names of workers not scored and why, and of items without votes."""
    voted = np.zeros(len(data.workers), dtype=bool)
    voted[data.worker] = True
    asked = np.zeros(len(data.items), dtype=bool)
    asked[data.item] = True
    return {
        "workers_not_scored": {
            data.workers[j]: "shares no item with another worker" if voted[j] else "no votes"
            for j in np.flatnonzero(worker_part == 0)
        },
        "items_without_votes": [data.items[i] for i in np.flatnonzero(~asked)],
    }
