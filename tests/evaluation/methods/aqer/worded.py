"""Simulated workers who write: the better they are, the more of their words are the right ones."""

from __future__ import annotations

import numpy as np

from evaluation.methods.core.base import FloatArray
from evaluation.methods.text.corpus import Responses

LENGTH, VOCABULARY = 8, 60


def written(
    quality: FloatArray,
    *,
    questions: int = 20,
    systems: FloatArray | None = None,
    density: float = 1.0,
    seed: int = 0,
) -> Responses:
    """Responses of workers (and systems) of these qualities; answers go missing at random."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, VOCABULARY, (questions, LENGTH))
    names = [f"q{j}" for j in range(questions)]

    def people(good: FloatArray, share: float, prefix: str, outside: Responses | None) -> Responses:
        size = (len(good), questions, LENGTH)
        right = rng.random(size) < good[:, None, None]
        words = np.where(right, truth, rng.integers(0, VOCABULARY, size))
        who, what = np.nonzero(rng.random(size[:2]) < share)
        return Responses.build(
            who,
            what,
            [" ".join(f"w{word}" for word in answer) for answer in words[who, what]],
            workers=[f"{prefix}{k}" for k in range(len(good))],
            questions=names,
            outside=outside,
        )

    other = None if systems is None else people(systems, 1.0, "s", None)
    return people(quality, density, "w", other)
