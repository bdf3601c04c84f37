"""From scores of single responses to workers, systems and best responses, with intervals.

Every baseline ends here: it scores responses, and a worker or system is the mean of its own
(AQER's App. H). Components, adjusted scores and intervals are as for AQER: questions are
resampled, the scores of responses stay as they are.

One connected component of a baseline: its workers and systems, each on a board.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from evaluation.methods.core import bootstrap
from evaluation.methods.core.adjusted import Design, two_way
from evaluation.methods.core.base import (
    FloatArray,
    IntArray,
    Intervals,
    Result,
    Table,
    TooFewWorkers,
)
from evaluation.methods.core.boards import Board, Draws, Rules, Scores, make_board, place, rules_of
from evaluation.methods.core.components import components
from evaluation.methods.core.params import ANY_LEVEL, resamples, whole
from evaluation.methods.core.redundancy import ranking_column

CHUNK = 4_000_000  # numbers of a batch of resamples


class Crowd(Protocol):
    """Who answered what: Responses or Texts."""

    @property
    def worker(self) -> IntArray: ...
    @property
    def question(self) -> IntArray: ...
    @property
    def source(self) -> IntArray: ...
    @property
    def workers(self) -> tuple[str, ...]: ...
    @property
    def questions(self) -> tuple[str, ...]: ...
    @property
    def outside(self) -> Any: ...


@dataclass(frozen=True, eq=False)
class Ratings:
    """Scores of responses: ``answer`` (n,), and ``system`` (s,) of the outside ones."""

    answer: FloatArray
    system: FloatArray


@dataclass(frozen=True, eq=False)
class Outside:
    """Outside responses of a component (k,): local system and question of each, and its score."""

    system: IntArray
    question: IntArray
    score: FloatArray
    systems: int
    questions: int

    @property
    def member(self) -> csr_array:
        """(systems, k) with a 1 for each response."""
        ones = np.ones(len(self.system))
        shape = (self.systems, len(self.system))
        return csr_array((ones, (self.system, np.arange(len(self.system)))), shape=shape)

    @property
    def cells(self) -> IntArray:
        """(systems, questions): how often each system answered each question."""
        flat = self.system * self.questions + self.question
        counts = np.bincount(flat, minlength=self.systems * self.questions)
        return counts.reshape(self.systems, self.questions)

    def means(self, scores: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted mean (b, systems) of scores (b, k) under question weights (b, questions)."""
        member, share = self.member, weights[:, self.question]
        return (member @ (scores * share).T).T / (member @ share.T).T


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
    data: Crowd,
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
    systems, outside = _outside_of(data, ratings, questions)
    score, cells = ratings.answer[rows], outside.cells
    even = bool(np.all(cells == cells[:1]))
    adjusted, effect = two_way(score[None], design)
    # Drawn questions must not leave a system without an answer.
    complete = design.complete and even and bool(np.all(cells > 0))
    drawn = _draws(design, score, outside, rules, rng=rng, complete=complete)
    n = np.bincount(worker, minlength=len(workers))
    raw = np.bincount(worker, weights=score) / n
    ones = np.ones((1, len(questions)))
    theirs = outside.means(outside.score[None], ones)[0]
    eased = outside.means(outside.score[None] - effect[:, outside.question], ones)[0]
    columns = [ranking_column(question, complete=alike) for alike in (design.complete, even)]
    return Part(
        workers,
        questions,
        systems,
        len(rows),
        design.complete,
        make_board(_scores(n, raw, adjusted[0], columns[0]), drawn[0], rules),
        make_board(_scores(cells.sum(axis=1), theirs, eased, columns[1]), drawn[1], rules),
    )


def _outside_of(data: Crowd, ratings: Ratings, questions: IntArray) -> tuple[IntArray, Outside]:
    if data.outside is None:
        none = np.empty(0, dtype=np.int64)
        return none, Outside(none, none, np.empty(0), 0, len(questions))
    rows = np.flatnonzero(np.isin(data.outside.question, questions))
    systems, system = np.unique(data.outside.worker[rows], return_inverse=True)
    question = np.searchsorted(questions, data.outside.question[rows])
    return systems, Outside(system, question, ratings.system[rows], len(systems), len(questions))


def _scores(n: IntArray, raw: FloatArray, adjusted: FloatArray, by: str) -> Scores:
    return Scores(
        n=n, score=raw, uniterated=raw, adjusted=adjusted, uniterated_adjusted=adjusted, by=by
    )


