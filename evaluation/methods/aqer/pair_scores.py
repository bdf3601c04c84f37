"""Answers as vectors whose cosines are the scores that a cross-encoder gives pairs of them.

The paper leaves the similarity open (4.3, 7.2). A cross-encoder reads two texts at once and gives
no vectors, but AQER needs only how alike the answers to one question are (``grams``). So the
scores K of a question's texts, averaged over both orders with 1 on the diagonal, are factored:
K = V L V', and the rows of V sqrt(L) are vectors with these dot products (classical scaling;
Torgerson, "Multidimensional Scaling", Psychometrika 17, 1952). Scores of a model need not be
cosines of anything: then some of L are negative and are taken as 0, and the rows are scaled to
length 1 again. ``PairVectors.moved`` says how far that moves a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.methods.aqer.entailment import Entailment, score_pairs
from evaluation.methods.core.base import BadShape, FloatArray, Hooks, IntArray


@dataclass(frozen=True, eq=False)
class PairVectors:
    """Unit vectors (n, most texts of a question); comparable within one question alone.

    ``moved`` is the largest difference of a cosine from the score that it stands for.
    """

    vectors: FloatArray
    moved: float


def vectors_of_pairs(
    texts: Sequence[str], question: IntArray, scorer: Entailment, *, hooks: Hooks | None = None
) -> PairVectors:
    """Vectors of ``texts`` (n,), each at one ``question`` (n,), from scores of pairs in 0..1.

    Every two texts of a question are scored in both orders. Raises BadShape, BadVector for a
    score outside 0..1, Cancelled.
    """
    if len(texts) != len(question):
        raise BadShape(f"{len(texts)} texts have {len(question)} questions")
    members = [np.flatnonzero(question == one) for one in np.unique(question)]
    meetings = [_ordered_pairs(one) for one in members]
    first, second = (
        np.concatenate([[], *side]).astype(np.int64) for side in zip(*meetings, strict=True)
    )
    scored = score_pairs(texts, first, second, scorer, hooks=hooks)
    vectors = np.zeros((len(texts), max(map(len, members), default=0)))
    moved, start = 0.0, 0
    for rows in members:
        size = len(rows)
        alike = np.eye(size)
        alike[~np.eye(size, dtype=bool)] = scored[start : start + size * (size - 1)]
        start += size * (size - 1)
        alike = (alike + alike.T) / 2
        found = _factor(alike)
        vectors[rows, :size] = found
        moved = max(moved, float(np.abs(found @ found.T - alike).max()))
    return PairVectors(vectors, moved)


def _ordered_pairs(rows: IntArray) -> tuple[IntArray, IntArray]:
    """All ordered pairs of different rows, by rows of their matrix."""
    size = len(rows)
    apart = ~np.eye(size, dtype=bool)
    at = np.arange(size)
    return (
        rows[np.broadcast_to(at[:, None], (size, size))[apart]],
        rows[np.broadcast_to(at, (size, size))[apart]],
    )


def _factor(alike: FloatArray) -> FloatArray:
    """Unit rows (m, m) whose dot products are ``alike`` (m, m), or near it; symmetric."""
    values, directions = np.linalg.eigh(alike)
    rows = directions * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
