"""AQER on binary bags of words, with a (weighted) majority vote (paper, section 4.1 and App. G).

An answer is the set of its words; the synthetic exemplary answer holds each word that more than
half of the votes have. Everything else is AQER: cosine with that set (common words over the root
of the product of both sizes), means, min-max, weights, rounds. Cost is linear in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.aqer.method import parts
from evaluation.methods.aqer.rounds import (
    Iterated,
    Options,
    iterate_weights,
    noisy_weights,
    normalise,
    to_weights,
)
from evaluation.methods.baselines.baseline_boards import COMMON
from evaluation.methods.core.adjusted import Design, two_way
from evaluation.methods.core.base import (
    BadParameter,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Table,
    by_question,
    indices,
    refuse_duplicates,
    refuse_unequal,
)
from evaluation.methods.core.boards import (
    Board,
    Draws,
    Rules,
    Scores,
    board_columns,
    gather_columns,
    make_board,
    place_intervals,
    rules_of,
    why_missing,
)
from evaluation.methods.core.bootstrap import question_weights, ranks
from evaluation.methods.core.params import COMPARED, Params, choice, real_number, whole_number
from evaluation.methods.core.redundancy import ranking_column

NAME, VERSION = "bag-of-words", "1.0"


def _check_vote(settings: Mapping[str, Any]) -> None:
    if settings["vote"] == "majority" and settings["start"] != "equal":
        raise BadParameter("vote 'majority' is the equal vote; start 'noisy' contradicts it")


PARAMS = Params(
    NAME,
    (
        choice("vote", "weighted_majority", ("weighted_majority", "majority")),
        choice("start", "equal", ("equal", "noisy")),
        whole_number("max_rounds", 100, 1),
        real_number("tolerance", 1e-6, above=0),
        *COMMON,
    ),
    together=_check_vote,
    version=VERSION,
)
HALF = 0.5 + 1e-12  # weights are rounded numbers: half of the votes is not to pass by rounding
CHUNK = 4_000_000  # numbers in one array of a chunk of resamples
VOTES = {"weighted_majority": "weighted_mean", "majority": "mean"}


@dataclass(frozen=True, eq=False)
class Bags:
    """Answers (n,) as sets of words, sorted by question, then worker.

    ``cell`` (t,) numbers the pairs of a question and a word, ``cell_question`` (c,) says whose a
    cell is, ``answer`` (t,) which answer has the word, ``size`` (n,) how many words an answer has.
    ``source`` (n,) leads back to the input. Build with :meth:`build`.
    """

    worker: IntArray
    question: IntArray
    answer: IntArray
    cell: IntArray
    cell_question: IntArray
    size: IntArray
    source: IntArray
    workers: tuple[str, ...]
    questions: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.worker)

    @classmethod
    def build(
        cls,
        worker: Sequence[int] | IntArray,
        question: Sequence[int] | IntArray,
        words: Sequence[Sequence[str]],
        *,
        workers: Sequence[str],
        questions: Sequence[str],
    ) -> Bags:
        """Check index arrays (n,) and number the words; a word counts once an answer.

        How a text becomes words (case, stems, stop words) is the caller's. Raises EmptyData,
        UnknownIndex, BadShape, DuplicateAnswer.
        """
        w, q = indices(worker=(worker, workers), question=(question, questions))
        refuse_unequal(worker=w, question=q, words=words)
        order = by_question(w, q)
        w, q = w[order], q[order]
        refuse_duplicates(w, q, workers, questions)
        known: dict[str, int] = {}
        sets = [
            sorted({known.setdefault(word, len(known)) for word in words[row]}) for row in order
        ]
        size = np.array([len(one) for one in sets], dtype=np.int64)
        answer = np.repeat(np.arange(len(w)), size)
        word = np.array([number for one in sets for number in one], dtype=np.int64)
        key = q[answer] * max(len(known), 1) + word
        cells, cell = np.unique(key, return_inverse=True)
        owner = cells // max(len(known), 1)
        return cls(w, q, answer, cell, owner, size, order, tuple(workers), tuple(questions))

    def take(self, rows: IntArray) -> Bags:
        """Keep only these answers (ascending rows); names and ``source`` stay."""
        keep = np.zeros(len(self), dtype=bool)
        keep[rows] = True
        words = keep[self.answer]
        cells, cell = np.unique(self.cell[words], return_inverse=True)
        return Bags(
            worker=self.worker[rows],
            question=self.question[rows],
            answer=(np.cumsum(keep) - 1)[self.answer[words]],
            cell=cell,
            cell_question=self.cell_question[cells],
            size=self.size[rows],
            source=self.source[rows],
            workers=self.workers,
            questions=self.questions,
        )


@dataclass(frozen=True, eq=False)
class Majority:
    """One vote: which cells (c,) the exemplary answers hold, and every answer's score (n,)."""

    sea: NDArray[np.bool_]
    scores: FloatArray


