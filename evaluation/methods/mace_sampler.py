"""How sure MACE is of each competence: draws from the exact posterior by Gibbs sampling.

The variational posterior takes the expected counts for known ones, so its intervals are far too
short. Here truth, knowing and strategies are drawn in turn from their conditional distributions
under the same priors (all conjugate: Hovy et al., section 3, figure 1), which carries over what is
not known about the truth and about the other workers. Chains run side by side, one a column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.base import FloatArray, Hooks
from evaluation.methods.mace_core import e_step, odds
from evaluation.methods.mace_data import Priors, State, Votes

CHAINS = 4
BURN_IN = 100  # rounds a chain makes before its draws count
THIN = 2  # rounds a draw
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Draws:
    """``competence`` (draws, workers), chains one after the other; ``r_hat`` (workers,).

    ``r_hat`` compares variance between and within chains (Gelman and Rubin 1992); far above 1
    says that the chains have not found the same distribution.
    """

    competence: NDArray[np.float32]
    r_hat: FloatArray


def draw(
    votes: Votes,
    priors: Priors,
    state: State,
    *,
    draws: int,
    rng: np.random.Generator,
    hooks: Hooks,
) -> Draws:
    """``draws`` (rounded up to whole chains) posterior draws of kn_j, from ``state`` (one column).

    Raises Cancelled.
    """
    each = -(-draws // CHAINS)
    tables = (state.spam, state.know, state.strategy, state.knowing, state.cells)
    state = State(*(np.repeat(table, CHAINS, axis=1) for table in tables))
    found = np.empty((CHAINS, each, len(votes.total)), dtype=np.float32)
    rounds = BURN_IN + THIN * each
    for done in range(rounds):
        state = _sweep(votes, priors, state, rng)
        if done >= BURN_IN and (done - BURN_IN) % THIN == 0:
            found[:, (done - BURN_IN) // THIN] = state.know.T
        if done % 10 == 0:
            hooks.step("intervals", done, rounds)
    return Draws(found.reshape(CHAINS * each, -1), r_hat(found))


def _sweep(votes: Votes, priors: Priors, state: State, rng: np.random.Generator) -> State:
    """Truth given parameters, knowing votes given truth, parameters given both."""
    ratio = odds(votes, state)
    posterior, _, _ = e_step(votes, ratio)
    right = votes.transposed @ truth(votes, posterior, rng)
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
    return State(1.0 - know, know, strategy, knowing, cells)


def truth(votes: Votes, posterior: FloatArray, rng: np.random.Generator) -> FloatArray:
    """1 for the cell (c, R) whose label is drawn as its item's truth; none if it got no vote."""
    ends = np.cumsum(posterior, axis=0)
    begins = np.empty_like(ends)
    begins[0] = 0.0
    begins[1:] = ends[:-1]
    first = np.searchsorted(votes.cell_item, np.arange(len(votes.absent)))
    first = np.minimum(first, len(votes.cell_item) - 1)
    point = begins[first] + rng.random((len(votes.absent), posterior.shape[1]))
    mine = point[votes.cell_item]
    return ((mine >= begins) & (mine < ends)).astype(np.float64)


def r_hat(chains: NDArray[np.float32]) -> FloatArray:
    """Potential scale reduction of chains (m, n, j), split in halves; 1 where nothing varies."""
    half = chains.shape[1] // 2
    parts = np.concatenate([chains[:, :half], chains[:, half : 2 * half]]).astype(np.float64)
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    ratio = between / np.where(within > 0, within, 1.0)
    return np.where(within > 0, np.sqrt((half - 1) / half + ratio), 1.0)
