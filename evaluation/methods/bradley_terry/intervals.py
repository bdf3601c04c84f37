"""Intervals of merits, and ranges of ranks from simultaneous intervals of all differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from evaluation.methods.bradley_terry.cells import Cells, Layout
from evaluation.methods.bradley_terry.fit import Model, Solution, maximise
from evaluation.methods.bradley_terry.sandwich import Covariance, sandwich
from evaluation.methods.bradley_terry.units import Units, redrawn_games
from evaluation.methods.core import bootstrap
from evaluation.methods.core.base import FloatArray, Hooks, IntArray


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
    wide = bootstrap.widening(n, complete=True)
    se = np.sqrt(cov.variances(layout)) * wide
    reach = -stdtrit(np.maximum(n, 2) - 1, (1 - level) / 2) * se
    total = np.array([units])
    error = np.sqrt(np.diag(cov.shared)) * bootstrap.widening(total, complete=True)
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
        draws.std(axis=0) * bootstrap.widening(n, complete=False),
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
