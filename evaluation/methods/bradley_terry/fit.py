"""Bradley-Terry by Newton's method, with the analytic gradient and Hessian.

The Hessian is one block a connected component, bordered by what all comparisons share (the side
term, coefficients of covariates, the tie parameter). It is solved block by block, all blocks of
one size at once; where blocks are too large to be dense, by conjugate gradients over the pairs that
met.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.methods.bradley_terry import ties as bt_ties
from evaluation.methods.bradley_terry.cells import Cells, Layout
from evaluation.methods.core.base import DataError, FloatArray

ROUNDS, HALVINGS = 100, 40
CLOSE = 1e-6  # the last step, in log-merit; the error left is about its square
RESIDUAL, ITERATIONS = 1e-9, 20_000  # of conjugate gradients: what may be left; the most rounds


@dataclass(frozen=True)
class Model:
    """What is fitted. ``regularisation`` r: each player has won and lost r comparisons against a
    dummy of log-merit 0, and so have the side and each covariate. ``tie`` is the tie parameter
    where it is given, None where it is estimated. ``side`` adds a term for being shown on the left,
    ``covariates`` are the names of further columns of the cells. ``games`` are other numbers of won
    and lost comparisons against the dummy: (k,) of the nodes, then those of ``linear``.
    """

    ties: str
    regularisation: float
    side: bool = False
    tie: float | None = None
    games: tuple[FloatArray, FloatArray] | None = None
    covariates: tuple[str, ...] = ()

    @property
    def linear(self) -> tuple[str, ...]:
        """Names of the columns of the cells, in order."""
        return (*(("side",) if self.side else ()), *self.covariates)

    @property
    def shared(self) -> tuple[str, ...]:
        """Names of the parameters that all comparisons share, in order."""
        tied = self.ties != "none" and self.tie is None
        return (*self.linear, *(("tie",) if tied else ()))


@dataclass(frozen=True, eq=False)
class Point:
    """Log-merits of the nodes (k,) and the shared parameters (p,)."""

    merit: FloatArray
    shared: FloatArray


@dataclass(frozen=True, eq=False)
class Curvature:
    """Minus the Hessian: between the nodes of each cell (c,), of each node alone (k,), ``border``
    (k, p) and ``corner`` (p, p). ``free``: merits are known up to a constant a component.
    """

    between: FloatArray
    own: FloatArray
    border: FloatArray
    corner: FloatArray
    free: bool


@dataclass(frozen=True, eq=False)
class Solution:
    """The maximum: where, its penalised value, the plain log-likelihood, and how it was found."""

    point: Point
    value: float
    log_likelihood: float
    rounds: int
    converged: bool


def maximise(cells: Cells, model: Model, start: Point | None = None) -> Solution:
    """Maximise the penalised likelihood by Newton's method with step halving."""
    point = rough_point(cells, model) if start is None else start
    part, now = log_likelihood_terms(cells, model, point)
    converged, rounds = False, 0
    while rounds < ROUNDS and not converged:
        rounds += 1
        gradient, curvature = derivatives(cells, model, point, part)
        merit, shared = solve(cells, curvature, gradient)
        size = max(np.abs(merit).max(), np.abs(shared).max(initial=0.0))
        scale, found, then = 1.0, point, now
        for _ in range(HALVINGS):
            found = Point(point.merit + scale * merit, point.shared + scale * shared)
            part, then = log_likelihood_terms(cells, model, found)
            if then >= now - 1e-12 * abs(now):
                break
            scale /= 2
        point, now = found, then
        converged = bool(size < CLOSE)
    return Solution(point, now, part.value, rounds, converged)


def log_odds(cells: Cells, model: Model, point: Point) -> FloatArray:
    """Return the log-odds (c,) that the first of each cell wins."""
    x: FloatArray = point.merit[cells.first] - point.merit[cells.second]
    for i in range(len(model.linear)):
        x = x + point.shared[i] * cells.linear[:, i]
    return x


def tie_of(model: Model, point: Point) -> float:
    """The tie parameter, given or estimated."""
    if model.tie is not None:
        return model.tie
    return float(point.shared[-1]) if model.ties != "none" else 0.0


