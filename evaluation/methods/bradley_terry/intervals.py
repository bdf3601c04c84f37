"""Intervals of merits, and ranges of ranks from simultaneous intervals of all differences.

The sandwich is a covariance that does not trust the model. With A the inverse of minus the Hessian
and J the summed outer products of the scores of independent units, it is A J A (White 1982,
Econometrica 50:1-25; in clusters Liang and Zeger 1986, Biometrika 73:13-22). The regularising
comparisons are units too: without them a candidate that won everything would look exactly known.

Clusters are rarely even: a few judges do most of the work. Each cluster's scores are divided by the
root of one minus its share of the votes (CR2), and t has the degrees of freedom of Bell and
McCaffrey (2002, Survey Methodology 28) for the shares of the votes on a player, as in
``core.inference``. Differences for ranks rest on votes that are less even still: their standard
errors are those of CR3. A player whose votes come from effectively fewer than ``LEAST_EFFECTIVE``
clusters has no interval, and is told apart from nobody.

4 equal systems, 40 votes a pair, means over tastes of judges with standard deviation 0, .4 and 1
(1,000 boards each, simulation error .003; before, with a t of one degree of freedom less than there
are judges, 400 boards; ``python -m tests.studies.ranking_coverage``):

====================  ===========  =======  ======  ============  ======
judges                no interval  covered  before  equals apart  before
====================  ===========  =======  ======  ============  ======
30, even                      .00     .958    .953          .041    .053
12, even                      .00     .955    .952          .048    .071
30, Zipf 1                    .00     .952    .922          .027    .121
100, Zipf 1.5                 .00     .962    .863          .011    .260
12, Zipf 1.5                  .14     .966    .870          .008    .247
30, Zipf 2                    .97     .972    .777          .000    .421
====================  ===========  =======  ======  ============  ======

Where blocks are too large to be dense, the diagonal of A J A is sampled: units' scores with random
signs have covariance J, so A times them has A J A (the score bootstrap of Kline and Santos 2012,
J. Econometric Methods 1:23-41). A standard error from s samples is itself known to 1 / sqrt(2 s).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from evaluation.methods.bradley_terry import ties as bt_ties
from evaluation.methods.bradley_terry.cells import (
    Cells,
    Clusters,
    Layout,
    Shares,
    Units,
    redrawn_games,
    shares_of,
)
from evaluation.methods.bradley_terry.fit import (
    Curvature,
    Model,
    Point,
    Solution,
    dense_blocks,
    derivatives,
    inverse_times,
    log_likelihood_terms,
    log_odds,
    maximise,
    tie_of,
)
from evaluation.methods.core import bootstrap
from evaluation.methods.core.base import FloatArray, Hooks, IntArray
from evaluation.methods.core.comparison import comparison_reach
from evaluation.methods.core.inference import family_level, t_for_normal, t_quantile

DENSE = 4_000_000  # scores up to this many numbers are worked on as a plain matrix
SAMPLES, TOGETHER = 128, 16  # of the diagonal of a covariance without blocks; columns at once
ROUGH = 1e-4  # how far a sample may be off, relative: far below the error of sampling
ALONE = 1e-3  # of the votes that are not a cluster's: with fewer there is no interval anyway
SAMPLED = float(1 / np.sqrt(2 * SAMPLES))  # error of a sampled standard error, relative, at most


@dataclass(frozen=True, eq=False)
class Covariance:
    """Of the merits, centred in each component (``blocks``, flat as Layout has it; none where they
    are too large), and of the ``shared`` parameters (p, p). ``variance`` (k,) of the merits.
    """

    blocks: FloatArray
    shared: FloatArray
    variance: FloatArray

    @classmethod
    def of_blocks(cls, layout: Layout, blocks: FloatArray, shared: FloatArray) -> Covariance:
        """Build the covariance from blocks, whose diagonals hold the variances."""
        return cls(blocks, shared, np.maximum(blocks[layout.base + layout.local], 0.0))


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the units by merit (u, k) and by shared parameter (u, p), and what the regularising
    comparisons add to their squares, (k,) and (p,).
    """

    merit: FloatArray | scipy.sparse.csr_array
    shared: FloatArray
    merit_held: FloatArray
    shared_held: FloatArray


