"""MACE: who knows and who guesses, and the labels that those who know agree on.

Hovy, Berg-Kirkpatrick, Vaswani and Hovy, "Learning Whom to Trust with MACE" (NAACL 2013). Each
worker knows the truth with probability competence, else draws a label from a strategy of their
own. Strategies live in the coordinates shown to the worker (who always clicks left does so however
the pair was turned), truth in canonical ones. Components of the worker-item graph share no
parameter: each keeps its own best restart, and nothing compares across them. How often each label
is true is estimated, other than in the paper: taken as equal, labels of a rare kind come out far
too often (D_Product, 12 % positive: accuracy .844, majority .897).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.competence import dawid_skene
from evaluation.methods.competence.mace import core as mace_core
from evaluation.methods.competence.mace import data as mace_data
from evaluation.methods.competence.mace import sampler as mace_sampler
from evaluation.methods.competence.mace import tables as mace_tables
from evaluation.methods.competence.mace.data import Priors, Votes, label_parts, summed
from evaluation.methods.core.base import BadParameter, Hooks, IntArray, Result
from evaluation.methods.core.params import (
    LEVEL,
    PART_OF_LABELS,
    Params,
    choice,
    flag,
    real_number,
    resamples,
    whole_number,
)
from evaluation.methods.core.votes import Labels

NAME, VERSION = "mace", "2.1"


def _check_objective(settings: Mapping[str, Any]) -> None:
    if settings["algorithm"] == "em" and settings["objective"] == "bound":
        raise BadParameter("objective is 'bound', which em does not have; use 'likelihood'")


PARAMS = Params(
    NAME,
    (
        choice("algorithm", "vb", ("vb", "em")),
        whole_number("iterations", 100, 1),
        whole_number("restarts", 20, 1),
        real_number("smoothing", None, 1e-6, 1e6),
        real_number("alpha", 0.5, 0.01, 1e6),
        real_number("beta", 0.5, 0.01, 1e6),
        real_number("strategy_prior", 10.0, 0.01, 1e6),
        choice("prevalence", "estimated", mace_data.PREVALENCES),
        real_number("prevalence_prior", 1.0, 0.01, 1e6),
        real_number("noise", 10.0, 0, 100),
        choice("objective", "likelihood", ("likelihood", "bound")),
        whole_number("polish", 2000, 0),
        real_number("tolerance", 1e-5, 0, 1),
        real_number("threshold", 1.0, above=0, high=1),
        real_number("min_posterior", 0.0, 0, 1),
        resamples(1000),
        LEVEL,
        flag("beside", True),
        choice("posterior", "plug-in", ("plug-in", "averaged")),
    ),
    together=_check_objective,
    version=VERSION,
)
DEFAULTS = PARAMS.defaults
LEAVES = 0.1  # share of items on which labels leave the majority from which it is said
NONE = -1  # no label: not scored, or no one label has most votes
ROUNDS, TOLERANCE, SMOOTHING = 1000, 1e-7, 0.01  # of Dawid-Skene, its own defaults
SETTLED = 0.01  # without a tolerance: a round may still move a competence by this much


def fit(
    data: Labels, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Score workers and find the labels of items.

    Parameters (defaults in DEFAULTS): ``algorithm`` 'vb' (section 3.1: Beta(``alpha``, ``beta``)
    prior of spamming, Dirichlet ``strategy_prior`` a label) or 'em' (``smoothing`` on every count,
    None for 0.1 / number of labels); ``iterations`` x ``restarts`` from 1 + ``noise`` * uniform;
    ``objective`` that picks the restart, 'likelihood' as published or the variational 'bound';
    ``polish`` further rounds for the kept restart until no competence moves by ``tolerance``;
    ``threshold`` share of items kept, least entropy first, and ``min_posterior`` of a kept label;
    ``resamples`` draws and ``level`` of the intervals. ``prevalence`` of the labels 'estimated'
    with a Dirichlet ``prevalence_prior`` a label, 'mirrored' (a label and its mirror image share
    one: for pairs, see mace.data) or 'uniform' as published; ``beside``: labels of the
    majority and of Dawid-Skene too; ``posterior`` of the items 'plug-in', at the fit's parameters
    as published, or 'averaged' over the draws. As published: prevalence='uniform', polish=0,
    tolerance=0.

    Estimates: ``worker`` (competence with low and high; ``spam``, the published number, which in
    'vb' is exp-digamma and not normalised; ``n`` votes), ``strategy`` (worker, shown label,
    probability), ``prior`` (component, label, probability: the prevalence), ``item`` (label -1
    where not scored, its posterior, entropy in nats, ``kept``; with ``beside`` also ``majority``,
    -1 where two labels are level, ``dawid_skene`` and ``dawid_skene_posterior``, which holds if
    that model holds), ``posterior`` (item, label, probability). ``component`` 0 means not scored,
    with NaN. Intervals are quantiles of the exact posterior, sampled (mace_sampler); without draws
    NaN.

    Raises TooFewWorkers, TooFewLabels, BadParameter, Cancelled.
    """
    settings = PARAMS.settings(params)
    hooks = hooks or Hooks()
    worker_part, item_part = label_parts(data)
    votes = mace_data.prepare(data, worker_part, item_part)
    own = priors(settings, votes.labels)
    kept = _best(votes, own, settings, rng=rng, hooks=hooks)
    draws, averaged, others = None, None, dict[str, NDArray[Any]]()
    if settings["resamples"]:
        sampled = mace_sampler.draw(
            votes, own, kept.state, draws=settings["resamples"], rng=rng, hooks=hooks
        )
        draws = sampled.draws
        averaged = sampled.posterior if settings["posterior"] == "averaged" else None
    if settings["beside"]:
        others = compare_labels(data, worker_part, item_part, hooks=hooks)
    estimates = mace_tables.tables(
        data, votes, own, kept, draws, averaged=averaged, others=others, settings=settings
    )
    by_bound = settings["objective"] == "bound"
    diagnostics = mace_tables.diagnostics(data, votes, kept, draws, by_bound=by_bound)
    if others:
        label = estimates["item"]["label"]
        diagnostics["against_majority"] = against_majority(label, others["majority"])
        diagnostics["warnings"] += filter(None, [_warning(others, label)])
    return PARAMS.result(
        settings,
        estimates,
        diagnostics,
        converged=bool(kept.change.max(initial=0.0) < (settings["tolerance"] or SETTLED)),
    )


