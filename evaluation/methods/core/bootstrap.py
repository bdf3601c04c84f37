"""Intervals, ranges of ranks and groups from weighted resamples of the questions.

Everybody's score is recomputed under the same random question weights, so differences are paired.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.inference import t_quantile


def question_weights(
    rng: np.random.Generator, resamples: int, questions: int, *, complete: bool
) -> FloatArray:
    """Random weights (resamples, questions) with mean 1.

    Where everybody answered everything: how often each question is drawn with replacement (the
    ordinary bootstrap). Else exponential weights (Rubin's Bayesian bootstrap), under which no
    worker loses all answers and no connected graph falls apart.
    """
    if complete:
        even = np.full(questions, 1.0 / questions)
        return rng.multinomial(questions, even, size=resamples).astype(np.float64)
    raw = rng.standard_exponential((resamples, questions))
    return raw * (questions / raw.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class WeightsByResample:
    """Random weights (b, q) as ``question_weights`` draws them, each row from a stream of its own.

    Rows are made when a slice of them is asked for, the same each time, so that none need stay:
    row i comes from the counter-based generator Philox with ``key`` and a counter that starts at
    i * 2^192.
    """

    key: int
    resamples: int
    questions: int
    complete: bool

    @classmethod
    def of(
        cls, rng: np.random.Generator, resamples: int, questions: int, *, complete: bool
    ) -> WeightsByResample:
        """Make the weights with a key drawn from the generator."""
        return cls(int(rng.integers(2**63)), resamples, questions, complete)

    def __len__(self) -> int:
        return self.resamples

    def __getitem__(self, chunk: slice) -> FloatArray:
        rows = [
            question_weights(
                np.random.Generator(np.random.Philox(key=self.key, counter=[0, 0, 0, i])),
                1,
                self.questions,
                complete=self.complete,
            )
            for i in range(*chunk.indices(self.resamples))
        ]
        return np.concatenate(rows)


def widening_factor(n: IntArray | FloatArray, *, complete: bool) -> FloatArray:
    """Factor by which a resampled standard error of a mean of n is too small."""
    size = np.maximum(n, 2).astype(np.float64)
    return np.sqrt((size if complete else size + 1) / (size - 1))


def percentile_interval(
    draws: FloatArray, n: IntArray | FloatArray, level: float, *, complete: bool
) -> tuple[FloatArray, FloatArray]:
    """Percentile intervals of each column of draws (b, k) that rest on n (k,) answers.

    The percentiles are moved out for small n as a t interval would be (Hesterberg 2015, "expanded
    percentile interval"): plain percentiles of 10 answers cover 90 % where they claim 95 %.
    """
    t = t_quantile(level, np.maximum(n, 2) - 1.0)
    tails = scipy.special.ndtr(-t * widening_factor(n, complete=complete))
    low, high = np.empty(draws.shape[1]), np.empty(draws.shape[1])
    for value in np.unique(tails):
        columns = np.flatnonzero(tails == value)
        low[columns], high[columns] = np.quantile(draws[:, columns], [value, 1 - value], axis=0)
    return low, high


def separable(
    point: FloatArray, draws: FloatArray, n: IntArray, *, level: float, complete: bool
) -> NDArray[np.bool_]:
    """(k, k): True where the paired, simultaneous interval of the difference leaves out 0.

    The interval of each of the k(k-1)/2 differences is estimate +- c * standard error, where c is
    the t quantile of the smaller n - 1, such that all of them hold at once with probability
    ``level`` (Bonferroni). A critical value from the resamples themselves is too small from few
    answers or many rows (30 equal workers, 20 questions: .07 to .10 separated; 10 of 6: .20; so:
    .035 and .045). Ranks built from it are simultaneous too (Mogstad et al. 2024, "Inference for
    ranks").
    """
    k = len(point)
    if k < 2:
        return np.zeros((k, k), dtype=bool)
    error = difference_errors(draws)
    usable = error > 1e-12
    fewer = np.minimum(n[:, None], n[None, :])
    factor = t_quantile(level, np.maximum(fewer, 2) - 1.0, k * (k - 1) // 2)
    factor = factor * widening_factor(fewer, complete=complete)
    difference = np.abs(point[:, None] - point[None, :])
    apart = np.where(usable, difference > factor * error, difference > 1e-9)
    np.fill_diagonal(apart, False)
    return apart


def difference_errors(draws: FloatArray) -> FloatArray:
    """Return the standard errors (k, k) of the difference of every two columns of draws (b, k)."""
    deviation = draws - draws.mean(axis=0)
    cov = deviation.T @ deviation / len(draws)
    variance = np.diag(cov)
    return np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2 * cov, 0.0))


def largest(shift: FloatArray, error: FloatArray, usable: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return each resample's largest standardised deviation of any difference (b,)."""
    inverse = np.where(usable, 1.0 / np.where(usable, error, 1.0), 0.0).astype(np.float32)
    rows = shift.astype(np.float32)
    step = max(1, 65_536 // max(1, inverse.size))  # many resamples at once where boards are small
    buffer = np.empty((step, *inverse.shape), dtype=np.float32)
    out = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        differences = buffer[: len(block)]
        np.subtract(block[:, :, None], block[:, None, :], out=differences)
        differences *= inverse
        # Antisymmetric, so the largest is the largest absolute.
        out[start : start + step] = differences.max(axis=(1, 2))
    return out


def ranks(point: FloatArray) -> IntArray:
    """Rank from 1 (highest); equal scores (to 12 digits) share the better rank; 0 for NaN."""
    rounded = np.round(point, 12)
    known = np.sort(rounded[np.isfinite(rounded)])
    above = len(known) - np.searchsorted(known, rounded, side="right")
    return np.where(np.isfinite(point), above + 1, 0).astype(np.int64)


def rank_ranges(point: FloatArray, apart: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Best and worst possible rank: behind those surely better, ahead of those surely worse."""
    better = apart & (point[None, :] > point[:, None])
    worse = apart & (point[None, :] < point[:, None])
    return 1 + better.sum(axis=1), len(point) - worse.sum(axis=1)


def groups(point: FloatArray, apart: NDArray[np.bool_]) -> IntArray:
    """Contiguous groups of ranks that cannot be separated, numbered from 1 at the top.

    Going down the board, a row joins the group above it if it cannot be separated from any of its
    members; else it opens the next group. So all members of a group are pairwise not separable;
    rows of different groups may still be (the ranges of ranks say which).
    """
    group = np.zeros(len(point), dtype=np.int64)
    members: list[int] = []
    number = 0
    for row in np.argsort(-point, kind="stable"):
        if not members or apart[row, members].any():
            number, members = number + 1, []
        members.append(int(row))
        group[row] = number
    return group
