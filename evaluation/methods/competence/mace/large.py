"""Sweeps of MACE's sampler in a large crowd: the same distributions, laid out label by label.

All labels of an item stand side by side, voted for or not, in single precision; so a truth is one
comparison an item and label, and labels that nobody gave need no step of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.methods.competence.mace.core import odds
from evaluation.methods.competence.mace.data import (
    Priors,
    State,
    Votes,
    adding,
    draw_prevalence,
)
from evaluation.methods.competence.mace.draws import TINY, draw_binomial, draw_labels
from evaluation.methods.core.base import FloatArray

WIDEST = 4  # labels for each one that an item got, from which they are not laid side by side
EDGE = 1e-12  # least competence, and least chance of guessing
SMALLEST = 1e-20  # part of a strategy that single precision can still divide by


@dataclass(frozen=True, eq=False)
class Large:
    """``matrix`` (items * K, strategies) holds the votes, ``transposed`` the same turned.

    ``per_part`` (parts + 1, items) adds items of a component up; ``unused`` (j, 1) is the prior of
    the labels that a worker never gave; ``whole`` says that votes come in ones.
    """

    votes: Votes
    priors: Priors
    matrix: scipy.sparse.csr_array
    transposed: scipy.sparse.csr_array
    per_part: scipy.sparse.csr_array
    unused: FloatArray
    whole: bool

    @classmethod
    def of(cls, votes: Votes, priors: Priors) -> Large | None:
        """Build the matrices for large data; None if items have few of very many labels."""
        items, k = len(votes.absent), votes.labels
        if items * k > WIDEST * len(votes.cell_item):
            return None
        place = votes.cell_item * k + votes.cell_label
        ends = np.zeros(items * k + 1, dtype=np.int32)
        ends[place + 1] = np.diff(votes.matrix.indptr)
        matrix = scipy.sparse.csr_array(
            (
                votes.matrix.data.astype(np.float32),
                votes.matrix.indices,
                ends.cumsum(dtype=np.int32),
            ),
            shape=(items * k, len(votes.worker)),
        )
        used = votes.per_worker @ np.ones((len(votes.worker), 1))
        return cls(
            votes,
            priors,
            matrix,
            scipy.sparse.csr_array(matrix.T.tocsr()),
            adding(votes.item_part, votes.parts + 1).astype(np.float32),
            (k - used) * priors.strategy,
            bool((votes.matrix.data == np.rint(votes.matrix.data)).all()),
        )

    def sweep(
        self, state: State, rng: np.random.Generator, belief: FloatArray | None = None
    ) -> State:
        """Truth given parameters, knowing votes given truth, parameters given both.

        The chances of the labels are added to ``belief`` (K, items).
        """
        votes, priors, k = self.votes, self.priors, self.votes.labels
        ratio = odds(votes, state).astype(np.float32)
        items, chains = len(votes.absent), ratio.shape[1]
        log = (self.matrix @ np.log1p(ratio)).reshape(items, k, chains)
        label = draw_labels(log, self._prevalence(state), rng, belief)
        chosen = np.zeros((items * k, chains), dtype=np.float32)
        place = (label + np.arange(items) * k) * chains + np.arange(chains)[:, None]
        chosen.reshape(-1)[place] = 1.0
        right = self.transposed @ chosen
        if not self.whole:  # what is left over is a vote with that probability
            right = np.floor(right + rng.random(right.shape, dtype=np.float32))
        count, total = votes.count[:, None], votes.total[:, None]
        cells = np.minimum(draw_binomial(right, ratio / (1 + ratio), rng), count)
        knowing = votes.per_worker @ cells
        know = rng.beta(knowing + priors.beta, np.maximum(total - knowing, 0.0) + priors.alpha)
        know = np.clip(know, EDGE, 1.0 - EDGE)
        true = prevalence = None
        if state.prevalence is not None:
            true = self.per_part @ chosen.reshape(items, -1)
            true = true.reshape(-1, chains).astype(np.float64)
            true[:k] = 0.0  # items without votes
            prevalence = draw_prevalence(votes, priors, true, rng)
        strategy = self._strategy(count - cells, know.shape, rng)
        return State(1.0 - know, know, strategy, knowing, cells, prevalence, true)

    def _prevalence(self, state: State) -> FloatArray:
        """Return the chance of each label (items or 1, K, chains) before any vote."""
        votes = self.votes
        if state.prevalence is None:
            return np.ones((1, votes.labels, 1))
        by_part = state.prevalence.reshape(votes.parts + 1, votes.labels, -1)
        return by_part[1:] if votes.parts == 1 else by_part[votes.item_part]

    def _strategy(
        self, drawn: FloatArray, shape: tuple[int, ...], rng: np.random.Generator
    ) -> FloatArray:
        """Strategies (u, chains), where labels were ``drawn`` so often without knowing."""
        votes = self.votes
        alone = (drawn + self.priors.strategy).astype(np.float32)
        found = rng.standard_gamma(alone, dtype=np.float32)
        total = votes.per_worker @ found + rng.standard_gamma(np.broadcast_to(self.unused, shape))
        found /= np.take(np.maximum(total, TINY), votes.worker, axis=0)
        return np.maximum(found, SMALLEST)
