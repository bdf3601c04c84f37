"""Many small fits of MACE at once: nulls, folds and resamples, laid out as one problem.

A round of a small fit costs far more in calls than in arithmetic. Crowds that share nothing share
no parameter (``mace_core``), so fits stand side by side as crowds of one large problem. Each has
its own random starts, drawn as it would alone, and stops where it would stop alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.competence.mace import core as mace_core
from evaluation.methods.competence.mace import data as mace_data
from evaluation.methods.competence.mace.core import Fitted
from evaluation.methods.competence.mace.data import Priors, State, Votes, parts_with_company
from evaluation.methods.competence.mace.tables import posterior
from evaluation.methods.core.base import FloatArray, Hooks, IntArray
from evaluation.methods.core.votes import Labels

TOGETHER = 100_000  # numbers in one table of a batch (800 kB); a larger fit stands alone
NOBODY = -1  # the problem of rows of no component


@dataclass(frozen=True)
class Plan:
    """How each fit is made; as the parameters of ``mace.fit``, ``priors`` by number of labels."""

    priors: Callable[[int], Priors]
    restarts: int
    iterations: int
    noise: float
    tolerance: float


@dataclass(frozen=True, eq=False)
class FittedProblem:
    """``spam`` (workers,) and ``probability`` (items, K) of one fit; NaN where not scored."""

    spam: FloatArray
    probability: FloatArray


@dataclass(frozen=True, eq=False)
class _Problem:
    labels: Labels
    two: FloatArray  # (j, R, 2) and (j, R, K): uniform numbers that the starts are made of
    many: FloatArray


def fit_each(
    problems: Iterable[tuple[Labels, np.random.Generator]], plan: Plan, *, hooks: Hooks
) -> Iterator[FittedProblem]:
    """Yield the fit of each problem, in order; all NaN if nobody can be scored.

    Problems are asked for one by one, each after the random numbers of the one before it were
    drawn, so that they may come from the same generator. Raises Cancelled.
    """
    held: list[_Problem] = []
    size = 0
    for labels, rng in problems:
        own = len(labels) * plan.restarts
        if held and (len(labels.labels) != len(held[0].labels.labels) or size + own > TOGETHER):
            yield from _fitted(held, plan, hooks)
            held, size = [], 0
        if own > TOGETHER:
            yield _alone(labels, rng, plan, hooks)
            continue
        held.append(_drawn(labels, rng, plan))
        size += own
    yield from _fitted(held, plan, hooks)


def _drawn(labels: Labels, rng: np.random.Generator, plan: Plan) -> _Problem:
    """The random numbers in the order in which ``mace_core.starts`` draws them."""
    j, k = len(labels.workers), len(labels.labels)
    two, many = np.empty((j, plan.restarts, 2)), np.empty((j, plan.restarts, k))
    for r in range(plan.restarts):
        two[:, r], many[:, r] = rng.random((j, 2)), rng.random((j, k))
    return _Problem(labels, two, many)


def _alone(labels: Labels, rng: np.random.Generator, plan: Plan, hooks: Hooks) -> FittedProblem:
    votes = _laid_out(labels)
    if not votes.parts:
        return _nobody(labels)
    fitted = mace_core.vb(
        votes,
        plan.priors(votes.labels),
        restarts=plan.restarts,
        iterations=plan.iterations,
        tolerance=plan.tolerance,
        noise=plan.noise,
        rng=rng,
        hooks=hooks,
    )
    return _fitted_problem(votes, fitted)


def _nobody(labels: Labels) -> FittedProblem:
    shape = len(labels.items), len(labels.labels)
    return FittedProblem(np.full(len(labels.workers), np.nan), np.full(shape, np.nan))


def _laid_out(labels: Labels) -> Votes:
    sizes = len(labels.workers), len(labels.items)
    return mace_data.prepare(labels, *parts_with_company(labels.worker, labels.item, *sizes))


def _fitted_problem(votes: Votes, fitted: Fitted) -> FittedProblem:
    probability = posterior(votes, fitted.posterior, fitted.missing, fitted.state.prevalence)
    probability[votes.item_part == 0] = np.nan
    spam = np.where(votes.worker_part > 0, fitted.state.spam[:, 0], np.nan)
    return FittedProblem(spam, probability)


def _fitted(held: list[_Problem], plan: Plan, hooks: Hooks) -> Iterator[FittedProblem]:
    if not held:
        return
    batch = _Batch(held, plan)
    if not batch.votes.parts:  # nobody has company in any of them
        for one in held:
            yield _nobody(one.labels)
        return
    batch.run(hooks)
    whole = _fitted_problem(batch.votes, batch.fitted())
    for workers, items in batch.places():
        yield FittedProblem(whole.spam[workers], whole.probability[items])


def _stacked(problems: list[_Problem]) -> tuple[Labels, IntArray, IntArray]:
    """Stack all votes in one table, with where each problem's workers and items begin and end."""
    parts = [problem.labels for problem in problems]
    workers = np.cumsum([0, *(len(part.workers) for part in parts)])
    items = np.cumsum([0, *(len(part.items) for part in parts)])
    one = Labels(
        np.concatenate([part.worker + at for part, at in zip(parts, workers, strict=False)]),
        np.concatenate([part.item + at for part, at in zip(parts, items, strict=False)]),
        np.concatenate([part.label for part in parts]),
        np.concatenate([part.shown for part in parts]),
        np.concatenate([part.weight for part in parts]),
        np.arange(sum(len(part) for part in parts)),
        tuple(name for part in parts for name in part.workers),
        tuple(name for part in parts for name in part.items),
        parts[0].labels,
    )
    return one, workers, items


