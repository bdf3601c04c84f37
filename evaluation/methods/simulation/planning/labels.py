"""Planned studies whose crowds label or compare outputs of two systems, and what every study has.

Labels are good or bad, given by MACE's worker model; comparisons have ties, side preference and
guessers. Answers in words are in ``texts``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from evaluation.methods.core.base import BadParameter, FloatArray, IntArray
from evaluation.methods.core.inference import bell_mccaffrey, normal_score, t_quantile
from evaluation.methods.core.votes import TIE
from evaluation.methods.simulation.simulation import (
    DAVIDSON,
    RAO_KUPPER,
    LabelCrowd,
    LabelVotes,
    PairCrowd,
    PairVotes,
    outcome_chances,
    share,
    simulate_labels,
    simulate_pairs,
    whole_number,
)

# Numbers that all replicates, and one pass, may draw.
BUDGET, CHUNK = 10_000_000, 1_000_000


@dataclass(frozen=True, eq=False)
class Draws:
    """Replicates (r,) of a study: the estimated difference of the two systems and its interval.

    ``target`` (r,) is what the intervals should hold. ``means`` are further figures (r,), whose
    mean is reported; ``errors`` (r, k) are estimate - truth of k things of each replicate.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    target: FloatArray
    means: Mapping[str, FloatArray]
    errors: Mapping[str, FloatArray]

    @classmethod
    def join(cls, parts: Sequence[Draws]) -> Draws:
        """Concatenate the replicates of several passes."""
        estimate, low, high, target = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("estimate", "low", "high", "target")
        )
        first = parts[0]
        return cls(
            estimate,
            low,
            high,
            target,
            {name: np.concatenate([p.means[name] for p in parts]) for name in first.means},
            {name: np.concatenate([p.errors[name] for p in parts]) for name in first.errors},
        )


