"""RASA: workers' reliabilities and a weighted mean of their answers' vectors, in turn.

Li and Fukumoto (2019), "A Dataset of Crowdsourced Word Sequences" (doi:10.18653/v1/D19-5904), as
their published code has it (95 % quantile bound, means' squared change below 1e-7). As AQER is
compared with it (Geva et al. 2025, App. H), a worker's score is the reliability, the best response
is the one closest to the weighted mean, and an outside response is scored by its cosine to that
best response. Vectors have unit length here. Reliability is a ratio without an upper bound: a
worker close to the mean draws it nearer still, up to a mean that is this worker's own answers.
Such a fit is told as ``collapsed``, and that worker gets no interval.

RASA's rounds, on all questions of one component at once; ``rasa`` is the method around them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.baselines.baseline_boards import (
    COMMON,
    Ratings,
    best_rows,
    parts,
    result,
    trust_of,
)
from evaluation.methods.core import bootstrap
from evaluation.methods.core.base import (
    FloatArray,
    Hooks,
    IntArray,
    Intervals,
    Result,
    Table,
    Texts,
)
from evaluation.methods.core.boards import Draws, Scores, make_board, place_intervals, rules_of
from evaluation.methods.core.params import COMPARED, Params, real_number, whole_number

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
    bound = scipy.special.chdtri(np.maximum(n, 1), alpha / 2)
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
    if count_inner_products(question) <= GRAM:
        gram = _gram(texts, rows, scale)
        return lambda share: gram @ share
    shape = (len(texts.questions), len(texts.vectors))

    def product(share: FloatArray) -> FloatArray:
        mean = (
            scipy.sparse.csr_array((share * scale[vector], (question, vector)), shape=shape)
            @ texts.vectors
        )
        out = np.empty(len(vector))
        for start in range(0, len(vector), BLOCK):
            block = slice(start, start + BLOCK)
            out[block] = np.einsum("ij,ij->i", texts.vectors[vector[block]], mean[question[block]])
        return out * scale[vector]

    return product


def count_inner_products(question: IntArray) -> int:
    """Count the inner products between answers to the same question; ``question`` is (k,)."""
    return int((np.bincount(question) ** 2).sum())


def _gram(texts: Texts, rows: IntArray, scale: FloatArray) -> scipy.sparse.csr_array:
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
    return scipy.sparse.csr_array(
        (np.concatenate(values), column, ends), shape=(len(vector), len(vector))
    )


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
    bound = scipy.special.chdtri(np.maximum(n, 1), alpha / 2)
    at = np.arange(len(rows))
    ones = np.ones(len(rows))
    by_worker = scipy.sparse.csr_array((ones, (at, worker)), shape=(len(rows), len(n)))
    by_question = scipy.sparse.csr_array(
        (ones, (at, question)), shape=(len(rows), len(texts.questions))
    )
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
    """Return whether every resample of these answers (k,) can be fitted in reasonable time."""
    return (
        count_inner_products(question) <= GRAM
        and count_inner_products(question) * resamples <= WORK
    )


NAME, VERSION = "rasa", "1.0"
PARAMS = Params(
    NAME,
    (
        *COMMON,
        real_number("alpha", 0.05, above=0, below=1),
        whole_number("max_rounds", 1000, 1),
        real_number("tolerance", 1e-7, above=0),
    ),
    version=VERSION,
)
COLLAPSED = 0.9  # share of the weight with which one worker is the mean


def fit(
    data: Texts, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Reliabilities of workers, best responses, and scores of responses and systems.

    Parameters: ``alpha``, ``max_rounds``, ``tolerance`` (squared change of the means), and the
    boards' ``resamples``, ``level``, ``min_answers``. Tables as ``baseline_boards.result``
    describes, but in ``worker`` the score is the reliability and ``cosine`` the mean cosine to the
    weighted means; there is no adjusted one, so with gaps it mixes quality with which questions
    a worker got. Its intervals resample questions and fit again (for very large crowds they keep
    the means as fitted, and ``resamples_refitted`` says so). Components are fitted apart.

    Raises TooFewWorkers, BadParameter, Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    worker_part, question_part = parts(data)
    cosine, distance = np.full((2, len(data)), np.nan)
    reliability = np.full(len(data.workers), np.nan)
    told = []
    options = {name: settings[name] for name in ("alpha", "max_rounds", "tolerance")}
    for number in range(1, int(worker_part.max()) + 1):
        rows = np.flatnonzero(question_part[data.question] == number)
        found = reliabilities(data, rows, hooks=hooks, **options)
        cosine[rows], distance[rows] = found.cosine, found.distance
        known = worker_part == number
        reliability[known] = found.reliability[known]
        share = float(reliability[known].max() / reliability[known].sum())
        told.append(
            {
                "number": number,
                "rounds": found.rounds,
                "converged": found.change < settings["tolerance"],
                "largest_share": share,
                "collapsed": share > COLLAPSED,
                "resamples_refitted": affordable(data.question[rows], settings["resamples"]),
            }
        )
    system = np.empty(0) if data.outside is None else _system(data, data.outside, cosine)
    base = result(PARAMS, data, Ratings(cosine, system), settings=settings, rng=rng)
    table, interval = _workers(data, base, reliability, distance, settings=settings, rng=rng)
    return PARAMS.result(
        settings,
        {**base.estimates, "worker": table},
        {**base.diagnostics, "fits": told},
        intervals={**base.intervals, "worker": interval},
        converged=all(part["converged"] for part in told),
    )


def _system(data: Texts, outside: Texts, cosine: FloatArray) -> FloatArray:
    """Cosine of each outside answer to the best response to its question; NaN without one."""
    best = np.full(len(data.questions), -1)
    rows = best_rows(data.question, cosine, trust_of(data.worker, cosine))
    best[data.question[rows]] = data.vector[rows]
    chosen = best[outside.question]
    product = np.einsum(
        "ij,ij->i",
        outside.vectors[outside.vector].astype(np.float64),
        data.vectors[chosen].astype(np.float64),
    )
    length = outside.norms[outside.vector] * data.norms[chosen]
    return np.where(
        chosen < 0, np.nan, np.where(length > 0, product / np.maximum(length, 1e-300), 0)
    )


def _workers(
    data: Texts,
    base: Result,
    reliability: FloatArray,
    distance: FloatArray,
    *,
    settings: dict[str, Any],
    rng: np.random.Generator,
) -> tuple[Table, Intervals]:
    """The worker table by reliability; resamples are fitted again where that is affordable."""
    rules = rules_of(settings)
    options = {name: settings[name] for name in ("alpha", "tolerance")}
    old = base.estimates["worker"]
    rank, spots = np.zeros(len(old), dtype=np.int64), []
    for number in range(1, int(old["component"].max()) + 1):
        some = np.flatnonzero(old["component"] == number)
        rows = np.flatnonzero(np.isfinite(distance) & np.isin(data.worker, some))
        n = np.bincount(data.worker[rows], minlength=len(old))[some]
        questions, question = np.unique(data.question[rows], return_inverse=True)
        worker = np.searchsorted(some, data.worker[rows])
        complete = len(worker) == len(some) * len(questions)
        weights = bootstrap.question_weights(
            rng, rules.resamples, len(questions), complete=complete
        )
        point = reliability[some]
        if affordable(question, rules.resamples):
            spread = np.zeros((rules.resamples, len(data.questions)))
            spread[:, questions] = weights
            draws = replicates(data, rows, spread, **options)[:, some]
        else:  # the means stay as fitted
            shape = (len(some), len(questions))
            cells = scipy.sparse.csr_array((distance[rows], (worker, question)), shape=shape)
            asked = scipy.sparse.csr_array((np.ones(len(worker)), (worker, question)), shape=shape)
            mean = (cells @ weights.T).T / (asked @ weights.T).T
            total = np.maximum(np.bincount(worker, weights=distance[rows]), FLOOR)
            draws = point * total / np.maximum(mean * n, FLOOR)
        scores = Scores(n, point, point, point, point, by="score")
        board = make_board(scores, Draws(draws, draws, complete), rules)
        rank[some] = board.rank
        spots.append((some, _without_intervals(board.intervals, point > COLLAPSED * point.sum())))
    columns = {
        "worker": old["worker"],
        "component": old["component"],
        "n": old["n"],
        "rank": rank,
        "score": reliability,
        "cosine": old["score"],
    }
    reasons = list(base.intervals["worker"].reason)
    return Table(columns), place_intervals(spots, len(old), reasons, rules.level)


def _without_intervals(intervals: Intervals, rows: NDArray[np.bool_]) -> Intervals:
    """The same without intervals for workers who are the mean that they are measured by."""
    reason = "the weighted mean is this worker's own answers"
    low, high, adjusted_low, adjusted_high = (
        np.where(rows, np.nan, bound)
        for bound in (
            intervals.low,
            intervals.high,
            intervals.adjusted_low,
            intervals.adjusted_high,
        )
    )
    said = tuple(reason if row else old for row, old in zip(rows, intervals.reason, strict=True))
    return replace(
        intervals,
        low=low,
        high=high,
        adjusted_low=adjusted_low,
        adjusted_high=adjusted_high,
        reason=said,
    )


METHOD = PARAMS.as_method("RASA (Li and Fukumoto 2019)", Texts, fit, internal=COMPARED)