def score_answers(bags: Bags, own: FloatArray) -> Majority:
    """Score answers by cosine with the entries that most of the votes hold (App. G).

    ``own`` (n,) is the vote of each answer. Where all votes of a question are 0, they are equal. A
    tie is no majority; an empty set has cosine 0 with everything.
    """
    total = np.bincount(bags.question, weights=own, minlength=len(bags.questions))
    own = np.where(total[bags.question] > 0, own, 1.0)
    total = np.bincount(bags.question, weights=own, minlength=len(bags.questions))
    votes = np.bincount(bags.cell, weights=own[bags.answer], minlength=len(bags.cell_question))
    sea = votes > total[bags.cell_question] * HALF
    common = np.bincount(bags.answer, weights=sea[bags.cell], minlength=len(bags))
    held = np.bincount(bags.cell_question[sea], minlength=len(bags.questions))
    root = np.sqrt(bags.size * held[bags.question].astype(np.float64))
    return Majority(sea, np.where(root > 0, common / np.where(root > 0, root, 1.0), 0.0))


def iterate(
    bags: Bags, options: Options, rng: np.random.Generator, hooks: Hooks | None = None
) -> Iterated[Majority]:
    """AQER's rounds with majority votes; ``options.vote`` 'mean' is the plain majority.

    Arrays of the result are over the workers that occur, in order. Weights may end in a cycle,
    since a word comes and goes as a whole: then the rounds run out and ``converged`` is False.
    """
    workers, worker = np.unique(bags.worker, return_inverse=True)
    equal = np.full(len(workers), 1.0 / len(workers))
    first = score_answers(bags, equal[worker])
    begun = (equal, first)
    if options.start == "noisy":
        noisy = noisy_weights(len(workers), rng)
        begun = (noisy, score_answers(bags, noisy[worker]))
    return iterate_weights(
        lambda weights: score_answers(bags, weights[worker]),
        worker,
        len(workers),
        options,
        first=first,
        begun=begun,
        hooks=hooks,
    )


@dataclass(frozen=True, eq=False)
class Part:
    """A connected component: its answers (rows of the data), workers, rounds and board."""

    select: IntArray
    workers: IntArray
    fit: Iterated[Majority]
    board: Board


