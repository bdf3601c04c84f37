"""AQER under random question weights: what a component's workers and systems would have scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from evaluation.methods.aqer.gram import (
    CHUNK,
    Outside,
    Question,
    Replicates,
    gram_cost,
    questions_of,
    replicate,
)
from evaluation.methods.aqer.rounds import Iterated, Options, Rows
from evaluation.methods.core import bootstrap
from evaluation.methods.core.adjusted import Design, two_way
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Texts
from evaluation.methods.core.boards import Draws, Rules

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
class Systems:
    """Outside answers of a component (k), by system.

    ``select`` are their positions in the outside Texts, ``names`` the global systems (s,),
    ``system`` (k,) is local, ``answers`` holds unit vectors and local questions.
    """

    select: IntArray
    names: IntArray
    system: IntArray
    answers: Outside

    @property
    def complete(self) -> bool:
        """Whether every system answered the same questions, equally often."""
        asked = np.unique(self.answers.question)
        cells = np.zeros((len(self.names), len(asked)), dtype=np.int64)
        np.add.at(cells, (self.system, np.searchsorted(asked, self.answers.question)), 1)
        return bool(np.all(cells == cells[:1]))

    def means(self, scores: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted mean (b, s) of scores (b, k) under question weights (b, q)."""
        member = csr_array(
            (np.ones(len(self.system)), (self.system, np.arange(len(self.system)))),
            shape=(len(self.names), len(self.system)),
        )
        share = weights[:, self.answers.question]
        return (member @ (scores * share).T).T / (member @ share.T).T


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


def systems_of(texts: Texts, questions: IntArray) -> Systems:
    """The outside answers to these questions."""
    outside = texts.outside
    none = np.empty(0, dtype=np.int64)
    if outside is None:
        return Systems(none, none, none, Outside(np.empty((0, texts.vectors.shape[1])), none))
    select = np.flatnonzero(np.isin(outside.question, questions))
    names, system = np.unique(outside.worker[select], return_inverse=True)
    lengths = outside.norms[outside.vector[select]][:, None]
    unit = outside.vectors[outside.vector[select]] / np.where(lengths > 0, lengths, 1.0)
    local = np.searchsorted(questions, outside.question[select])
    return Systems(select, names, system, Outside(unit, local))


def grams_of(rows: Rows, systems: Systems, plan: Plan) -> list[Question] | None:
    """Gram matrices where refitting every resample is affordable, else None."""
    cost = gram_cost(rows)
    work = cost * max(plan.rules.resamples, 1) * ROUNDS_GUESS
    if cost * 8 > GRAM_BYTES or work > GRAM_WORK:
        return None
    return questions_of(rows, systems.answers)


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
        effect = effect[:, case.systems.answers.question]
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
