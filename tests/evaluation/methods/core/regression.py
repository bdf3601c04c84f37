"""A second implementation of clustered variances: whole matrices, for any regressors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.inference import Correction


@dataclass(frozen=True, eq=False, slots=True)
class Regression:
    """Least squares with clustered covariance.

    ``estimate`` (p,), ``covariance`` (p, p), ``freedom`` (p,) of each coefficient.
    """

    estimate: FloatArray
    covariance: FloatArray
    freedom: FloatArray


def cluster_regression(
    x: FloatArray, y: FloatArray, cluster: IntArray, *, correction: Correction = "CR2"
) -> Regression:
    """Least squares of y (n,) on x (n, p) with CR2 or CR3 and Bell-McCaffrey degrees of freedom.

    As Pustejovsky and Tipton (2018, J. Business and Economic Statistics 36) with an identity
    working covariance: the residuals of a cluster are multiplied by (I - H_gg)^(-1/2), or by
    (I - H_gg)^(-1). ``x`` must have full column rank.
    """
    bread: FloatArray = np.asarray(np.linalg.inv(x.T @ x), dtype=np.float64)
    estimate = bread @ (x.T @ y)
    residual = y - x @ estimate
    _, place = np.unique(cluster, return_inverse=True)
    clusters, p = int(place.max()) + 1, x.shape[1]
    meat = np.zeros((p, p))
    turned: list[tuple[NDArray[np.bool_], FloatArray]] = []
    for g in range(clusters):
        rows = place == g
        own = x[rows]
        values, vectors = np.linalg.eigh(np.eye(len(own)) - own @ bread @ own.T)
        power = -0.5 if correction == "CR2" else -1.0
        scaled = np.where(values > 1e-10, np.maximum(values, 1e-10) ** power, 0.0)
        adjust: FloatArray = np.asarray((vectors * scaled) @ vectors.T, dtype=np.float64)
        score = own.T @ adjust @ residual[rows]
        meat += np.outer(score, score)
        lever: FloatArray = np.asarray(adjust @ own @ bread, dtype=np.float64)
        turned.append((rows, lever))
    freedom = np.array([_freedom(x, bread, turned, j) for j in range(p)])
    return Regression(estimate, bread @ meat @ bread, freedom)


def _freedom(
    x: FloatArray,
    bread: FloatArray,
    turned: list[tuple[NDArray[np.bool_], FloatArray]],
    column: int,
) -> float:
    """Satterthwaite's degrees of freedom of one coefficient's variance under independent rows."""
    columns = np.zeros((len(x), len(turned)))
    for g, (rows, lever) in enumerate(turned):
        own = lever[:, column]
        columns[rows, g] += own
        columns[:, g] -= x @ (bread @ (x[rows].T @ own))
    inner = columns.T @ columns
    return float(np.trace(inner) ** 2 / np.square(inner).sum())
