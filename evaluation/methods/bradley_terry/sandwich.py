"""Covariance of Bradley-Terry estimates that does not trust the model (the sandwich).

With A the inverse of minus the Hessian and J the summed outer products of the scores of independent
units, it is A J A (White 1982, Econometrica 50:1-25; in clusters Liang and Zeger 1986, Biometrika
73:13-22). The regularising comparisons are units too: without them a candidate that won everything
would look exactly known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.special import expit

from evaluation.methods.bradley_terry import ties as bt_ties
from evaluation.methods.bradley_terry.cells import Cells, Layout
from evaluation.methods.bradley_terry.fit import (
    Model,
    Point,
    derivatives,
    log_odds,
    look,
    solve_blocks,
    tie_of,
)
from evaluation.methods.bradley_terry.units import Units
from evaluation.methods.core.base import FloatArray

DENSE = 4_000_000  # scores up to this many numbers are worked on as a plain matrix


@dataclass(frozen=True, eq=False)
class Covariance:
    """Of the merits, centred in each component (``blocks``, flat as Layout has it), and of the
    ``shared`` parameters (p, p).
    """

    blocks: FloatArray
    shared: FloatArray

    def variances(self, layout: Layout) -> FloatArray:
        """Of the merits (k,)."""
        return np.maximum(self.blocks[layout.base + layout.local], 0.0)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the units by merit (u, k) and by shared parameter (u, p), and what the regularising
    comparisons add to their squares, (k,) and (p,).
    """

    merit: FloatArray | csr_array
    shared: FloatArray
    merit_held: FloatArray
    shared_held: FloatArray


def sandwich(cells: Cells, model: Model, point: Point, units: Units) -> Covariance:
    """A J A at the maximum, whose inverse Hessian is taken block by block."""
    layout = cells.layout
    _, curvature = derivatives(cells, model, point, look(cells, model, point)[0])
    scores = _scores(cells, model, point, units)
    through = -solve_blocks(layout, curvature.blocks, curvature.border)
    schur = np.linalg.inv(curvature.corner + curvature.border.T @ through)
    # F = (through, identity) carries the shared parameters; J F and F' J F follow.
    along = scores.merit @ through + scores.shared
    bent = scores.merit.T @ along + scores.merit_held[:, None] * through
    inner = along.T @ along + through.T @ (scores.merit_held[:, None] * through)
    inner += np.diag(scores.shared_held)
    shared = schur @ inner @ schur
    blocks = _outer(layout, scores)
    views = zip(
        layout.blocks(blocks),
        layout.blocks(curvature.blocks),
        layout.rows(through),
        layout.rows(bent),
        strict=True,
    )
    for meat, bread, f, jf in views:
        inverse = np.linalg.inv(bread)
        turned = f.transpose(0, 2, 1)
        mixed = inverse @ jf @ schur @ turned
        full = inverse @ meat @ inverse + mixed + mixed.transpose(0, 2, 1) + f @ shared @ turned
        full -= full.mean(axis=1, keepdims=True)
        meat[:] = full - full.mean(axis=2, keepdims=True)
    return Covariance(blocks, shared)


def _scores(cells: Cells, model: Model, point: Point, units: Units) -> Scores:
    by_x, by_tie = bt_ties.scores(model.ties, log_odds(cells, model, point), tie_of(model, point))
    x, tie = by_x.T.reshape(-1), by_tie.T.reshape(-1)
    columns = {"side": x * np.repeat(cells.left, 3), "tie": tie}
    shared = [columns[name] for name in model.shared]
    # Equal votes in one row: scaled so that their squares add up, not their sum squared.
    scale, count = units.weight / np.sqrt(units.size[units.row]), len(units.size)
    by_unit = [np.bincount(units.row, column[units.kind] * scale, count) for column in shared]
    r = model.regularisation
    held = [r if name == "side" else 0.0 for name in model.shared]
    return Scores(
        merit=_by_merit(cells, units, x[units.kind] * scale),
        shared=np.array(by_unit, dtype=np.float64).reshape(-1, count).T,
        merit_held=r * _squares(point.merit),
        shared_held=np.array(held) * _squares(point.shared),
    )


def _by_merit(cells: Cells, units: Units, values: FloatArray) -> FloatArray | csr_array:
    """Values of the entries summed by unit and node (u, k): plus for the first, minus second."""
    shape = len(units.size), len(cells.layout)
    cell = units.kind // 3
    node = np.concatenate([cells.first[cell], cells.second[cell]])
    row, both = np.tile(units.row, 2), np.concatenate([values, -values])
    if shape[0] * shape[1] <= DENSE:
        flat = np.bincount(row * shape[1] + node, both, shape[0] * shape[1])
        return np.asarray(flat.reshape(shape), dtype=np.float64)
    return csr_array(coo_array((both, (row, node)), shape=shape))


def _squares(at: FloatArray) -> FloatArray:
    """Squared scores of one win and one loss against the dummy."""
    chance = expit(at)
    return np.asarray(chance**2 + (1 - chance) ** 2, dtype=np.float64)


def _outer(layout: Layout, scores: Scores) -> FloatArray:
    """The diagonal blocks of the summed outer products, flat."""
    product = scores.merit.T @ scores.merit
    if isinstance(product, np.ndarray):
        blocks = []
        for node, count, width in layout.classes:
            at = node + np.arange(count * width).reshape(count, width)
            blocks.append(product[at[:, :, None], at[:, None, :]].reshape(-1))
        flat = np.concatenate(blocks)
    else:
        entries = coo_array(product)
        row, column = entries.coords
        same = layout.component[row] == layout.component[column]
        place = layout.base[row[same]] + layout.local[column[same]]
        flat = np.bincount(place, entries.data[same], layout.size).astype(np.float64)
    flat[layout.base + layout.local] += scores.merit_held
    return flat
