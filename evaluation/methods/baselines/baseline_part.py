"""One connected component of a baseline: its workers and systems, each on a board."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from evaluation.methods.core import bootstrap
from evaluation.methods.core.adjusted import Design, two_way
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.boards import Board, Draws, Rules, Scores, make_board
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
    systems, outside = _outside(data, ratings, questions)
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


def _outside(data: Crowd, ratings: Ratings, questions: IntArray) -> tuple[IntArray, Outside]:
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
