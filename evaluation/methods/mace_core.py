"""MACE's arithmetic: all restarts side by side, votes only inside two sparse products a round.

Hovy et al., "Learning Whom to Trust with MACE" (NAACL 2013), section 3 and 3.1. With probability
kn_j a worker knows and gives the truth, else draws from a strategy xi_j. A vote of worker j for
label l, shown to them as s, has probability a = sp_j * xi_js under any other truth and a + kn_j
under truth l. So an item's log posterior of l is, up to a constant, the sum of
log(1 + kn_j / a) over its votes for l: a sparse matrix (cells x strategies) times a table. And the
expected count of knowing votes is the transposed matrix times the posterior. Labels that nobody
gave to an item all share the weight 1 and are only counted, so the cost does not depend on them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln

from evaluation.methods.base import FloatArray, Hooks, IntArray
from evaluation.methods.mace_data import Priors, State, Votes, adding

BLOCK = 2_000_000  # numbers in one table of a block of restarts (16 MB)
LARGEST = 600.0  # exp of more than about 700 overflows
# exp(digamma(x)) = y * sum_n SERIES[n] / y^(2n) with y = x - 1/2, from the Bernoulli numbers.
SERIES_FROM = 9.5
SERIES = (
    1.0, 1 / 24, -37 / 5760, 10313 / 2903040, -5509121 / 1393459200, 2709398569 / 367873228800,
    -499769010050743 / 24103053950976000,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Fitted:
    """The best restart of every component, as one column.

    ``posterior`` (cells,) of the labels voted for and ``missing`` (i,) of each other label.
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


def starts(votes: Votes, restarts: int, noise: float, rng: np.random.Generator) -> State:
    """Random parameters as in the published code: 1 + noise * uniform, normalised."""
    j, k = len(votes.total), votes.labels
    spam, know = np.empty((j, restarts)), np.empty((j, restarts))
    strategy = np.empty((len(votes.worker), restarts))
    for r in range(restarts):
        two = 1.0 + noise * rng.random((j, 2))
        spam[:, r], know[:, r] = (two / two.sum(axis=1, keepdims=True)).T
        many = 1.0 + noise * rng.random((j, k))
        strategy[:, r] = (many / many.sum(axis=1, keepdims=True))[votes.worker, votes.shown]
    return State(spam, know, strategy, np.full_like(spam, np.inf), np.full_like(strategy, np.inf))


def odds(votes: Votes, state: State) -> FloatArray:
    """kn_j / a of every strategy (u, R)."""
    found: FloatArray = (state.know / state.spam)[votes.worker]
    found /= state.strategy
    return found


