"""Simulated workers for the methods' tests: planted quality, unit vectors, gaps if wanted."""

from __future__ import annotations

import numpy as np

from evaluation.methods.core.base import FloatArray, Texts


def draw_answers(
    rng: np.random.Generator, quality: FloatArray, truth: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Answers of planted cosine with the truth (App. of the paper, eq. 1); (m, q, d).

    Returns the vectors and the cosines themselves (m, q), which vary around ``quality``.
    """
    m, (q, d) = len(quality), truth.shape
    cosine = np.clip(quality[:, None] + rng.normal(0, 0.12, (m, q)), -0.1, 0.98)
    noise = rng.standard_normal((m, q, d))
    noise -= np.einsum("mqd,qd->mq", noise, truth)[..., None] * truth
    noise /= np.linalg.norm(noise, axis=2, keepdims=True)
    vectors = cosine[..., None] * truth + np.sqrt(1 - cosine**2)[..., None] * noise
    return vectors, cosine


def crowd(
    quality: FloatArray,
    *,
    questions: int = 16,
    width: int = 48,
    density: float = 1.0,
    systems: FloatArray | None = None,
    seed: int = 0,
) -> Texts:
    """Texts of workers (and systems) with these qualities; answers go missing at random."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((questions, width))
    truth /= np.linalg.norm(truth, axis=1, keepdims=True)
    names = [f"q{j}" for j in range(questions)]
    outside = None
    if systems is not None:
        vectors, _ = draw_answers(rng, systems, truth)
        who, what = np.nonzero(np.ones(vectors.shape[:2], dtype=bool))
        outside = Texts.build(
            who,
            what,
            vectors[who, what],
            workers=[f"s{k}" for k in range(len(systems))],
            questions=names,
            repeats=True,
        )
    vectors, _ = draw_answers(rng, quality, truth)
    who, what = np.nonzero(rng.random(vectors.shape[:2]) < density)
    return Texts.build(
        who,
        what,
        vectors[who, what],
        workers=[f"w{i}" for i in range(len(quality))],
        questions=names,
        outside=outside,
    )
