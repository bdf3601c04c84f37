"""Scores corrected for which questions a worker got: worker effect + question effect.

Where workers answered different questions a mean score mixes quality with luck. The model is
s_ij = a_i + b_j, fitted by (weighted) least squares; a_i is put on the scale of the scores by
giving b_j a weighted mean of 0, so where everybody answered everything a_i is the plain mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.methods.core.base import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Design:
    """Who answered what: ``worker`` and ``question`` (n,), and their (q, m) incidence."""

    worker: IntArray
    question: IntArray
    n_workers: int
    n_questions: int

    @property
    def incidence(self) -> scipy.sparse.csr_array:
        """(q, m) with a 1 for each answer."""
        shape = (self.n_questions, self.n_workers)
        return scipy.sparse.csr_array(
            (np.ones(len(self.worker)), (self.question, self.worker)), shape=shape
        )

    @property
    def complete(self) -> bool:
        """Whether every worker answered every question."""
        return len(self.worker) == self.n_workers * self.n_questions


def two_way(
    scores: FloatArray, design: Design, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Estimate worker effects (b, m) and question effects (b, q) of scores (b, n).

    ``weights`` (b, q) counts each question that often; all ones by default. The worker-question
    graph must be connected. Question effects are eliminated, and the workers' normal equations (a
    graph Laplacian) are solved for all b at once by conjugate gradients.
    """
    batch = len(scores)
    if weights is None:
        weights = np.ones((batch, design.n_questions))
    if design.complete:
        return _complete(scores, design, weights)
    incidence = design.incidence
    answers = incidence.sum(axis=1)
    to_worker = scipy.sparse.csr_array(
        (np.ones(len(design.worker)), (design.worker, np.arange(len(design.worker)))),
        shape=(design.n_workers, len(design.worker)),
    )
    to_question = scipy.sparse.csr_array(
        (np.ones(len(design.worker)), (design.question, np.arange(len(design.worker)))),
        shape=(design.n_questions, len(design.worker)),
    )
    mean = (to_question @ scores.T).T / answers
    centred = (scores - mean[:, design.question]) * weights[:, design.question]
    right = (to_worker @ centred.T).T
    diagonal = (incidence.T @ weights.T).T

    def laplacian(effects: FloatArray) -> FloatArray:
        at_question = (incidence @ effects.T).T * (weights / answers)
        return diagonal * effects - (incidence.T @ at_question.T).T

    worker = _conjugate_gradients(laplacian, right, diagonal)
    question = mean - (incidence @ worker.T).T / answers
    shift = (weights * question).sum(axis=1) / weights.sum(axis=1)
    return worker + shift[:, None], question - shift[:, None]


def _complete(
    scores: FloatArray, design: Design, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The closed form where every cell is filled: weighted means."""
    cells = np.empty((len(scores), design.n_questions, design.n_workers))
    cells[:, design.question, design.worker] = scores
    share = weights / weights.sum(axis=1, keepdims=True)
    worker = np.einsum("bq,bqm->bm", share, cells)
    question = cells.mean(axis=2) - worker.mean(axis=1, keepdims=True)
    return worker, question


def _conjugate_gradients(
    apply: Callable[[FloatArray], FloatArray],
    right: FloatArray,
    diagonal: FloatArray,
    tolerance: float = 1e-12,
) -> FloatArray:
    """Solve a batch of singular, consistent, positive semi-definite systems (Jacobi-scaled)."""
    solution = np.zeros_like(right)
    residual = right.copy()
    scaled = residual / diagonal
    direction = scaled.copy()
    product = (residual * scaled).sum(axis=1)
    target = tolerance**2 * np.maximum(product, 1e-300)
    for _ in range(10 * right.shape[1] + 100):
        if np.all(product <= target):
            break
        image = apply(direction)
        curvature = (direction * image).sum(axis=1)
        live = (curvature > 0) & (product > target)
        step = np.where(live, product / np.where(live, curvature, 1.0), 0.0)[:, None]
        solution += step * direction
        residual -= step * image
        scaled = residual / diagonal
        following = (residual * scaled).sum(axis=1)
        ratio = np.where(live, following / np.where(live, product, 1.0), 0.0)[:, None]
        direction = scaled + ratio * direction
        product = np.where(live, following, 0.0)
    return solution
