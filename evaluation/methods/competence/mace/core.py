"""MACE's arithmetic: all restarts side by side, votes only inside two sparse products a round.

Hovy et al., "Learning Whom to Trust with MACE" (NAACL 2013), section 3 and 3.1. With probability
kn_j a worker knows and gives the truth, else draws from a strategy xi_j. A vote of worker j for
label l, shown to them as s, has probability a = sp_j * xi_js under any other truth and a + kn_j
under truth l. So an item's log posterior of l is, up to a constant, the sum of
log(1 + kn_j / a) over its votes for l: a sparse matrix (cells x strategies) times a table. And the
expected count of knowing votes is the transposed matrix times the posterior. Labels that nobody
gave to an item all share the weight 1 and are only counted, so the cost does not depend on them.
Where the prevalence of labels is estimated (``data``), every weight has it as a factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.competence.mace.data import (
    Priors,
    State,
    Votes,
    absent_weight,
    adding,
    expected_labels,
    improve_prevalence,
    prevalence_divergence,
    start_prevalence,
)
from evaluation.methods.competence.mace.pieces import LARGEST, in_pieces, normalise, single_piece
from evaluation.methods.core.base import FloatArray, Hooks, IntArray

BLOCK = 4_000_000  # numbers in one table of a block of restarts (32 MB); twice as many in single
EMPTIER = 0.7  # what has settled is laid aside when no more than this share goes on
CHUNK = 16_384  # numbers that stay in the processor's cache
MANY = 200_000  # cells times restarts from which restarts are made in single precision
# exp(digamma(x)) = y * sum_n SERIES[n] / y^(2n) with y = x - 1/2, from the Bernoulli numbers.
SERIES_FROM = 9.5
SERIES = (
    1.0,
    1 / 24,
    -37 / 5760,
    10313 / 2903040,
    -5509121 / 1393459200,
    2709398569 / 367873228800,
    -499769010050743 / 24103053950976000,
)
SINGLE = 3  # of its terms; the next is below 1e-8 of them, which single precision cannot hold


UNIFORM = Priors()


@dataclass(frozen=True, eq=False)
class Fitted:
    """The best restart of every component, as one column.

    ``posterior`` (cells,) of the labels voted for and ``missing`` (i,) of each other label (times
    its prevalence, where that is estimated).
    ``likelihood`` and ``bound`` (parts, restarts) are the log marginal likelihood and the ELBO
    (NaN in EM) of every restart, ``best`` (parts,) the restart kept. ``change`` (parts,) is by how
    much any worker's share of knowing votes moved in its last round; ``rounds`` were made for all
    restarts and ``polished`` for the kept one, whose objectives (parts,) are then ``at_end``.
    """

    state: State
    posterior: FloatArray
    missing: FloatArray
    likelihood: FloatArray
    bound: FloatArray
    best: IntArray
    change: FloatArray
    rounds: int
    at_end: tuple[FloatArray, FloatArray]
    polished: int = 0


def starts(
    votes: Votes,
    restarts: int,
    noise: float,
    rng: np.random.Generator,
    priors: Priors = UNIFORM,
) -> State:
    """Draw random starting parameters as the published code does: 1 + noise * uniform."""
    j, k = len(votes.total), votes.labels
    spam, know = np.empty((j, restarts)), np.empty((j, restarts))
    strategy = np.empty((len(votes.worker), restarts))
    for r in range(restarts):
        two = 1.0 + noise * rng.random((j, 2))
        spam[:, r], know[:, r] = (two / two.sum(axis=1, keepdims=True)).T
        many = 1.0 + noise * rng.random((j, k))
        strategy[:, r] = (many / many.sum(axis=1, keepdims=True))[votes.worker, votes.shown]
    return State(
        spam,
        know,
        strategy,
        np.full_like(spam, np.inf),
        np.full_like(strategy, np.inf),
        start_prevalence(votes, priors, restarts),
    )


def odds(votes: Votes, state: State) -> FloatArray:
    """Return the odds kn_j / a of every vote's strategy (u, R)."""
    found: FloatArray = np.take(state.know / state.spam, votes.worker, axis=0)
    found /= state.strategy
    return found


