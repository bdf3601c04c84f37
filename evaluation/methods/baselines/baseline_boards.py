"""From scores of single responses to workers, systems and best responses, with intervals.

Every baseline ends here: it scores responses, and a worker or system is the mean of its own (AQER's
App. H). Components, adjusted scores and intervals are as for AQER: questions are resampled, the
scores of responses stay as they are. Workers and systems of each connected component have a board
of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core import bootstrap
from evaluation.methods.core.adjusted import Design, two_way
from evaluation.methods.core.base import FloatArray, IntArray, Result, Table
from evaluation.methods.core.boards import (
    Board,
    Crowd,
    Draws,
    Rules,
    Scores,
    Systems,
    gather_columns,
    make_board,
    place_intervals,
    rules_of,
    stack,
    unranked,
    why_missing,
)
from evaluation.methods.core.components import answer_parts
from evaluation.methods.core.params import ANY_LEVEL, Params, resamples, whole_number
from evaluation.methods.core.redundancy import ranking_column

CHUNK = 4_000_000  # numbers of a batch of resamples


class Answers(Crowd, Protocol):
    """Responses or Texts: who answered what, and the outside answers."""

    @property
    def outside(self) -> Any: ...


@dataclass(frozen=True, eq=False)
class Ratings:
    """Scores of the workers' answers (n,) and of the systems' answers (s,)."""

    answer: FloatArray
    system: FloatArray


@dataclass(frozen=True, eq=False)
class Part:
    """A component's workers, questions and systems (names' indices) and their boards."""

    workers: IntArray
    questions: IntArray
    systems: IntArray
    answers: int
    complete: bool
    worker: Board
    system: Board


def fit_part(
    data: Answers,
    ratings: Ratings,
    inside: NDArray[np.bool_],
    *,
    rules: Rules,
    rng: np.random.Generator,
) -> Part:
    """Boards of the component whose questions are ``inside`` (q,)."""
    rows = np.flatnonzero(inside[data.question])
    workers, worker = np.unique(data.worker[rows], return_inverse=True)
    questions, question = np.unique(data.question[rows], return_inverse=True)
    design = Design(worker, question, len(workers), len(questions))
    systems = Systems.of(data.outside, questions)
    theirs = ratings.system[systems.select]
    score = ratings.answer[rows]
    adjusted, effect = two_way(score[None], design)
    # Drawn questions must not leave a system without an answer.
    covered = not len(systems.names) or len(np.unique(systems.question)) == len(questions)
    complete = design.complete and systems.complete and covered
    drawn = _draws(design, score, systems, theirs, rules, rng=rng, complete=complete)
    n = np.bincount(worker, minlength=len(workers))
    raw = np.bincount(worker, weights=score) / n
    ones = np.ones((1, len(questions)))
    plain = systems.means(theirs[None], ones)[0]
    eased = systems.means(theirs[None] - effect[:, systems.question], ones)[0]
    columns = [
        ranking_column(question, complete=alike) for alike in (design.complete, systems.complete)
    ]
    return Part(
        workers,
        questions,
        systems.names,
        len(rows),
        design.complete,
        make_board(_scores(n, raw, adjusted[0], columns[0]), drawn[0], rules),
        make_board(_scores(systems.n, plain, eased, columns[1]), drawn[1], rules),
    )


def _scores(n: IntArray, raw: FloatArray, adjusted: FloatArray, by: str) -> Scores:
    return Scores(
        n=n, score=raw, uniterated=raw, adjusted=adjusted, uniterated_adjusted=adjusted, by=by
    )


def _draws(
    design: Design,
    score: FloatArray,
    systems: Systems,
    theirs: FloatArray,
    rules: Rules,
    *,
    rng: np.random.Generator,
    complete: bool,
) -> tuple[Draws, Draws]:
    """Scores of workers and of systems under random question weights."""
    b = rules.resamples
    weights = bootstrap.question_weights(rng, b, design.n_questions, complete=complete)
    worker = np.empty((2, b, design.n_workers))
    system = np.empty((2, b, len(systems.names)))
    shape = (design.n_workers, design.n_questions)
    cells = scipy.sparse.csr_array((score, (design.worker, design.question)), shape=shape)
    incidence = design.incidence
    size = max(1, CHUNK // len(score))
    for start in range(0, b, size):
        chunk = slice(start, min(start + size, b))
        some = weights[chunk]
        worker[0, chunk] = (cells @ some.T).T / (incidence.T @ some.T).T
        if design.complete:  # what two_way gives, without a copy of the scores a resample
            worker[1, chunk] = worker[0, chunk]
            effect = cells.sum(axis=0) / design.n_workers - worker[0, chunk].mean(1, keepdims=True)
        else:
            shown = np.broadcast_to(score, (len(some), len(score)))
            worker[1, chunk], effect = two_way(shown, design, some)
        system[0, chunk] = systems.means(theirs[None], some)
        system[1, chunk] = systems.means(theirs - effect[:, systems.question], some)
    return Draws(worker[0], worker[1], complete), Draws(system[0], system[1], complete)


COMMON = (
    resamples(2000),
    ANY_LEVEL,
    whole_number("min_answers", 5, 2),
)


def parts(data: Answers) -> tuple[IntArray, IntArray]:
    """Component numbers of workers and questions; 0 where nobody else answered the same.

    Raises TooFewWorkers where no question has two answers.
    """
    return answer_parts(data.worker, data.question, len(data.workers), len(data.questions))


def result(
    options: Params,
    data: Answers,
    ratings: Ratings,
    *,
    settings: dict[str, Any],
    rng: np.random.Generator,
    diagnostics: dict[str, Any] | None = None,
) -> Result:
    """Tables ``worker``, ``answer``, ``question``, and with outside ``system``, ``system_answer``.

    Column ``score`` is the mean of a row's responses, ``adjusted`` the same with the questions'
    effects taken off; ``rank`` is by the column that ``redundancy.ranking_column``
    names. ``best`` marks the best response to each question, as ``best_rows`` chooses.
    """
    rules = rules_of(settings)
    worker_part, question_part = parts(data)
    boards = [
        fit_part(data, ratings, question_part == number, rules=rules, rng=rng)
        for number in range(1, int(worker_part.max()) + 1)
    ]
    estimates = {
        "worker": _people(boards, len(data.workers)),
        "answer": _answers(data, ratings, question_part),
        "question": _questions(data, ratings, question_part),
    }
    spots = [(board.workers, board.worker.intervals) for board in boards]
    intervals = {
        "worker": place_intervals(spots, len(data.workers), why_missing(data), rules.level)
    }
    if data.outside is not None:
        estimates |= _outside(data, ratings, question_part, boards)
        intervals["system"] = stack([part.system.intervals for part in boards], rules.level)
    told = {**_diagnostics(data, boards, worker_part), **(diagnostics or {})}
    return options.result(settings, estimates, told, intervals=intervals)


def _people(boards: list[Part], size: int) -> Table:
    """One row a name of ``size``; rows on no board have component 0 and NaN."""
    columns = {
        "n": lambda part: part.worker.scores.n,
        "rank": lambda part: part.worker.rank,
        "score": lambda part: part.worker.scores.score,
        "adjusted": lambda part: part.worker.scores.adjusted,
    }
    found = gather_columns(size, boards, lambda part: part.workers, columns)
    return Table({"worker": np.arange(size), **found})


def best_rows(question: IntArray, score: FloatArray, trust: FloatArray) -> IntArray:
    """The row of the best response to each question that has a score.

    ``question``, ``score`` and ``trust`` (the author's score) are (n,). Of equal scores (to 12
    digits) the more trusted author's counts: where the best reference counts, two responses that
    are closest to each other always tie. Then the first.
    """
    known = np.flatnonzero(np.isfinite(score))
    value = np.round(score[known], 12)
    order = known[np.lexsort((known, -trust[known], -value, question[known]))]
    return order[np.diff(question[order], prepend=-1) != 0]


def trust_of(worker: IntArray, score: FloatArray) -> FloatArray:
    """Return the mean score (n,) of each response's author, over scored responses."""
    known = np.isfinite(score)
    size = int(worker.max()) + 1
    total = np.bincount(worker[known], weights=score[known], minlength=size)
    return (total / np.maximum(np.bincount(worker[known], minlength=size), 1))[worker]


