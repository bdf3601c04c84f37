"""AQER under random question weights: what a component's workers and systems would have scored.

Many weightings are worked on at once, from the questions' Gram matrices. With K_j = X_j X_j' (unit
answers of question j), x_i . SEA_j = (K_j w)_i and |SEA_j|^2 = w' K_j w, so a resample needs no
vector any more. It pays for few workers and many variants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from evaluation.methods.aqer.rounds import (
    FLAT,
    Iterated,
    Options,
    Rows,
    compare,
    normalise,
    to_weights,
)
from evaluation.methods.core import bootstrap
from evaluation.methods.core.adjusted import Design, two_way
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Texts
from evaluation.methods.core.boards import Draws, Rules, Systems

CHUNK = 4_000_000  # numbers in one array of a chunk of resamples


@dataclass(frozen=True, eq=False)
class Outside:
    """Answers that do not vote: unit vectors (k, d) and local questions (k,), ascending."""

    vectors: FloatArray
    question: IntArray


@dataclass(frozen=True, eq=False)
class Question:
    """One question: its rows, their workers, Gram matrix (m, m), and the outside answers'."""

    rows: slice
    workers: IntArray
    gram: FloatArray
    outside: slice
    cross: FloatArray
    outside_present: FloatArray


@dataclass(frozen=True, eq=False)
class Replicates:
    """Results under b question weights: grades (b, m), per-answer scores (b, n) and (b, k).

    ``changes`` (rounds, b) is the RMSE of the weights by round, NaN once a resample has ended.
    """

    grades: FloatArray
    scores: FloatArray
    outside: FloatArray
    converged: np.ndarray
    changes: FloatArray


def gram_cost(rows: Rows) -> float:
    """Multiplications of one round under one weighting."""
    return float((np.diff(rows.starts).astype(np.float64) ** 2).sum())


def questions_of(rows: Rows, outside: Outside | None) -> list[Question]:
    """Gram matrices of every question, once."""
    out = []
    width = rows.matrix.shape[1]
    vectors = np.empty((0, width)) if outside is None else outside.vectors
    where = np.empty(0, dtype=np.int64) if outside is None else outside.question
    for j in range(len(rows.starts) - 1):
        start, stop = int(rows.starts[j]), int(rows.starts[j + 1])
        unit = rows.block(start, stop).astype(np.float64) * rows.inverse[start:stop, None]
        first, last = np.searchsorted(where, [j, j + 1])
        others = vectors[first:last]
        out.append(
            Question(
                rows=slice(start, stop),
                workers=rows.worker[start:stop],
                gram=unit @ unit.T,
                outside=slice(int(first), int(last)),
                cross=unit @ others.T,
                outside_present=(np.einsum("ij,ij->i", others, others) > 0).astype(np.float64),
            )
        )
    return out