def fit(
    data: Bags, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Score workers and their answers, each connected component by itself.

    Parameters (DEFAULTS): ``vote`` 'weighted_majority' or 'majority' (never iterates); ``start``
    'equal' or 'noisy'; ``max_rounds``, ``tolerance``; ``resamples`` of the questions, ``level``
    and ``min_answers`` for intervals; every resample is fitted again.

    Estimates: tables ``worker`` (a row a name) and ``answer`` (a row an answer, in the order of
    ``data``), as AQER's. Intervals: ``worker``. Component 0 means not scored. Raises
    TooFewWorkers, BadParameter, Cancelled.
    """
    settings = PARAMS.settings(params)
    options, rules = _plan(settings)
    worker_part, question_part = parts(data.worker, data.question, data.workers, data.questions)
    fitted = []
    for number in range(1, int(worker_part.max()) + 1):
        select = np.flatnonzero(question_part[data.question] == number)
        fitted.append(_part(data, select, options, rules, rng=rng, hooks=hooks))
    told = [
        {
            "number": k,
            "workers": len(part.workers),
            "rounds": part.fit.rounds,
            "converged": part.fit.converged,
            "trace": list(part.fit.trace),
            "ranked_by": part.board.scores.by,
        }
        for k, part in enumerate(fitted, start=1)
    ]
    boards = [(part.workers, part.board.intervals) for part in fitted]
    return PARAMS.result(
        settings,
        _tables(data, fitted),
        {"components": told},
        intervals={
            "worker": place_intervals(boards, len(data.workers), why_missing(data), rules.level)
        },
        converged=all(part.fit.converged for part in fitted),
    )


def _plan(settings: dict[str, Any]) -> tuple[Options, Rules]:
    options = Options(
        vote=VOTES[settings["vote"]],
        start=settings["start"],
        max_rounds=settings["max_rounds"],
        tolerance=settings["tolerance"],
    )
    return options, rules_of(settings)


def _part(
    data: Bags,
    select: IntArray,
    options: Options,
    rules: Rules,
    *,
    rng: np.random.Generator,
    hooks: Hooks | None,
) -> Part:
    """Fit the answers of one component and put its workers on a board."""
    bags = data.take(select)
    workers, worker = np.unique(bags.worker, return_inverse=True)
    questions, question = np.unique(bags.question, return_inverse=True)
    found = iterate(bags, options, rng, hooks)
    design = Design(worker, question, len(workers), len(questions))
    adjusted, _ = two_way(np.stack([found.last.scores, found.first.scores]), design)
    scores = Scores(
        n=np.bincount(worker),
        score=found.grades,
        uniterated=found.uniterated,
        adjusted=adjusted[0],
        uniterated_adjusted=adjusted[1],
        by=ranking_column(question, complete=design.complete),
    )
    draws = _draws(bags, design, options, rules.resamples, rng)
    return Part(select, workers, found, make_board(scores, draws, rules))


def _draws(bags: Bags, design: Design, options: Options, b: int, rng: np.random.Generator) -> Draws:
    """Means and adjusted means under b random question weights, each fitted again."""
    weights = question_weights(rng, b, design.n_questions, complete=design.complete)
    means, adjusted = np.empty((2, b, design.n_workers))
    size = max(1, CHUNK // (len(bags) + len(bags.cell_question)))
    for start in range(0, b, size):
        part = slice(start, min(start + size, b))
        means[part], scores = replicate(bags, design, weights[part], options)
        adjusted[part] = two_way(scores, design, weights[part])[0]
    return Draws(means, adjusted, design.complete)


def replicate(
    bags: Bags, design: Design, weights: FloatArray, options: Options
) -> tuple[FloatArray, FloatArray]:
    """Grades (b, m) and answers' scores (b, n) where each question counts ``weights`` (b, q) times.

    ``design`` numbers the workers and questions of ``bags`` from 0. Rounds start from equal votes,
    and each resample stops by itself.
    """
    incidence = scipy.sparse.csr_array(design.incidence)
    counted = (incidence.T @ weights.T).T
    member = scipy.sparse.csr_array(
        (np.ones(len(bags)), (design.worker, np.arange(len(bags)))),
        shape=(design.n_workers, len(bags)),
    )
    cast_all = _caster(bags, design, incidence)
    votes = np.full((len(weights), design.n_workers), 1.0 / design.n_workers)
    grades, scores = np.empty_like(votes), np.empty((len(weights), len(bags)))
    active = np.arange(len(weights))
    for _ in range(options.max_rounds if options.vote == "weighted_mean" else 1):
        scored = cast_all(votes[active])
        summed = (member @ (scored * weights[active][:, design.question]).T).T
        scores[active], grades[active] = scored, summed / counted[active]
        following = to_weights(normalise(grades[active]))
        moved = np.sqrt(np.mean((following - votes[active]) ** 2, axis=1))
        votes[active] = following
        active = active[moved >= options.tolerance]
        if not active.size:
            break
    return grades, scores


def _caster(
    bags: Bags, design: Design, incidence: scipy.sparse.csr_array
) -> Callable[[FloatArray], FloatArray]:
    """``cast`` for many weightings at once: from votes (b, m) to answers' scores (b, n)."""
    cells, at = len(bags.cell_question), design.question
    has = scipy.sparse.csr_array(
        (np.ones(len(bags.cell)), (bags.cell, bags.answer)), shape=(cells, len(bags))
    )
    owner = np.searchsorted(np.unique(bags.question), bags.cell_question)
    holds = scipy.sparse.csr_array(
        (np.ones(cells), (owner, np.arange(cells))), shape=(design.n_questions, cells)
    )

    def cast_all(votes: FloatArray) -> FloatArray:
        total = (incidence @ votes.T).T
        own = np.where(total[:, at] > 0, votes[:, design.worker], 1.0)
        total = np.where(total > 0, total, np.bincount(at))
        cast_votes = (has @ own.T).T
        sea = cast_votes > total[:, owner] * HALF
        common, held = (has.T @ sea.T).T, (holds @ sea.T).T
        root = np.sqrt(bags.size * held[:, at])
        return np.where(root > 0, common / np.where(root > 0, root, 1.0), 0.0)

    return cast_all


def _tables(data: Bags, fitted: list[Part]) -> dict[str, Table]:
    columns: dict[str, Callable[[Part], Any]] = board_columns(lambda part: part.board)
    columns["normalised"] = lambda part: part.fit.normalised
    columns["weight"] = lambda part: part.fit.weights
    size = len(data.workers)
    workers = gather_columns(size, fitted, lambda part: part.workers, columns)
    scores: dict[str, Callable[[Part], Any]] = {
        "score": lambda part: part.fit.last.scores,
        "uniterated": lambda part: part.fit.first.scores,
    }
    answers = gather_columns(len(data), fitted, lambda part: part.select, scores)
    rank = np.zeros(len(data), dtype=np.int64)
    for j in np.unique(data.question[answers["component"] > 0]):
        rows = np.flatnonzero(data.question == j)
        rank[rows] = ranks(answers["score"][rows])
    owner = {"source": data.source, "worker": data.worker, "question": data.question}
    return {
        "worker": Table({"worker": np.arange(size), **workers}),
        "answer": Table({**owner, **answers, "rank": rank}),
    }


METHOD = PARAMS.as_method("Bag of words with majority vote", Bags, fit, internal=COMPARED)