def _answers(data: Answers, ratings: Ratings, question_part: IntArray) -> Table:
    part = question_part[data.question]
    score = np.where(part > 0, ratings.answer, np.nan)
    best = np.zeros(len(score), dtype=bool)
    best[best_rows(data.question, score, trust_of(data.worker, score))] = True
    return Table(
        {
            "source": data.source,
            "worker": data.worker,
            "question": data.question,
            "component": part,
            "score": score,
            "rank": _ranks(data.question, score),
            "best": best,
        }
    )


def _ranks(question: IntArray, score: FloatArray) -> IntArray:
    """Rank within the question from 1; equal scores (to 12 digits) share it; 0 for NaN."""
    out = np.zeros(len(score), dtype=np.int64)
    known = np.flatnonzero(np.isfinite(score))
    value = np.round(score[known], 12)
    order = np.lexsort((-value, question[known]))
    q, v = question[known][order], value[order]
    opens = np.diff(q, prepend=-1) != 0
    changes = opens | (np.diff(v, prepend=np.nan) != 0)
    place_in = np.arange(len(q)) - np.maximum.accumulate(np.where(opens, np.arange(len(q)), 0))
    first = np.maximum.accumulate(np.where(changes, np.arange(len(q)), 0))
    out[known[order]] = place_in[first] + 1
    return out


