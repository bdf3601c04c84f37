"""Planning: a crowd compares outputs of two systems, with ties, side preference and guessers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import logit, stdtrit

from evaluation.methods.core.base import BadParameter, FloatArray
from evaluation.methods.core.votes import TIE
from evaluation.methods.simulation.planning.draws import BUDGET, CHUNK, Draws, check_gap, check_size
from evaluation.methods.simulation.planning.labels import agreement
from evaluation.methods.simulation.simulation import (
    DAVIDSON,
    RAO_KUPPER,
    PairCrowd,
    PairVotes,
    outcome_chances,
    share,
    simulate_pairs,
)

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


@dataclass(frozen=True)
class PairStudy:
    """``items`` inputs, one output of either system each, compared by ``votes`` workers.

    ``gap`` is share of honest votes for the better system minus share for the other (.05: say 37.5
    to 32.5 per cent, 30 per cent ties). ``ties``: chance of a tie between equals (``tie_model``
    davidson or rao_kupper); ``right``: the right side's share of decided votes between equals;
    ``guessers``: share of workers who do not look; ``item_sd``: how much the log-merit difference
    varies from input to input. The defaults give the agreement and the ties of CrowdRAG's crowd
    (alpha .19, a third neutral, 52 per cent of decided votes for the right).
    """

    workers: int = 20
    items: int = 100
    votes: int = 5
    gap: float = 0.05
    ties: float = 0.35
    tie_model: str = DAVIDSON
    right: float = 0.52
    guessers: float = 0.2
    item_sd: float = 1.8

    @property
    def slug(self) -> str:
        """The model's name."""
        return "pairwise"

    @property
    def judgments(self) -> int:
        """Comparisons in all."""
        return self.items * self.votes

    @property
    def usual(self) -> int:
        """Replicates that take a few seconds."""
        return int(np.clip(BUDGET // self.judgments, 50, 4000))

    @property
    def at_once(self) -> int:
        """Replicates in one pass."""
        return max(1, CHUNK // self.judgments)

    def check(self) -> None:
        """Raise BadParameter, naming it, on a value outside its range."""
        check_size(self.workers, self.items, self.votes, 1)
        check_gap(self.gap)
        share("guessers", self.guessers)
        if not 0 < self.right < 1:
            raise BadParameter(f"right is {self.right!r}; it must lie between 0 and 1")
        if self.guessers == 1:
            raise BadParameter("guessers is 1: nobody looks, so nothing can be seen")
        self._crowd(0.0).check()
        if not 0 <= self.item_sd <= 10:
            raise BadParameter(f"item_sd is {self.item_sd!r}; it must lie between 0 and 10")

    def draw(self, rng: np.random.Generator, replicates: int, level: float) -> Draws:
        """Votes, and mean net preference with an interval clustered by item and worker."""
        votes = simulate_pairs(rng, self._crowd(self.merit()), replicates=replicates)
        estimate, low, high = net_preference(votes, level)
        return Draws(
            estimate,
            low,
            high,
            np.full(replicates, self.gap * (1 - votes.guesser.mean())),
            means={"agreement": agreement(votes.outcome, 3)},
            errors={},
        )

    def merit(self) -> float:
        """The log-merit difference at which honest votes differ by ``gap``. Raises BadParameter."""
        if self.gap == 0:
            return 0.0
        most = self._honest(60.0)
        if self.gap >= most:
            raise BadParameter(f"gap is {self.gap}; no merits reach it with these ties and item_sd")
        return float(brentq(lambda merit: self._honest(merit) - self.gap, 0.0, 60.0))

    def _honest(self, merit: float) -> float:
        """Net share for the better system, mean over inputs and sides."""
        d = merit + self.item_sd * NODES[:, None] + self._side() * np.array([1.0, -1.0])
        win, tie = outcome_chances(d, ties=self.ties, tie_model=self.tie_model)
        net = (win - (1 - win - tie)).mean(axis=1)
        return float((WEIGHTS * net).sum() / WEIGHTS.sum())

    def _side(self) -> float:
        """Log-odds that the left gains, from the right side's share of decided votes."""
        if self.tie_model == DAVIDSON:
            return -float(logit(self.right))
        if self.tie_model != RAO_KUPPER:
            return 0.0  # the crowd's check names it

        def decided(d: float) -> float:
            win, tie = outcome_chances(d, ties=self.ties, tie_model=RAO_KUPPER)
            return float(win / (1 - tie)) - self.right

        return -float(brentq(decided, -60.0, 60.0))

    def _crowd(self, merit: float) -> PairCrowd:
        return PairCrowd(
            self.workers,
            self.items,
            self.votes,
            (merit, 0.0),
            self.ties,
            self.tie_model,
            self._side() if 0 <= self.ties < 1 else 0.0,
            self.guessers,
            self.item_sd,
        )


def net_preference(votes: PairVotes, level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean of wins - losses of the first of two candidates (r,), and its interval.

    The variance is clustered by item and by worker (Cameron, Gelbach and Miller 2011: items +
    workers - both), never below that of the items alone; t with items - 1 degrees of freedom. A
    worker votes once an item, so votes are their own intersection.
    """
    net = (TIE - votes.outcome).astype(np.float64)  # first 1, tie 0, second -1
    r, items, per_item = net.shape
    m = len(votes.guesser)
    centre = net.mean(axis=(1, 2))
    residual = net - centre[:, None, None]
    by_item = residual.sum(axis=2)
    who = (np.arange(r)[:, None, None] * m + votes.worker).ravel()
    by_worker = np.bincount(who, weights=residual.ravel(), minlength=r * m).reshape(r, m)
    active = (np.bincount(who, minlength=r * m).reshape(r, m) > 0).sum(axis=1)
    of_items = (by_item**2).sum(axis=1) * items / (items - 1)
    of_workers = (by_worker**2).sum(axis=1) * active / np.maximum(active - 1, 1)
    both = (residual**2).sum(axis=(1, 2))
    variance = np.maximum(of_items + of_workers - both, of_items)
    reach = -stdtrit(items - 1, (1 - level) / 2) * np.sqrt(variance) / (items * per_item)
    return centre, centre - reach, centre + reach