def e_step(
    votes: Votes, ratio: FloatArray, prevalence: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Posterior of the cells (c, R), and of a label without votes and log of the sum (i, R).

    The sum is over an item's labels, of their likelihood relative to a label without votes (times
    their prevalence where it is given; a label without votes then has its prevalence times this).
    """
    weight = votes.matrix @ np.log1p(ratio)
    none: FloatArray | float = 1.0
    shift: FloatArray | float = 0.0
    if weight.max(initial=0.0) > LARGEST[weight.itemsize]:
        shift = np.zeros((len(votes.absent), weight.shape[1]), dtype=weight.dtype)
        np.maximum.at(shift, votes.cell_item, weight)
        weight -= shift[votes.cell_item]
        none = np.exp(-shift)
    rest = absent_weight(votes, prevalence) * none
    total, inverse = normalise(single_piece(votes), weight, rest, prevalence)
    return weight, none * inverse, np.log(total) + shift


def expected(
    votes: Votes, ratio: FloatArray, posterior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the expected knowing votes of each worker (j, R) and each strategy (u, R)."""
    return _knowing(votes, ratio, votes.transposed @ posterior)


def _knowing(votes: Votes, ratio: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same from the expected number of right votes of each strategy, which it overwrites."""
    right *= ratio / (1.0 + ratio)
    return votes.per_worker @ right, right


def m_step(
    votes: Votes,
    priors: Priors,
    knowing: FloatArray,
    cells: FloatArray,
    true: FloatArray | None = None,
) -> State:
    """New parameters from expected counts: section 3.1 (variational), or smoothed counts."""
    prevalence = None if true is None else improve_prevalence(votes, priors, true)
    total, count, k = votes.total[:, None], votes.count[:, None], votes.labels
    spamming = np.maximum(total - knowing, 0.0)
    drawn = np.maximum(count - cells, 0.0)
    if not priors.variational:
        c = priors.smoothing
        of_all, of_strategy = total + 2 * c, spamming + k * c
        return State(
            (spamming + c) / of_all,
            (knowing + c) / of_all,
            (drawn + c) / of_strategy[votes.worker],
            knowing,
            cells,
            prevalence,
            true,
        )
    inverse = 1.0 / exp_digamma(total + priors.alpha + priors.beta)
    strategy = exp_digamma(drawn + priors.strategy)
    of_worker = 1.0 / exp_digamma(spamming + k * priors.strategy)
    strategy *= np.take(of_worker, votes.worker, axis=0)
    return State(
        exp_digamma(spamming + priors.alpha) * inverse,
        exp_digamma(knowing + priors.beta) * inverse,
        strategy,
        knowing,
        cells,
        prevalence,
        true,
    )


def advance(votes: Votes, priors: Priors, state: State) -> State:
    """Run one round of EM: the posterior under the parameters, then the new parameters."""
    ratio = odds(votes, state)
    found = in_pieces(votes, ratio, state.prevalence)
    if found is not None:
        right, true = found
        return m_step(votes, priors, *_knowing(votes, ratio, right), true)
    posterior, missing, _ = e_step(votes, ratio, state.prevalence)
    true = None
    if state.prevalence is not None:
        true = expected_labels(votes, state.prevalence, posterior, missing)
    return m_step(votes, priors, *expected(votes, ratio, posterior), true)


def exp_digamma(x: FloatArray) -> FloatArray:
    """exp(digamma(x)) of positive x to 13 digits (6 in single precision); a series from x = 9.5.

    Below, digamma(x) = digamma(x + 10) - sum of 1 / (x + k), whose terms k and 9 - k make
    (2x + 9) / (x (x + 9) + k (9 - k)). In pieces that stay in the cache: it is most of a round.
    """
    flat, found = np.ravel(x), np.empty(x.size, dtype=x.dtype)
    series = SERIES if x.itemsize == 8 else SERIES[:SINGLE]
    for first in range(0, x.size, CHUNK):
        at, out = flat[first : first + CHUNK], found[first : first + CHUNK]
        small = at.min() < SERIES_FROM
        y = at + (9.5 if small else -0.5)
        inverse = 1.0 / (y * y)
        out[:] = series[-1]
        for coefficient in series[-2::-1]:
            out *= inverse
            out += coefficient
        out *= y
        if small:
            product = at * (at + 9.0)
            terms = 1.0 / product
            for more in (8.0, 14.0, 18.0, 20.0):
                terms += 1.0 / (product + more)
            terms *= -(2.0 * at + 9.0)
            out *= np.exp(terms)
    return found.reshape(x.shape)


def objectives(
    votes: Votes, priors: Priors, state: State, log_total: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Log marginal likelihood and ELBO of each component and restart (parts, R).

    The first is the published code's objective: of the votes under ``state`` as it is, exp-digamma
    parameters included (Hovy et al., eq. 1 and 2). The second takes the divergence of the
    parameters' Beta and Dirichlet posteriors from their priors off; it never falls (NaN in EM).
    """
    used = np.log(state.spam)[votes.worker] + np.log(state.strategy)
    by_worker = votes.per_worker @ (votes.count[:, None] * used)
    by_item = log_total if state.prevalence is not None else log_total - np.log(votes.labels)
    likelihood = _by_part(votes.worker_part, by_worker, votes.parts)
    likelihood += _by_part(votes.item_part, by_item, votes.parts)
    if not priors.variational:
        return likelihood, np.full_like(likelihood, np.nan)
    spamming = votes.total[:, None] - state.knowing
    gap = _divergence(np.stack([spamming, state.knowing]), np.array([priors.alpha, priors.beta]))
    k, prior = votes.labels, priors.strategy
    drawn = votes.count[:, None] - state.cells
    one = (
        drawn * scipy.special.digamma(drawn + prior)
        - scipy.special.gammaln(drawn + prior)
        + scipy.special.gammaln(prior)
    )
    gap += votes.per_worker @ one
    gap += scipy.special.gammaln(spamming + k * prior) - scipy.special.gammaln(k * prior)
    gap -= spamming * scipy.special.digamma(spamming + k * prior)
    bound = likelihood - _by_part(votes.worker_part, gap, votes.parts)
    if state.true is not None:
        bound -= prevalence_divergence(votes, priors, state.true)
    return likelihood, bound


def _divergence(counts: FloatArray, prior: FloatArray) -> FloatArray:
    """KL of Dirichlet(prior + counts) from Dirichlet(prior); counts (k, ...)."""
    first = prior.reshape(-1, *[1] * (counts.ndim - 1))
    total, start = counts.sum(axis=0), prior.sum()
    one = (
        counts * scipy.special.digamma(counts + first)
        - scipy.special.gammaln(counts + first)
        + scipy.special.gammaln(first)
    )
    found: FloatArray = (
        one.sum(axis=0) + scipy.special.gammaln(total + start) - scipy.special.gammaln(start)
    )
    return found - total * scipy.special.digamma(total + start)


def _by_part(part: IntArray, values: FloatArray, parts: int) -> FloatArray:
    """Sums (parts, R) of rows of each component; rows of component 0 are left out."""
    found: FloatArray = (adding(part, parts + 1) @ values)[1:]
    return found


def vb(
    votes: Votes,
    priors: Priors,
    *,
    restarts: int = 20,
    iterations: int = 100,
    tolerance: float = 0.0,
    noise: float = 0.5,
    by_bound: bool = False,
    rng: np.random.Generator,
    hooks: Hooks | None = None,
) -> Fitted:
    """Fit all restarts (EM where ``priors`` is not variational) and keep each component's best.

    Components share no parameter, so one computation fits them all. A restart is as good as its
    log marginal likelihood, or its ELBO with ``by_bound``. Its rounds end at ``iterations`` or
    when no worker's share of knowing votes moved by ``tolerance`` or more in it (0: never).
    The numbers do not depend on how restarts are split into blocks. Restarts of ``MANY`` numbers
    are made in single precision: half the memory to go through, which is what a round waits for.
    What is kept of them is judged, and goes on, in double. Raises Cancelled.
    """
    hooks = hooks or Hooks()
    single = len(votes.cell_item) * restarts >= MANY and priors.fit_single
    laid = votes.single() if single else votes
    widest = max(len(votes.cell_item), len(votes.worker), len(votes.absent), 1)
    size = max(1, min(restarts, BLOCK * (1 + single) // widest))
    kept = BestFits(votes)
    for first in range(0, restarts, size):
        width = min(size, restarts - first)
        state = starts(votes, width, noise, rng, priors).of_kind(
            np.float32 if single else np.float64
        )
        told = partial(_report_progress, hooks, first * iterations, width, restarts * iterations)
        state, moved, done = _settled(
            laid, priors, state, iterations=iterations, tolerance=tolerance, step=told
        )
        kept.offer(priors, state.of_kind(np.float64), moved, done, by_bound=by_bound)
    return kept.fitted()


def _report_progress(hooks: Hooks, begun: int, width: int, total: int, done: int) -> None:
    hooks.step("restarts", begun + done * width, total)


def _settled(
    votes: Votes,
    priors: Priors,
    state: State,
    *,
    iterations: int,
    tolerance: float,
    step: Callable[[int], None],
) -> tuple[State, FloatArray, int]:
    """Rounds until each restart has settled by itself; the state, its last moves, the rounds.

    Restarts that have settled are put aside, and the others go on without them.
    """
    found = with_counts(state).map(np.copy)
    shares, column, done = np.zeros_like(state.spam), np.arange(state.spam.shape[1]), 0
    waiting = np.ones(len(column), dtype=bool)
    for done in range(1, iterations + 1):
        before, state = state, advance(votes, priors, state)
        step(done)
        if not tolerance and done < iterations:
            continue
        moved = moved_shares(votes, before, state)
        over = waiting & ((moved.max(axis=0, initial=0.0) < tolerance) | (done == iterations))
        if not over.any():
            continue
        for kept, table in zip(found.tables, state.tables, strict=True):
            if kept is not None and table is not None:
                kept[:, column[over]] = table[:, over]
        shares[:, column[over]] = moved[:, over]
        waiting &= ~over
        if not waiting.any():
            break
        if waiting.mean() < EMPTIER:
            state, column = state.restarts(waiting), column[waiting]
            waiting = np.ones(len(column), dtype=bool)
    return found, shares, done


def with_counts(state: State) -> State:
    """Add room for the expected items of each label to a starting state."""
    if state.prevalence is None or state.true is not None:
        return state
    return replace(state, true=np.zeros_like(state.prevalence))


def polish(
    votes: Votes,
    priors: Priors,
    fitted: Fitted,
    *,
    rounds: int,
    tolerance: float,
    hooks: Hooks,
) -> Fitted:
    """Continue the best restart until no worker's share moves by ``tolerance`` in a round."""
    state, moved, done = fitted.state, fitted.change, 0
    while done < rounds and moved.max(initial=0.0) >= tolerance:
        before, state = state, advance(votes, priors, state)
        moved = np.zeros(votes.parts + 1)
        np.maximum.at(moved, votes.worker_part, moved_shares(votes, before, state)[:, 0])
        moved, done = moved[1:], done + 1
        if done % 50 == 0:
            hooks.step("polish", done, rounds)
    posterior, missing, log_total = e_step(votes, odds(votes, state), state.prevalence)
    likelihood, bound = objectives(votes, priors, state, log_total)
    return replace(
        fitted,
        state=state,
        posterior=posterior[:, 0],
        missing=missing[:, 0],
        change=moved,
        at_end=(likelihood[:, 0], bound[:, 0]),
        polished=done,
    )


def moved_shares(votes: Votes, before: State, after: State) -> FloatArray:
    """Return by how much each worker's share of knowing votes changed (j, R)."""
    found: FloatArray = np.abs(after.knowing - before.knowing)
    found /= np.maximum(votes.total, 1e-12)[:, None]
    return found


class BestFits:
    """The best restart so far of every component."""

    def __init__(self, votes: Votes) -> None:
        j, u, parts = len(votes.total), len(votes.worker), votes.parts
        self.votes, self.rounds, self.seen = votes, 0, 0
        self.columns = [np.ones((size, 1)) for size in (j, j, u, j, u)]
        # By component and label: uniform until a restart is kept, none where not estimated.
        self.by_place: list[FloatArray] = []
        self.score = np.full(parts, -np.inf)
        self.best = np.zeros(parts, dtype=np.int64)
        self.change = np.full(parts, np.inf)
        self.scores: list[tuple[FloatArray, FloatArray]] = []

    def offer(
        self, priors: Priors, state: State, moved: FloatArray, rounds: int, *, by_bound: bool
    ) -> None:
        """Keep each restart that is better than the best so far."""
        votes = self.votes
        _, _, log_total = e_step(votes, odds(votes, state), state.prevalence)
        likelihood, bound = objectives(votes, priors, state, log_total)
        score = bound if by_bound else likelihood
        column = score.argmax(axis=1)
        found = np.take_along_axis(score, column[:, None], axis=1)[:, 0]
        better = found > self.score
        self.score = np.where(better, found, self.score)
        self.best = np.where(better, column + self.seen, self.best)
        part = np.maximum(votes.worker_part, 1) - 1
        rows = np.flatnonzero((votes.worker_part > 0) & better[part])
        cells = np.flatnonzero(np.isin(votes.worker, rows))
        change = np.zeros(votes.parts)
        np.maximum.at(change, part[rows], moved[rows, column[part[rows]]])
        self.change = np.where(better, change, self.change)
        tables = (state.spam, state.know, state.strategy, state.knowing, state.cells)
        for kept, table, by_worker in zip(self.columns, tables, (1, 1, 0, 1, 0), strict=True):
            where = rows if by_worker else cells
            which = column[part[rows if by_worker else votes.worker[cells]]]
            kept[where, 0] = table[where, which]
        if state.prevalence is not None and state.true is not None:
            self._offer_prevalence(state.prevalence, state.true, better, column)
        self.scores.append((likelihood, bound))
        self.rounds, self.seen = max(self.rounds, rounds), self.seen + state.spam.shape[1]

    def _offer_prevalence(
        self, prevalence: FloatArray, true: FloatArray, better: NDArray[np.bool_], column: IntArray
    ) -> None:
        """Take over the rows of the components (parts,) that got better."""
        size = len(prevalence)
        if not self.by_place:
            self.by_place = [np.full((size, 1), 1.0 / self.votes.labels), np.zeros((size, 1))]
        part = np.arange(size) // self.votes.labels - 1  # the first rows are of no component
        rows = np.flatnonzero((part >= 0) & better[np.maximum(part, 0)])
        for kept, table in zip(self.by_place, (prevalence, true), strict=True):
            kept[rows, 0] = table[rows, column[part[rows]]]

    def fitted(self) -> Fitted:
        """The kept restarts with their posterior."""
        state = State(*self.columns, *self.by_place)
        posterior, missing, _ = e_step(self.votes, odds(self.votes, state), state.prevalence)
        likelihood, bound = (np.hstack(tables) for tables in zip(*self.scores, strict=True))
        own = np.arange(len(self.best))
        return Fitted(
            state,
            posterior[:, 0],
            missing[:, 0],
            likelihood,
            bound,
            self.best,
            self.change,
            self.rounds,
            at_end=(likelihood[own, self.best], bound[own, self.best]),
        )
