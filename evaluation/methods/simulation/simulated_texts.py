"""Simulated answers as vectors: the worker models of AQER's appendices F and K.

Per question the truth is a vector of standard normal elements; a worker's answer is truth + bias +
noise of the worker's standard deviation. What the paper varies, one thing at a time, are functions
here: correlated low-quality workers (F1), few workers (F2), noise (F3), a shared bias (F4), and a
good worker with wrong answers (K).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.methods.core.base import BadParameter, FloatArray, IntArray, Texts

WORKERS, QUESTIONS, WIDTH = 30, 20, 512
HIGH, MEDIUM, LOW, WORST = 0.5, 1.0, 2.0, 3.0  # standard deviations
WRONG = 10.5  # standard deviation of an answer meant to be wrong (App. K)


@dataclass(frozen=True, eq=False)
class Simulated:
    """Answers (q, m, d) of m workers to q questions, and the truths (q, d)."""

    answers: FloatArray
    truth: FloatArray

    @property
    def quality(self) -> FloatArray:
        """True score of each worker (m,): mean cosine of their answers with the truths."""
        dots = np.einsum("qmd,qd->qm", self.answers, self.truth)
        lengths = np.linalg.norm(self.answers, axis=2)
        return (dots / lengths / np.linalg.norm(self.truth, axis=1)[:, None]).mean(axis=0)

    def texts(self) -> Texts:
        """Return the answers as data for AQER."""
        q, m, d = self.answers.shape
        return Texts.build(
            np.tile(np.arange(m), q),
            np.repeat(np.arange(q), m),
            self.answers.reshape(q * m, d),
            workers=[f"w{i}" for i in range(m)],
            questions=[f"q{j}" for j in range(q)],
        )


def simulate(
    rng: np.random.Generator,
    deviation: FloatArray,
    *,
    bias: FloatArray | float = 0.0,
    shared: FloatArray | float = 0.0,
    own: FloatArray | float = 1.0,
    questions: int = QUESTIONS,
    width: int = WIDTH,
) -> Simulated:
    """Answers of workers with these standard deviations: (m,), or (q, m) by question.

    ``bias`` (m,) is added to every element. The noise is deviation x (own x independent + shared
    x common), where the common part is one vector a question; ``own`` and ``shared`` are (m,).
    Raises BadParameter for a negative deviation, or sizes below 1.
    """
    if questions < 1 or width < 1:
        raise BadParameter(f"{questions} questions of width {width}: both must be 1 or more")
    sd = np.asarray(deviation, dtype=np.float64)
    if sd.ndim not in (1, 2) or not np.all(sd >= 0):
        raise BadParameter("deviation must be (m,) or (q, m) numbers from 0")
    sd = np.broadcast_to(sd, (questions, sd.shape[-1]))
    m = sd.shape[1]
    truth = rng.standard_normal((questions, width))
    noise = rng.standard_normal((questions, m, width)) * _column(own, m)
    if np.any(np.asarray(shared) != 0):
        noise += rng.standard_normal((questions, 1, width)) * _column(shared, m)
    return Simulated(truth[:, None] + noise * sd[:, :, None] + _column(bias, m), truth)


def _column(value: FloatArray | float, m: int) -> FloatArray:
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (m,))[None, :, None]


def correlated(
    rng: np.random.Generator, correlation: float, *, mixed: bool = False, workers: int = WORKERS
) -> Simulated:
    """Simulate App. F1: half good workers (.5), half bad ones (3) with correlated noise.

    The paper does not say how the correlation is made. By default the noise is
    sqrt(c) common + sqrt(1 - c) own, so c is its Pearson correlation and 3 stays its standard
    deviation. ``mixed`` is c common + (1 - c) own: the correlation is then
    c^2 / (c^2 + (1 - c)^2), and the noise is smaller in between.
    """
    if not 0 <= correlation <= 1:
        raise BadParameter(f"correlation is {correlation}; it must lie in 0..1")
    bad = np.arange(workers) >= workers // 2
    common, own = (
        (correlation, 1 - correlation)
        if mixed
        else (np.sqrt(correlation), np.sqrt(1 - correlation))
    )
    return simulate(
        rng,
        np.where(bad, WORST, HIGH),
        shared=np.where(bad, common, 0.0),
        own=np.where(bad, own, 1.0),
    )


def simulate_few_workers(rng: np.random.Generator, workers: int) -> Simulated:
    """App. F2: so many workers (3 or more), a third each with deviation .5, 1 and 2."""
    if workers < 3:
        raise BadParameter(f"workers is {workers}; it must be 3 or more")
    return simulate(rng, np.array([HIGH, MEDIUM, LOW])[np.arange(workers) * 3 // workers])


def noisy(rng: np.random.Generator, increase: float, *, workers: int = WORKERS) -> Simulated:
    """App. F3: thirds with deviation .5, 1 and 1.5, all raised by ``increase``."""
    levels = np.array([0.5, 1.0, 1.5])[np.arange(workers) * 3 // workers]
    return simulate(rng, levels + increase)


def biased(
    rng: np.random.Generator, share: float, *, bias: float = 0.5, workers: int = WORKERS
) -> Simulated:
    """App. F4: half the workers with deviation .5, half with 1; a share of all answers biased.

    Biased workers come in equal parts from both halves; an odd one from a half at random.
    """
    if not 0 <= share <= 1:
        raise BadParameter(f"share is {share}; it must lie in 0..1")
    wanted, half = round(share * workers), workers // 2
    first = min(wanted // 2 + (int(rng.integers(2)) if wanted % 2 else 0), half)
    chosen: IntArray = np.r_[np.arange(first), half + np.arange(wanted - first)]
    shift = np.zeros(workers)
    shift[chosen] = bias
    return simulate(rng, np.where(np.arange(workers) < half, HIGH, MEDIUM), bias=shift)


def wrong_answers(rng: np.random.Generator, count: int, *, workers: int = WORKERS) -> Simulated:
    """App. K: half good workers (.5), half bad (3); the first gives ``count`` wrong answers."""
    if not 0 <= count <= QUESTIONS:
        raise BadParameter(f"count is {count}; it must lie in 0..{QUESTIONS}")
    sd = np.where(np.arange(workers) < workers // 2, HIGH, WORST)
    by_question = np.tile(sd, (QUESTIONS, 1))
    by_question[:count, 0] = WRONG
    return simulate(rng, by_question)
