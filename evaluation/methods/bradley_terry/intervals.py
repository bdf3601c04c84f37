"""Intervals of merits, and ranges of ranks from simultaneous intervals of all differences.

The sandwich is a covariance that does not trust the model. With A the inverse of minus the Hessian
and J the summed outer products of the scores of independent units, it is A J A (White 1982,
Econometrica 50:1-25; in clusters Liang and Zeger 1986, Biometrika 73:13-22). The regularising
comparisons are units too: without them a candidate that won everything would look exactly known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.special import expit, stdtrit

from evaluation.methods.bradley_terry import ties as bt_ties
from evaluation.methods.bradley_terry.cells import Cells, Layout, Units, redrawn_games
from evaluation.methods.bradley_terry.fit import (
    Model,
    Point,
    Solution,
    derivatives,
    log_likelihood_terms,
    log_odds,
    maximise,
    solve_blocks,
    tie_of,
)
from evaluation.methods.core import bootstrap
from evaluation.methods.core.base import FloatArray, Hooks, IntArray

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
    _, curvature = derivatives(cells, model, point, log_likelihood_terms(cells, model, point)[0])
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


@dataclass(frozen=True, eq=False)
class Spread:
    """How sure the merits of the nodes (k,) and the shared parameters (p,) are.

    ``rank_low``, ``rank_high`` and ``group`` are 0 where no resamples were asked for.
    """

    se: FloatArray
    low: FloatArray
    high: FloatArray
    rank: IntArray
    rank_low: IntArray
    rank_high: IntArray
    group: IntArray
    shared_se: FloatArray
    shared_low: FloatArray
    shared_high: FloatArray


def from_sandwich(
    cells: Cells,
    model: Model,
    found: Solution,
    units: Units,
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> Spread:
    """t intervals around the estimates; ranks from normal draws with the sandwich covariance.

    t has one degree of freedom less than there are units touching the candidate, and standard
    errors are widened by n / (n - 1): both as for a mean of n.
    """
    cov, total = sandwich(cells, model, found.point, units), round(units.size.sum())
    return from_covariance(
        cells.layout,
        found,
        cov,
        n=units.touching,
        units=total,
        settings=settings,
        rng=rng,
        hooks=hooks,
    )


def from_covariance(
    layout: Layout,
    found: Solution,
    cov: Covariance,
    *,
    n: IntArray,
    units: int,
    settings: dict[str, Any],
    rng: np.random.Generator,
    hooks: Hooks,
) -> Spread:
    """The same from any covariance; ``n`` (k,) units touch each node, ``units`` there are."""
    level, resamples = settings["level"], settings["resamples"]
    merit = layout.centred(found.point.merit)
    wide = bootstrap.widening_factor(n, complete=True)
    se = np.sqrt(cov.variances(layout)) * wide
    reach = -stdtrit(np.maximum(n, 2) - 1, (1 - level) / 2) * se
    total = np.array([units])
    error = np.sqrt(np.diag(cov.shared)) * bootstrap.widening_factor(total, complete=True)
    far = -stdtrit(np.maximum(total, 2) - 1, (1 - level) / 2) * error
    draws = _normal(layout, cov.blocks, merit, resamples, rng) if resamples else None
    hooks.step("intervals", 1, 1)
    return Spread(
        se,
        merit - reach,
        merit + reach,
        *_ranks(layout, merit, draws, n, level, complete=True, hooks=hooks),
        error,
        found.point.shared - far,
        found.point.shared + far,
    )


def bootstrapped(
    cells: Cells,
    model: Model,
    found: Solution,
    units: Units,
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> Spread:
    """Percentile intervals (moved out for few units) from refits under random weights of units.

    The comparisons that regularise are drawn anew too, as the sandwich counts them as units.
    """
    layout, level, resamples = cells.layout, settings["level"], settings["resamples"]
    merit, n = layout.centred(found.point.merit), units.touching
    draws = np.empty((resamples, len(layout)))
    shared = np.empty((resamples, len(model.shared)))
    for b in range(resamples):
        hooks.step("resamples", b, resamples)
        drawn = units.redrawn(rng, cells)
        games = redrawn_games(rng, model.regularisation, len(layout) + model.side)
        again = maximise(drawn, replace(model, games=games), found.point)
        draws[b], shared[b] = layout.centred(again.point.merit), again.point.shared
    low, high = bootstrap.percentile_interval(draws, n, level, complete=False)
    total = np.full(len(model.shared), round(units.size.sum()))
    ends = bootstrap.percentile_interval(shared, total, level, complete=False)
    return Spread(
        draws.std(axis=0) * bootstrap.widening_factor(n, complete=False),
        low,
        high,
        *_ranks(layout, merit, draws, n, level, complete=False, hooks=hooks),
        shared.std(axis=0),
        *ends,
    )


def _normal(
    layout: Layout, blocks: FloatArray, merit: FloatArray, size: int, rng: np.random.Generator
) -> FloatArray:
    """Normal draws (size, k) around the merits with these covariance blocks."""
    out = np.empty((size, len(layout)))
    for (node, count, width), block in zip(layout.classes, layout.blocks(blocks), strict=True):
        # Centred merits have a singular covariance; a trace of noise makes it positive definite.
        room = 1e-10 * np.trace(block, axis1=1, axis2=2)[:, None, None] * np.eye(width)
        root = np.linalg.cholesky(block + room)
        noise = rng.standard_normal((count, size, width)) @ root.transpose(0, 2, 1)
        out[:, node : node + count * width] = noise.transpose(1, 0, 2).reshape(size, -1)
    return out + merit


def _ranks(
    layout: Layout,
    merit: FloatArray,
    draws: FloatArray | None,
    n: IntArray,
    level: float,
    *,
    complete: bool,
    hooks: Hooks,
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Rank, best and worst possible rank and group of each node, component by component."""
    rank, low, high, group = np.zeros((4, len(layout)), dtype=np.int64)
    rounded, blocks = np.round(merit, 9), int(layout.component[-1])
    for node, count, width in layout.classes:
        for at in range(node, node + count * width, width):
            part = slice(at, at + width)
            rank[part] = bootstrap.ranks(rounded[part])
            if draws is None:
                continue
            hooks.step("ranks", int(layout.component[at]), blocks)
            apart = bootstrap.separable(
                merit[part], draws[:, part], n[part], level=level, complete=complete
            )
            low[part], high[part] = bootstrap.rank_ranges(merit[part], apart)
            group[part] = bootstrap.groups(merit[part], apart)
    return rank, low, high, group
