"""Look-alikes: pairs of workers who agree more than how good they are explains.

Two workers who look for themselves agree because both find the truth. With their shares of each
label on the items they share, and independent given the truth, they agree with probability

    sum_c share_ic share_jc + r_i r_j

(exactly so for two classes, whatever their confusion matrices: the covariance of two answers is a
product). The r are fitted to all pairs (pair_fit.py). What a pair agrees beyond it is tested by a
binomial tail that allows for how well r is known, and corrected for all pairs that were tested
(Bonferroni). Where no pair is named, groups are tested (groups.py).

Two careful workers among people who guess agree alike: they are the only ones who find the truth.
So a pair is named only beside LEAST_OTHERS workers who agree with somebody beyond chance, too.

Whoever always gives one label agrees with others who do, as its shares say, and is no look-alike.
Two accounts of one person, one answer copied, or two uses of one model are: the test cannot tell
them apart, nor from two people who decided together. It is evidence to look at, never a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray, Table
from evaluation.methods.workers.groups import dependent_group
from evaluation.methods.workers.pair_fit import (
    Pairs,
    expected_agreement,
    fit,
    pair_variance,
    shared_pairs,
)

LEAST_SHARED = 5  # items (independent ones) of a pair that is tested
LEAST_WORKERS = 5  # fewer say nothing about the fit
LEAST_OTHERS = 3  # workers beside a pair who share its items and do not guess
NO_GUESS = 0.01  # chance of as much agreement, at most this, of a pair who do not guess
LEAST_EXCESS = 0.25  # of the disagreements that are expected, so many must be missing
FAMILY_ERROR = 0.01  # chance that any pair of the crowd is named by chance
REFITS = 4  # without the pairs inside groups of look-alikes found so far
PAIR = ("worker_a", "worker_b", "shared", "agreement", "expected", "p")
NOBODY = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LookAlikes:
    """``pair``, a row a named pair (PAIR; ``p`` adjusted), how many were ``tested``, and why none.

    ``shared`` counts answers; ``worker_a`` < ``worker_b`` are indices. ``together``: workers whom
    the evidence is about. Where no pair is named they are a group's (groups.py), whose members
    are uncertain: it says that the crowd is not independent, and is not shown.
    """

    pair: Table
    tested: int
    together: IntArray
    reason: str = ""


def look_alikes(
    worker: IntArray, item: IntArray, label: IntArray, *, workers: int, per: int = 1
) -> LookAlikes:
    """Pairs of ``workers`` who agree beyond what their quality explains.

    ``worker``, ``item`` and ``label`` (n,) are whole numbers from 0: one answer a worker and item.
    Of items that hang together (dimensions of one pair of texts) ``per`` count as one.
    """
    pairs = shared_pairs(worker, item, label, workers=workers, least=LEAST_SHARED, per=per)
    found = alike_pairs(pairs, workers)
    if found.tested and not len(found.pair):
        group = dependent_group(worker, item, label, workers=workers, per=per)
        return replace(found, together=group)
    return found


def alike_pairs(pairs: Pairs, workers: int) -> LookAlikes:
    """As ``look_alikes``, of pairs that were counted; without looking for groups."""
    present = np.unique(np.concatenate([pairs.first, pairs.second]))
    if len(present) < LEAST_WORKERS:
        return LookAlikes(_named(pairs, NOBODY), 0, NOBODY, "too few shared items")
    agreement = pairs.agree / pairs.n
    chance = np.clip(pairs.chance, 0.01, 0.99)
    able = _tail(agreement, chance, np.zeros(len(chance)), pairs.units) <= NO_GUESS
    apart = np.zeros(len(pairs.n), dtype=bool)
    for _ in range(REFITS):
        fitted = fit(pairs, np.where(apart, 0.0, pairs.units), workers)
        expected = expected_agreement(pairs, fitted.r)
        tail = _tail(agreement, expected, pair_variance(pairs, fitted), pairs.units)
        p = np.minimum(tail * len(pairs.n), 1.0)
        excess = (agreement - expected) / np.maximum(1 - expected, 1e-9)
        named = np.flatnonzero((p <= FAMILY_ERROR) & (excess >= LEAST_EXCESS))
        named = _compared(pairs, named, able, workers)
        group = _groups(pairs, named, workers)
        alike = group[pairs.first] == group[pairs.second]
        if np.array_equal(alike, apart):
            break
        apart = alike
    named = named[np.lexsort((-pairs.n[named], p[named]))]
    together = np.unique(np.concatenate([pairs.first[named], pairs.second[named]]))
    return LookAlikes(_named(pairs, named, expected, p), len(pairs.n), together)


def _compared(pairs: Pairs, named: IntArray, able: NDArray[np.bool_], workers: int) -> IntArray:
    """Keep the named pairs beside LEAST_OTHERS others who share their items and do not guess.

    ``able`` (p,): pairs who agree beyond chance. Whom named pairs link are no others, and what they
    agree among themselves does not show that they do not guess.
    """
    group = _groups(pairs, named, workers)
    apart = group[pairs.first] != group[pairs.second]
    known = np.zeros(workers, dtype=bool)
    known[pairs.first[able & apart]] = known[pairs.second[able & apart]] = True
    one, other = (
        np.concatenate(both) for both in ((pairs.first, pairs.second), (pairs.second, pairs.first))
    )
    kept = known[other] & np.tile(apart, 2)
    ones = np.ones(int(kept.sum()), dtype=bool)
    beside = scipy.sparse.csr_array((ones, (one[kept], other[kept])), shape=(workers, workers))
    others = beside[pairs.first[named]] + beside[pairs.second[named]]
    return named[np.diff(others.tocsr().indptr) >= LEAST_OTHERS]


def _groups(pairs: Pairs, named: IntArray, workers: int) -> IntArray:
    """The group (workers,) that named pairs link each worker to; others are alone."""
    links = scipy.sparse.coo_array(
        (np.ones(len(named)), (pairs.first[named], pairs.second[named])), shape=(workers, workers)
    )
    found: IntArray = scipy.sparse.csgraph.connected_components(links, directed=False)[1]
    return found


def _named(
    pairs: Pairs, rows: IntArray, expected: FloatArray | None = None, p: FloatArray | None = None
) -> Table:
    none = np.zeros(0)
    values = (
        pairs.first[rows],
        pairs.second[rows],
        pairs.n[rows].astype(np.int64),
        pairs.agree[rows] / np.maximum(pairs.n[rows], 1),
        none if expected is None else expected[rows],
        none if p is None else p[rows],
    )
    return Table(dict(zip(PAIR, values, strict=True)))


def _tail(
    agreement: FloatArray, expected: FloatArray, variance: FloatArray, n: FloatArray
) -> FloatArray:
    """Chance of so much agreement or more: a binomial of so many trials as the doubt leaves."""
    spread = expected * (1 - expected)
    size = spread / (spread / n + variance)
    hits = np.maximum(agreement * size, 1e-9)
    tail: FloatArray = scipy.special.betainc(hits, size - hits + 1, expected)
    return tail
