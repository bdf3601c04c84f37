"""Shares of votes that systems win, with intervals that may be looked at as often as one likes.

A system's share is the mean, over the other systems, of the share of votes it wins against each;
a neutral vote is half a win. With two systems it is the share of votes of one over the other.

The interval is a confidence sequence: it holds the truth at all looks at once with the stated
confidence, so that one may stop when it is narrow. It is the normal mixture of Robbins (1970) as
Howard, Ramdas, McAuliffe and Sekhon (2021, Annals of Statistics 49, section 3.2) give it, on the
estimate's information: with variance ``V`` and ``v = 1 / V`` the reach is
``sqrt((v + r) log((v + r) / (r a^2))) / v``. ``r`` makes it narrowest at the target. That a
studentised mean may stand in for a mean of known variance is asymptotic (Waudby-Smith, Arbour,
Sinha, Kennedy and Ramdas 2024, Annals of Statistics 52).

Votes of one worker are alike, so are those on one prompt, and a few workers do most of the work.
``V`` is the linearised variance of the ratios clustered by both (Cameron, Gelbach and Miller 2011),
each cluster's sum divided by the root of one minus its share of the votes (CR2), and not below that
of either alone nor of as many independent votes (Agresti and Coull's share). Few clusters know
their variance badly: the reach in standard errors is read as a normal quantile and put at the same
probability of a t with Bell and McCaffrey's degrees of freedom for the clusters' shares
(``core.inference``); from effectively fewer than ``LEAST_EFFECTIVE`` workers or prompts there is no
interval. With more than two systems all intervals hold at once (Bonferroni).

``python -m tests.studies.live_coverage`` measures how often the intervals at .95 hold the truth
where collecting stopped; its table is in its docstring.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import DataError, FloatArray, IntArray
from evaluation.methods.core.inference import (
    bell_mccaffrey,
    family_level,
    t_for_normal,
    too_few_clusters,
)
from evaluation.methods.core.units import LEAST, MEAN

VERSION = "1.1"


@dataclass(frozen=True, eq=False)
class Votes:
    """n votes, each array of shape (n,).

    ``first`` and ``second`` are systems from 0, ``score`` is 1 where the first won, 0 where the
    second did and .5 else; ``worker`` and ``prompt`` are any whole numbers.
    """

    first: IntArray
    second: IntArray
    score: FloatArray
    worker: IntArray
    prompt: IntArray

    def head(self, number: int) -> Votes:
        """Keep the first ``number`` votes."""
        return Votes(
            self.first[:number],
            self.second[:number],
            self.score[:number],
            self.worker[:number],
            self.prompt[:number],
        )


@dataclass(frozen=True, eq=False)
class WinShares:
    """Shares (k,) with their intervals; ``low`` and ``high`` are nan where ``why`` says so.

    ``pairs`` (k, k) are the shares of the row over the column, nan without votes; ``votes`` (k, k)
    their numbers.
    """

    share: FloatArray
    low: FloatArray
    high: FloatArray
    pairs: FloatArray
    votes: IntArray
    workers: int
    prompts: int
    half_width: float  # the largest; nan without intervals
    why: str = ""


def win_shares(
    given: Votes,
    *,
    systems: int,
    confidence: float = 0.95,
    target: float = 0.05,
    by_prompt: bool = False,
) -> WinShares:
    """Estimate the win shares of ``systems`` (k) with intervals that hold at every look.

    ``by_prompt``: the votes are the same judges' on every prompt, so that prompts alone were
    sampled; the intervals say nothing of other judges, and ``worker`` is not read.
    ``target`` is the half-width at which the intervals are to be narrowest; it changes no coverage.
    Raises DataError for arrays of unlike lengths, a system against itself, or out of range.
    """
    _check(given, systems)
    if not 0 < confidence < 1 or not 0 < target < 1:
        raise DataError("Confidence and target lie between 0 and 1.")
    first, second, score = given.first, given.second, given.score
    votes, wins = np.zeros((systems, systems), np.int64), np.zeros((systems, systems))
    np.add.at(votes, (first, second), 1)
    np.add.at(wins, (first, second), score)
    wins = wins + (votes - wins).T
    votes = votes + votes.T
    with np.errstate(invalid="ignore"):
        pairs = np.where(votes > 0, wins / votes, np.nan)
    others = ~np.eye(systems, dtype=bool)
    told = others & (votes > 0)
    share = np.where(told, pairs, 0).sum(axis=1) / np.maximum(1, told.sum(axis=1))
    share = np.where(told.any(axis=1), share, np.nan)
    if by_prompt:
        given = replace(given, worker=given.prompt)
    people, topics = np.unique(given.worker), np.unique(given.prompt)
    none = np.full(systems, np.nan)
    why = ""
    if not told[others].all():
        why = "some systems have no vote against each other yet"
    if not by_prompt:
        why = why or too_few_clusters(len(people), len(people), "workers", LEAST[MEAN])
    why = why or too_few_clusters(len(topics), len(topics), "prompts", LEAST[MEAN])
    nothing = WinShares(
        share, none, none, pairs, votes, len(people), len(topics), half_width=np.nan, why=why
    )
    if why:
        return nothing
    weight = _weights(given, votes)
    by_worker = _Clusters.of(given.worker, weight, "workers" if not by_prompt else "prompts")
    by_topic = by_worker if by_prompt else _Clusters.of(given.prompt, weight, "prompts")
    if why := by_worker.why_no_interval or by_topic.why_no_interval:
        return replace(nothing, why=why)
    pull = weight * (given.score - pairs[first, second])[:, None]
    pull[np.arange(len(first)), second] *= -1
    variance = _variance(pull, by_worker, by_topic, share, votes.sum(axis=1))
    freedom = np.minimum(by_worker.freedom, by_topic.freedom)
    level = family_level(confidence, systems if systems > 2 else 1)
    reach = _reach(variance, freedom, 1 - level, target)
    return replace(
        nothing,
        low=np.maximum(0.0, share - reach),
        high=np.minimum(1.0, share + reach),
        half_width=float(reach.max()),
    )


def _check(given: Votes, systems: int) -> None:
    first, second = given.first, given.second
    columns = (first, second, given.score, given.worker, given.prompt)
    if len({one.shape for one in columns}) != 1 or first.ndim != 1:
        raise DataError("The votes' arrays are of unlike lengths.")
    if systems < 2:
        raise DataError("Two systems are compared at least.")
    named = np.concatenate([first, second])
    if (first == second).any() or (named < 0).any() or (named >= systems).any():
        raise DataError("A vote names a system against itself, or one that is not there.")


def _weights(given: Votes, votes: IntArray) -> FloatArray:
    """Return the weight of each vote in each system's share (n, k); columns add up to 1."""
    first, second = given.first, given.second
    weight = np.zeros((len(first), len(votes)))
    rows = np.arange(len(first))
    weight[rows, first] = weight[rows, second] = 1 / (votes[first, second] * (len(votes) - 1))
    return weight