@dataclass(frozen=True)
class Study(ABC):
    """A planned study: ``votes`` of ``workers`` on each of ``items``, two systems ``gap`` apart."""

    workers: int = 20
    items: int = 100
    votes: int = 5
    gap: float = 0.05

    least_votes: ClassVar[int] = 2

    @property
    @abstractmethod
    def slug(self) -> str:
        """Name of the model."""

    @property
    @abstractmethod
    def usual(self) -> int:
        """Default number of replicates, which take a few seconds."""

    @property
    def judgments(self) -> int:
        """Number of judgments to pay for."""
        return self.items * self.votes

    @property
    def replicates_per_pass(self) -> int:
        """Number of replicates simulated at once."""
        return max(1, CHUNK // self.judgments)

    def check(self) -> None:
        """Raise BadParameter, naming it, on a value outside its range.

        A study can be too small to give an interval, or too large to simulate.
        """
        whole_number("workers", self.workers, 2)
        whole_number("items", self.items, 2)
        whole_number("votes", self.votes, self.least_votes)
        if self.votes > self.workers:
            raise BadParameter(
                f"votes is {self.votes}, but there are only {self.workers} workers; nobody votes "
                "twice on an item"
            )
        if self.items * self.votes > BUDGET:
            raise BadParameter(f"items x votes is {self.items * self.votes}; {BUDGET} are the most")
        share("gap", self.gap)
        if self.gap == 1:
            raise BadParameter("gap is 1; it must be below 1")

    @abstractmethod
    def draw(self, rng: np.random.Generator, replicates: int, level: float) -> Draws:
        """Simulate the study so many times."""


def mean_interval(values: FloatArray, level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean over items, and its t interval, of values (r, items)."""
    n = values.shape[1]
    centre = values.mean(axis=1)
    reach = t_quantile(level, n - 1) * values.std(axis=1, ddof=1) / n**0.5
    return centre, centre - reach, centre + reach


ROUNDS = 15
# Prior votes of each worker: right 2, wrong 1, in both classes; keeps the light EM the right way.
RIGHT, WRONG = 2.0, 1.0


@dataclass(frozen=True)
class LabelStudy(Study):
    """Each of ``items`` inputs has one output of either system; each output gets ``votes`` votes.

    A share ``good`` of the worse system's outputs is good, and ``good + gap`` of the better one's;
    ``likeness`` correlates the two on one input (a hard input is hard for both). A share
    ``guessers`` of workers always guesses; the others guess with mean probability ``slips``.
    """

    good: float = 0.7
    likeness: float = 0.5
    guessers: float = 0.2
    slips: float = 0.1

    @property
    def slug(self) -> str:
        """Name of the model."""
        return "labels"

    @property
    def judgments(self) -> int:
        """Number of votes on both systems' outputs."""
        return 2 * self.items * self.votes

    @property
    def usual(self) -> int:
        """Replicates that take a few seconds."""
        return int(np.clip(BUDGET // (4 * self.judgments), 25, 2000))

    def check(self) -> None:
        """Raise BadParameter, naming it, on a value outside its range."""
        super().check()
        for name in ("good", "guessers"):
            share(name, getattr(self, name))
        if not 0 <= self.likeness < 1:
            raise BadParameter(f"likeness is {self.likeness!r}; it must lie from 0 to below 1")
        if not 0 < self.slips < 1:
            raise BadParameter(f"slips is {self.slips!r}; it must lie between 0 and 1")
        if not self.good > 0 or self.good + self.gap >= 1:
            raise BadParameter(
                f"good is {self.good} and gap {self.gap}; good and good + gap must lie between 0 "
                "and 1"
            )

    def draw(self, rng: np.random.Generator, replicates: int, level: float) -> Draws:
        """Votes, gold labels by a light two-class Dawid-Skene, and the paired difference."""
        truth = self._truth(rng, replicates)
        crowd = LabelCrowd(
            self.workers,
            2 * self.items,
            self.votes,
            2,
            self.guessers,
            guess_a=10 * self.slips,
            guess_b=10 * (1 - self.slips),
        )
        votes = simulate_labels(rng, crowd, replicates=replicates, truth=truth)
        good, accuracy = gold(votes)
        apart = good[:, : self.items] - good[:, self.items :]
        estimate, low, high = mean_interval(apart, level)
        return Draws(
            estimate,
            low,
            high,
            np.full(replicates, self.gap),
            means={
                "gold_right": ((good > 0.5) == (truth == 1)).mean(axis=1),
                "agreement": agreement(votes.label, 2),
            },
            errors={"worker_width": accuracy - _true_accuracy(votes)},
        )

    def _truth(self, rng: np.random.Generator, replicates: int) -> IntArray:
        """(r, 2 items) 1 where good; the better system's outputs first."""
        size = (replicates, self.items)
        common = rng.standard_normal(size) * self.likeness**0.5
        halves = [
            common + rng.standard_normal(size) * (1 - self.likeness) ** 0.5 < normal_score(chance)
            for chance in (self.good + self.gap, self.good)
        ]
        return np.concatenate(halves, axis=1).astype(np.int64)


def gold(votes: LabelVotes, rounds: int = ROUNDS) -> tuple[FloatArray, FloatArray]:
    """Estimate which items are good (r, items) and workers' accuracy (r, workers) from votes.

    EM of Dawid and Skene (1979) for two classes, a fixed number of rounds, all replicates at
    once; a worker's votes are smoothed by RIGHT and WRONG. Workers without votes get NaN.
    """
    r, m = votes.guess.shape
    who = (np.arange(r)[:, None, None] * m + votes.worker).ravel()
    said = votes.label.ravel().astype(np.float64)
    good = votes.label.mean(axis=2)

    def of_worker(values: FloatArray) -> FloatArray:
        return np.bincount(who, weights=values, minlength=r * m).astype(np.float64)

    for _ in range(rounds):
        belief = np.repeat(good.ravel(), votes.label.shape[2])
        yes_good, no_bad = of_worker(belief * said), of_worker((1 - belief) * (1 - said))
        sum_good, sum_bad = of_worker(belief), of_worker(1 - belief)
        hit = (yes_good + RIGHT) / (sum_good + RIGHT + WRONG)
        reject = (no_bad + RIGHT) / (sum_bad + RIGHT + WRONG)
        odds = np.where(said == 1, np.log(hit / (1 - reject))[who], np.log((1 - hit) / reject)[who])
        prior = scipy.special.logit(np.clip(good.mean(axis=1), 1e-3, 1 - 1e-3))
        good = scipy.special.expit(odds.reshape(votes.label.shape).sum(axis=2) + prior[:, None])
    n = of_worker(np.ones_like(said))
    accuracy = np.where(n > 0, (yes_good + no_bad) / np.maximum(n, 1), np.nan)
    return good, accuracy.reshape(r, m)


def _true_accuracy(votes: LabelVotes) -> FloatArray:
    """(r, workers) chance of a right vote at the replicate's share of good items."""
    share_good = votes.truth.mean(axis=1)[:, None]
    by_guess = votes.strategy[..., 1] * share_good + votes.strategy[..., 0] * (1 - share_good)
    return 1 - votes.guess * (1 - by_guess)


def agreement(label: IntArray, labels: int) -> FloatArray:
    """(r,) mean share of agreeing pairs of votes on an item; ``label`` (r, items, votes)."""
    votes = label.shape[2]
    if votes < 2:
        return np.full(len(label), np.nan)
    counts = np.stack([(label == k).sum(axis=2) for k in range(labels)])
    same = (counts * (counts - 1)).sum(axis=0) / (votes * (votes - 1))
    found: FloatArray = same.mean(axis=1)
    return found


NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


@dataclass(frozen=True)
class PairStudy(Study):
    """``items`` inputs, one output of either system each, compared by ``votes`` workers.

    ``gap`` is share of honest votes for the better system minus share for the other (.05: say 37.5
    to 32.5 per cent, 30 per cent ties). ``ties``: chance of a tie between equals (``tie_model``
    davidson or rao_kupper); ``right``: the right side's share of decided votes between equals;
    ``guessers``: share of workers who do not look; ``item_sd``: how much the log-merit difference
    varies from input to input. The defaults give the agreement and the ties of CrowdRAG's crowd
    (alpha .19, a third neutral, 52 per cent of decided votes for the right).
    """

    ties: float = 0.35
    tie_model: str = DAVIDSON
    right: float = 0.52
    guessers: float = 0.2
    item_sd: float = 1.8

    least_votes = 1

    @property
    def slug(self) -> str:
        """The model's name."""
        return "pairwise"

    @property
    def usual(self) -> int:
        """Replicates that take a few seconds."""
        return int(np.clip(BUDGET // self.judgments, 50, 4000))

    def check(self) -> None:
        """Raise BadParameter, naming it, on a value outside its range."""
        super().check()
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
        return float(scipy.optimize.brentq(lambda merit: self._honest(merit) - self.gap, 0.0, 60.0))

    def _honest(self, merit: float) -> float:
        """Net share for the better system, mean over inputs and sides."""
        d = merit + self.item_sd * NODES[:, None] + self._side() * np.array([1.0, -1.0])
        win, tie = outcome_chances(d, ties=self.ties, tie_model=self.tie_model)
        net = (win - (1 - win - tie)).mean(axis=1)
        return float((WEIGHTS * net).sum() / WEIGHTS.sum())

    def _side(self) -> float:
        """Log-odds that the left gains, from the right side's share of decided votes."""
        if self.tie_model == DAVIDSON:
            return -float(scipy.special.logit(self.right))
        if self.tie_model != RAO_KUPPER:
            return 0.0  # the crowd's check names it

        def decided(d: float) -> float:
            win, tie = outcome_chances(d, ties=self.ties, tie_model=RAO_KUPPER)
            return float(win / (1 - tie)) - self.right

        return -float(scipy.optimize.brentq(decided, -60.0, 60.0))

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

    Clustered by item and by worker, as ``inference.two_way_spread``, for all replicates at once.
    A worker votes once an item, so votes are their own intersection.
    """
    net = (TIE - votes.outcome).astype(np.float64)  # first 1, tie 0, second -1
    r, items, per_item = net.shape
    m = len(votes.guesser)
    centre = net.mean(axis=(1, 2))
    residual = net - centre[:, None, None]
    by_item = residual.sum(axis=2)
    who = (np.arange(r)[:, None, None] * m + votes.worker).ravel()
    by_worker = np.bincount(who, weights=residual.ravel(), minlength=r * m).reshape(r, m)
    share = np.bincount(who, minlength=r * m).reshape(r, m) / (items * per_item)
    of_items = (by_item**2).sum(axis=1) * (items / (items - 1)) ** 2
    of_workers = np.square(by_worker / np.where(share < 1, 1 - share, 1.0)).sum(axis=1)
    both = (residual**2).sum(axis=(1, 2))
    variance = np.maximum.reduce([of_items + of_workers - both, of_items, of_workers, both])
    freedom = np.minimum(items - 1, bell_mccaffrey(share.T))
    reach = t_quantile(level, freedom) * np.sqrt(variance) / (items * per_item)
    return centre, centre - reach, centre + reach