def _draws(
    design: Design,
    score: FloatArray,
    outside: Outside,
    rules: Rules,
    *,
    rng: np.random.Generator,
    complete: bool,
) -> tuple[Draws, Draws]:
    """Scores of workers and of systems under random question weights."""
    b = rules.resamples
    weights = bootstrap.question_weights(rng, b, design.n_questions, complete=complete)
    worker = np.empty((2, b, design.n_workers))
    system = np.empty((2, b, outside.systems))
    shape = (design.n_workers, design.n_questions)
    cells = csr_array((score, (design.worker, design.question)), shape=shape)
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
        system[0, chunk] = outside.means(outside.score[None], some)
        system[1, chunk] = outside.means(outside.score - effect[:, outside.question], some)
    return Draws(worker[0], worker[1], complete), Draws(system[0], system[1], complete)


COMMON = (
    resamples(2000),
    ANY_LEVEL,
    whole("min_answers", 5, 2),
)


def parts(data: Crowd) -> tuple[IntArray, IntArray]:
    """Component numbers of workers and questions; 0 where nobody else answered the same.

    Raises TooFewWorkers where no question has two answers.
    """
    shared = np.bincount(data.question, minlength=len(data.questions))[data.question] >= 2
    if not shared.any():
        raise TooFewWorkers("no question has answers of two workers; there is nothing to compare")
    return components(
        data.worker[shared], data.question[shared], len(data.workers), len(data.questions)
    )


def result(
    name: str,
    version: str,
    data: Crowd,
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
        "worker": _people(boards, "worker", np.arange(len(data.workers))),
        "answer": _answers(data, ratings, question_part),
        "question": _questions(data, ratings, question_part),
    }
    missing = [
        "nobody else answered the same questions" if n else "no answers"
        for n in np.bincount(data.worker, minlength=len(data.workers))
    ]
    spots = [(board.workers, board.worker.intervals) for board in boards]
    intervals = {"worker": place(spots, len(data.workers), missing, rules.level)}
    if data.outside is not None:
        estimates |= _outside(data, ratings, question_part, boards)
        intervals["system"] = _system_intervals(boards, rules.level)
    return Result(
        name=name,
        version=version,
        estimates=estimates,
        intervals=intervals,
        diagnostics={**_diagnostics(data, boards, worker_part), **(diagnostics or {})},
        converged=True,
        recipe={"method": name, "version": version, "params": settings},
    )


def _people(boards: list[Part], kind: str, names: IntArray) -> Table:
    """One row a name (``names`` are all of them); rows on no board have component 0 and NaN."""
    size = len(names)
    columns: dict[str, NDArray[Any]] = {kind: names}
    for name in ("component", "n", "rank"):
        columns[name] = np.zeros(size, dtype=np.int64)
    for name in ("score", "adjusted"):
        columns[name] = np.full(size, np.nan)
    for number, part in enumerate(boards, start=1):
        board: Board = part.worker
        columns["component"][part.workers] = number
        columns["n"][part.workers] = board.scores.n
        columns["rank"][part.workers] = board.rank
        columns["score"][part.workers] = board.scores.score
        columns["adjusted"][part.workers] = board.scores.adjusted
    return Table(columns)


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
    """Mean score (n,) of each response's author, over the responses that have one."""
    known = np.isfinite(score)
    size = int(worker.max()) + 1
    total = np.bincount(worker[known], weights=score[known], minlength=size)
    return (total / np.maximum(np.bincount(worker[known], minlength=size), 1))[worker]


def _answers(data: Crowd, ratings: Ratings, question_part: IntArray) -> Table:
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


def _questions(data: Crowd, ratings: Ratings, question_part: IntArray) -> Table:
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
    data: Crowd, ratings: Ratings, question_part: IntArray, boards: list[Part]
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


def _system_intervals(boards: list[Part], level: float) -> Intervals:
    ends = np.cumsum([0] + [len(part.systems) for part in boards])
    spots = [
        (np.arange(ends[k], ends[k + 1]), part.system.intervals) for k, part in enumerate(boards)
    ]
    return place(spots, int(ends[-1]), [""] * int(ends[-1]), level)


def _diagnostics(data: Crowd, boards: list[Part], worker_part: IntArray) -> dict[str, Any]:
    answered = np.bincount(data.question, minlength=len(data.questions))
    present = np.unique(data.worker)
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
        "questions_with_one_answer": [data.questions[j] for j in np.flatnonzero(answered == 1)],
        "questions_without_answers": [data.questions[j] for j in np.flatnonzero(answered == 0)],
        "workers_not_scored": [data.workers[w] for w in present if worker_part[w] == 0],
    }
