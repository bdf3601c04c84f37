"""Chai et al. (2022) by our reading: two representations whose errors should agree.

"An error consistency based approach to answer aggregation in open-ended crowdsourcing", Information
Sciences 608. No code was published; the AQER paper (App. H) names gradient descent by numerical
differentiation with steps of .001 and early stopping, a dual representation (embeddings and mutual
GLEU), and grades a worker by the negated mean of their answers' errors. Ours, a question at a time:
each of k answers has a weight a = softmax(theta), the truth is the weighted mean of the answers in
both spaces (their vectors; their rows of the k x k matrix of mutual GLEU), and an answer's error in
a space is its squared distance to that truth over the mean of all k. The loss is the mean squared
difference of an answer's two errors (their consistency) plus the weighted mean of both errors. A
system's answer has the cosine with the answer of the least error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.aqer.grams import unit
from evaluation.methods.baselines.baseline_boards import (
    COMMON,
    Ratings,
    best_rows,
    parts,
    result,
    trust_of,
)
from evaluation.methods.core.base import (
    BadShape,
    DataError,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Texts,
)
from evaluation.methods.core.params import COMPARED, Params, real_number, whole_number
from evaluation.methods.text.corpus import TOKENIZERS, Responses, token_ids
from evaluation.methods.text.metrics import gleu

NAME, VERSION = "chai", "1.0"
MOST = 150  # answers to a question: a step takes their number to the third power
NUDGE = 1e-4  # of theta, for the differences
CELLS = 4_000_000  # numbers of a batch of questions
PARAMS = Params(
    NAME,
    (
        *COMMON,
        real_number("step", 0.001, above=0, below=10),
        whole_number("max_steps", 100, 0, 10_000),
        real_number("tolerance", 1e-6, above=0),
    ),
    version=VERSION,
)


@dataclass(frozen=True, eq=False)
class Dual:
    """The same answers as vectors and as words, in one order."""

    texts: Texts
    responses: Responses

    def __post_init__(self) -> None:
        """Raise BadShape where the two differ in who answered what."""
        for name in ("worker", "question"):
            if not np.array_equal(getattr(self.texts, name), getattr(self.responses, name)):
                raise BadShape("texts and responses do not hold the same answers")


def mutual_gleu(texts: list[str]) -> FloatArray:
    """GLEU (k, k) of each of k texts with each other; 1 with itself."""
    words = token_ids([TOKENIZERS["words"](text) for text in texts])
    first, second = np.triu_indices(len(texts), 1)
    out = np.eye(len(texts))
    out[first, second] = out[second, first] = gleu(words)(first, second)
    return out


def errors(theta: FloatArray, grams: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, ...]:
    """Both errors (..., p, k) of the answers under p sets of weights, and these; mean error is 1.

    ``grams`` are the dot products (..., k, k) in both spaces, ``theta`` is (..., p, k).
    """
    raised = np.exp(theta - theta.max(axis=-1, keepdims=True))
    weight = raised / raised.sum(axis=-1, keepdims=True)
    found = []
    for gram in grams:
        towards = weight @ gram
        square = (towards * weight).sum(axis=-1, keepdims=True)
        own = np.diagonal(gram, axis1=-2, axis2=-1)[..., None, :]
        distance = np.maximum(own - 2 * towards + square, 0.0)
        mean = distance.mean(axis=-1, keepdims=True)
        found.append(np.where(mean > 1e-12, distance / np.where(mean > 1e-12, mean, 1.0), 1.0))
    return found[0], found[1], weight


def loss(theta: FloatArray, grams: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Compute the loss (..., p) of weights ``theta`` (..., p, k)."""
    one, other, weight = errors(theta, grams)
    return np.square(one - other).mean(axis=-1) + (weight * (one + other)).sum(axis=-1) / 2


