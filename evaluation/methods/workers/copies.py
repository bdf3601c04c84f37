"""Look-alikes: pairs of workers who agree more than how good they are explains.

Two workers who look for themselves agree because both find the truth. With their shares of each
label on the items they share, and independent given the truth, they agree with probability

    sum_c share_ic share_jc + r_i r_j

(exactly so for two classes, whatever their confusion matrices: the covariance of two answers is a
product). The r are fitted to all pairs; pairs far above the fit weigh less, so that a group of
copies does not hide itself. What a pair agrees beyond it is tested by a binomial tail that allows
for how well r is known, and corrected for all pairs that were tested (Bonferroni).

Whoever always gives one label agrees with others who do, as its shares say, and is no look-alike.
Two accounts of one person, one answer copied, or two uses of one model are: the test cannot tell
them apart, nor from two people who decided together. It is evidence to look at, never a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray, Table

LEAST_SHARED = 5  # items (independent ones) of a pair that is tested
LEAST_WORKERS = 5  # fewer say nothing about the fit
LEAST_EXCESS = 0.25  # of the disagreements that are expected, so many must be missing
FAMILY_ERROR = 0.01  # chance that any pair of the crowd is named by chance
MOST_PAIRS = 1_000_000  # tested: those that share most items
BLOCK = 2_000_000  # cells of a block of pairs
DENSE = 0.02  # share of all cells that have an answer, from which products are of whole matrices
REFITS = 4  # without the pairs inside groups of look-alikes found so far
ROUNDS, BEYOND = 30, 3.0  # of the fit; standard errors above it from which a pair weighs nothing
PAIR = ("worker_a", "worker_b", "shared", "agreement", "expected", "p")


@dataclass(frozen=True, eq=False)
class LookAlikes:
    """``pair``, a row a named pair (PAIR; ``p`` adjusted), how many were ``tested``, and why none.

    ``shared`` counts answers; ``worker_a`` < ``worker_b`` are indices.
    """

    pair: Table
    tested: int
    reason: str = ""


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of workers (p,): answers in common, how many agree, and chance agreement."""

    first: IntArray
    second: IntArray
    n: FloatArray
    agree: FloatArray
    chance: FloatArray

    def take(self, kept: IntArray) -> _Pairs:
        return _Pairs(*(values[kept] for values in vars(self).values()))


def look_alikes(
    worker: IntArray, item: IntArray, label: IntArray, *, workers: int, per: int = 1
) -> LookAlikes:
    """Pairs of ``workers`` who agree beyond what their quality explains.

    ``worker``, ``item`` and ``label`` (n,) are whole numbers from 0: one answer a worker and item.
    Of items that hang together (dimensions of one pair of texts) ``per`` count as one.
    """
    pairs = _shared(worker, item, label, workers=workers, least=LEAST_SHARED * per)
    present = np.unique(np.concatenate([pairs.first, pairs.second]))
    if len(present) < LEAST_WORKERS:
        return LookAlikes(_named(pairs, np.zeros(0, dtype=np.int64)), 0, "too few shared items")
    n = pairs.n / per
    covariance = pairs.agree / pairs.n - pairs.chance
    # Shares are of the same items, which takes a part of the covariance.
    covariance *= n / np.maximum(n - 1, 1)
    apart = np.zeros(len(n), dtype=bool)
    for _ in range(REFITS):
        r, error = _fit(pairs, covariance, np.where(apart, 0.0, n), workers)
        expected, uncertain = _expected(pairs, r, error)
        p = np.minimum(_tail(pairs.agree / pairs.n, expected, uncertain, n) * len(n), 1.0)
        excess = (pairs.agree / pairs.n - expected) / np.maximum(1 - expected, 1e-9)
        named = np.flatnonzero((p <= FAMILY_ERROR) & (excess >= LEAST_EXCESS))
        group = _groups(pairs, named, workers)
        alike = group[pairs.first] == group[pairs.second]
        if np.array_equal(alike, apart):
            break
        apart = alike
    named = named[np.lexsort((-pairs.n[named], p[named]))]
    return LookAlikes(_named(pairs, named, expected, p), len(n))


def _groups(pairs: _Pairs, named: IntArray, workers: int) -> IntArray:
    """The group (workers,) that named pairs link each worker to; others are alone."""
    links = scipy.sparse.coo_array(
        (np.ones(len(named)), (pairs.first[named], pairs.second[named])), shape=(workers, workers)
    )
    found: IntArray = scipy.sparse.csgraph.connected_components(links, directed=False)[1]
    return found


