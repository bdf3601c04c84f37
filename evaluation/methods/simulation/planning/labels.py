"""Planning: outputs of two systems are judged good or bad by a crowd of MACE's worker model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri

from evaluation.methods.core.base import BadParameter, FloatArray, IntArray
from evaluation.methods.simulation.planning.draws import (
    BUDGET,
    CHUNK,
    Draws,
    check_gap,
    check_size,
    mean_interval,
)
from evaluation.methods.simulation.simulation import LabelCrowd, LabelVotes, share, simulate_labels

ROUNDS = 15
# Prior votes of each worker: right 2, wrong 1, in both classes; keeps the light EM the right way.
RIGHT, WRONG = 2.0, 1.0


@dataclass(frozen=True)
class LabelStudy:
    """Each of ``items`` inputs has one output of either system; each output gets ``votes`` votes.

    A share ``good`` of the worse system's outputs is good, and ``good + gap`` of the better one's;
    ``likeness`` correlates the two on one input (a hard input is hard for both). A share
    ``guessers`` of workers always guesses; the others guess with mean probability ``slips``.
    """

    workers: int = 20
    items: int = 100
    votes: int = 5
    gap: float = 0.05
    good: float = 0.7
    likeness: float = 0.5
    guessers: float = 0.2
    slips: float = 0.1

    @property
    def slug(self) -> str:
        """The model's name."""
        return "labels"

    @property
    def judgments(self) -> int:
        """Votes on both systems' outputs."""
        return 2 * self.items * self.votes

    @property
    def usual(self) -> int:
        """Replicates that take a few seconds."""
        return int(np.clip(BUDGET // (4 * self.judgments), 25, 2000))

    @property
    def at_once(self) -> int:
        """Replicates in one pass."""
        return max(1, CHUNK // self.judgments)

    def check(self) -> None:
        """Raise BadParameter, naming it, on a value outside its range."""
        check_size(self.workers, self.items, self.votes, 2)
        check_gap(self.gap)
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
            common + rng.standard_normal(size) * (1 - self.likeness) ** 0.5 < ndtri(chance)
            for chance in (self.good + self.gap, self.good)
        ]
        return np.concatenate(halves, axis=1).astype(np.int64)


def gold(votes: LabelVotes, rounds: int = ROUNDS) -> tuple[FloatArray, FloatArray]:
    """Chance that each item is good (r, items), and accuracy of each worker (r, workers).

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
        prior = logit(np.clip(good.mean(axis=1), 1e-3, 1 - 1e-3))
        good = expit(odds.reshape(votes.label.shape).sum(axis=2) + prior[:, None])
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