def log_likelihood_terms(cells: Cells, model: Model, point: Point) -> tuple[bt_ties.Terms, float]:
    """The likelihood's terms, and the penalised log-likelihood (natural logarithms)."""
    part = bt_ties.terms(
        model.ties, log_odds(cells, model, point), tie_of(model, point), cells.counts
    )
    held = np.append(point.merit, point.shared[: len(model.linear)])
    if model.games is not None:
        won, lost = model.games
        return part, part.value + float(
            won @ scipy.special.log_expit(held) + lost @ scipy.special.log_expit(-held)
        )
    penalty = (
        float((scipy.special.log_expit(held) + scipy.special.log_expit(-held)).sum())
        if model.regularisation
        else 0.0
    )
    return part, part.value + model.regularisation * penalty


def derivatives(
    cells: Cells, model: Model, point: Point, part: bt_ties.Terms
) -> tuple[Point, Curvature]:
    """Return the gradient and the negative Hessian of the penalised log-likelihood."""
    k = len(cells.layout)
    merit = sum_by_node(cells, part.x, k)
    own = np.zeros(k)
    own += np.bincount(cells.first, part.xx, k)
    own += np.bincount(cells.second, part.xx, k)
    border, corner, shared = _shared(cells, model, part)
    if model.regularisation:
        at = np.arange(len(model.linear))
        slope, bend = _prior_derivatives(model, np.append(point.merit, point.shared[at]))
        merit += slope[:k]
        own += bend[:k]
        shared[at] += slope[k:]
        corner[at, at] += bend[k:]
    curvature = Curvature(part.xx, own, border, corner, free=not model.regularisation)
    return Point(merit, shared), curvature


def dense_blocks(cells: Cells, curvature: Curvature) -> FloatArray:
    """The blocks of minus the Hessian, flat as Layout has them."""
    layout = cells.layout
    added = np.bincount(cells.place, curvature.between, layout.size)
    blocks: FloatArray = added.astype(np.float64)
    for block in layout.blocks(blocks):
        np.negative(block + block.transpose(0, 2, 1), out=block)
    blocks[layout.base + layout.local] += curvature.own
    if curvature.free:
        # Merits are known up to a constant a component: hold its mean where it is.
        for block in layout.blocks(blocks):
            held_mean = np.trace(block, axis1=1, axis2=2) / block.shape[1] ** 2
            np.add(block, held_mean[:, None, None], out=block)
    return blocks


