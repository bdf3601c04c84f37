"""Simulated studies for adaptive collection: systems of known order, pairs, and a crowd's votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.adaptive.beliefs import systems_of
from evaluation.methods.adaptive.method import Rules
from evaluation.methods.core.base import BadParameter, FloatArray, IntArray
from evaluation.methods.core.votes import FIRST, SECOND
from evaluation.methods.simulation.simulation import (
    DAVIDSON,
    PairCrowd,
    outcome_chances,
    share,
    simulate_pairs,
    whole_number,
)

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
HEAVY = 1e6  # votes a pair of systems that stand for endlessly many


@dataclass(frozen=True)
class Design:
    """A study and its crowd.

    ``pairs`` random pairs of ``systems`` whose log-merits are normal with ``merit_sd``, or evenly
    spaced with it (``even``), or ``given`` and the same in every replicate; a pair's own difference
    is off by N(0, ``item_sd``^2). ``ties``: chance of a neutral vote between equals; ``right``: the
    right side's share of decided votes between equals. A share ``spammers`` of ``workers`` does not
    look: ``always_left`` of these click left, the others follow a strategy of their own
    (``simulation.PairCrowd``). ``equal`` votes a pair are what is compared with; ``floor``,
    ``ceiling``, ``certainty``, ``target`` and ``batch`` are those of ``adaptive.plan_votes``. With
    the defaults a worker gives 33 votes when all pairs get the equal share, and
    agreement is about CrowdRAG's, or below (ordinal alpha .15 to .19, as the merits fall).
    """

    workers: int = 300
    pairs: int = 2000
    systems: int = 12
    merit_sd: float = 1.0
    even: bool = False
    item_sd: float = 1.0
    ties: float = 0.35
    right: float = 0.52
    spammers: float = 0.2
    always_left: float = 0.5
    equal: int = 5
    floor: int = 1
    ceiling: int = 12
    certainty: float = 0.95
    target: str = "ranking"
    batch: int | None = None
    given: tuple[float, ...] = ()

    def check(self) -> None:
        """Raise BadParameter, naming it, on a value outside its range."""
        whole_number("systems", self.systems, 2)
        whole_number("equal", self.equal, 2)
        share("always_left", self.always_left)
        if not 0 < self.merit_sd < 20:
            raise BadParameter(
                f"merit_sd is {self.merit_sd!r}; it must be positive: equal systems have no order"
            )
        if not 0 < self.right < 1:
            raise BadParameter(f"right is {self.right!r}; it must lie between 0 and 1")
        if self.given and (len(self.given) != self.systems or len(set(self.given)) == 1):
            raise BadParameter("given must be one log-merit a system, not all of them equal")
        self.rules(self.equal + 1).check(self.pairs)
        if self.ceiling <= self.equal:
            raise BadParameter(
                f"ceiling is {self.ceiling}; it must be above the equal share of {self.equal}"
            )
        if self.ceiling > self.workers:
            raise BadParameter(f"ceiling is {self.ceiling}, but there are {self.workers} workers")
        self.crowd(np.zeros(self.systems)).check()

    def rules(self, votes: int) -> Rules:
        """Return the rules of a plan with a budget of ``votes`` per pair."""
        return Rules(
            self.floor,
            self.ceiling,
            self.certainty,
            votes * self.pairs,
            self.target,
            batch=self.batch,
        )

    def crowd(self, merits: FloatArray) -> PairCrowd:
        """Return the simulated crowd, with the most votes per pair that could be asked for."""
        return PairCrowd(
            self.workers,
            self.pairs,
            self.ceiling,
            tuple(merits.tolist()),
            self.ties,
            DAVIDSON,
            -float(scipy.special.logit(self.right)),
            self.spammers,
            self.item_sd,
        )

    def merits(self, rng: np.random.Generator) -> FloatArray:
        """Draw the true log-merits (systems,) of one replicate.

        Evenly spaced ones in random order.
        """
        if self.given:
            return np.array(self.given)
        if not self.even:
            return rng.normal(0.0, self.merit_sd, self.systems)
        spaced = np.linspace(-1.0, 1.0, self.systems)
        return rng.permutation(spaced * self.merit_sd / spaced.std())

    def limit(self, merits: FloatArray) -> FloatArray:
        """Return the merits (systems,) that Bradley-Terry converges to with endless votes.

        They are closer together than the true ones, since pairs differ and some people guess.
        """
        one, two = np.triu_indices(self.systems, 1)
        side = -float(scipy.special.logit(self.right)) * np.array([1.0, -1.0])
        felt = (merits[one] - merits[two])[:, None] + self.item_sd * NODES
        win, tie = outcome_chances(felt[:, :, None] + side, ties=self.ties)
        seen = [(x.mean(axis=2) @ WEIGHTS) / WEIGHTS.sum() for x in (win, tie, 1 - win - tie)]
        left = round(self.always_left * round(self.spammers * self.workers)) / self.workers
        other = round(self.spammers * self.workers) / self.workers - left
        blind = np.array([left / 2 + other / 3, other / 3, left / 2 + other / 3])
        counts = HEAVY * ((1 - left - other) * np.stack(seen, axis=1) + blind)
        return systems_of(counts, one, two, self.systems)[0]


@dataclass(frozen=True, eq=False)
class Drawn:
    """One replicate: the votes (p, ceiling) that each pair would get, one after the other.

    ``first``, ``second`` (p,) index systems of true log-merit ``merit``; ``label`` (p,) is the
    answer that workers who look give most often. ``worker``, ``left`` (1: the first was shown on
    the left, -1: on the right) and ``outcome`` are (p, ceiling); ``spammer`` (workers,).
    """

    merit: FloatArray
    first: IntArray
    second: IntArray
    label: IntArray
    worker: IntArray
    left: IntArray
    outcome: IntArray
    spammer: NDArray[np.bool_]

    def counts(self, votes: IntArray) -> FloatArray:
        """Count first, neutral and second (p, 3) among the first ``votes`` (p,) of each pair."""
        pair, k = np.nonzero(np.arange(self.outcome.shape[1]) < votes[:, None])
        code = 3 * pair + self.outcome[pair, k]
        return np.bincount(code, minlength=3 * len(votes)).reshape(-1, 3).astype(np.float64)

    def tau(self, merit: FloatArray) -> float:
        """Kendall's tau of estimated merits (systems,) to the true ones; equal ones count 0."""
        one, two = np.triu_indices(len(merit), 1)
        same = np.sign(merit[one] - merit[two]) * np.sign(self.merit[one] - self.merit[two])
        return float(same.mean())


def draw(design: Design, rng: np.random.Generator) -> Drawn:
    """Simulate one replicate of a checked ``design``."""
    merits = design.merits(rng)
    crowd = design.crowd(merits)
    votes = simulate_pairs(rng, crowd)
    # A set of workers is random, but the order in which choose_workers lists it is not.
    order = rng.permuted(np.tile(np.arange(design.ceiling), (design.pairs, 1)), axis=1)
    worker, left, outcome = (
        np.take_along_axis(values[0], order, axis=1)
        for values in (votes.worker, votes.left, votes.outcome)
    )
    always = round(design.always_left * int(votes.guesser.sum()))
    # Guessers are the first in the list of workers, and the first of these click left.
    outcome = np.where(worker < always, np.where(left == 1, FIRST, SECOND), outcome)
    win, tie = outcome_chances(votes.difference[0], ties=crowd.ties)
    label = np.stack([win, tie, 1 - win - tie], axis=1).argmax(axis=1)
    return Drawn(
        merits, votes.first[0], votes.second[0], label, worker, left, outcome, votes.guesser
    )