class _Rows:
    """The rows of a table of workers, of strategies and of prevalences: whose they are, and where
    they stand among those of the whole batch.
    """

    def __init__(self, votes: Votes, workers: IntArray) -> None:
        whose = np.repeat(np.arange(len(workers) - 1), np.diff(workers))
        part = np.full(votes.parts + 1, NOBODY)
        part[votes.worker_part] = whose
        part[0] = NOBODY
        self.whose: tuple[IntArray, ...] = (
            whose,
            whose[votes.worker],
            np.repeat(part, votes.labels),
        )
        self.place: tuple[IntArray, ...] = tuple(np.arange(len(rows)) for rows in self.whose)

    def of(self, chosen: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
        """Which rows belong to the chosen problems; nobody's rows always do."""
        return [np.append(chosen, True)[rows] for rows in self.whose]

    def narrow(self, kept: NDArray[np.bool_]) -> None:
        """Keep the rows of these problems, which are numbered anew."""
        number = np.append(np.cumsum(kept) - 1, NOBODY)
        rows = self.of(kept)
        self.whose = tuple(
            number[whose[mine]] for whose, mine in zip(self.whose, rows, strict=True)
        )
        self.place = tuple(place[mine] for place, mine in zip(self.place, rows, strict=True))


AXES = (0, 0, 1, 0, 1, 2, 2)  # a state's tables have rows of workers, strategies or prevalences


class _Batch:
    """Fits side by side; those that have settled are put aside, the others laid out anew."""

    def __init__(self, problems: list[_Problem], plan: Plan) -> None:
        self.problems, self.plan = problems, plan
        labels, self.workers, self.items = _stacked(problems)
        self.votes, self.priors = _laid_out(labels), plan.priors(len(labels.labels))
        self.state = mace_core.with_counts(self._start())
        self.moved = np.zeros_like(self.state.spam)

    def _start(self) -> State:
        votes, plan = self.votes, self.plan
        two = 1.0 + plan.noise * np.concatenate([problem.two for problem in self.problems])
        many = 1.0 + plan.noise * np.concatenate([problem.many for problem in self.problems])
        two /= two.sum(axis=2, keepdims=True)
        many /= many.sum(axis=2, keepdims=True)
        spam, know = (np.ascontiguousarray(two[:, :, place]) for place in (0, 1))
        strategy = many[votes.worker, :, votes.shown]
        prevalence = mace_data.start_prevalence(votes, self.priors, plan.restarts)
        return State(
            spam,
            know,
            strategy,
            np.full_like(spam, np.inf),
            np.full_like(strategy, np.inf),
            prevalence,
        )

    def places(self) -> Iterator[tuple[slice, slice]]:
        """The workers and the items of each problem."""
        for number in range(len(self.problems)):
            yield (
                slice(self.workers[number], self.workers[number + 1]),
                slice(self.items[number], self.items[number + 1]),
            )

    def run(self, hooks: Hooks) -> None:
        """Rounds until every restart of every fit has settled, or all rounds are made."""
        votes, going, rounds = self.votes, np.arange(len(self.problems)), self.plan.iterations
        # Of its own, since what has settled is written into the whole batch's.
        state = self.state.map(np.copy)
        rows, waiting = _Rows(votes, self.workers), np.ones((len(going), self.plan.restarts), bool)
        for done in range(1, rounds + 1):
            before, state = state, mace_core.advance(votes, self.priors, state)
            hooks.step("restarts", done, rounds)
            moved = mace_core.moved_shares(votes, before, state)
            most = np.zeros(waiting.shape)
            np.maximum.at(most, rows.whose[0], moved)
            over = waiting & ((most < self.plan.tolerance) | (done == rounds))
            if not over.any():
                continue
            self._put_aside(rows, over, state, moved)
            waiting &= ~over
            left: NDArray[np.bool_] = np.any(waiting, axis=1)
            if not left.any():
                return
            if left.mean() < mace_core.EMPTIER:
                kept, going, waiting = rows.of(left), going[left], waiting[left]
                votes = _laid_out(_stacked([self.problems[k] for k in going])[0])
                state = state.rows(*kept)
                rows.narrow(left)

    def _put_aside(
        self, rows: _Rows, over: NDArray[np.bool_], state: State, moved: FloatArray
    ) -> None:
        """Keep what these restarts (problems, R) have come to."""
        of = np.concatenate([over, np.zeros_like(over[:1])])  # the last row is nobody's
        mine = [of[whose] for whose in rows.whose]
        for whole, table, axis in zip(self.state.tables, state.tables, AXES, strict=True):
            if whole is not None and table is not None:
                place = rows.place[axis]
                whole[place] = np.where(mine[axis], table, whole[place])
        place = rows.place[0]
        self.moved[place] = np.where(mine[0], moved, self.moved[place])

    def fitted(self) -> Fitted:
        """The best restart of every component."""
        kept = mace_core.BestFits(self.votes)
        kept.offer(self.priors, self.state, self.moved, self.plan.iterations, by_bound=False)
        return kept.fitted()
