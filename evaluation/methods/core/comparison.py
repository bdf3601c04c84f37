"""Comparison intervals: lines around estimates that touch exactly where two cannot be separated.

Two 95% intervals may lie apart and the difference still be open, or overlap and the difference be
sure: an interval of one estimate does not say how two compare. Goldstein and Healy (1995, JRSS A
158:175-177) give every estimate a half-width so that non-overlap shows the difference; with unequal
errors of the differences the half-widths are those that come nearest to what each pair needs.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray

MOST = 40  # rows of a board; larger ones rarely have such half-widths
GAP = 0.01  # of the distance: lines of a separated pair leave at least this much between them
LEAST = 0.01  # of the median of what pairs need: no half-width is below
RIDGE = 1e-6  # decides between equal solutions, as of two rows


def comparison_reach(
    point: FloatArray, needed: FloatArray, apart: NDArray[np.bool_]
) -> FloatArray | None:
    """Half-widths (k,) of intervals around ``point`` (k,) that overlap where not ``apart`` (k, k).

    ``needed`` (k, k) is how far apart two estimates have to be to be separated. The half-widths of
    two add up to it as nearly as possible (least squares under the inequalities, solved as a least
    distance problem: Lawson and Hanson 1974, chapter 23). None where no half-widths do this, or
    for fewer than 2 or more than 40 rows.
    """
    k = len(point)
    if not 2 <= k <= MOST:
        return None
    one, two = np.triu_indices(k, 1)
    distance, sums = np.abs(point[one] - point[two]), needed[one, two]
    pairs = np.zeros((len(one), k))
    pairs[np.arange(len(one)), one] = pairs[np.arange(len(one)), two] = 1.0
    sign = np.where(apart[one, two], -1.0, 1.0)
    bound = np.where(apart[one, two], -(1 - GAP) * distance, distance)
    # Minimise |pairs h - sums|^2 where rows h >= bounds: with h = start + x of the root's inverse,
    # the smallest x that meets the inequalities.
    square = pairs.T @ pairs + RIDGE * np.eye(k)
    start, root = np.linalg.solve(square, pairs.T @ sums), np.linalg.cholesky(square)
    rows = np.concatenate([sign[:, None] * pairs, np.eye(k)])
    bounds = np.concatenate([bound, np.full(k, LEAST * np.median(sums))]) - rows @ start
    turned = np.vstack([np.linalg.solve(root, rows.T), bounds])
    turned /= np.linalg.norm(turned, axis=0)
    target = np.zeros(k + 1)
    target[k] = 1.0
    weights, distance_left = scipy.optimize.nnls(turned, target, maxiter=50 * len(bounds))
    if distance_left < 1e-7:
        return None
    residual = turned @ weights - target
    return np.asarray(start - np.linalg.solve(root.T, residual[:k] / residual[k]), dtype=np.float64)
