"""AQER under many question weights at once, from the questions' Gram matrices.

With K_j = X_j X_j' (unit answers of question j), x_i . SEA_j = (K_j w)_i and |SEA_j|^2 = w' K_j w,
so a resample needs no vector any more. It pays for few workers and many variants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evaluation.methods.aqer.rounds import FLAT, Options, Rows, compare, normalise, to_weights
from evaluation.methods.core.base import FloatArray, Hooks, IntArray

CHUNK = 4_000_000  # numbers in one array of a chunk of resamples


@dataclass(frozen=True, eq=False)
class Outside:
    """Answers that do not vote: unit vectors (k, d) and local questions (k,), ascending."""

    vectors: FloatArray
    question: IntArray


@dataclass(frozen=True, eq=False)
class Question:
    """One question: its rows, their workers, Gram matrix (m, m), and the outside answers'."""

    rows: slice
    workers: IntArray
    gram: FloatArray
    outside: slice
    cross: FloatArray
    outside_present: FloatArray


@dataclass(frozen=True, eq=False)
class Replicates:
    """Results under b question weights: grades (b, m), per-answer scores (b, n) and (b, k).

    ``changes`` (rounds, b) is the RMSE of the weights by round, NaN once a resample has ended.
    """

    grades: FloatArray
    scores: FloatArray
    outside: FloatArray
    converged: np.ndarray
    changes: FloatArray


def gram_cost(rows: Rows) -> float:
    """Multiplications of one round under one weighting."""
    return float((np.diff(rows.starts).astype(np.float64) ** 2).sum())


def questions_of(rows: Rows, outside: Outside | None) -> list[Question]:
    """Gram matrices of every question, once."""
    out = []
    width = rows.matrix.shape[1]
    vectors = np.empty((0, width)) if outside is None else outside.vectors
    where = np.empty(0, dtype=np.int64) if outside is None else outside.question
    for j in range(len(rows.starts) - 1):
        start, stop = int(rows.starts[j]), int(rows.starts[j + 1])
        unit = rows.block(start, stop).astype(np.float64) * rows.inverse[start:stop, None]
        first, last = np.searchsorted(where, [j, j + 1])
        others = vectors[first:last]
        out.append(
            Question(
                rows=slice(start, stop),
                workers=rows.worker[start:stop],
                gram=unit @ unit.T,
                outside=slice(int(first), int(last)),
                cross=unit @ others.T,
                outside_present=(np.einsum("ij,ij->i", others, others) > 0).astype(np.float64),
            )
        )
    return out


def replicate(
    rows: Rows,
    questions: list[Question],
    weights: FloatArray,
    options: Options,
    *,
    each: Callable[[slice, Replicates], None],
    hooks: Hooks | None = None,
    stage: str = "resamples",
) -> None:
    """Run AQER under each row of question weights (b, q); hand chunks of results to ``each``.

    Rounds start from equal votes and stop as the plain fit does, each resample by itself.
    """
    hooks = hooks or Hooks()
    outside = questions[-1].outside.stop
    # At most a tenth at once, so that progress moves and a cancellation is soon heard.
    size = max(1, min(CHUNK // (len(rows.worker) + outside), -(-len(weights) // 10)))
    for start in range(0, len(weights), size):
        chunk = slice(start, min(start + size, len(weights)))
        each(chunk, _chunk(rows, questions, weights[chunk], options))
        hooks.step(stage, chunk.stop, len(weights))


def _chunk(
    rows: Rows,
    questions: list[Question],
    weights: FloatArray,
    options: Options,
) -> Replicates:
    batch, m = len(weights), rows.n_workers
    counted = np.zeros((batch, m))
    for j, question in enumerate(questions):
        counted[:, question.workers] += weights[:, j, None]
    votes = np.full((batch, m), 1.0 / m)
    scores = np.empty((batch, len(rows.worker)))
    grades = np.empty((batch, m))
    ended = np.zeros(batch, dtype=bool)
    active = np.arange(batch)
    changes: list[FloatArray] = []
    voted = votes.copy()
    for _ in range(options.max_rounds):
        voted[active] = votes[active]
        scored = _round(questions, votes[active], len(rows.worker), options)
        total = np.zeros((len(active), m))
        for j, question in enumerate(questions):
            total[:, question.workers] += weights[active, j, None] * scored[:, question.rows]
        scores[active] = scored
        with np.errstate(invalid="ignore"):
            grades[active] = total / counted[active]
        following = votes[active]
        if options.vote == "weighted_mean":
            following = to_weights(normalise(grades[active]))
        moved = np.sqrt(np.mean((following - votes[active]) ** 2, axis=1))
        votes[active] = following
        changes.append(np.full(batch, np.nan))
        changes[-1][active] = moved
        ended[active] = moved < options.tolerance
        active = active[moved >= options.tolerance]
        if not active.size:
            break
    outside = _outside_scores(questions, voted, options)
    return Replicates(grades, scores, outside, ended, np.stack(changes))


def _cast(question: Question, votes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The votes at a question (b, m), their total (b, 1) and K w (b, m); equal where all are 0."""
    own = votes[:, question.workers]
    total = own.sum(axis=1, keepdims=True)
    if np.any(total <= 0):
        own = np.where(total <= 0, 1.0, own)
        total = own.sum(axis=1, keepdims=True)
    return own, total, own @ question.gram


def _round(questions: list[Question], votes: FloatArray, n: int, options: Options) -> FloatArray:
    scores = np.empty((len(votes), n))
    for question in questions:
        own, total, towards = _cast(question, votes)
        squared = np.einsum("bm,bm->b", own, towards)[:, None]
        present = np.diag(question.gram)
        if options.leave_one_out:
            others = total - own
            length = np.maximum(squared - 2 * own * towards + own**2 * present, 0.0)
            value = compare(towards - own * present, length, others, present, options.similarity)
            if np.any(others <= FLAT):
                value = np.where(others <= FLAT, _equal_others(question.gram, options), value)
        else:
            value = compare(towards, squared, total, present, options.similarity)
        scores[:, question.rows] = value
    return scores


def _equal_others(gram: FloatArray, options: Options) -> FloatArray:
    """Score of each answer (m,) against the equal vote of the others; NaN without others."""
    if len(gram) == 1:
        return np.full(1, np.nan)
    present, towards = np.diag(gram), gram.sum(axis=0)
    squared = np.maximum(gram.sum() - 2 * towards + present, 0.0)
    others = np.full(len(gram), float(len(gram) - 1))
    return compare(towards - present, squared, others, present, options.similarity)


def _outside_scores(questions: list[Question], votes: FloatArray, options: Options) -> FloatArray:
    scores = np.empty((len(votes), questions[-1].outside.stop))
    for question in questions:
        if question.outside.start == question.outside.stop:
            continue
        own, total, towards = _cast(question, votes)
        squared = np.einsum("bm,bm->b", own, towards)[:, None]
        scores[:, question.outside] = compare(
            own @ question.cross, squared, total, question.outside_present, options.similarity
        )
    return scores