def _named(
    pairs: _Pairs, rows: IntArray, expected: FloatArray | None = None, p: FloatArray | None = None
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


def _shared(
    worker: IntArray, item: IntArray, label: IntArray, *, workers: int, least: int
) -> _Pairs:
    """Pairs with ``least`` answers in common, worker by worker in blocks of bounded memory."""
    items, k = int(item.max(initial=-1)) + 1, int(label.max(initial=-1)) + 1
    is_dense = len(worker) > DENSE * workers * items

    def matrix(own: NDArray[np.bool_]) -> Any:
        one = np.ones(int(own.sum()), dtype=np.float32)
        made = scipy.sparse.csr_array((one, (worker[own], item[own])), shape=(workers, items))
        return made.toarray() if is_dense else made

    given, by_label = matrix(label >= 0), [matrix(label == c) for c in range(k)]
    step, found = max(1, BLOCK // max(workers, 1)), []
    for start in range(0, workers, step):
        rows = slice(start, min(start + step, workers))
        n = _product(given[rows], given)
        first, second = np.nonzero((n >= least) & _above(rows, workers))
        agree, chance = np.zeros(len(first)), np.zeros(len(first))
        for own in by_label if len(first) else ():
            agree += _product(own[rows], own)[first, second]
            mine = _product(own[rows], given)[first, second]
            chance += mine * _product(given[rows], own)[first, second]
        size = n[first, second].astype(np.float64)
        found.append(_Pairs(first + start, second, size, agree, chance / size**2))
    pairs = _Pairs(
        *(np.concatenate(parts) for parts in zip(*(vars(f).values() for f in found), strict=True))
    )
    if len(pairs.n) > MOST_PAIRS:
        pairs = pairs.take(np.argpartition(-pairs.n, MOST_PAIRS)[:MOST_PAIRS])
    return pairs


def _product(one: Any, two: Any) -> NDArray[np.float32]:
    """one @ two.T as a dense array."""
    found = one @ two.T
    return found.toarray() if scipy.sparse.issparse(found) else found


def _above(rows: slice, workers: int) -> NDArray[np.bool_]:
    """Whether the second worker of a cell (rows, workers) comes after the first."""
    return np.arange(workers)[None, :] > np.arange(rows.start, rows.stop)[:, None]


def _fit(
    pairs: _Pairs, covariance: FloatArray, n: FloatArray, workers: int
) -> tuple[FloatArray, FloatArray]:
    """Each worker's r (workers,) and its standard error, by least squares that lets copies out."""
    first, second = pairs.first, pairs.second
    noise = np.maximum(pairs.chance * (1 - pairs.chance), 0.01)  # of one answer
    base = n / noise
    r = _start(pairs, covariance, base, workers)
    weight = _lighter(pairs, covariance, base, r)
    information: FloatArray = np.zeros(workers)
    for _ in range(ROUNDS):
        before = r
        sums = np.bincount(first, weight * covariance * r[second], workers)
        sums += np.bincount(second, weight * covariance * r[first], workers)
        both = np.bincount(first, weight * r[second] ** 2, workers)
        both = both + np.bincount(second, weight * r[first] ** 2, workers)
        information = np.asarray(both, dtype=np.float64)
        new = sums / np.maximum(information, 1e-9)
        r = np.clip((new + before) / 2, -1.0, 1.0)
        weight = _lighter(pairs, covariance, base, r)
        if np.abs(r - before).max() < 1e-4:
            break
    return r, 1 / np.sqrt(np.maximum(information, 1e-9))


def _start(pairs: _Pairs, covariance: FloatArray, weight: FloatArray, workers: int) -> FloatArray:
    """r (workers,) from each worker's median covariance, which few copies do not move."""
    who = np.concatenate([pairs.first, pairs.second])
    value, mass = np.tile(covariance, 2), np.tile(weight, 2)
    order = np.lexsort((value, who))
    who, value, mass = who[order], value[order], mass[order]
    total = np.bincount(who, mass, workers)
    before = np.cumsum(mass) - (np.cumsum(total) - total)[who]  # of the same worker, with this one
    row = np.flatnonzero(before >= total[who] / 2)
    present, place = np.unique(who[row], return_index=True)
    median = np.zeros(workers)
    median[present] = np.maximum(value[row][place], 0.0)
    return np.clip(median / np.sqrt(max(float(np.median(median[present])), 0.01)), 0.05, 1.0)


def _lighter(pairs: _Pairs, covariance: FloatArray, base: FloatArray, r: FloatArray) -> FloatArray:
    """Weights (p,) of pairs: Tukey's biweight for those above the fit."""
    above = (covariance - r[pairs.first] * r[pairs.second]) * np.sqrt(base)
    return base * (1 - np.clip(above / BEYOND, 0.0, 1.0) ** 2) ** 2


def _expected(pairs: _Pairs, r: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Agreement that quality explains (p,), and the variance with which it is known."""
    one, two = r[pairs.first], r[pairs.second]
    error = np.minimum(error, 1.0)
    variance = (one * error[pairs.second]) ** 2 + (two * error[pairs.first]) ** 2
    expected = np.clip(pairs.chance + one * two, 0.01, 0.995)
    return expected, variance


def _tail(
    agreement: FloatArray, expected: FloatArray, variance: FloatArray, n: FloatArray
) -> FloatArray:
    """Chance of so much agreement or more: a binomial of so many trials as the doubt leaves."""
    spread = expected * (1 - expected)
    size = spread / (spread / n + variance)
    hits = np.maximum(agreement * size, 1e-9)
    tail: FloatArray = scipy.special.betainc(hits, size - hits + 1, expected)
    return tail