def sandwich(
    cells: Cells,
    model: Model,
    point: Point,
    units: Units,
    rng: np.random.Generator,
    *,
    shares: Shares | None = None,
) -> Covariance:
    """A J A at the maximum: exact, or sampled with ``rng`` where its blocks are too large.

    With ``shares`` each cluster's scores are raised by its share of the votes (CR2).
    """
    _, curvature = derivatives(cells, model, point, log_likelihood_terms(cells, model, point)[0])
    scores = _scores(cells, model, point, units, shares)
    through = -inverse_times(cells, curvature, curvature.border)
    corner = curvature.corner + curvature.border.T @ through
    schur = np.linalg.inv(corner).astype(np.float64)
    # F = (through, identity) carries the shared parameters; J F and F' J F follow.
    along = scores.merit @ through + scores.shared
    inner = along.T @ along + through.T @ (scores.merit_held[:, None] * through)
    inner += np.diag(scores.shared_held)
    shared = schur @ inner @ schur
    if not cells.layout.dense:
        variance = _sampled(cells, curvature, scores, (through, schur), rng)
        return Covariance(np.zeros(0), shared, variance)
    bent = scores.merit.T @ along + scores.merit_held[:, None] * through
    blocks = _exact(cells, curvature, scores, (through, bent, schur, shared))
    return Covariance.of_blocks(cells.layout, blocks, shared)


