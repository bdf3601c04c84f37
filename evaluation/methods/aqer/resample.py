"""AQER under random question weights: what a component's workers and systems would have scored.

Many weightings are worked on at once, from the cosines of the answers to each question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from evaluation.methods.aqer.grams import Rows
from evaluation.methods.aqer.rounds import (
    Iterated,
    Options,
    Outside,
    Round,
    normalise,
    to_weights,
    vote_round,
)
from evaluation.methods.core import bootstrap
from evaluation.methods.core.adjusted import Design, two_way
from evaluation.methods.core.base import SMALL, FloatArray, Hooks, IntArray, Texts
from evaluation.methods.core.boards import Draws, Rules, Systems
from evaluation.methods.core.redundancy import options_for

CHUNK = 4_000_000  # numbers in one array of a chunk of resamples
Weights = FloatArray | bootstrap.WeightsByResample  # (b, q)


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


def replicate(
    rows: Rows,
    weights: Weights,
    options: Options,
    *,
    each: Callable[[slice, Replicates], None],
    outside: Outside | None = None,
    hooks: Hooks | None = None,
    stage: str = "resamples",
) -> None:
    """Run AQER under each row of question weights (b, q); hand chunks of results to ``each``.

    Rounds start from equal votes and stop as the plain fit does, each resample by itself.
    """
    hooks = hooks or Hooks()
    others = 0 if outside is None else len(outside.question)
    # At most a tenth at once, so that progress moves and a cancellation is soon heard.
    size = max(1, min(CHUNK // (len(rows.worker) + others), -(-len(weights) // 10)))
    answers = np.arange(len(rows.worker) + 1)
    shape = (len(rows.worker), rows.n_workers)
    member = scipy.sparse.csr_array(
        (np.ones(len(rows.worker)), rows.worker, answers), shape=shape
    ).T.tocsr()
    for start in range(0, len(weights), size):
        chunk = slice(start, min(start + size, len(weights)))
        each(chunk, _chunk(rows, member, weights[chunk], options, outside))
        hooks.step(stage, chunk.stop, len(weights))


def _chunk(
    rows: Rows,
    member: scipy.sparse.csr_array,
    weights: FloatArray,
    options: Options,
    outside: Outside | None,
) -> Replicates:
    batch, m = len(weights), rows.n_workers
    share = weights.T[rows.question]
    counted = member @ share
    votes = np.full((m, batch), 1.0 / m)
    scores = np.empty(share.shape)
    grades = np.empty(votes.shape)
    ended = np.zeros(batch, dtype=bool)
    active = np.arange(batch)
    changes: list[FloatArray] = []
    voted = votes.copy()
    for _ in range(options.max_rounds):
        voted[:, active] = votes[:, active]
        end = vote_round(rows, votes[:, active], options)
        scores[:, active] = end.scores
        with np.errstate(invalid="ignore"):
            grades[:, active] = (member @ (end.scores * share)) / counted[:, active]
        following = votes[:, active]
        if options.vote == "weighted_mean":
            following = to_weights(normalise(grades[:, active].T)).T
        moved = np.sqrt(np.mean((following - votes[:, active]) ** 2, axis=0))
        votes[:, active] = following
        changes.append(np.full(batch, np.nan))
        changes[-1][active] = moved
        ended[active] = moved < options.tolerance
        active, share = active[~ended[active]], share[:, ~ended[active]]
        if not active.size:
            break
    if outside is None:
        held = np.empty((0, batch))
    else:
        held = outside.scores(vote_round(rows, voted, options), options.similarity)
    return Replicates(grades.T, scores.T, held.T, ended, np.stack(changes))


REFIT_WORK = 1e12  # multiplications that refitting every resample may cost (some minutes)
PER_ANSWER = 30  # what an answer costs beside these in a round, in multiplications
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

    def fitted_to(self, question: IntArray) -> Plan:
        """Return the plan for answers to these questions (n,): one round where answers are few.

        Without ``auto_vote`` the plan is as it was.
        """
        if not self.auto_vote:
            return self
        return replace(self, options=options_for(self.options, question))

    def votes_of(self, select: IntArray) -> FloatArray | None:
        """The first votes of these answers."""
        return None if self.start_votes is None else self.start_votes[select]


@dataclass(frozen=True, eq=False)
class Case:
    """One component being fitted; ``refit`` is False where refitting resamples costs too much."""

    texts: Texts
    select: IntArray
    rows: Rows
    workers: IntArray
    questions: IntArray
    design: Design
    systems: Systems
    outside: Outside | None
    refit: bool
    plan: Plan
    hooks: Hooks


@dataclass(frozen=True, eq=False)
class Resampled:
    """Draws of workers and systems, how many resamples ran out of rounds, and how some settled."""

    workers: Draws
    systems: Draws
    not_converged: int
    traces: list[list[float]]


def outside_of(rows: Rows, texts: Texts, systems: Systems) -> Outside | None:
    """Prepare the outside answers of these systems for scoring; None if there are none."""
    if texts.outside is None or not len(systems.select):
        return None
    chosen = texts.outside.vector[systems.select]
    return Outside.of(rows, texts.outside.rows, systems.question, chosen)


def outside_scores(outside: Outside | None, end: Round, options: Options) -> FloatArray:
    """Scores (k,) of outside answers, of which there may be none."""
    return np.empty(0) if outside is None else outside.scores(end, options.similarity)


def affordable(rows: Rows, plan: Plan) -> bool:
    """Whether every resample may be refitted."""
    work = rows.work + PER_ANSWER * len(rows.worker)
    return work * max(plan.rules.resamples, 1) * ROUNDS_GUESS <= REFIT_WORK


def _weights_of(case: Case, rng: np.random.Generator, complete: bool) -> Weights:
    """Question weights, drawn when they are wanted where all of them would take much memory."""
    b, q = case.plan.rules.resamples, case.design.n_questions
    if b * q > SMALL:
        return bootstrap.WeightsByResample.of(rng, b, q, complete=complete)
    return bootstrap.question_weights(rng, b, q, complete=complete)


def resample(case: Case, fit: Iterated, outside: FloatArray, rng: np.random.Generator) -> Resampled:
    """Draw question weights and score everybody under each; ``outside`` (k,) as fitted.

    Every resample is fitted again from equal votes where that is affordable; else the SEAs stay
    as fitted and only the answers' scores are resampled.
    """
    complete = case.design.complete and case.systems.complete
    b = case.plan.rules.resamples
    weights = _weights_of(case, rng, complete)
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

    if b and case.refit:
        replicate(
            case.rows,
            weights,
            case.plan.options,
            each=keep,
            outside=case.outside,
            hooks=case.hooks,
        )
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
    weights: Weights,
    keep: Callable[[slice, Replicates], None],
) -> None:
    """Resamples of the fitted scores of answers (n,) and outside answers (k,)."""
    answers, outside = scores
    shape = (case.rows.n_workers, case.design.n_questions)
    cells = scipy.sparse.csr_array((answers, (case.rows.worker, case.rows.question)), shape=shape)
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