def e_step(votes: Votes, ratio: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Posterior of the cells (c, R), and of a label without votes and log of the sum (i, R).

    The sum is over an item's labels, of their likelihood relative to a label without votes.
    """
    weight = votes.matrix @ np.log1p(ratio)
    shift = None
    if weight.max(initial=0.0) > LARGEST:
        shift = np.zeros((len(votes.absent), weight.shape[1]))
        np.maximum.at(shift, votes.cell_item, weight)
        weight -= shift[votes.cell_item]
    np.exp(weight, out=weight)
    none = 1.0 if shift is None else np.exp(-shift)
    total = votes.per_item @ weight
    total += votes.absent[:, None] * none
    inverse = 1.0 / total
    weight *= inverse[votes.cell_item]
    return weight, none * inverse, np.log(total) + (0.0 if shift is None else shift)


def expected(
    votes: Votes, ratio: FloatArray, posterior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Expected number of knowing votes of each worker (j, R) and of each strategy (u, R)."""
    cells = votes.transposed @ posterior
    cells *= ratio / (1.0 + ratio)
    return votes.per_worker @ cells, cells


def m_step(votes: Votes, priors: Priors, knowing: FloatArray, cells: FloatArray) -> State:
    """New parameters from expected counts: section 3.1 (variational), or smoothed counts."""
    total, count, k = votes.total[:, None], votes.count[:, None], votes.labels
    spamming = np.maximum(total - knowing, 0.0)
    drawn = np.maximum(count - cells, 0.0)
    if not priors.variational:
        c = priors.smoothing
        of_all, of_strategy = total + 2 * c, spamming + k * c
        return State(
            (spamming + c) / of_all, (knowing + c) / of_all,
            (drawn + c) / of_strategy[votes.worker], knowing, cells,
        )  # fmt: skip
    inverse = 1.0 / exp_digamma(total + priors.alpha + priors.beta)
    strategy = exp_digamma(drawn + priors.strategy)
    strategy *= (1.0 / exp_digamma(spamming + k * priors.strategy))[votes.worker]
    return State(
        exp_digamma(spamming + priors.alpha) * inverse,
        exp_digamma(knowing + priors.beta) * inverse,
        strategy, knowing, cells,
    )  # fmt: skip


def advance(votes: Votes, priors: Priors, state: State) -> State:
    """One round: what the parameters say of the votes, and what that says of the parameters."""
    ratio = odds(votes, state)
    posterior, _, _ = e_step(votes, ratio)
    return m_step(votes, priors, *expected(votes, ratio, posterior))


def exp_digamma(x: FloatArray) -> FloatArray:
    """exp(digamma(x)); from x = 9.5 on by its asymptotic series, to 14 digits."""
    if x.size == 0 or x.min() < SERIES_FROM:
        return np.exp(digamma(x))
    y = x - 0.5
    inverse = 1.0 / (y * y)
    found = np.full_like(y, SERIES[-1])
    for coefficient in SERIES[-2::-1]:
        found *= inverse
        found += coefficient
    found *= y
    return found


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
    by_item = log_total - np.log(votes.labels)
    likelihood = _by_part(votes.worker_part, by_worker, votes.parts)
    likelihood += _by_part(votes.item_part, by_item, votes.parts)
    if not priors.variational:
        return likelihood, np.full_like(likelihood, np.nan)
    spamming = votes.total[:, None] - state.knowing
    gap = _divergence(np.stack([spamming, state.knowing]), np.array([priors.alpha, priors.beta]))
    k, prior = votes.labels, priors.strategy
    drawn = votes.count[:, None] - state.cells
    one = drawn * digamma(drawn + prior) - gammaln(drawn + prior) + gammaln(prior)
    gap += votes.per_worker @ one
    gap += gammaln(spamming + k * prior) - gammaln(k * prior)
    gap -= spamming * digamma(spamming + k * prior)
    return likelihood, likelihood - _by_part(votes.worker_part, gap, votes.parts)


def _divergence(counts: FloatArray, prior: FloatArray) -> FloatArray:
    """KL of Dirichlet(prior + counts) from Dirichlet(prior); counts (k, ...)."""
    first = prior.reshape(-1, *[1] * (counts.ndim - 1))
    total, start = counts.sum(axis=0), prior.sum()
    one = counts * digamma(counts + first) - gammaln(counts + first) + gammaln(first)
    found: FloatArray = one.sum(axis=0) + gammaln(total + start) - gammaln(start)
    return found - total * digamma(total + start)


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
    log marginal likelihood, or its ELBO with ``by_bound``. Rounds end at ``iterations`` or when no
    worker's share of knowing votes moved by more than ``tolerance`` in any restart (0: never).
    The numbers do not depend on how restarts are split into blocks. Raises Cancelled.
    """
    hooks = hooks or Hooks()
    widest = max(len(votes.cell_item), len(votes.worker), len(votes.absent), 1)
    size = max(1, min(restarts, BLOCK // widest))
    kept = _Kept(votes)
    for first in range(0, restarts, size):
        width = min(size, restarts - first)
        state = starts(votes, width, noise, rng)
        before, done = state, 0
        for done in range(1, iterations + 1):
            before, state = state, advance(votes, priors, state)
            hooks.step("restarts", first * iterations + done * width, restarts * iterations)
            if tolerance and _moved(votes, before, state).max(initial=0.0) < tolerance:
                break
        kept.offer(priors, state, _moved(votes, before, state), done, by_bound=by_bound)
    return kept.fitted()


def polish(
    votes: Votes,
    priors: Priors,
    fitted: Fitted,
    *,
    rounds: int,
    tolerance: float,
    hooks: Hooks,
) -> Fitted:
    """Go on with the kept restart until no worker's share moves by ``tolerance`` in a round."""
    state, moved, done = fitted.state, fitted.change, 0
    while done < rounds and moved.max(initial=0.0) >= tolerance:
        before, state = state, advance(votes, priors, state)
        moved = np.zeros(votes.parts + 1)
        np.maximum.at(moved, votes.worker_part, _moved(votes, before, state)[:, 0])
        moved, done = moved[1:], done + 1
        if done % 50 == 0:
            hooks.step("polish", done, rounds)
    posterior, missing, log_total = e_step(votes, odds(votes, state))
    likelihood, bound = objectives(votes, priors, state, log_total)
    return replace(
        fitted, state=state, posterior=posterior[:, 0], missing=missing[:, 0], change=moved,
        at_end=(likelihood[:, 0], bound[:, 0]), polished=done,
    )  # fmt: skip


def _moved(votes: Votes, before: State, after: State) -> FloatArray:
    """By how much each worker's share of knowing votes changed (j, R); infinite at the start."""
    found: FloatArray = np.abs(after.knowing - before.knowing)
    found /= np.maximum(votes.total, 1e-12)[:, None]
    return found


class _Kept:
    """The best restart so far of every component."""

    def __init__(self, votes: Votes) -> None:
        j, u, parts = len(votes.total), len(votes.worker), votes.parts
        self.votes, self.rounds, self.seen = votes, 0, 0
        self.columns = [np.ones((size, 1)) for size in (j, j, u, j, u)]
        self.score = np.full(parts, -np.inf)
        self.best = np.zeros(parts, dtype=np.int64)
        self.change = np.full(parts, np.inf)
        self.scores: list[tuple[FloatArray, FloatArray]] = []

    def offer(
        self, priors: Priors, state: State, moved: FloatArray, rounds: int, *, by_bound: bool
    ) -> None:
        """Take over whatever is better than what is kept."""
        votes = self.votes
        _, _, log_total = e_step(votes, odds(votes, state))
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
        self.scores.append((likelihood, bound))
        self.rounds, self.seen = max(self.rounds, rounds), self.seen + state.spam.shape[1]

    def fitted(self) -> Fitted:
        """The kept restarts with their posterior."""
        state = State(*self.columns)
        posterior, missing, _ = e_step(self.votes, odds(self.votes, state))
        likelihood, bound = (np.hstack(tables) for tables in zip(*self.scores, strict=True))
        own = np.arange(len(self.best))
        return Fitted(
            state, posterior[:, 0], missing[:, 0], likelihood, bound, self.best, self.change,
            self.rounds, at_end=(likelihood[own, self.best], bound[own, self.best]),
        )  # fmt: skip