def _exact(
    cells: Cells, curvature: Curvature, scores: Scores, carried: tuple[FloatArray, ...]
) -> FloatArray:
    """Blocks of the merits' covariance; ``carried`` are F, J F, the shared parameters' inverse and
    their covariance."""
    layout, (through, bent, schur, shared) = cells.layout, carried
    blocks = _outer(layout, scores)
    views = zip(
        layout.blocks(blocks),
        layout.blocks(dense_blocks(cells, curvature)),
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
    return blocks


def _sampled(
    cells: Cells,
    curvature: Curvature,
    scores: Scores,
    carried: tuple[FloatArray, FloatArray],
    rng: np.random.Generator,
) -> FloatArray:
    """Variances (k,) of the merits from SAMPLES sums of scores with random signs; ``carried`` are F
    and the shared parameters' inverse.

    Most of a merit's error is its own comparisons', whose variance is known: the samples only say
    by how much the others' change it.
    """
    k, units, (through, schur) = len(cells.layout), len(scores.shared), carried
    own = np.asarray((scores.merit**2).sum(axis=0)).reshape(-1) + scores.merit_held
    held, shared_held = np.sqrt(scores.merit_held), np.sqrt(scores.shared_held)
    found, alone = np.zeros(k), np.zeros(k)
    for _ in range(0, SAMPLES, TOGETHER):
        sign = 2.0 * rng.integers(0, 2, (units, TOGETHER), dtype=np.int8) - 1
        raw = scores.merit.T @ sign + held[:, None] * rng.standard_normal((k, TOGETHER))
        both = scores.shared.T @ sign
        both += shared_held[:, None] * rng.standard_normal((len(shared_held), TOGETHER))
        moved = inverse_times(cells, curvature, raw, ROUGH)
        moved += through @ (schur @ (both + through.T @ raw))
        found += (cells.layout.centred(moved) ** 2).sum(axis=1)
        alone += ((raw / curvature.own[:, None]) ** 2).sum(axis=1)
    known = own / curvature.own**2
    return np.asarray(found / np.maximum(alone, 1e-300) * known, dtype=np.float64)


def _scores(
    cells: Cells, model: Model, point: Point, units: Units, shares: Shares | None
) -> Scores:
    by_x, by_tie = bt_ties.scores(model.ties, log_odds(cells, model, point), tie_of(model, point))
    x, tie = by_x.T.reshape(-1), by_tie.T.reshape(-1)
    shared = [x * np.repeat(column, 3) for column in cells.linear.T[: len(model.linear)]]
    shared += [tie] if len(model.shared) > len(shared) else []
    # Equal votes in one row: scaled so that their squares add up, not their sum squared.
    scale, count = units.weight / np.sqrt(units.size[units.row]), len(units.size)
    own, every = scale, scale
    if shares is not None and units.clustered:
        own = scale / np.sqrt(np.maximum(1 - shares.entry, ALONE))
        every = scale / np.sqrt(np.maximum(1 - shares.entry_whole, ALONE))
    by_unit = [np.bincount(units.row, column[units.kind] * every, count) for column in shared]
    r = model.regularisation
    held = [r if i < len(model.linear) else 0.0 for i in range(len(model.shared))]
    return Scores(
        merit=_by_merit(cells, units, x[units.kind] * own),
        shared=np.array(by_unit, dtype=np.float64).reshape(-1, count).T,
        merit_held=r * _squares(point.merit),
        shared_held=np.array(held) * _squares(point.shared),
    )


def _by_merit(
    cells: Cells, units: Units, values: FloatArray
) -> FloatArray | scipy.sparse.csr_array:
    """Values of the entries summed by unit and node (u, k): plus for the first, minus second."""
    shape = len(units.size), len(cells.layout)
    cell = units.kind // 3
    node = np.concatenate([cells.first[cell], cells.second[cell]])
    row, both = np.tile(units.row, 2), np.concatenate([values, -values])
    if shape[0] * shape[1] <= DENSE:
        flat = np.bincount(row * shape[1] + node, both, shape[0] * shape[1])
        return np.asarray(flat.reshape(shape), dtype=np.float64)
    return scipy.sparse.csr_array(scipy.sparse.coo_array((both, (row, node)), shape=shape))


def _squares(at: FloatArray) -> FloatArray:
    """Squared scores of one win and one loss against the dummy."""
    chance = scipy.special.expit(at)
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
        entries = scipy.sparse.coo_array(product)
        row, column = entries.coords
        same = layout.component[row] == layout.component[column]
        place = layout.base[row[same]] + layout.local[column[same]]
        flat = np.bincount(place, entries.data[same], layout.size).astype(np.float64)
    flat[layout.base + layout.local] += scores.merit_held
    return flat


@dataclass(frozen=True, eq=False)
class Spread:
    """How sure the merits of the nodes (k,) and the shared parameters (p,) are.

    ``rank_low``, ``rank_high`` and ``group`` are 0 where no resamples were asked for, or where the
    board is too large for the differences of all its pairs. ``compare_low`` to ``compare_high`` of
    two nodes overlap exactly where they cannot be separated (NaN where no such intervals exist).
    ``nodes`` is what lies behind each.
    """

    se: FloatArray
    low: FloatArray
    high: FloatArray
    rank: IntArray
    rank_low: IntArray
    rank_high: IntArray
    group: IntArray
    compare_low: FloatArray
    compare_high: FloatArray
    shared_se: FloatArray
    shared_low: FloatArray
    shared_high: FloatArray
    nodes: Clusters


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
    """t intervals around the estimates; ranks from normal draws with the sandwich covariance."""
    shares = shares_of(cells, units)
    cov = sandwich(cells, model, found.point, units, rng, shares=shares)
    return from_covariance(
        cells.layout,
        found,
        cov,
        nodes=shares.nodes,
        whole=shares.whole,
        settings=settings,
        rng=rng,
        hooks=hooks,
    )


def _rank_level(settings: dict[str, Any]) -> float:
    """Level of ranks and groups: they hold on all of ``family`` boards (default 1) at once."""
    return family_level(settings["level"], settings.get("family", 1))


def _widening(clusters: Clusters) -> FloatArray:
    """Factors (k,) of standard errors: as of a mean of n single votes; shares widen clusters'."""
    if clusters.single:
        return bootstrap.widening_factor(clusters.units, complete=True)
    return np.ones(len(clusters.units))


def from_covariance(
    layout: Layout,
    found: Solution,
    cov: Covariance,
    *,
    nodes: Clusters,
    whole: Clusters,
    settings: dict[str, Any],
    rng: np.random.Generator,
    hooks: Hooks,
) -> Spread:
    """Compute errors, intervals and rank ranges from a covariance."""
    level, resamples = settings["level"], settings["resamples"]
    merit = layout.centred(found.point.merit)
    wide = _widening(nodes)
    se = np.sqrt(cov.variance) * wide
    reach = _reach(nodes, level) * se
    error = np.sqrt(np.diag(cov.shared)) * _widening(whole)
    far = _reach(whole, level) * error
    draws = None
    if resamples and layout.dense:
        draws = _normal(layout, cov.blocks, merit, resamples, rng)
    hooks.step("intervals", 1, 1)
    return Spread(
        se,
        merit - reach,
        merit + reach,
        *_ranks(layout, merit, draws, nodes, wide=wide, level=_rank_level(settings), hooks=hooks),
        error,
        found.point.shared - far,
        found.point.shared + far,
        nodes,
    )


def _reach(clusters: Clusters, level: float) -> FloatArray:
    """Half-widths (k,) of t intervals in standard errors; NaN from too few effective clusters."""
    reach = np.full(len(clusters.units), np.nan)
    known = clusters.has_interval
    reach[known] = t_quantile(level, clusters.freedom[known])
    return reach


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
    merit, shares = layout.centred(found.point.merit), shares_of(cells, units)
    draws = np.empty((resamples, len(layout)))
    shared = np.empty((resamples, len(model.shared)))
    for b in range(resamples):
        hooks.step("resamples", b, resamples)
        drawn = units.redrawn(rng, cells)
        games = redrawn_games(rng, model.regularisation, len(layout) + len(model.linear))
        again = maximise(drawn, replace(model, games=games), found.point)
        draws[b], shared[b] = layout.centred(again.point.merit), again.point.shared
    wide, wide_shared = _redrawn_widening(cells, model, found, units, shares, rng=rng)
    nodes, whole = shares.nodes, shares.whole
    low, high = _percentiles(draws, _reach(nodes, level) * wide)
    shared_low, shared_high = _percentiles(shared, _reach(whole, level) * wide_shared)
    return Spread(
        draws.std(axis=0) * wide,
        low,
        high,
        *_ranks(layout, merit, draws, nodes, wide=wide, level=_rank_level(settings), hooks=hooks),
        shared.std(axis=0),
        shared_low,
        shared_high,
        nodes,
    )


def _redrawn_widening(
    cells: Cells,
    model: Model,
    found: Solution,
    units: Units,
    shares: Shares,
    *,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Factors of redrawn standard errors, (k,) and (p,): of a mean of n, or what the shares of
    clusters add to the sandwich."""
    nodes, whole = shares.nodes.units, np.full(len(model.shared), shares.whole.units[0])
    if not units.clustered:
        return (
            bootstrap.widening_factor(nodes, complete=False),
            bootstrap.widening_factor(whole, complete=False),
        )
    plain = sandwich(cells, model, found.point, units, rng)
    wider = sandwich(cells, model, found.point, units, rng, shares=shares)
    again = np.sqrt(1 + 1 / shares.nodes.effective), np.sqrt(1 + 1 / shares.whole.effective)
    return (
        np.sqrt(wider.variance / np.maximum(plain.variance, 1e-300)) * again[0],
        np.sqrt(np.diag(wider.shared) / np.maximum(np.diag(plain.shared), 1e-300)) * again[1],
    )


def _percentiles(draws: FloatArray, reach: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Percentiles of each column of draws (b, k), as far out as normal ones of ``reach`` (k,).

    Moved out for few units as a t interval would be (Hesterberg 2015, "expanded percentile
    interval"); NaN where the reach is.
    """
    low, high = np.full((2, draws.shape[1]), np.nan)
    tails = scipy.special.ndtr(-np.broadcast_to(reach, low.shape))
    for value in np.unique(tails[np.isfinite(tails)]):
        columns = np.flatnonzero(tails == value)
        low[columns], high[columns] = np.quantile(draws[:, columns], [value, 1 - value], axis=0)
    return low, high


def _normal(
    layout: Layout, blocks: FloatArray, merit: FloatArray, size: int, rng: np.random.Generator
) -> FloatArray:
    """Normal draws (size, k) around the merits with these covariance blocks."""
    out = np.empty((size, len(layout)))
    for (node, count, width), block in zip(layout.classes, layout.blocks(blocks), strict=True):
        root = _root(block, width)
        noise = rng.standard_normal((count, size, width)) @ root.transpose(0, 2, 1)
        out[:, node : node + count * width] = noise.transpose(1, 0, 2).reshape(size, -1)
    return out + merit


def _root(block: FloatArray, width: int) -> FloatArray:
    """Matrices (count, width, width) whose products with their transposes are these covariances."""
    # Centred merits have a singular covariance; a trace of noise makes it positive definite.
    room = 1e-10 * np.trace(block, axis1=1, axis2=2)[:, None, None] * np.eye(width)
    try:
        return np.asarray(np.linalg.cholesky(block + room), dtype=np.float64)
    except np.linalg.LinAlgError:  # rounding, where the prior hardly holds the mean of the merits
        value, vector = np.linalg.eigh((block + block.transpose(0, 2, 1)) / 2)
        return np.asarray(vector * np.sqrt(np.maximum(value, 0.0))[:, None, :], dtype=np.float64)


def _ranks(
    layout: Layout,
    merit: FloatArray,
    draws: FloatArray | None,
    nodes: Clusters,
    *,
    wide: FloatArray,
    level: float,
    hooks: Hooks,
) -> tuple[IntArray, IntArray, IntArray, IntArray, FloatArray, FloatArray]:
    """Rank, best and worst possible rank, group and comparison interval of each node.

    Component by component.
    """
    rank, low, high, group = np.zeros((4, len(layout)), dtype=np.int64)
    reach = np.full(len(layout), np.nan)
    rounded, blocks = np.round(merit, 9), int(layout.component[-1])
    for node, count, width in layout.classes:
        for at in range(node, node + count * width, width):
            part = slice(at, at + width)
            rank[part] = bootstrap.ranks(rounded[part])
            if draws is None:
                continue
            hooks.step("ranks", int(layout.component[at]), blocks)
            own = nodes.take(part)
            needed = _needed(merit[part], draws[:, part], own, wide[part], level)
            apart = np.abs(merit[part, None] - merit[None, part]) > needed
            low[part], high[part] = bootstrap.rank_ranges(merit[part], apart)
            group[part] = bootstrap.groups(merit[part], apart)
            known = np.flatnonzero(own.has_interval)
            pair = np.ix_(known, known)
            found = comparison_reach(merit[part][known], needed[pair], apart[pair])
            if found is not None:
                reach[at + known] = found
    return rank, low, high, group, merit - reach, merit + reach


def _needed(
    merit: FloatArray, draws: FloatArray, nodes: Clusters, wide: FloatArray, level: float
) -> FloatArray:
    """How far (k, k) two merits must be apart for their simultaneous interval to leave out 0.

    As ``bootstrap.separable``, with the degrees of freedom of the scarcer clusters of the two:
    the quantile of the largest standardised deviation of all differences, at the same probability
    of a t. Infinite for nodes without an interval.
    """
    k = len(merit)
    needed = np.full((k, k), np.inf)
    if k < 2:
        return needed
    error = bootstrap.difference_errors(draws)
    usable = error > 1e-12
    critical = float(np.quantile(bootstrap.largest(draws - merit, error, usable), level))
    known = nodes.has_interval
    fewer = np.where(known, nodes.freedom, 1.0)
    factor = t_for_normal(critical, np.minimum(fewer[:, None], fewer[None, :]))
    if not nodes.single:  # clusters are less even on a pair than on a player: as leaving one out
        wide = wide * np.sqrt(nodes.effective / np.maximum(nodes.effective - 1, 0.5))
    factor = factor * np.maximum(wide[:, None], wide[None, :])
    both = known[:, None] & known[None, :] & ~np.eye(k, dtype=bool)
    needed[both] = np.where(usable, factor * error, 1e-9)[both]
    return needed
