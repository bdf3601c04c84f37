"""GLAD: how able each worker is and how hard each item is, with the labels.

Whitehill, Ruvolo, Wu, Bergsma and Movellan, "Whose Vote Should Count More: Optimal Integration of
Labels from Labelers of Unknown Expertise" (NIPS 2009). Worker i labels item j right with
probability sigma(alpha_i beta_j); a wrong label is any of the others alike (their section 2.2).
alpha is the ability: 0 chooses by a coin, below 0 labels wrongly on purpose. beta > 0 is how easy
the item is. alpha and log beta have priors N(1, 1), as in the paper's section 3.1.

The truth of the items is summed out and the posterior of alpha and log beta is climbed directly;
its gradient is that of the paper's M-step (Fisher's identity), so that the optima are EM's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.competence.mace import tables as mace_tables
from evaluation.methods.competence.mace.data import adding, label_parts, summed
from evaluation.methods.competence.mace.draws import CHAINS, Draws, draw_labels, r_hat
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Result, Table
from evaluation.methods.core.inference import normal_quantile
from evaluation.methods.core.params import (
    BESIDE_OTHERS,
    LEVEL,
    Params,
    real_number,
    resamples,
    whole_number,
)
from evaluation.methods.core.votes import Labels

NAME, VERSION = "glad", "1.1"
MEAN = 1.0  # of the priors of alpha and log beta, whose variance is 1
BURN_IN, THIN = 200, 2  # rounds before draws of a chain count, and rounds a draw
GOAL = 0.44  # share of accepted moves of one number at which a random walk mixes best
PARAMS = Params(
    NAME,
    (
        whole_number("iterations", 1000, 1),
        real_number("tolerance", 1e-9, 0, 1),
        real_number("threshold", 1.0, above=0, high=1),
        real_number("min_posterior", 0.0, 0, 1),
        resamples(1000),
        LEVEL,
    ),
)


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes (n,) of a crowd laid out for GLAD, on items that have a component.

    ``cell`` (n,) is the (item, label) of each vote; ``label_prior`` (K,) how often labels are true.
    """

    worker: IntArray
    item: IntArray
    cell: IntArray
    weight: FloatArray
    workers: int
    items: int
    labels: int
    label_prior: FloatArray

    @classmethod
    def prepare(cls, data: Labels, worker_part: IntArray) -> Votes:
        """The votes of workers who share items with somebody; even label priors, as published."""
        rows = np.flatnonzero(worker_part[data.worker] > 0)
        k = len(data.labels)
        return cls(
            worker=data.worker[rows],
            item=data.item[rows],
            cell=data.item[rows] * k + data.label[rows],
            weight=data.weight[rows],
            workers=len(data.workers),
            items=len(data.items),
            labels=k,
            label_prior=np.full(k, 1.0 / k),
        )

    def split(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Abilities (workers,) and log easiness (items,) of a point of both."""
        return point[: self.workers], point[self.workers :]


@dataclass(frozen=True, eq=False)
class Fitted:
    """``ability`` (workers,), ``ease`` (items,) log beta, ``posterior`` (items, K) of labels."""

    ability: FloatArray
    ease: FloatArray
    posterior: FloatArray
    log_posterior: float
    rounds: int
    converged: bool


def softplus(logit: Any) -> Any:
    """log(1 + exp(logit)), by functions that numpy computes many of at a time."""
    found = np.abs(logit)
    np.negative(found, out=found)
    np.exp(found, out=found)
    found += 1.0
    np.log(found, out=found)
    found += np.maximum(logit, 0.0)
    return found


def e_step(votes: Votes, logit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Posterior of the labels (items, K) and log-likelihood (items,); eq. 3 of the paper.

    ``logit`` (n,) is alpha beta of every vote.
    """
    k = votes.labels
    wrong = -softplus(logit) - np.log(k - 1)
    # log sigma(l) - log((1 - sigma(l)) / (K - 1)) is l + log(K - 1).
    log = summed(votes.cell, votes.weight * (logit + np.log(k - 1)), votes.items * k)
    log = log.reshape(votes.items, k) + np.log(votes.label_prior)
    base = summed(votes.item, votes.weight * wrong, votes.items)
    top = log.max(axis=1)
    chance = np.exp(log - top[:, None])
    total = chance.sum(axis=1)
    return chance / total[:, None], np.log(total) + top + base


def objective(votes: Votes, point: FloatArray) -> tuple[float, FloatArray]:
    """Minus the log posterior of alpha and log beta, up to a constant, and its gradient."""
    ability, ease = votes.split(point)
    beta = np.exp(ease)[votes.item]
    logit = ability[votes.worker] * beta
    posterior, likelihood = e_step(votes, logit)
    slope = votes.weight * (posterior.ravel()[votes.cell] - scipy.special.expit(logit))
    of_ability = summed(votes.worker, slope * beta, votes.workers)
    of_ease = summed(votes.item, slope * logit, votes.items)
    away = point - MEAN
    value = 0.5 * float(away @ away) - float(likelihood.sum())
    return value, away - np.concatenate([of_ability, of_ease])


def steps_of(votes: Votes) -> FloatArray:
    """Return a unit of length for each parameter, so that the optimiser converges faster.

    A worker has hundreds of votes and an item five; measured alike, the climb takes twice as long.
    """
    n = np.concatenate(
        [
            summed(votes.worker, votes.weight, votes.workers),
            summed(votes.item, votes.weight, votes.items),
        ]
    )
    found: FloatArray = 1.0 / np.sqrt(1.0 + n)
    return found


def climb(votes: Votes, *, iterations: int, tolerance: float, hooks: Hooks) -> Fitted:
    """Find the point of highest posterior, starting from alpha = 1 and log beta = 1.

    Stops where a step gains less than ``tolerance`` of the objective. Raises Cancelled.
    """
    rounds = 0

    def told(_: FloatArray) -> None:
        nonlocal rounds
        rounds += 1
        hooks.step("rounds", rounds, iterations)

    unit = steps_of(votes)

    def scaled(at: FloatArray) -> tuple[float, FloatArray]:
        value, slope = objective(votes, unit * at)
        return value, unit * slope

    found = scipy.optimize.minimize(
        scaled,
        MEAN / unit,
        jac=True,
        method="L-BFGS-B",
        callback=told,
        options={"maxiter": iterations, "ftol": tolerance, "gtol": 1e-8, "maxcor": 20},
    )
    ability, ease = votes.split(unit * found.x)
    posterior, _ = e_step(votes, ability[votes.worker] * np.exp(ease)[votes.item])
    return Fitted(ability, ease, posterior, -float(found.fun), rounds, bool(found.success))


@dataclass(frozen=True, eq=False)
class Sampled:
    """Draws of every worker's accuracy, and mean and deviation (items,) of log beta's draws."""

    accuracy: Draws
    ease: FloatArray
    spread: FloatArray


def draw(
    votes: Votes,
    fitted: Fitted,
    worker_part: IntArray,
    item_part: IntArray,
    *,
    draws: int,
    rng: np.random.Generator,
    hooks: Hooks,
) -> Sampled:
    """``draws`` (rounded up to whole chains) of the posterior, chains side by side as columns.

    In turn: the truth of the items; every alpha, then every log beta by a random walk of its own
    (given the truth they are independent of one another), whose steps settle while the chains
    warm up; and a common factor of alpha and 1 / beta, which the likelihood does not see. All
    chains but the first begin at draws from the prior. Raises Cancelled.
    """
    each = -(-draws // CHAINS)
    walk = _Walk(votes, fitted, rng)
    middle = _middle(item_part)
    found = np.empty((CHAINS, each, votes.workers), dtype=np.float32)
    total, squares = np.zeros(votes.items), np.zeros(votes.items)
    rounds = BURN_IN + THIN * each
    for done in range(rounds):
        walk.step(settle=done < BURN_IN)
        if done >= BURN_IN and (done - BURN_IN) % THIN == 0:
            accuracy = scipy.special.expit(walk.ability * np.exp(middle @ walk.ease)[worker_part])
            found[:, (done - BURN_IN) // THIN] = accuracy.T
            total += walk.ease.sum(axis=1)
            squares += np.square(walk.ease).sum(axis=1)
        if done % 10 == 0:
            hooks.step("intervals", done, rounds)
    mean = total / (each * CHAINS)
    spread = np.sqrt(np.maximum(squares / (each * CHAINS) - mean**2, 0.0))
    return Sampled(Draws(found.reshape(CHAINS * each, -1), r_hat(found)), mean, spread)


def _middle(item_part: IntArray) -> Any:
    """The sparse matrix (parts + 1, items) that averages over the items of each component."""
    size = np.bincount(item_part)
    return adding(item_part, len(size)).multiply(1.0 / np.maximum(size, 1)[:, None]).tocsr()


class _Walk:
    """Chains of alpha (workers, c) and log beta (items, c), and how far their moves go.

    ``logit`` (n, c), alpha beta of every vote, and its ``soft`` (softplus) are worked out for a
    move only, and kept where it is taken. They are of single precision, as a round does little
    else than go through them.
    """

    def __init__(self, votes: Votes, fitted: Fitted, rng: np.random.Generator) -> None:
        self.votes, self.rng = votes, rng
        self.ability = np.repeat(fitted.ability[:, None], CHAINS, axis=1)
        self.ease = np.repeat(fitted.ease[:, None], CHAINS, axis=1)
        self.ability[:, 1:] = rng.normal(MEAN, 1.0, (votes.workers, CHAINS - 1))
        self.ease[:, 1:] = rng.normal(MEAN, 1.0, (votes.items, CHAINS - 1))
        self.reach = [np.full(self.ability.shape, -1.0), np.zeros(self.ease.shape)]
        self.rounds = 0
        self.logit = self._of_votes(self.ability, self.ease)
        self.soft = softplus(self.logit)
        self.given = (votes.cell % votes.labels)[:, None]
        weight = votes.weight.astype(np.float32)
        self.adders = [
            adding(group, size).astype(np.float32).multiply(weight[None]).tocsr()
            for group, size in (
                (votes.worker, votes.workers),
                (votes.item, votes.items),
                (votes.cell, votes.items * votes.labels),
            )
        ]

    def _of_votes(self, ability: FloatArray, ease: FloatArray) -> NDArray[np.float32]:
        found = np.take(ability.astype(np.float32), self.votes.worker, axis=0)
        found *= np.take(np.exp(ease).astype(np.float32), self.votes.item, axis=0)
        return found

    def step(self, *, settle: bool) -> None:
        """Make one round of all moves; ``settle``: the moves still find their length."""
        self.rounds += 1
        right = self._truth()
        moved = self.ability + self._far(0)
        logit = self._of_votes(moved, self.ease)
        taken = self._move(0, right, logit, (self.ability, moved), settle=settle)
        self.ability = np.where(taken, moved, self.ability)
        moved = self.ease + self._far(1)
        logit = self._of_votes(self.ability, moved)
        taken = self._move(1, right, logit, (self.ease, moved), settle=settle)
        self.ease = np.where(taken, moved, self.ease)
        self._rescale()

    def _truth(self) -> NDArray[np.bool_]:
        """Whether each vote (n, c) is right, the truth of its item being drawn."""
        votes = self.votes
        # log sigma(l) - log((1 - sigma(l)) / (K - 1)) is l + log(K - 1).
        log = self.adders[2] @ (self.logit + np.float32(np.log(votes.labels - 1)))
        log = log.reshape(votes.items, votes.labels, CHAINS)
        label = draw_labels(log, votes.label_prior[None, :, None], self.rng)
        return np.take(np.ascontiguousarray(label.T), votes.item, axis=0) == self.given

    def _far(self, which: int) -> FloatArray:
        reach = np.exp(self.reach[which])
        return reach * self.rng.standard_normal(reach.shape)

    def _move(
        self,
        which: int,
        right: NDArray[np.bool_],
        logit: NDArray[np.float32],
        moves: tuple[FloatArray, FloatArray],
        *,
        settle: bool,
    ) -> NDArray[np.bool_]:
        """Which numbers (rows, c) take their move, from the first of ``moves`` to the second.

        ``logit`` is that after all moves. The log-likelihood of a vote is -softplus(logit), and
        logit more where it is right, up to a constant.
        """
        old, new = moves
        soft = softplus(logit)
        more = logit - self.logit
        more *= right
        more += self.soft
        more -= soft
        gain = (self.adders[which] @ more).astype(np.float64)
        gain += 0.5 * (np.square(old - MEAN) - np.square(new - MEAN))
        taken: NDArray[np.bool_] = np.log(self.rng.random(gain.shape)) < gain
        if settle:
            self.reach[which] += (taken - GOAL) / np.sqrt(self.rounds)
        kept = np.take(taken, self.votes.item if which else self.votes.worker, axis=0)
        self.logit = np.where(kept, logit, self.logit)
        self.soft = np.where(kept, soft, self.soft)
        return taken

    def _rescale(self) -> None:
        """Move every alpha by a factor and every beta by its inverse, chain by chain."""
        size = len(self.ability) + len(self.ease)
        log = self.rng.standard_normal(CHAINS) / np.sqrt(size)
        ability, ease = self.ability * np.exp(log), self.ease - log
        gain = len(ability) * log
        for old, new in ((self.ability, ability), (self.ease, ease)):
            gain = gain + 0.5 * (np.square(old - MEAN) - np.square(new - MEAN)).sum(axis=0)
        taken = np.log(self.rng.random(CHAINS)) < gain
        self.ability = np.where(taken, ability, self.ability)
        self.ease = np.where(taken, ease, self.ease)


def fit(
    data: Labels, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Score workers, find the labels of items and how hard each item is.

    Parameters
    ----------
    data
        Votes (n,); labels are exclusive, any number of them.
    rng
        Of the intervals alone; the fit itself draws nothing.
    params
        At most ``iterations`` steps, until one gains less than ``tolerance`` of the log posterior;
        ``threshold`` share of items kept, least entropy first, and ``min_posterior`` of a kept
        label; ``resamples`` draws and ``level`` of the intervals.

    Returns
    -------
    Result
        ``worker`` (ability: alpha; accuracy: chance to label an item of middling ease of the
        component right, with low and high; ``n`` votes), ``item`` (label -1 where not scored, its
        posterior, entropy in nats, ``kept``; ``difficulty`` 1 / beta with difficulty_low and
        difficulty_high), ``prior`` and ``posterior``. ``component`` 0 means not scored, with NaN.
        Nothing compares across components.

    Raises
    ------
    TooFewWorkers, TooFewLabels, BadParameter, Cancelled

    References
    ----------
    Whitehill et al. (2009), sections 2 and 3.
    """
    settings = PARAMS.settings(params)
    hooks = hooks or Hooks()
    worker_part, item_part = label_parts(data)
    votes = Votes.prepare(data, worker_part)
    steps, tolerance = settings["iterations"], settings["tolerance"]
    fitted = climb(votes, iterations=steps, tolerance=tolerance, hooks=hooks)
    sampled, n = None, settings["resamples"]
    if n:
        sampled = draw(votes, fitted, worker_part, item_part, draws=n, rng=rng, hooks=hooks)
    draws = sampled.accuracy if sampled else None
    return PARAMS.result(
        settings,
        {
            "worker": _workers(data, fitted, worker_part, item_part, draws, settings=settings),
            **_items(data, votes, fitted, item_part, sampled, settings=settings),
        },
        _diagnostics(data, fitted, worker_part, item_part, draws),
        converged=fitted.converged,
    )


def _diagnostics(
    data: Labels,
    fitted: Fitted,
    worker_part: IntArray,
    item_part: IntArray,
    draws: Draws | None,
) -> dict[str, Any]:
    return {
        "components": mace_tables.components_of(data, worker_part, item_part),
        "log_posterior": fitted.log_posterior,
        "rounds": fitted.rounds,
        **mace_tables.unscored_workers(data, worker_part),
        **mace_tables.cautions(data, worker_part, draws, model="GLAD's"),
    }


def _workers(
    data: Labels,
    fitted: Fitted,
    worker_part: IntArray,
    item_part: IntArray,
    draws: Draws | None,
    *,
    settings: dict[str, Any],
) -> Table:
    scored = worker_part > 0
    accuracy = scipy.special.expit(
        fitted.ability * np.exp(_middle(item_part) @ fitted.ease)[worker_part]
    )
    low, high = mace_tables.interval(accuracy, draws, settings["level"])
    return Table(
        {
            "worker": np.arange(len(scored)),
            "ability": np.where(scored, fitted.ability, np.nan),
            "accuracy": np.where(scored, accuracy, np.nan),
            "low": np.where(scored, low, np.nan),
            "high": np.where(scored, high, np.nan),
            "n": mace_tables.to_integers(summed(data.worker, data.weight, len(scored))),
            "component": worker_part,
        }
    )


def _items(
    data: Labels,
    votes: Votes,
    fitted: Fitted,
    item_part: IntArray,
    sampled: Sampled | None,
    *,
    settings: dict[str, Any],
) -> dict[str, Table]:
    scored = item_part > 0
    probability = np.where(scored[:, None], fitted.posterior, np.nan)
    half = np.full(votes.items, np.nan)
    if sampled is not None:
        half = normal_quantile(settings["level"]) * sampled.spread
    parts = int(item_part.max(initial=0))
    table = mace_tables.items(
        probability,
        item_part,
        mace_tables.per_item(data),
        threshold=settings["threshold"],
        min_posterior=settings["min_posterior"],
    )
    middle = fitted.ease if sampled is None else sampled.ease
    hard = {
        "difficulty": np.where(scored, np.exp(-middle), np.nan),
        "difficulty_low": np.where(scored, np.exp(-middle - half), np.nan),
        "difficulty_high": np.where(scored, np.exp(-middle + half), np.nan),
    }
    return {
        "item": Table({**table.columns, **hard}),
        "prior": mace_tables.prior(np.repeat(votes.label_prior[None], parts, axis=0)),
        "posterior": mace_tables.posterior_rows(probability),
    }


METHOD = PARAMS.as_method("GLAD", Labels, fit, internal=BESIDE_OTHERS)
