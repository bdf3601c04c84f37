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

Votes of one worker are alike, and so are those on one prompt. ``V`` is the linearised variance of
the ratios clustered by both (Cameron, Gelbach and Miller 2011), each part times G / (G - 1) for G
clusters, and not below that of either alone nor of as many independent votes (Agresti and Coull's
share). Few clusters know their variance badly: the reach in standard errors is read as a normal
quantile and put at the same probability of a t of (least G - 1) degrees of freedom. With more than
two systems all intervals hold at once (Bonferroni).

``python -m tests.studies.live_coverage`` measures how often the intervals at .95 hold the truth
where collecting stopped; its table is in its docstring.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from evaluation.methods.core.base import DataError, FloatArray, IntArray
from evaluation.methods.core.inference import family_level
from evaluation.methods.core.units import MEAN, too_few

VERSION = "1.0"


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
        """The first so many of them."""
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
    """Shares of ``systems`` (k), and their intervals, valid at every look.

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
        why = why or too_few(len(people), "workers", MEAN)
    why = why or too_few(len(topics), "prompts", MEAN)
    if why:
        known = (len(people), len(topics))
        return WinShares(share, none, none, pairs, votes, *known, half_width=np.nan, why=why)
    pull = _pulls(given, pairs, votes)
    variance, clusters = _variance(pull, given, share, votes.sum(axis=1))
    level = family_level(confidence, systems if systems > 2 else 1)
    reach = _reach(variance, clusters, 1 - level, target)
    return WinShares(
        share,
        np.maximum(0.0, share - reach),
        np.minimum(1.0, share + reach),
        pairs,
        votes,
        len(people),
        len(topics),
        float(reach.max()),
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


def _pulls(given: Votes, pairs: FloatArray, votes: IntArray) -> FloatArray:
    """How far each vote pulls each system's share (n, k): the ratios' linear terms."""
    first, second = given.first, given.second
    own = (given.score - pairs[first, second]) / (votes[first, second] * (len(pairs) - 1))
    pull = np.zeros((len(first), len(pairs)))
    rows = np.arange(len(first))
    pull[rows, first] = own
    pull[rows, second] = -own
    return pull


def _variance(
    pull: FloatArray, given: Votes, share: FloatArray, n: IntArray
) -> tuple[FloatArray, int]:
    """Variances of the shares (k,), clustered both ways, and the smaller number of clusters."""
    by_worker, people = _clustered(pull, given.worker)
    by_prompt, topics = _clustered(pull, given.prompt)
    _, at_worker = np.unique(given.worker, return_inverse=True)
    _, at_prompt = np.unique(given.prompt, return_inverse=True)
    both, _ = _clustered(pull, at_worker * topics + at_prompt)
    least = (share * n + 2) / (n + 4)
    alone = least * (1 - least) / n
    joint = by_worker + by_prompt - both
    return np.maximum.reduce([joint, by_worker, by_prompt, alone]), min(people, topics)


def _clustered(pull: FloatArray, cluster: IntArray) -> tuple[FloatArray, int]:
    names, place = np.unique(cluster, return_inverse=True)
    sums = np.zeros((len(names), pull.shape[1]))
    np.add.at(sums, place, pull)
    number = len(names)
    return (sums**2).sum(axis=0) * number / max(1, number - 1), number


def _reach(variance: FloatArray, clusters: int, alpha: float, target: float) -> FloatArray:
    """Half-widths of the confidence sequence at these variances (k,)."""
    ratio = float(-scipy.special.lambertw(-(alpha**2) / np.e, -1).real) - 1
    best = (1 + 1 / ratio) * np.log((1 + ratio) / alpha**2)  # squared errors at the target
    mixed = best / target**2 / ratio
    known = 1 / variance
    errors = np.sqrt((known + mixed) * np.log((known + mixed) / (mixed * alpha**2)) / known)
    wider: FloatArray = scipy.stats.t.isf(scipy.stats.norm.sf(errors), clusters - 1)
    return wider * np.sqrt(variance)
