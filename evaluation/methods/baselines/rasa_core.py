"""RASA's rounds, on all questions of one component at once; ``rasa`` is the method around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import chdtri

from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Texts

# Squared distances below this count as this, so that a worker who is the mean stays finite.
FLOOR = 1e-5
GRAM = 5_000_000  # inner products that are kept (60 MB)
WORK = 2_000_000_000  # inner products that refitting all resamples may read a round
CHUNK = 4_000_000  # numbers of a batch of resamples
ROUNDS = 50  # of a resample; they take about as many as the fit
BLOCK = 8192  # answers whose vectors are held at a time


@dataclass(frozen=True, eq=False)
class Reliabilities:
    """A fit of k answers: ``reliability`` (m,), per answer the squared distance and the cosine.

    ``share`` (k,) is what each answer counts in its question's mean, and ``change`` the means'
    last squared change.
    """

    reliability: FloatArray
    distance: FloatArray
    cosine: FloatArray
    share: FloatArray
    rounds: int
    change: float


def reliabilities(
    texts: Texts,
    rows: IntArray | None = None,
    *,
    alpha: float = 0.05,
    max_rounds: int = 1000,
    tolerance: float = 1e-7,
    hooks: Hooks | None = None,
) -> Reliabilities:
    """RASA on the answers ``rows`` (all by default), which should be one component.

    The first mean weighs everybody the same; then reliability = chi2(alpha / 2, answers) / sum of
    squared distances, mean = sum of reliability x vector / sum of reliability,
    until the means' squared change is below ``tolerance``. Workers without an answer have NaN.
    """
    at = np.arange(len(texts)) if rows is None else rows
    worker, question = texts.worker[at], texts.question[at]
    n, size = np.bincount(worker, minlength=len(texts.workers)), len(texts.questions)
    bound = chdtri(np.maximum(n, 1), alpha / 2)
    product = _product(texts, at)
    own = (texts.norms[texts.vector[at]] > 0).astype(np.float64)
    weight, change = np.ones(len(n)), np.inf
    before, squared = np.zeros(len(at)), np.zeros(size)
    for k in range(max_rounds + 1):
        share = weight[worker] / np.bincount(question, weights=weight[worker])[question]
        near = product(share)  # of each answer's vector with the mean of its question
        change = squared.sum() - 2 * before @ near
        squared = np.bincount(question, weights=share * near, minlength=size).astype(np.float64)
        change = max(0.0, change + squared.sum()) if k else np.inf
        distance = np.maximum(own - 2 * near + squared[question], 0.0)
        sums = np.bincount(worker, weights=distance, minlength=len(n))
        weight, before = bound / np.maximum(sums, FLOOR), share
        if change < tolerance:
            break
        if hooks is not None:
            hooks.step("rounds", k, max_rounds)
    length = np.sqrt(np.maximum(squared[question], 0.0))
    cosine = np.where(length > 0, near / np.where(length > 0, length, 1.0), 0.0)
    reliability = np.where(n > 0, weight, np.nan)
    return Reliabilities(reliability, distance, cosine, before, k, change)


def _product(texts: Texts, rows: IntArray) -> Callable[[FloatArray], FloatArray]:
    """product(share) (k,): each answer's unit vector times the mean of its question.

    The mean is the sum of share x unit vector. Where they fit, the inner products of the answers
    to each question are made once, and a round no longer touches the vectors.
    """
    question, vector = texts.question[rows], texts.vector[rows]
    scale = 1.0 / np.where(texts.norms > 0, texts.norms, 1.0)
    if kept(question) <= GRAM:
        gram = _gram(texts, rows, scale)
        return lambda share: gram @ share
    shape = (len(texts.questions), len(texts.vectors))

    def product(share: FloatArray) -> FloatArray:
        mean = csr_array((share * scale[vector], (question, vector)), shape=shape) @ texts.vectors
        out = np.empty(len(vector))
        for start in range(0, len(vector), BLOCK):
            block = slice(start, start + BLOCK)
            out[block] = np.einsum("ij,ij->i", texts.vectors[vector[block]], mean[question[block]])
        return out * scale[vector]

    return product


def kept(question: IntArray) -> int:
    """How many inner products answers to these questions (k,) have."""
    return int((np.bincount(question) ** 2).sum())


def _gram(texts: Texts, rows: IntArray, scale: FloatArray) -> csr_array:
    """The inner products of unit vectors (k, k), a dense block a question."""
    question, vector = texts.question[rows], texts.vector[rows]
    opens = np.flatnonzero(np.diff(question, prepend=-1))
    counts = np.diff(np.append(opens, len(rows)))
    values = []
    for start, count in zip(opens, counts, strict=True):
        some = vector[start : start + count]
        unit = texts.vectors[some] * scale[some, None]
        values.append((unit @ unit.T).ravel())
    width = np.repeat(counts, counts)
    ends = np.concatenate([[0], np.cumsum(width)])
    column = np.arange(ends[-1]) - np.repeat(ends[:-1] - np.repeat(opens, counts), width)
    return csr_array((np.concatenate(values), column, ends), shape=(len(vector), len(vector)))


def replicates(
    texts: Texts, rows: IntArray, weights: FloatArray, *, alpha: float, tolerance: float
) -> FloatArray:
    """Reliabilities (b, m) refitted under question weights (b, q) of mean 1, all at once.

    A worker's distances are averaged under the weights; the number of answers stays. Needs the
    inner products, so ask only where ``affordable``. Workers without an answer have NaN.
    """
    worker, question = texts.worker[rows], texts.question[rows]
    gram = _gram(texts, rows, 1.0 / np.where(texts.norms > 0, texts.norms, 1.0))
    own = (texts.norms[texts.vector[rows]] > 0).astype(np.float64)
    n = np.bincount(worker, minlength=len(texts.workers))
    bound = chdtri(np.maximum(n, 1), alpha / 2)
    at = np.arange(len(rows))
    ones = np.ones(len(rows))
    by_worker = csr_array((ones, (at, worker)), shape=(len(rows), len(n)))
    by_question = csr_array((ones, (at, question)), shape=(len(rows), len(texts.questions)))
    out = np.full((len(weights), len(n)), np.nan)
    size = max(1, CHUNK // len(rows))
    for start in range(0, len(weights), size):
        drawn = weights[start : start + size][:, question]
        total = np.maximum(drawn @ by_worker, 1e-300) / np.maximum(n, 1)
        weight, before = np.ones((len(drawn), len(n))), np.zeros(1)
        for _ in range(ROUNDS):
            share = weight[:, worker]
            share = share / (share @ by_question)[:, question]
            near = (gram @ share.T).T
            squared = ((share * near) @ by_question)[:, question]
            distance = np.maximum(own - 2 * near + squared, 0.0)
            weight = bound / np.maximum((distance * drawn) @ by_worker / total, FLOOR)
            if np.abs(share - before).max() < tolerance**0.5:
                break
            before = share
        out[start : start + size] = np.where(n > 0, weight, np.nan)
    return out


def affordable(question: IntArray, resamples: int) -> bool:
    """Whether every resample of answers to these questions (k,) can be fitted again."""
    return kept(question) <= GRAM and kept(question) * resamples <= WORK
