"""How often each label is true: what MACE as published leaves out.

Hovy et al. (section 3) draw the true label uniformly. On skewed labels that calls a rare label far
too often, below what a majority does; so the prevalence is estimated here, by component, as Dawid
and Skene do (1979, eq. 2.4), with a Dirichlet prior. It belongs to the truth and so lives in
canonical coordinates, as strategies live in displayed ones.

Where a label is a place in a pair ('mirrored'), which text is stored first is an accident: first
and second share one prevalence, and only the neutral label has its own. Else labels would depend on
the ids of texts, and a system that is mostly stored first would lend its lead to single pairs.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

from evaluation.methods.competence.mace.data import Priors, State, Votes
from evaluation.methods.core.base import FloatArray, IntArray

PREVALENCES = ("estimated", "mirrored", "uniform")


def groups(prevalence: str, labels: int) -> IntArray:
    """The group (K,) of each label; the labels of a group are equally likely."""
    own = np.arange(labels)
    return np.minimum(own, own[::-1]) if prevalence == "mirrored" else own


def start(votes: Votes, priors: Priors, restarts: int) -> FloatArray | None:
    """Where restarts begin: all labels equally likely."""
    if priors.prevalence == "uniform":
        return None
    return np.full(((votes.parts + 1) * votes.labels, restarts), 1.0 / votes.labels)


def absent(votes: Votes, prevalence: FloatArray) -> FloatArray:
    """The prevalence (i, R) of the labels together that an item did not get."""
    found: FloatArray = votes.not_given[0] @ prevalence
    return found


def expected(
    votes: Votes, prevalence: FloatArray, posterior: FloatArray, missing: FloatArray
) -> FloatArray:
    """Expected number of items ((parts + 1) * K, R) of which each label is true.

    ``posterior`` (c, R) of the cells, ``missing`` (i, R) what a label without votes has times its
    prevalence.
    """
    found: FloatArray = votes.not_given[1] @ missing
    found *= prevalence
    found += votes.per_place @ posterior
    return found


def improved(votes: Votes, priors: Priors, true: FloatArray) -> FloatArray:
    """New prevalences from expected numbers: exp-digamma of a Dirichlet posterior, or smoothed."""
    counts, share = _grouped(votes, priors, true)
    total = counts.sum(axis=1, keepdims=True)
    ratio = np.exp(digamma(counts) - digamma(total)) if priors.variational else counts / total
    return _spread(votes, priors, ratio, share)


def drawn(votes: Votes, priors: Priors, true: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Prevalences drawn from their Dirichlet posterior given how many items have each label."""
    counts, share = _grouped(votes, priors, true)
    found = np.maximum(rng.standard_gamma(counts), 1e-300)
    return _spread(votes, priors, found / found.sum(axis=1, keepdims=True), share)


def mean(votes: Votes, priors: Priors, state: State) -> FloatArray:
    """Posterior mean (parts, K) of the prevalences of one restart; uniform where not estimated."""
    if state.true is None:
        return np.full((votes.parts, votes.labels), 1.0 / votes.labels)
    counts, share = _grouped(votes, priors, state.true)
    found = _spread(votes, priors, counts / counts.sum(axis=1, keepdims=True), share)
    return found[votes.labels :, 0].reshape(votes.parts, votes.labels)


def divergence(votes: Votes, priors: Priors, true: FloatArray) -> FloatArray:
    """KL (parts, R) of the prevalences' Dirichlet posterior from the prior."""
    counts, share = _grouped(votes, priors, true)
    prior = (priors.true * share)[None, :, None]
    n = counts - prior
    one = n * digamma(counts) - gammaln(counts) + gammaln(prior)
    total, start = counts.sum(axis=1), prior.sum()
    found: FloatArray = one.sum(axis=1) + gammaln(total) - gammaln(start)
    return (found - n.sum(axis=1) * digamma(total))[1:]


def _grouped(votes: Votes, priors: Priors, true: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Counts with their prior (parts + 1, groups, R), and the labels in each group (groups,)."""
    of = groups(priors.prevalence, votes.labels)
    share = np.bincount(of).astype(np.float64)
    by_label = true.reshape(votes.parts + 1, votes.labels, -1)
    counts = np.zeros((votes.parts + 1, len(share), by_label.shape[2]))
    for label, group in enumerate(of):
        counts[:, group] += by_label[:, label]
    counts += ((priors.true if priors.variational else priors.smoothing) * share)[None, :, None]
    return counts, share


def _spread(votes: Votes, priors: Priors, by_group: FloatArray, share: FloatArray) -> FloatArray:
    """A table ((parts + 1) * K, R) in which the labels of a group share it evenly."""
    of = groups(priors.prevalence, votes.labels)
    even = by_group / share[None, :, None]
    return even[:, of].reshape((votes.parts + 1) * votes.labels, -1)
