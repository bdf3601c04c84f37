"""RASA: workers' reliabilities and a weighted mean of their answers' vectors, in turn.

Li and Fukumoto (2019), "A Dataset of Crowdsourced Word Sequences" (doi:10.18653/v1/D19-5904), as
their published code has it (95 % quantile bound, means' squared change below 1e-7). As AQER is
compared with it (Geva et al. 2025, App. H), a worker's score is the reliability, the best response
is the one closest to the weighted mean, and an outside response is scored by its cosine to that
best response. Vectors have unit length here. Reliability is a ratio without an upper bound: a
worker close to the mean draws it nearer still, up to a mean that is this worker's own answers.
Such a fit is told as ``collapsed``, and that worker gets no interval.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from evaluation.methods.baselines.baseline_boards import COMMON, best_rows, parts, result, trust_of
from evaluation.methods.baselines.baseline_part import Ratings
from evaluation.methods.baselines.rasa_core import FLOOR, affordable, reliabilities, replicates
from evaluation.methods.core import bootstrap
from evaluation.methods.core.base import (
    FloatArray,
    Hooks,
    Intervals,
    Result,
    Table,
    Texts,
)
from evaluation.methods.core.boards import Draws, Scores, make_board, place, rules_of
from evaluation.methods.core.params import COMPARED, Method, Params, real, whole

NAME, VERSION = "rasa", "1.0"
PARAMS = Params(
    NAME,
    (
        *COMMON,
        real("alpha", 0.05, above=0, below=1),
        whole("max_rounds", 1000, 1),
        real("tolerance", 1e-7, above=0),
    ),
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
    base = result(NAME, VERSION, data, Ratings(cosine, system), settings=settings, rng=rng)
    table, interval = _workers(data, base, reliability, distance, settings=settings, rng=rng)
    return Result(
        name=NAME,
        version=VERSION,
        estimates={**base.estimates, "worker": table},
        intervals={**base.intervals, "worker": interval},
        diagnostics={**base.diagnostics, "fits": told},
        converged=all(part["converged"] for part in told),
        recipe=base.recipe,
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
            cells = csr_array((distance[rows], (worker, question)), shape=shape)
            asked = csr_array((np.ones(len(worker)), (worker, question)), shape=shape)
            mean = (cells @ weights.T).T / (asked @ weights.T).T
            total = np.maximum(np.bincount(worker, weights=distance[rows]), FLOOR)
            draws = point * total / np.maximum(mean * n, FLOOR)
        scores = Scores(n, point, point, point, point, by="score")
        board = make_board(scores, Draws(draws, draws, complete), rules)
        rank[some] = board.rank
        spots.append((some, _without(board.intervals, point > COLLAPSED * point.sum())))
    columns = {
        "worker": old["worker"],
        "component": old["component"],
        "n": old["n"],
        "rank": rank,
        "score": reliability,
        "cosine": old["score"],
    }
    reasons = list(base.intervals["worker"].reason)
    return Table(columns), place(spots, len(old), reasons, rules.level)


def _without(intervals: Intervals, rows: NDArray[np.bool_]) -> Intervals:
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


METHOD = Method(
    slug=NAME,
    version=VERSION,
    title="RASA (Li and Fukumoto 2019)",
    data=Texts,
    fit=fit,
    options=PARAMS,
    internal=COMPARED,
)