@dataclass(frozen=True, eq=False)
class _Clusters:
    """``place`` (n,) of each vote, ``share`` (g, k) of each cluster in each system's votes."""

    place: NDArray[np.intp]
    share: FloatArray
    noun: str

    @classmethod
    def of(cls, name: IntArray, weight: FloatArray, noun: str) -> _Clusters:
        """Make the clusters of rows by name, with the sum of their weights."""
        names, place = np.unique(name, return_inverse=True)
        return cls(place, _summed(weight, place, len(names)), noun)

    @property
    def freedom(self) -> FloatArray:
        """Bell and McCaffrey's degrees of freedom (k,)."""
        return bell_mccaffrey(self.share)

    @property
    def why_no_interval(self) -> str:
        """Why these give some system no interval; "" where they do."""
        effective = 1 / (self.share**2).sum(axis=0)
        at = int(effective.argmin())
        clusters = int((self.share[:, at] > 0).sum())
        return too_few_clusters(clusters, float(effective[at]), self.noun, LEAST[MEAN])

    def variance(self, pull: FloatArray) -> FloatArray:
        """Return the variance of sums of pulls (n, k) over clusters."""
        sums = _summed(pull, self.place, len(self.share))
        return np.asarray((sums**2 / (1 - self.share)).sum(axis=0), dtype=np.float64)


def _variance(
    pull: FloatArray, by_worker: _Clusters, by_prompt: _Clusters, share: FloatArray, n: IntArray
) -> FloatArray:
    """Variances of the shares (k,), clustered both ways."""
    one, two = by_worker.variance(pull), by_prompt.variance(pull)
    cell = by_worker.place * len(by_prompt.share) + by_prompt.place
    known, place = np.unique(cell, return_inverse=True)
    both = (_summed(pull, place, len(known)) ** 2).sum(axis=0)
    least = (share * n + 2) / (n + 4)
    return np.maximum.reduce([one + two - both, one, two, least * (1 - least) / n])


def _summed(values: FloatArray, place: NDArray[np.intp], size: int) -> FloatArray:
    """Columns (n, k) added up by place (size, k)."""
    return np.stack([np.bincount(place, column, size) for column in values.T], axis=1)


def _reach(variance: FloatArray, freedom: FloatArray, alpha: float, target: float) -> FloatArray:
    """Half-widths of the confidence sequence at these variances (k,)."""
    ratio = float(-scipy.special.lambertw(-(alpha**2) / np.e, -1).real) - 1
    best = (1 + 1 / ratio) * np.log((1 + ratio) / alpha**2)  # squared errors at the target
    mixed = best / target**2 / ratio
    known = 1 / variance
    errors = np.sqrt((known + mixed) * np.log((known + mixed) / (mixed * alpha**2)) / known)
    return np.asarray(t_for_normal(errors, freedom) * np.sqrt(variance), dtype=np.float64)