def descend(
    grams: tuple[FloatArray, FloatArray], *, step: float, max_steps: int, tolerance: float
) -> FloatArray:
    """Errors (q, k) of the answers to q questions of k answers each, after the descent.

    A question stops where a step lowers its loss by less than ``tolerance``.
    """
    q, k = grams[0].shape[:2]
    theta = np.zeros((q, k))
    nudges = NUDGE * np.concatenate([np.eye(k), -np.eye(k)])
    running = np.arange(q)
    before = loss(theta[:, None], grams)[:, 0]
    for _ in range(max_steps):
        some = (grams[0][running], grams[1][running])
        around = loss(theta[running, None] + nudges, some)
        slope = (around[:, :k] - around[:, k:]) / (2 * NUDGE)
        moved = theta[running] - step * slope
        now = loss(moved[:, None], some)[:, 0]
        better = before[running] - now > 0
        theta[running[better]] = moved[better]
        goes_on = before[running] - now > tolerance
        before[running] = np.minimum(before[running], now)
        running = running[goes_on]
        if not len(running):
            break
    one, other, _ = errors(theta[:, None], grams)
    return np.asarray((one + other)[:, 0] / 2)


def answer_errors(data: Dual, settings: dict[str, Any], hooks: Hooks) -> FloatArray:
    """The error (n,) of each answer, on average 1 at a question. Raises DataError of too many."""
    question = data.texts.question
    asked, starts, sizes = np.unique(question, return_index=True, return_counts=True)
    if sizes.max() > MOST:
        raise DataError(f"a question has {sizes.max()} answers; at most {MOST} are compared")
    out = np.ones(len(question))
    done = 0
    for rows in _batches(starts, sizes):
        hooks.step("descent", done, len(asked))
        vectors = unit(np.asarray(data.texts.rows[data.texts.vector[rows.ravel()]]))
        vectors = vectors.reshape(*rows.shape, -1)
        texts, at = data.responses.texts, data.responses.text
        mutual = np.stack([mutual_gleu([texts[at[row]] for row in some]) for some in rows])
        grams = (vectors @ vectors.swapaxes(1, 2), mutual @ mutual.swapaxes(1, 2))
        out[rows] = descend(
            grams,
            step=settings["step"],
            max_steps=settings["max_steps"],
            tolerance=settings["tolerance"],
        )
        done += len(rows)
    return out


def _batches(starts: IntArray, sizes: IntArray) -> Iterator[IntArray]:
    """Rows (q, k) of questions with equally many answers, two or more."""
    for size in np.unique(sizes[sizes > 1]).tolist():
        of_size = starts[sizes == size]
        count = max(1, CELLS // (2 * size * size))
        for begin in range(0, len(of_size), count):
            yield of_size[begin : begin + count, None] + np.arange(size)


def fit(
    data: Dual, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Score answers by their negated error, workers and systems by their mean.

    Parameters: ``step`` and ``max_steps`` of the descent, ``tolerance`` of the loss, and the
    boards' ``resamples``, ``level``, ``min_answers``. Tables as ``baseline_boards.result``
    describes. Raises TooFewWorkers, DataError (too many answers), BadParameter, Cancelled.
    """
    settings = PARAMS.settings(params)
    parts(data.responses)
    answer = -answer_errors(data, settings, hooks or Hooks())
    system = np.empty(0)
    other = data.texts.outside
    if other is not None:
        best = best_rows(data.texts.question, answer, trust_of(data.texts.worker, answer))
        right = np.full(len(data.texts.questions), -1, dtype=np.int64)
        right[data.texts.question[best]] = data.texts.vector[best]
        chosen = right[other.question]
        near = unit(np.asarray(data.texts.rows[np.maximum(chosen, 0)]))
        cosine = (unit(np.asarray(other.rows[other.vector])) * near).sum(axis=1)
        system = np.where(chosen >= 0, cosine, np.nan)
    return result(PARAMS, data.responses, Ratings(answer, system), settings=settings, rng=rng)


METHOD = PARAMS.as_method("Chai et al. (our reading)", Dual, fit, internal=COMPARED)
