"""How sure MACE is of each competence: draws from the exact posterior by Gibbs sampling.

The variational posterior takes the expected counts for known ones, so its intervals are far too
short. Here truth, knowing and strategies are drawn in turn from their conditional distributions
under the same priors (all conjugate: Hovy et al., section 3, figure 1), which carries over what is
not known about the truth and about the other workers. Chains run side by side, one a column, each
from a place of its own, and all but the first know nothing of the fit: only so does their agreement
say that they have forgotten where they began (Gelman and Rubin 1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.methods.competence.mace.core import e_step, odds
from evaluation.methods.competence.mace.data import Priors, State, Votes, draw_prevalence
from evaluation.methods.competence.mace.draws import CHAINS, TINY, Draws, Rounds
from evaluation.methods.competence.mace.large import Large
from evaluation.methods.core.base import FloatArray, Hooks


@dataclass(frozen=True, eq=False)
class Sampled:
    """Draws of every competence, and the labels' chances (items, K) averaged over them."""

    draws: Draws
    posterior: FloatArray


def draw(
    votes: Votes,
    priors: Priors,
    state: State,
    *,
    draws: int,
    rng: np.random.Generator,
    hooks: Hooks,
) -> Sampled:
    """``draws`` (rounded up to whole chains) posterior draws of kn_j, more where chains differ.

    ``state`` is the fit (one column), at which the first chain begins. Raises Cancelled.
    """
    rounds = Rounds.of(draws, votes.matrix.nnz)
    state = overdispersed(votes, state, rng)
    large = Large.of(votes, priors) if rounds.wide else None
    for stage in rounds.stages():
        kept = np.empty((CHAINS, stage.each, len(votes.total)), dtype=np.float32)
        belief = np.zeros((votes.labels, len(votes.absent)))
        for done in range(stage.total):
            place = stage.draw_after(done)
            asked = None if place is None else belief
            if large:
                state = large.sweep(state, rng, asked)
            else:
                state = _sweep(votes, priors, state, rng, asked)
            if place is not None:
                kept[:, place] = state.know.T
            if done % 10 == 0:
                hooks.step("intervals", done, stage.total)
        found = Draws.of_chains(kept)
        if found.is_settled(votes.worker_part > 0):
            break
    return Sampled(found, np.ascontiguousarray(belief.T / belief.sum(axis=0)[:, None]))


def overdispersed(votes: Votes, state: State, rng: np.random.Generator) -> State:
    """Return starting points for the chains: the fit, and dispersed random points.

    There competences are drawn evenly from 0 to 1, strategies and prevalences are even. Spread
    around the fit instead, chains would stay in its optimum where the posterior has several.
    """
    chains = state.map(lambda table: np.repeat(table, CHAINS, axis=1))
    chains.know[:, 1:] = rng.uniform(0.02, 0.98, size=(len(state.know), CHAINS - 1))
    chains.spam[:, 1:] = 1.0 - chains.know[:, 1:]
    chains.strategy[:, 1:] = 1.0 / votes.labels
    if chains.prevalence is not None:
        chains.prevalence[:, 1:] = 1.0 / votes.labels
    return chains


def _sweep(
    votes: Votes,
    priors: Priors,
    state: State,
    rng: np.random.Generator,
    belief: FloatArray | None,
) -> State:
    """Truth given parameters, knowing votes given truth, parameters given both.

    The chances of the labels are added to ``belief`` (K, items).
    """
    ratio = odds(votes, state)
    posterior, missing, _ = e_step(votes, ratio, state.prevalence)
    if belief is not None:
        _believe(votes, posterior, missing, state.prevalence, belief)
    chosen = truth(votes, posterior, rng)
    right = votes.transposed @ chosen
    true = prevalence = None
    if state.prevalence is not None:
        true = _true(votes, state.prevalence, chosen, rng)
        prevalence = draw_prevalence(votes, priors, true, rng)
    # Weights need not be whole: what is left over is a vote with that probability.
    votes_right = np.floor(right + rng.random(right.shape)).astype(np.int64)
    cells = np.minimum(rng.binomial(votes_right, ratio / (1.0 + ratio)), votes.count[:, None])
    knowing = votes.per_worker @ cells
    total, k = votes.total[:, None], votes.labels
    know = rng.beta(knowing + priors.beta, np.maximum(total - knowing, 0.0) + priors.alpha)
    drawn = rng.standard_gamma(votes.count[:, None] - cells + priors.strategy)
    used = votes.per_worker @ np.ones((len(votes.count), 1))
    others = rng.standard_gamma(np.broadcast_to((k - used) * priors.strategy, know.shape))
    total_drawn = votes.per_worker @ drawn + others
    strategy = np.maximum(drawn / np.maximum(total_drawn, TINY)[votes.worker], TINY)
    know = np.clip(know, 1e-12, 1.0 - 1e-12)
    return State(1.0 - know, know, strategy, knowing, cells, prevalence, true)


def _believe(
    votes: Votes,
    posterior: FloatArray,
    missing: FloatArray,
    prevalence: FloatArray | None,
    belief: FloatArray,
) -> None:
    """Add the chances of an ``e_step``, summed over its chains, to ``belief`` (K, items)."""
    cells = belief[votes.cell_label, votes.cell_item] + posterior.sum(axis=1)
    if prevalence is None:
        belief += missing.sum(axis=1)
    else:
        by_part = prevalence.reshape(votes.parts + 1, votes.labels, -1)
        for chain in range(posterior.shape[1]):
            belief += by_part[votes.item_part, :, chain].T * missing[:, chain]
    belief[votes.cell_label, votes.cell_item] = cells


def _true(
    votes: Votes, prevalence: FloatArray, chosen: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """How many items ((parts + 1) * K, chains) have each label, where ``chosen`` cells are true.

    Where none of an item's cells is, one of the labels that it did not get is drawn.
    """
    found = np.asarray(votes.per_place @ chosen)
    item, chain = np.nonzero((votes.per_item @ chosen == 0) & (votes.item_part > 0)[:, None])
    if len(item):
        k = votes.labels
        place = votes.item_part[item][:, None] * k + np.arange(k)
        chance = (
            prevalence[place, chain[:, None]]
            * ~votes.given_labels[item].toarray().astype(bool)[np.arange(len(item))[:, None], place]
        )
        ends = chance.cumsum(axis=1)
        label = (rng.random((len(item), 1)) * ends[:, -1:] >= ends).sum(axis=1)
        np.add.at(found, (votes.item_part[item] * k + np.minimum(label, k - 1), chain), 1.0)
    return found


def truth(votes: Votes, posterior: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw each item's true label; returns 1 for its cell (c, R), 0 for the others."""
    ends = np.cumsum(posterior, axis=0)
    point = rng.random((len(votes.absent), posterior.shape[1]))
    later = votes.first_cell > 0
    point[later] += np.take(ends, votes.first_cell[later] - 1, axis=0)
    mine = np.take(point, votes.cell_item, axis=0)
    found = mine < ends
    found[1:] &= mine[1:] >= ends[:-1]
    return found.astype(np.float64)
