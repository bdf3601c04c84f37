"""Pairs of workers: what they agree, and one number a worker that explains it.

Of workers who are independent given the truth the covariance of two answers is a product r_i r_j
(exactly so for two classes, whatever their confusion matrices), also where items differ in ease.
The r are fitted to all pairs; pairs far above the fit weigh less, so that a group of copies does
not hide itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray

MOST_PAIRS = 1_000_000  # tested: those that share most items
BLOCK = 2_000_000  # cells of a block of pairs
DENSE = 0.02  # share of all cells that have an answer, from which products are of whole matrices
ROUNDS, BEYOND = 30, 3.0  # of the fit; standard errors above it from which a pair weighs nothing
LEAST_NOISE = 0.01  # variance of one agreement


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of workers (p,): answers in common, how many agree, and chance agreement.

    Of items that hang together (dimensions of one pair of texts) ``per`` count as one.
    """

    first: IntArray
    second: IntArray
    n: FloatArray
    agree: FloatArray
    chance: FloatArray
    per: int = 1

    @property
    def units(self) -> FloatArray:
        """Number of independent answers in common (p,)."""
        return self.n / self.per

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of each pair (p,): agreement beyond chance."""
        units = self.units
        # Shares are of the same items, which takes a part of the covariance.
        return (self.agree / self.n - self.chance) * units / np.maximum(units - 1, 1)

    def take(self, kept: IntArray) -> Pairs:
        """Keep only these pairs."""
        return Pairs(
            self.first[kept],
            self.second[kept],
            self.n[kept],
            self.agree[kept],
            self.chance[kept],
            self.per,
        )


def shared_pairs(
    worker: IntArray, item: IntArray, label: IntArray, *, workers: int, least: int, per: int = 1
) -> Pairs:
    """Pairs with ``least`` independent answers in common; blocks of workers bound the memory."""
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
        first, second = np.nonzero((n >= least * per) & _is_upper(rows, workers))
        agree, chance = np.zeros(len(first)), np.zeros(len(first))
        for own in by_label if len(first) else ():
            agree += _product(own[rows], own)[first, second]
            mine = _product(own[rows], given)[first, second]
            chance += mine * _product(given[rows], own)[first, second]
        size = n[first, second].astype(np.float64)
        found.append((first + start, second, size, agree, chance / size**2))
    one, two, size, agree, chance = (np.concatenate(part) for part in zip(*found, strict=True))
    pairs = Pairs(one, two, size, agree, chance, per)
    if len(pairs.n) > MOST_PAIRS:
        pairs = pairs.take(np.argpartition(-pairs.n, MOST_PAIRS)[:MOST_PAIRS])
    return pairs


def _product(one: Any, two: Any) -> NDArray[np.float32]:
    """one @ two.T as a dense array."""
    found = one @ two.T
    return found.toarray() if scipy.sparse.issparse(found) else found


def _is_upper(rows: slice, workers: int) -> NDArray[np.bool_]:
    """Whether the second worker of a cell (rows, workers) comes after the first."""
    return np.arange(workers)[None, :] > np.arange(rows.start, rows.stop)[:, None]


@dataclass(frozen=True, eq=False)
class Fit:
    """Workers' ``r`` and their standard ``error`` (workers,), and pairs' ``weight`` (p,)."""

    r: FloatArray
    error: FloatArray
    weight: FloatArray


def fit(pairs: Pairs, n: FloatArray, workers: int) -> Fit:
    """Least squares that lets copies out; ``n`` (p,) observations of a pair, 0 to leave it out."""
    first, second = pairs.first, pairs.second
    by_chance = n / _noise(pairs.chance)
    r = initial_r(pairs, by_chance, workers)
    weight = _weights(pairs, n, r)
    information: FloatArray = np.zeros(workers)
    for _ in range(ROUNDS):
        before = r
        sums = np.bincount(first, weight * pairs.covariance * r[second], workers)
        sums += np.bincount(second, weight * pairs.covariance * r[first], workers)
        both = np.bincount(first, weight * r[second] ** 2, workers)
        both = both + np.bincount(second, weight * r[first] ** 2, workers)
        information = np.asarray(both, dtype=np.float64)
        new = sums / np.maximum(information, 1e-9)
        r = np.clip((new + before) / 2, -1.0, 1.0)
        weight = _weights(pairs, n, r)
        if np.abs(r - before).max() < 1e-4:
            break
    return Fit(r, 1 / np.sqrt(np.maximum(information, 1e-9)), weight)


def initial_r(pairs: Pairs, weight: FloatArray, workers: int) -> FloatArray:
    """r (workers,) from each worker's median covariance, which few copies do not move."""
    who = np.concatenate([pairs.first, pairs.second])
    value, mass = np.tile(pairs.covariance, 2), np.tile(weight, 2)
    order = np.lexsort((value, who))
    who, value, mass = who[order], value[order], mass[order]
    total = np.bincount(who, mass, workers)
    before = np.cumsum(mass) - (np.cumsum(total) - total)[who]  # of the same worker, with this one
    row = np.flatnonzero(before >= total[who] / 2)
    present, place = np.unique(who[row], return_index=True)
    median = np.zeros(workers)
    median[present] = np.maximum(value[row][place], 0.0)
    return np.clip(median / np.sqrt(max(float(np.median(median[present])), 0.01)), 0.05, 1.0)


def _weights(pairs: Pairs, n: FloatArray, r: FloatArray) -> FloatArray:
    """Weights (p,) of pairs: Tukey's biweight for those above the fit."""
    product = r[pairs.first] * r[pairs.second]
    # Chance alone is too little noise where labels are many and workers good.
    noise = np.maximum(_noise(pairs.chance), _noise(np.clip(pairs.chance + product, 0.0, 1.0)))
    above = (pairs.covariance - product) * np.sqrt(n / noise)
    return n / noise * (1 - np.clip(above / BEYOND, 0.0, 1.0) ** 2) ** 2


def _noise(agreement: FloatArray) -> FloatArray:
    """Variance of one answer's agreement."""
    return np.maximum(agreement * (1 - agreement), LEAST_NOISE)


def expected_agreement(pairs: Pairs, r: FloatArray) -> FloatArray:
    """Return the agreement of each pair (p,) that quality explains."""
    product = r[pairs.first] * r[pairs.second]
    return np.clip(pairs.chance + product, 0.01, 0.995)


def pair_variance(pairs: Pairs, fitted: Fit) -> FloatArray:
    """Variance with which each pair's expected agreement is known (p,)."""
    r, error = fitted.r, np.minimum(fitted.error, 1.0)
    first, second = pairs.first, pairs.second
    return (r[first] * error[second]) ** 2 + (r[second] * error[first]) ** 2
