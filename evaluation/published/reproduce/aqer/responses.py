"""AQER's answers to single responses: the best of a question (App. I), and scores of held-out ones.

Of each dealt set of 20 workers 5, 10 or 15 vote. The best response is chosen among theirs. The
responses of the others are scored as a language model's would be (section 6.2), without a vote:
the published language models' answers were not released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from evaluation.embeddings.embeddings import Vectors
from evaluation.methods.aqer.rounds import Iterated, score_outside
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.published.reproduce.data import GradedAnswers
from evaluation.published.reproduce.rows import Row

CHOOSERS = (5, 10, 15)
BONUS = 0.1  # of the normalised worker score
ENCODERS = (("minilm", "MiniLM"), ("char-svd", "character SVD"))
FIGURE = "published as a figure only"


class Bench(Protocol):
    """What ``aqer_cs.Bench`` gives."""

    @property
    def answers(self) -> GradedAnswers: ...
    @property
    def vectors(self) -> dict[str, Vectors]: ...
    @property
    def repetitions(self) -> int: ...
    @property
    def seed(self) -> int: ...
    def dealt(self, variant: str, repetition: int, random_share: float = 0.0) -> IntArray: ...
    def fit(self, dealt: IntArray, encoder: str) -> Iterated[Any]: ...


def best_response_rows(bench: Bench, *, variant: str = "rand20") -> Iterator[Row]:
    """Mean grade of the response chosen per question among 5, 10 or 15 random workers."""
    return _rows(
        bench, variant, _choose, "Figure I1", "best response of {} workers, {}, mean grade 0-5"
    )


def held_out_rows(bench: Bench, *, variant: str = "rand20") -> Iterator[Row]:
    """Correlate scores of responses that did not vote with their grades (section 6.2)."""
    return _rows(bench, variant, _correlate_held_out, "Figure 3", "{} workers vote, {}")


def _rows(
    bench: Bench,
    variant: str,
    measure: Callable[[Bench, IntArray, IntArray], dict[str, float]],
    table: str,
    words: str,
) -> Iterator[Row]:
    for count in CHOOSERS:
        found: list[dict[str, float]] = []
        for repetition in range(bench.repetitions):
            dealt = bench.dealt(variant, repetition)
            order = np.random.default_rng([bench.seed, count, repetition]).permutation(
                dealt.shape[1]
            )
            found.append(measure(bench, dealt[:, order[:count]], dealt[:, order[count:]]))
        for quantity in found[0]:
            values = np.array([one[quantity] for one in found])
            note = f"{FIGURE}; sd {values.std(ddof=1):.3f} over {len(values)} sets of voters"
            yield Row(
                table, words.format(count, quantity), variant, None, float(values.mean()), note
            )


def _choose(bench: Bench, voting: IntArray, rest: IntArray) -> dict[str, float]:
    """Mean grade by each way of choosing, for one set of workers."""
    grades = bench.answers.grades[voting]
    at = np.arange(len(voting))
    out = {"random": float(grades.mean())}
    for encoder, name in ENCODERS:
        fit = bench.fit(voting, encoder)
        # Rounded, as equal answers differ in their last digits: the first of them is taken.
        scores = np.round(fit.last.scores.reshape(voting.shape), 12)
        trusted = np.round(scores + BONUS * fit.normalised, 12)
        out[f"AQER {name}"] = float(grades[at, scores.argmax(axis=1)].mean())
        out[f"AQER {name} + 0.1 x worker score"] = float(grades[at, trusted.argmax(axis=1)].mean())
    out["oracle"] = float(grades.max(axis=1).mean())
    return out


def _correlate_held_out(bench: Bench, voting: IntArray, rest: IntArray) -> dict[str, float]:
    """Pearson of held-out scores with grades: over all responses, and over the authors' means."""
    grades = bench.answers.grades[rest]
    question = np.repeat(np.arange(len(rest)), rest.shape[1])
    out = {}
    for encoder, name in ENCODERS:
        fit = bench.fit(voting, encoder)
        vectors = bench.vectors[encoder][rest.ravel()]
        scores = score_outside(fit.last, vectors, question).reshape(rest.shape)
        out[f"held-out responses, {name}, Pearson"] = _pearson(scores.ravel(), grades.ravel())
        out[f"held-out authors, {name}, Pearson"] = _pearson(
            scores.mean(axis=0), grades.mean(axis=0)
        )
    return out


def _pearson(x: FloatArray, y: FloatArray) -> float:
    return float(np.corrcoef(x, y)[0, 1])
