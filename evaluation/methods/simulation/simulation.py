"""Simulated crowds with known truth: labels by MACE's worker model, comparisons with ties, sides.

Labels: a worker guesses with a probability of their own, by a strategy of their own, and else
gives the true label (Hovy et al. 2013, "Learning whom to trust with MACE"). Comparisons: Davidson's
or Rao and Kupper's ties on a log-merit scale, with item effects, a side effect and guessers. Many
replicates are drawn in one array computation. Vector answers (AQER's appendices) are in
simulated_texts.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import BadParameter, FloatArray, IntArray
from evaluation.methods.core.votes import FIRST, SECOND, TIE, Labels, Pairs


def choose_workers(
    rng: np.random.Generator, shape: tuple[int, ...], workers: int, votes: int
) -> IntArray:
    """Draw who votes: (*shape, votes), a random set of distinct workers in each cell.

    Every set is equally likely (Floyd's sampling: Bentley and Floyd 1987). Raises BadParameter
    where there are fewer workers than votes.
    """
    whole_number("workers", workers, 1)
    whole_number("votes", votes, 1)
    if votes > workers:
        raise BadParameter(
            f"votes is {votes}, but there are only {workers} workers; nobody votes twice on an item"
        )
    chosen = np.empty((*shape, votes), dtype=np.int64)
    for k in range(votes):
        last = workers - votes + k
        drawn = rng.integers(0, last + 1, shape)
        taken = (chosen[..., :k] == drawn[..., None]).any(axis=-1)
        chosen[..., k] = np.where(taken, last, drawn)
    return chosen


@dataclass(frozen=True)
class LabelCrowd:
    """MACE's generative model of labels.

    Each of ``items`` items has one of ``labels`` true labels, drawn evenly, and gets ``votes``
    votes of distinct random ``workers``. A share ``spammers`` of workers always guesses; the
    others guess with a probability drawn from Beta(``guess_a``, ``guess_b``). Guessing follows a
    worker's own strategy, Dirichlet(``strategy``) over labels: small values give workers with one
    favourite label, large ones even guessing.
    """

    workers: int = 20
    items: int = 100
    votes: int = 5
    labels: int = 2
    spammers: float = 0.2
    guess_a: float = 1.0
    guess_b: float = 9.0
    strategy: float = 1.0

    def check(self) -> None:
        """Raise BadParameter, naming it, on a value outside its range."""
        for name, least in (("workers", 1), ("items", 1), ("votes", 1), ("labels", 2)):
            whole_number(name, getattr(self, name), least)
        share("spammers", self.spammers)
        for name in ("guess_a", "guess_b", "strategy"):
            positive(name, getattr(self, name))


@dataclass(frozen=True, eq=False)
class LabelVotes:
    """Votes of r replicates: ``worker``, ``label`` (r, items, votes), the true labels ``truth``
    (r, items), and of each worker ``guess`` (r, workers), the probability of guessing, and
    ``strategy`` (r, workers, labels)."""

    worker: IntArray
    label: IntArray
    truth: IntArray
    guess: FloatArray
    strategy: FloatArray

    def data(self, replicate: int = 0) -> Labels:
        """Return one replicate as Labels; names are numbers after w, i and l."""
        items, votes = self.label.shape[1:]
        workers, labels = self.strategy.shape[1:]
        return Labels.build(
            self.worker[replicate].ravel(),
            np.repeat(np.arange(items), votes),
            self.label[replicate].ravel(),
            workers=[f"w{j}" for j in range(workers)],
            items=[f"i{i}" for i in range(items)],
            labels=[f"l{k}" for k in range(labels)],
        )

    @property
    def accuracy(self) -> FloatArray:
        """(r, workers) probability that a worker's vote is right, for a label drawn evenly."""
        labels = self.strategy.shape[2]
        return 1 - self.guess * (1 - 1 / labels)


def simulate_labels(
    rng: np.random.Generator,
    crowd: LabelCrowd,
    *,
    replicates: int = 1,
    truth: IntArray | None = None,
) -> LabelVotes:
    """Votes by ``crowd``; ``truth`` (replicates, items) where it should not be drawn evenly.

    Raises BadParameter.
    """
    crowd.check()
    whole_number("replicates", replicates, 1)
    size = (replicates, crowd.workers)
    spammer = np.arange(crowd.workers) < round(crowd.spammers * crowd.workers)
    guess = np.where(spammer, 1.0, rng.beta(crowd.guess_a, crowd.guess_b, size))
    strategy = rng.dirichlet(np.full(crowd.labels, crowd.strategy), size)
    if truth is None:
        truth = rng.integers(0, crowd.labels, (replicates, crowd.items))
    worker = choose_workers(rng, (replicates, crowd.items), crowd.workers, crowd.votes)
    at = np.arange(replicates)[:, None, None]
    guesses = rng.random(worker.shape) < guess[at, worker]
    steps = np.cumsum(strategy, axis=2)[at, worker][..., :-1]
    guessed = (rng.random(worker.shape)[..., None] > steps).sum(axis=-1)
    label = np.where(guesses, guessed, truth[:, :, None])
    return LabelVotes(worker, label, truth, guess, strategy)


DAVIDSON, RAO_KUPPER = "davidson", "rao_kupper"


@dataclass(frozen=True)
class PairCrowd:
    """A crowd that compares two candidates at a time.

    Item i compares a random pair of the candidates with log-merits ``merits``; its own difference
    is merit difference + N(0, ``item_sd``^2), since one system is not better everywhere. What is
    shown on the left gains ``side`` log-odds (negative: the right gains). ``ties`` is the
    chance of a tie between equals, under Davidson's (1970) or Rao and Kupper's (1967) model. A
    share ``guessers`` of workers does not look: left, tie or right by a strategy of their own.
    """

    workers: int = 20
    items: int = 100
    votes: int = 5
    merits: tuple[float, ...] = (0.0, 0.0)
    ties: float = 0.3
    tie_model: str = DAVIDSON
    side: float = 0.0
    guessers: float = 0.2
    item_sd: float = 1.0

    def check(self) -> None:
        """Raise BadParameter, naming it, on a value outside its range."""
        for name in ("workers", "items", "votes"):
            whole_number(name, getattr(self, name), 1)
        share("guessers", self.guessers)
        if not 0 <= self.ties < 1:
            raise BadParameter(f"ties is {self.ties!r}; it must lie from 0 to below 1")
        if self.tie_model not in (DAVIDSON, RAO_KUPPER):
            raise BadParameter(f"tie_model is {self.tie_model!r}; it is davidson or rao_kupper")
        if len(self.merits) < 2 or not np.isfinite(self.merits).all():
            raise BadParameter(f"merits are {self.merits!r}; give two or more finite numbers")
        if not np.isfinite(self.side):
            raise BadParameter(f"side is {self.side!r}; it must be a finite number")
        if not 0 <= self.item_sd < np.inf:
            raise BadParameter(f"item_sd is {self.item_sd!r}; it must be 0 or more")


def outcome_chances(
    difference: Any, *, ties: float, tie_model: str = DAVIDSON
) -> tuple[FloatArray, FloatArray]:
    """Chance that the first wins, and of a tie, at a log-merit ``difference`` (first - second).

    Davidson: p(first) : p(tie) : p(second) = e^(d/2) : nu : e^(-d/2), nu = 2 ties / (1 - ties).
    Rao-Kupper: p(first) = 1 / (1 + theta e^-d), theta = (1 + ties) / (1 - ties). ``ties`` is the
    chance of a tie at d = 0 in both.
    """
    d = np.asarray(difference, dtype=np.float64)
    if tie_model == RAO_KUPPER:
        eta = np.log((1 + ties) / (1 - ties))
        first, second = scipy.special.expit(d - eta), scipy.special.expit(-d - eta)
        return first, 1 - first - second
    nu = 2 * ties / (1 - ties)
    up, down = np.exp(np.minimum(d, 0.0)), np.exp(np.minimum(-d, 0.0))  # e^(+-d/2), scaled
    middle = nu * np.exp(-np.abs(d) / 2)
    total = up + middle + down
    return up / total, middle / total


@dataclass(frozen=True, eq=False)
class PairVotes:
    """Comparisons of r replicates: ``worker``, ``outcome`` and ``left`` (r, items, votes), the
    candidates ``first`` < ``second`` (r, items), and the items' true log-merit ``difference``
    (r, items). Codes as in Pairs; ``guesser`` (workers,) says who does not look."""

    worker: IntArray
    outcome: IntArray
    left: IntArray
    first: IntArray
    second: IntArray
    difference: FloatArray
    guesser: NDArray[np.bool_]
    players: int

    def data(self, replicate: int = 0) -> Pairs:
        """Return one replicate as Pairs."""
        votes = self.outcome.shape[2]
        return Pairs.build(
            np.repeat(self.first[replicate], votes),
            np.repeat(self.second[replicate], votes),
            self.outcome[replicate].ravel(),
            players=[f"p{k}" for k in range(self.players)],
            left=self.left[replicate].ravel(),
            judge=self.worker[replicate].ravel(),
            judges=[f"w{j}" for j in range(len(self.guesser))],
        )


def simulate_pairs(rng: np.random.Generator, crowd: PairCrowd, *, replicates: int = 1) -> PairVotes:
    """Comparisons by ``crowd``; which candidate is on the left is drawn for each vote.

    Raises BadParameter.
    """
    crowd.check()
    whole_number("replicates", replicates, 1)
    merits, size = np.array(crowd.merits), (replicates, crowd.items)
    pair = choose_workers(rng, size, len(merits), 2)
    first, second = pair.min(axis=-1), pair.max(axis=-1)
    difference = merits[first] - merits[second] + rng.normal(0.0, crowd.item_sd, size)
    worker = choose_workers(rng, size, crowd.workers, crowd.votes)
    left = 2 * rng.integers(0, 2, worker.shape) - 1
    felt = difference[:, :, None] + crowd.side * left
    win, tie = outcome_chances(felt, ties=crowd.ties, tie_model=crowd.tie_model)
    drawn = rng.random(worker.shape)
    outcome = np.where(drawn < win, FIRST, np.where(drawn < win + tie, TIE, SECOND))
    guesser = np.arange(crowd.workers) < round(crowd.guessers * crowd.workers)
    if guesser.any():
        strategy = rng.dirichlet(np.ones(3), (replicates, crowd.workers)).cumsum(axis=2)
        steps = strategy[np.arange(replicates)[:, None, None], worker][..., :-1]
        place = (rng.random(worker.shape)[..., None] > steps).sum(axis=-1)  # left, tie, right
        blind = np.where(left == 1, place, SECOND - place)
        outcome = np.where(guesser[worker], blind, outcome)
    return PairVotes(worker, outcome, left, first, second, difference, guesser, len(merits))


def whole_number(name: str, value: Any, least: int) -> None:
    """Raise BadParameter unless ``value`` is a whole number from ``least`` on."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise BadParameter(f"{name} is {value!r}; it must be a whole number from {least} on")


def share(name: str, value: float) -> None:
    """Raise BadParameter unless 0 <= value <= 1."""
    if not 0 <= value <= 1:
        raise BadParameter(f"{name} is {value!r}; it must lie between 0 and 1")


def positive(name: str, value: float) -> None:
    """Raise BadParameter unless value is positive and finite."""
    if not 0 < value < np.inf:
        raise BadParameter(f"{name} is {value!r}; it must be positive")
