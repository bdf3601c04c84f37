"""Bradley-Terry by Newton's method, with the analytic gradient and Hessian.

The Hessian is one block a connected component, bordered by what all comparisons share (the side
term, the tie parameter); it is solved block by block, all blocks of one size at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, log_expit

from evaluation.methods.bradley_terry import ties as bt_ties
from evaluation.methods.bradley_terry.cells import Cells, Layout
from evaluation.methods.core.base import FloatArray

ROUNDS, HALVINGS = 100, 40
CLOSE = 1e-6  # the last step, in log-merit; the error left is about its square


@dataclass(frozen=True)
class Model:
    """What is fitted. ``regularisation`` r: each player has won and lost r comparisons against a
    dummy of log-merit 0, and so has the side. ``tie`` is the tie parameter where it is given, None
    where it is estimated. ``side`` adds a term for being shown on the left. ``games`` are other
    numbers of won and lost comparisons against the dummy: (k,) of the nodes, or (k + 1,) with the
    side's.
    """

    ties: str
    regularisation: float
    side: bool = False
    tie: float | None = None
    games: tuple[FloatArray, FloatArray] | None = None

    @property
    def shared(self) -> tuple[str, ...]:
        """Names of the parameters that all comparisons share, in order."""
        tied = self.ties != "none" and self.tie is None
        return (*(("side",) if self.side else ()), *(("tie",) if tied else ()))


@dataclass(frozen=True, eq=False)
class Point:
    """Log-merits of the nodes (k,) and the shared parameters (p,)."""

    merit: FloatArray
    shared: FloatArray


@dataclass(frozen=True, eq=False)
class Curvature:
    """Minus the Hessian: ``blocks`` (flat), ``border`` (k, p), ``corner`` (p, p)."""

    blocks: FloatArray
    border: FloatArray
    corner: FloatArray


@dataclass(frozen=True, eq=False)
class Solution:
    """The maximum: where, its penalised value, the plain log-likelihood, and how it was found."""

    point: Point
    value: float
    log_likelihood: float
    rounds: int
    converged: bool


def maximise(cells: Cells, model: Model, start: Point | None = None) -> Solution:
    """Newton with step halving from ``start``, or from rough merits."""
    point = _start(cells, model) if start is None else start
    part, now = log_likelihood_terms(cells, model, point)
    converged, rounds = False, 0
    while rounds < ROUNDS and not converged:
        rounds += 1
        gradient, curvature = derivatives(cells, model, point, part)
        merit, shared = solve(cells.layout, curvature, gradient)
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
    """What favours the first of each cell (c,)."""
    x: FloatArray = point.merit[cells.first] - point.merit[cells.second]
    return x + point.shared[0] * cells.left if model.side else x


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
    held = np.append(point.merit, point.shared[:1] if model.side else [])
    if model.games is not None:
        won, lost = model.games
        return part, part.value + float(won @ log_expit(held) + lost @ log_expit(-held))
    penalty = float((log_expit(held) + log_expit(-held)).sum()) if model.regularisation else 0.0
    return part, part.value + model.regularisation * penalty


def derivatives(
    cells: Cells, model: Model, point: Point, part: bt_ties.Terms
) -> tuple[Point, Curvature]:
    """The gradient and minus the Hessian of the penalised log-likelihood."""
    layout, k = cells.layout, len(cells.layout)
    merit = sum_by_node(cells, part.x, k)
    blocks: FloatArray = np.bincount(cells.place, part.xx, layout.size).astype(np.float64)
    for block in layout.blocks(blocks):
        np.negative(block + block.transpose(0, 2, 1), out=block)
    diagonal = np.zeros(k)
    diagonal += np.bincount(cells.first, part.xx, k)
    diagonal += np.bincount(cells.second, part.xx, k)
    border, corner, shared = _shared(cells, model, part)
    if model.regularisation:
        slope, bend = _held(model, np.append(point.merit, point.shared[:1] if model.side else []))
        merit += slope[:k]
        diagonal += bend[:k]
        if model.side:
            shared[0] += slope[k]
            corner[0, 0] += bend[k]
    blocks[layout.base + layout.local] += diagonal
    if not model.regularisation:
        # Merits are known up to a constant a component: hold its mean where it is.
        for block in layout.blocks(blocks):
            held_mean = np.trace(block, axis1=1, axis2=2) / block.shape[1] ** 2
            np.add(block, held_mean[:, None, None], out=block)
    return Point(merit, shared), Curvature(blocks, border, corner)


def _held(model: Model, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What the comparisons with the dummy add to the gradient, and to minus its derivative."""
    chance = expit(at)
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
    with_x = {"side": part.xx * cells.left, "tie": part.xt}
    slope = {"side": part.x * cells.left, "tie": part.t}
    second = {
        ("side", "side"): part.xx * cells.left**2,
        ("side", "tie"): part.xt * cells.left,
        ("tie", "side"): part.xt * cells.left,
        ("tie", "tie"): part.tt,
    }
    border = np.zeros((k, len(names)))
    corner = np.zeros((len(names), len(names)))
    for i, name in enumerate(names):
        border[:, i] = sum_by_node(cells, with_x[name], k)
        for j, other in enumerate(names):
            corner[i, j] = second[name, other].sum()
    return border, corner, np.array([slope[name].sum() for name in names])


def sum_by_node(cells: Cells, values: FloatArray, k: int) -> FloatArray:
    """Sums (k,) over cells, plus for the first node, minus for the second."""
    plus, minus = np.bincount(cells.first, values, k), np.bincount(cells.second, values, k)
    return np.asarray(plus - minus, dtype=np.float64)


def solve(layout: Layout, curvature: Curvature, right: Point) -> tuple[FloatArray, FloatArray]:
    """Solve the bordered system for one right-hand side: merits (k,) and shared (p,)."""
    columns = solve_blocks(
        layout, curvature.blocks, np.column_stack([right.merit, curvature.border])
    )
    plain, through = columns[:, 0], columns[:, 1:]
    if not through.shape[1]:
        return plain, np.zeros(0)
    schur = curvature.corner - curvature.border.T @ through
    left = right.shared - curvature.border.T @ plain
    shared: FloatArray = np.linalg.solve(schur, left).astype(np.float64)
    return plain - through @ shared, shared


def solve_blocks(layout: Layout, blocks: FloatArray, columns: FloatArray) -> FloatArray:
    """The inverse of the blocks times columns (k, p)."""
    out = np.empty_like(columns)
    views = zip(layout.blocks(blocks), layout.rows(columns), layout.rows(out), strict=True)
    for block, right, left in views:
        if len(block) == 1:
            left[0] = cho_solve(
                cho_factor(block[0], check_finite=False), right[0], check_finite=False
            )
        else:
            left[:] = np.linalg.solve(block, right)
    return out


def _start(cells: Cells, model: Model) -> Point:
    """Merits by the odds of winning as if against equals, a round or two nearer than none."""
    k, half = len(cells.layout), cells.tie / 2
    won = np.bincount(cells.first, cells.win + half, k)
    won += np.bincount(cells.second, cells.loss + half, k)
    lost = np.bincount(cells.first, cells.loss + half, k)
    lost += np.bincount(cells.second, cells.win + half, k)
    shared = {"side": 0.0}
    if "tie" in model.shared:
        shared["tie"] = bt_ties.start(model.ties, cells.counts)
    merit = cells.layout.centred(np.log((won + 1) / (lost + 1)))
    return Point(merit, np.array([shared[name] for name in model.shared]))