def replicate(
    rows: Rows,
    questions: list[Question],
    weights: FloatArray,
    options: Options,
    *,
    each: Callable[[slice, Replicates], None],
    hooks: Hooks | None = None,
    stage: str = "resamples",
) -> None:
    """Run AQER under each row of question weights (b, q); hand chunks of results to ``each``.

    Rounds start from equal votes and stop as the plain fit does, each resample by itself.
    """
    hooks = hooks or Hooks()
    outside = questions[-1].outside.stop
    # At most a tenth at once, so that progress moves and a cancellation is soon heard.
    size = max(1, min(CHUNK // (len(rows.worker) + outside), -(-len(weights) // 10)))
    for start in range(0, len(weights), size):
        chunk = slice(start, min(start + size, len(weights)))
        each(chunk, _chunk(rows, questions, weights[chunk], options))
        hooks.step(stage, chunk.stop, len(weights))


def _chunk(
    rows: Rows,
    questions: list[Question],
    weights: FloatArray,
    options: Options,
) -> Replicates:
    batch, m = len(weights), rows.n_workers
    counted = np.zeros((batch, m))
    for j, question in enumerate(questions):
        counted[:, question.workers] += weights[:, j, None]
    votes = np.full((batch, m), 1.0 / m)
    scores = np.empty((batch, len(rows.worker)))
    grades = np.empty((batch, m))
    ended = np.zeros(batch, dtype=bool)
    active = np.arange(batch)
    changes: list[FloatArray] = []
    voted = votes.copy()
    for _ in range(options.max_rounds):
        voted[active] = votes[active]
        scored = _round(questions, votes[active], len(rows.worker), options)
        total = np.zeros((len(active), m))
        for j, question in enumerate(questions):
            total[:, question.workers] += weights[active, j, None] * scored[:, question.rows]
        scores[active] = scored
        with np.errstate(invalid="ignore"):
            grades[active] = total / counted[active]
        following = votes[active]
        if options.vote == "weighted_mean":
            following = to_weights(normalise(grades[active]))
        moved = np.sqrt(np.mean((following - votes[active]) ** 2, axis=1))
        votes[active] = following
        changes.append(np.full(batch, np.nan))
        changes[-1][active] = moved
        ended[active] = moved < options.tolerance
        active = active[moved >= options.tolerance]
        if not active.size:
            break
    outside = _outside_scores(questions, voted, options)
    return Replicates(grades, scores, outside, ended, np.stack(changes))


def _cast(question: Question, votes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The votes at a question (b, m), their total (b, 1) and K w (b, m); equal where all are 0."""
    own = votes[:, question.workers]
    total = own.sum(axis=1, keepdims=True)
    if np.any(total <= 0):
        own = np.where(total <= 0, 1.0, own)
        total = own.sum(axis=1, keepdims=True)
    return own, total, own @ question.gram


def _round(questions: list[Question], votes: FloatArray, n: int, options: Options) -> FloatArray:
    scores = np.empty((len(votes), n))
    for question in questions:
        own, total, towards = _cast(question, votes)
        squared = np.einsum("bm,bm->b", own, towards)[:, None]
        present = np.diag(question.gram)
        if options.leave_one_out:
            others = total - own
            length = np.maximum(squared - 2 * own * towards + own**2 * present, 0.0)
            value = compare(towards - own * present, length, others, present, options.similarity)
            if np.any(others <= FLAT):
                value = np.where(others <= FLAT, _equal_others(question.gram, options), value)
        else:
            value = compare(towards, squared, total, present, options.similarity)
        scores[:, question.rows] = value
    return scores


def _equal_others(gram: FloatArray, options: Options) -> FloatArray:
    """Score of each answer (m,) against the equal vote of the others; NaN without others."""
    if len(gram) == 1:
        return np.full(1, np.nan)
    present, towards = np.diag(gram), gram.sum(axis=0)
    squared = np.maximum(gram.sum() - 2 * towards + present, 0.0)
    others = np.full(len(gram), float(len(gram) - 1))
    return compare(towards - present, squared, others, present, options.similarity)


def _outside_scores(questions: list[Question], votes: FloatArray, options: Options) -> FloatArray:
    scores = np.empty((len(votes), questions[-1].outside.stop))
    for question in questions:
        if question.outside.start == question.outside.stop:
            continue
        own, total, towards = _cast(question, votes)
        squared = np.einsum("bm,bm->b", own, towards)[:, None]
        scores[:, question.outside] = compare(
            own @ question.cross, squared, total, question.outside_present, options.similarity
        )
    return scores


GRAM_BYTES = 400_000_000  # Gram matrices may take this much memory
GRAM_WORK = 1e11  # multiplications that refitting every resample may cost (about half a minute)
TRACES = 14  # resamples whose convergence is kept to be drawn
ROUNDS_GUESS = 12  # rounds a refit takes, for that estimate


@dataclass(frozen=True)
class Plan:
    """What is asked of a fit: the rounds' options, the boards' rules, when a cluster is told,
    what ranks, and whether few answers a question stop the iterating (``redundancy``).

    ``start_votes`` (n,) are all answers' votes in the first round, where these are given.
    """

    options: Options
    rules: Rules
    near_identical: float
    cluster_share: float
    rank_by: str = "auto"
    auto_vote: bool = False
    start_votes: FloatArray | None = None

    def votes_of(self, select: IntArray) -> FloatArray | None:
        """The first votes of these answers."""
        return None if self.start_votes is None else self.start_votes[select]


@dataclass(frozen=True, eq=False)
class Case:
    """One component being fitted; ``grams`` is None where refitting resamples costs too much."""

    texts: Texts
    select: IntArray
    rows: Rows
    workers: IntArray
    questions: IntArray
    design: Design
    systems: Systems
    answers: Outside
    grams: list[Question] | None
    plan: Plan
    hooks: Hooks


@dataclass(frozen=True, eq=False)
class Resampled:
    """Draws of workers and systems, how many resamples ran out of rounds, and how some settled."""

    workers: Draws
    systems: Draws
    not_converged: int
    traces: list[list[float]]


def outside_of(texts: Texts, systems: Systems) -> Outside:
    """The unit vectors of these outside answers."""
    if texts.outside is None:
        return Outside(np.empty((0, texts.vectors.shape[1])), systems.question)
    row = texts.outside.vector[systems.select]
    lengths = texts.outside.norms[row][:, None]
    unit = texts.outside.vectors[row] / np.where(lengths > 0, lengths, 1.0)
    return Outside(unit, systems.question)


def grams_of(rows: Rows, outside: Outside, plan: Plan) -> list[Question] | None:
    """Gram matrices where refitting every resample is affordable, else None."""
    cost = gram_cost(rows)
    work = cost * max(plan.rules.resamples, 1) * ROUNDS_GUESS
    if cost * 8 > GRAM_BYTES or work > GRAM_WORK:
        return None
    return questions_of(rows, outside)


def resample(case: Case, fit: Iterated, outside: FloatArray, rng: np.random.Generator) -> Resampled:
    """Draw question weights and score everybody under each; ``outside`` (k,) as fitted.

    Every resample is fitted again from equal votes where that is affordable; else the SEAs stay
    as fitted and only the answers' scores are resampled (``case.grams`` is None then).
    """
    complete = case.design.complete and case.systems.complete
    b = case.plan.rules.resamples
    weights = bootstrap.question_weights(rng, b, case.design.n_questions, complete=complete)
    worker = np.empty((2, b, case.rows.n_workers))
    system = np.empty((2, b, len(case.systems.names)))
    missed = 0
    traces: list[list[float]] = []

    def keep(chunk: slice, result: Replicates) -> None:
        nonlocal missed
        missed += int((~result.converged).sum())
        for changes in result.changes.T[: max(0, TRACES - len(traces))]:
            traces.append(changes[np.isfinite(changes)].tolist())
        part = weights[chunk]
        worker[0, chunk] = result.grades
        worker[1, chunk], effect = two_way(result.scores, case.design, part)
        system[0, chunk] = case.systems.means(result.outside, part)
        effect = effect[:, case.systems.question]
        system[1, chunk] = case.systems.means(result.outside - effect, part)

    if b and case.grams is not None:
        replicate(case.rows, case.grams, weights, case.plan.options, each=keep, hooks=case.hooks)
    elif b:
        _fixed(case, (fit.last.scores, outside), weights, keep)
    return Resampled(
        Draws(worker[0], worker[1], complete),
        Draws(system[0], system[1], complete),
        missed,
        [trace for trace in traces if trace],
    )


def _fixed(
    case: Case,
    scores: tuple[FloatArray, FloatArray],
    weights: FloatArray,
    keep: Callable[[slice, Replicates], None],
) -> None:
    """Resamples of the fitted scores of answers (n,) and outside answers (k,)."""
    answers, outside = scores
    shape = (case.rows.n_workers, case.design.n_questions)
    cells = csr_array((answers, (case.rows.worker, case.rows.question)), shape=shape)
    incidence = case.design.incidence
    size = max(1, CHUNK // len(answers))
    for start in range(0, len(weights), size):
        chunk = slice(start, min(start + size, len(weights)))
        part = weights[chunk]
        result = Replicates(
            grades=(cells @ part.T).T / (incidence.T @ part.T).T,
            scores=np.broadcast_to(answers, (len(part), len(answers))),
            outside=np.broadcast_to(outside, (len(part), len(outside))),
            converged=np.ones(len(part), dtype=bool),
            changes=np.empty((0, len(part))),
        )
        keep(chunk, result)
        case.hooks.step("resamples", chunk.stop, len(weights))
