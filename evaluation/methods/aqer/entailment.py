"""AQER's other start: answers vote for one another by textual entailment (paper, App. B1).

An answer's first vote is the mean probability with which the others' answers to the question
entail it. The scorer is anything that fits ``Entailment``: a cross-encoder, a language model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from evaluation.methods.core.base import (
    BadShape,
    BadVector,
    EmptyData,
    FloatArray,
    Hooks,
    IntArray,
    Texts,
)

BATCH = 256  # pairs handed to the scorer at once: some seconds on a slow machine


class Entailment(Protocol):
    """Probabilities (k,) in 0..1 that premise i entails hypothesis i, of k pairs of texts."""

    def __call__(self, premises: Sequence[str], hypotheses: Sequence[str], /) -> Any: ...


def start_votes(
    data: Texts, texts: Sequence[str], scorer: Entailment, *, hooks: Hooks | None = None
) -> FloatArray:
    """The first vote of every answer (n,), in the order of ``data``: what ``aqer.fit`` takes.

    ``texts`` (u,) belong to the rows of ``data.vectors``. Each ordered pair of texts that meet at
    a question is scored once, however many workers wrote them. An answer that nobody else's
    stands beside gets 0.

    Raises BadShape for the wrong number of texts or probabilities, BadVector for something
    outside 0..1, EmptyData where no two answers meet, Cancelled.
    """
    if len(texts) != len(data.rows):
        raise BadShape(f"texts has {len(texts)} entries for {len(data.rows)} vectors")
    premise, hypothesis = _pairs(data)
    if not len(premise):
        raise EmptyData("no question has two answers, so none can entail another")
    size = len(texts)
    keys, at = np.unique(data.vector[premise] * size + data.vector[hypothesis], return_inverse=True)
    scored = score_pairs(texts, keys // size, keys % size, scorer, hooks=hooks)
    summed = np.bincount(hypothesis, weights=scored[at], minlength=len(data))
    others = np.bincount(hypothesis, minlength=len(data))
    return summed / np.maximum(others, 1)


def score_pairs(
    texts: Sequence[str],
    first: IntArray,
    second: IntArray,
    scorer: Entailment,
    *,
    hooks: Hooks | None = None,
) -> FloatArray:
    """Scores (k,) of the pairs of ``texts`` at ``first`` (k,) and ``second`` (k,).

    Raises BadShape for the wrong number of scores, BadVector for one outside 0..1, Cancelled.
    """
    hooks, scored = hooks or Hooks(), np.empty(len(first))
    for start in range(0, len(first), BATCH):
        part = slice(start, start + BATCH)
        scored[part] = _checked(
            scorer([texts[i] for i in first[part]], [texts[i] for i in second[part]]),
            len(first[part]),
        )
        hooks.step("entailment", min(start + BATCH, len(first)), len(first))
    return scored


def _pairs(data: Texts) -> tuple[IntArray, IntArray]:
    """Ordered pairs of different answers to one question: who speaks, and of whom."""
    sizes = np.bincount(data.question, minlength=len(data.questions))
    first = np.concatenate([[0], np.cumsum(sizes)])[data.question]
    own = sizes[data.question]
    hypothesis = np.repeat(np.arange(len(data)), own)
    offset = np.arange(len(hypothesis)) - np.repeat(np.cumsum(own) - own, own)
    premise = first[hypothesis] + offset
    keep = premise != hypothesis
    return premise[keep], hypothesis[keep]


def _checked(found: Any, count: int) -> FloatArray:
    values = np.asarray(found, dtype=np.float64)
    if values.shape != (count,):
        raise BadShape(f"the scorer gave shape {values.shape} for {count} pairs")
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if wrong.size:
        raise BadVector(f"the scorer gave {values[wrong[0]]}; a probability lies in 0..1")
    return values