def _prior_derivatives(model: Model, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What the comparisons with the dummy add to the gradient, and to minus its derivative."""
    chance = scipy.special.expit(at)
    if model.games is None:
        r = model.regularisation
        return r * (1 - 2 * chance), 2 * r * chance * (1 - chance)
    won, lost = model.games
    return won * (1 - chance) - lost * chance, (won + lost) * chance * (1 - chance)


def _shared(
    cells: Cells, model: Model, part: bt_ties.Terms
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Border (k, p), corner (p, p) and gradient (p,) of the shared parameters."""
    names, k = model.shared, len(cells.layout)
    border = np.zeros((k, len(names)))
    corner = np.zeros((len(names), len(names)))
    gradient = np.zeros(len(names))
    for i, column in enumerate(cells.linear.T[: len(model.linear)]):
        border[:, i] = sum_by_node(cells, part.xx * column, k)
        gradient[i] = (part.x * column).sum()
        for j in range(i + 1):
            corner[i, j] = corner[j, i] = (part.xx * column * cells.linear[:, j]).sum()
        if len(names) > len(model.linear):
            corner[i, -1] = corner[-1, i] = (part.xt * column).sum()
    if len(names) > len(model.linear):
        border[:, -1] = sum_by_node(cells, part.xt, k)
        corner[-1, -1], gradient[-1] = part.tt.sum(), part.t.sum()
    return border, corner, gradient


def sum_by_node(cells: Cells, values: FloatArray, k: int) -> FloatArray:
    """Sums (k,) over cells, plus for the first node, minus for the second."""
    plus, minus = np.bincount(cells.first, values, k), np.bincount(cells.second, values, k)
    return np.asarray(plus - minus, dtype=np.float64)


def solve(cells: Cells, curvature: Curvature, right: Point) -> tuple[FloatArray, FloatArray]:
    """Solve the bordered system for one right-hand side: merits (k,) and shared (p,)."""
    columns = inverse_times(cells, curvature, np.column_stack([right.merit, curvature.border]))
    plain, through = columns[:, 0], columns[:, 1:]
    if not through.shape[1]:
        return plain, np.zeros(0)
    schur = curvature.corner - curvature.border.T @ through
    left = right.shared - curvature.border.T @ plain
    shared: FloatArray = np.linalg.solve(schur, left).astype(np.float64)
    return plain - through @ shared, shared


def inverse_times(
    cells: Cells, curvature: Curvature, columns: FloatArray, residual: float = RESIDUAL
) -> FloatArray:
    """The inverse of the merits' part of minus the Hessian times columns (k, p).

    Where merits are free, columns must sum to 0 in each component, and so does what is found.
    Raises NotSolved.
    """
    if cells.layout.dense:
        return solve_blocks(cells.layout, dense_blocks(cells, curvature), columns)
    if curvature.free:
        columns = cells.layout.centred(
            columns
        )  # rounding leaves a trace, which nothing could solve
    k, ends = len(cells.layout), (cells.first, cells.second)
    row, column = np.concatenate(ends), np.concatenate(ends[::-1])
    off = scipy.sparse.csr_array(
        scipy.sparse.coo_array((np.tile(-curvature.between, 2), (row, column)), shape=(k, k))
    )
    found = conjugate_gradients(off, curvature.own, columns, residual)
    return cells.layout.centred(found) if curvature.free else found


class NotSolved(DataError):
    """The comparisons hang together too loosely for the equations to be solved."""


def conjugate_gradients(
    off: scipy.sparse.csr_array, own: FloatArray, columns: FloatArray, residual: float
) -> FloatArray:
    """Solve (``off`` + diag(``own``)) x = each of columns (k, p), preconditioned by ``own``.

    Hestenes and Stiefel (1952). Raises NotSolved where what is left stays above ``residual``
    of its column, both measured in the preconditioner's norm.
    """
    found, left = np.zeros_like(columns), columns.astype(np.float64)
    scaled = left / own[:, None]
    along, length = scaled.copy(), (left * scaled).sum(axis=0)
    enough = residual**2 * length
    for _ in range(ITERATIONS):
        busy = length > enough
        if not busy.any():
            return found
        image = off @ along + own[:, None] * along
        bend = (along * image).sum(axis=0)
        step = np.divide(length, bend, out=np.zeros_like(length), where=busy)
        found += step * along
        left -= step * image
        scaled = left / own[:, None]
        now = (left * scaled).sum(axis=0)
        along *= np.divide(now, length, out=np.zeros_like(length), where=busy)
        along += scaled
        length = now
    raise NotSolved(
        f"too few comparisons connect these {len(own):,} players: {ITERATIONS:,} rounds did not "
        "solve their equations. Set regularisation above 0, or collect comparisons between players "
        "who are far apart"
    )


def solve_blocks(layout: Layout, blocks: FloatArray, columns: FloatArray) -> FloatArray:
    """The inverse of the blocks times columns (k, p)."""
    out = np.empty_like(columns)
    views = zip(layout.blocks(blocks), layout.rows(columns), layout.rows(out), strict=True)
    for block, right, left in views:
        if len(block) == 1:
            left[0] = scipy.linalg.cho_solve(
                scipy.linalg.cho_factor(block[0], check_finite=False), right[0], check_finite=False
            )
        else:
            left[:] = np.linalg.solve(block, right)
    return out


def rough_point(cells: Cells, model: Model) -> Point:
    """Return rough starting merits from the odds of winning."""
    k, half = len(cells.layout), cells.tie / 2
    won = np.bincount(cells.first, cells.win + half, k)
    won += np.bincount(cells.second, cells.loss + half, k)
    lost = np.bincount(cells.first, cells.loss + half, k)
    lost += np.bincount(cells.second, cells.win + half, k)
    shared = np.zeros(len(model.shared))
    if len(model.shared) > len(model.linear):
        shared[-1] = bt_ties.start(model.ties, cells.counts)
    merit = cells.layout.centred(np.log((won + 1) / (lost + 1)))
    return Point(merit, shared)