def _questions(data: Answers, ratings: Ratings, question_part: IntArray) -> Table:
    size = len(data.questions)
    score = np.where(question_part[data.question] > 0, ratings.answer, np.nan)
    n = np.bincount(data.question, minlength=size)
    scored = np.isfinite(score)
    total = np.bincount(data.question[scored], weights=score[scored], minlength=size)
    mean = np.where(question_part > 0, total / np.maximum(n, 1), np.nan)
    best, worker = np.full((2, size), -1, dtype=np.int64)
    rows = best_rows(data.question, score, trust_of(data.worker, score))
    best[data.question[rows]] = data.source[rows]
    worker[data.question[rows]] = data.worker[rows]
    return Table(
        {
            "question": np.arange(size),
            "component": question_part,
            "n": n,
            "score": mean,
            "best": best,
            "best_worker": worker,
        }
    )


def _outside(
    data: Answers, ratings: Ratings, question_part: IntArray, boards: list[Part]
) -> dict[str, Table]:
    component = np.repeat(np.arange(1, len(boards) + 1), [len(p.systems) for p in boards])
    columns: dict[str, Any] = {
        "system": np.concatenate([p.systems for p in boards]),
        "component": component,
    }
    for name in ("n", "score", "adjusted"):
        columns[name] = np.concatenate([getattr(p.system.scores, name) for p in boards])
    columns["rank"] = np.concatenate([p.system.rank for p in boards])
    part = question_part[data.outside.question]
    answers = {
        "source": data.outside.source,
        "system": data.outside.worker,
        "question": data.outside.question,
        "component": part,
        "score": np.where(part > 0, ratings.system, np.nan),
    }
    return {"system": Table(columns), "system_answer": Table(answers)}


def _diagnostics(data: Answers, boards: list[Part], worker_part: IntArray) -> dict[str, Any]:
    return {
        "components": [
            {
                "number": k,
                "name": f"Component {k} of {len(boards)}",
                "workers": len(part.workers),
                "questions": len(part.questions),
                "answers": part.answers,
                "complete": part.complete,
                "ranked_by": part.worker.scores.by,
                "systems_ranked_by": part.system.scores.by,
            }
            for k, part in enumerate(boards, start=1)
        ],
        **unranked(data, worker_part),
    }