def _best(
    votes: Votes,
    own: Priors,
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> mace_core.Fitted:
    """The best restart of each component, polished."""
    fitted = mace_core.vb(
        votes,
        own,
        restarts=settings["restarts"],
        iterations=settings["iterations"],
        tolerance=settings["tolerance"],
        noise=settings["noise"],
        by_bound=settings["objective"] == "bound",
        rng=rng,
        hooks=hooks,
    )
    return mace_core.polish(
        votes,
        own,
        fitted,
        rounds=settings["polish"],
        tolerance=settings["tolerance"],
        hooks=hooks,
    )


def priors(settings: dict[str, Any], labels: int) -> Priors:
    """The priors that these settings ask for on so many labels."""
    smoothing = settings["smoothing"]
    return Priors(
        variational=settings["algorithm"] == "vb",
        alpha=float(settings["alpha"]),
        beta=float(settings["beta"]),
        strategy=float(settings["strategy_prior"]),
        smoothing=0.1 / labels if smoothing is None else float(smoothing),
        prevalence=settings["prevalence"],
        true=float(settings["prevalence_prior"]),
    )


def majority(data: Labels) -> IntArray:
    """The label (i,) with most votes of each item; NONE without votes or where two are level."""
    k, items = len(data.labels), len(data.items)
    votes = summed(data.item * k + data.label, data.weight, items * k).reshape(items, k)
    most = votes.max(axis=1)
    alone = (votes >= most[:, None] - 1e-9).sum(axis=1) == 1
    return np.where((most > 0) & alone, votes.argmax(axis=1), NONE)


def compare_labels(
    data: Labels, worker_part: IntArray, item_part: IntArray, *, hooks: Hooks
) -> dict[str, NDArray[Any]]:
    """Return the labels (i,) of the majority and of Dawid-Skene, to compare with MACE's.

    Three models that agree say more than one. ``dawid_skene_posterior`` holds if Dawid and Skene's
    model holds: it is no accuracy. On the components of MACE. Raises Cancelled.
    """
    counts = dawid_skene.prepare(data, worker_part, item_part)
    quiet = hooks.quiet()
    found = dawid_skene.em(
        counts, smoothing=SMOOTHING, iterations=ROUNDS, tolerance=TOLERANCE, hooks=quiet
    ).posterior
    scored = item_part > 0
    return {
        "majority": majority(data),
        "dawid_skene": np.where(scored, found.argmax(axis=1), NONE),
        "dawid_skene_posterior": np.where(scored, found.max(axis=1), np.nan),
    }


def against_majority(label: IntArray, most: IntArray) -> dict[str, Any]:
    """Count the items on which the labels differ from the majority's."""
    both = (label != NONE) & (most != NONE)
    differ = int((label[both] != most[both]).sum())
    return {"differ": differ, "items": int(both.sum()), "share": differ / max(int(both.sum()), 1)}


def _warning(others: Mapping[str, NDArray[Any]], label: IntArray) -> str:
    """Warn where labels leave the majority on more than LEAVES of the items; else "".

    Either few workers know, or the model does not fit; nothing else shows it.
    """
    own, other = (
        against_majority(one, others["majority"]) for one in (label, others["dawid_skene"])
    )
    if own["share"] <= LEAVES:
        return ""
    return (
        f"labels leave the majority on {own['differ']} of {own['items']} items "
        f"({own['share']:.0%}; those of Dawid-Skene on {other['differ']}): check some of them by "
        "hand before you use them"
    )


METHOD = PARAMS.as_method("MACE", Labels, fit, internal=PART_OF_LABELS)
