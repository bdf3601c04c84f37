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

from evaluation.methods.competence.mace import beside as mace_beside
from evaluation.methods.competence.mace import core as mace_core
from evaluation.methods.competence.mace import data as mace_data
from evaluation.methods.competence.mace import prevalence as mace_prevalence
from evaluation.methods.competence.mace import sampler as mace_sampler
from evaluation.methods.competence.mace import tables as mace_tables
from evaluation.methods.competence.mace.data import Priors, Votes
from evaluation.methods.core.base import BadParameter, Hooks, Result
from evaluation.methods.core.mace_checks import label_parts
from evaluation.methods.core.params import (
    LEVEL,
    PART_OF_STUDY,
    Method,
    Params,
    choice,
    flag,
    real,
    resamples,
    whole,
)
from evaluation.methods.core.votes import Labels

NAME, VERSION = "mace", "2.0"


def _check_objective(settings: Mapping[str, Any]) -> None:
    if settings["algorithm"] == "em" and settings["objective"] == "bound":
        raise BadParameter("objective is 'bound', which em does not have; use 'likelihood'")


PARAMS = Params(
    NAME,
    (
        choice("algorithm", "vb", ("vb", "em")),
        whole("iterations", 100, 1),
        whole("restarts", 20, 1),
        real("smoothing", None, 1e-6, 1e6),
        real("alpha", 0.5, 0.01, 1e6),
        real("beta", 0.5, 0.01, 1e6),
        real("strategy_prior", 10.0, 0.01, 1e6),
        choice("prevalence", "estimated", mace_prevalence.PREVALENCES),
        real("prevalence_prior", 1.0, 0.01, 1e6),
        real("noise", 10.0, 0, 100),
        choice("objective", "likelihood", ("likelihood", "bound")),
        whole("polish", 2000, 0),
        real("tolerance", 1e-5, 0, 1),
        real("threshold", 1.0, above=0, high=1),
        real("min_posterior", 0.0, 0, 1),
        resamples(1000),
        LEVEL,
        flag("beside", True),
    ),
    together=_check_objective,
)
DEFAULTS = PARAMS.defaults
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
    one: for pairs, see mace_prevalence) or 'uniform' as published; ``beside``: labels of the
    majority and of Dawid-Skene too. As published: prevalence='uniform', polish=0, tolerance=0.

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
    draws = others = None
    if settings["resamples"]:
        draws = mace_sampler.draw(
            votes, own, kept.state, draws=settings["resamples"], rng=rng, hooks=hooks
        )
    if settings["beside"]:
        others = mace_beside.beside(data, worker_part, item_part, hooks=hooks)
    estimates = mace_tables.tables(data, votes, own, kept, draws, others=others, settings=settings)
    return Result(
        name=NAME,
        version=VERSION,
        estimates=estimates,
        intervals={},
        diagnostics=mace_tables.diagnostics(
            data,
            votes,
            kept,
            draws,
            by_bound=settings["objective"] == "bound",
            others=others,
            label=estimates["item"]["label"],
        ),
        converged=bool(kept.change.max(initial=0.0) < (settings["tolerance"] or SETTLED)),
        recipe={"method": NAME, "version": VERSION, "params": settings},
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


METHOD = Method(
    slug=NAME,
    version=VERSION,
    title="MACE",
    data=Labels,
    fit=fit,
    options=PARAMS,
    internal=PART_OF_STUDY,
)
