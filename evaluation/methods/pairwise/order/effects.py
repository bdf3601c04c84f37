"""Order effects: does it matter on which side, or how late, something is judged?

CrowdRAG, section 5.1, compares alphas (Table 5): within items, each display direction against
both pooled; across items, early against late. Alpha is nearly blind to a shift that all workers
share, so the sharper tests stand beside it: the share of neutral votes early and late, the share
of wins of the right side on pairs shown both ways round, and rows with one label throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.coefficients import contingency, tau_of
from evaluation.methods.agreement.counts import (
    NoVariation,
    alpha_rows,
    alpha_statistic,
    estimate,
    grouped,
    patterns,
)
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    BadVector,
    FloatArray,
    IntArray,
    Table,
    of_rows,
)
from evaluation.methods.core.inference import family_level
from evaluation.methods.core.units import (
    Clustered,
    difference,
    ratio,
    share,
    within_slope,
)
from evaluation.methods.pairwise.judgments import MISSING, ShownVotes, Units

ALL = "all"
NO_SIDES, NO_ORDER = "sides were not recorded", "the order was not recorded"


def within_item_alpha(
    data: ShownVotes,
    *,
    rng: np.random.Generator,
    level: str = "ordinal",
    resamples: int = 1000,
    confidence: float = 0.95,
    units: Units | None = None,
) -> Table:
    """Alpha on the pairs shown both ways round: one way, the other, and both pooled.

    A row per dimension: ``forward`` (shown as stored), ``backward``, ``both``, all in canonical
    coordinates and without a worker's later votes on a pair; ``delta`` is the largest distance
    of a direction from both, as published. ``excess`` (with ``low``, ``high`` over ``units``, the
    pairs unless topics are given) is the mean of the directions - both, above 0 under a side bias.
    ``pairs`` counts them; ``reason`` says why a row is NaN. Raises BadParameter.
    """
    data, units = data.first_votes(), units or Units.pairs(data)
    data = data.take(data.sides_known)
    nothing = "no pair was judged both ways round" if len(data) else NO_SIDES
    ways = [
        np.bincount(data.pair[data.flipped == way], minlength=len(data.pairs)) > 0
        for way in (False, True)
    ]
    two_way = (ways[0] & ways[1])[data.pair]
    rows = []
    for dimension in range(len(data.dimensions)):
        parts = [
            data.counts(dimension, rows=two_way & mask, directed=False)
            for mask in (~data.flipped, data.flipped, np.ones(len(data), dtype=bool))
        ]
        found = _alphas(
            np.hstack([alpha_rows(part) for part in parts]),
            "excess",
            units,
            parts=3,
            nothing=nothing,
            size=len(data.labels),
            level=level,
            rng=rng,
            resamples=resamples,
            confidence=confidence,
        )
        one, two, both = found.pop("alphas")
        rows.append(
            {
                "dimension": data.dimensions[dimension],
                "pairs": int((ways[0] & ways[1]).sum()),
                "forward": one,
                "backward": two,
                "both": both,
                "delta": max(abs(one - both), abs(two - both)),
                **found,
            }
        )
    return of_rows(rows)


def across_item_alpha(
    data: ShownVotes,
    *,
    rng: np.random.Generator,
    split: int = 7,
    level: str = "ordinal",
    resamples: int = 1000,
    confidence: float = 0.95,
    units: Units | None = None,
) -> Table:
    """Alpha of the votes at positions up to ``split`` against the rest, on directed pairs.

    A row per dimension: ``early``, ``late``, ``delta`` (absolute, as published), ``change`` (late
    - early) with ``low``, ``high`` over ``units`` (the pairs unless topics are given), ``reason``.
    Raises BadParameter.
    """
    data, units = data.take(data.order_known), units or Units.pairs(data)
    nothing = "no votes share a pair" if len(data) else NO_ORDER
    first = _early(data, split)
    pair = np.repeat(np.arange(len(data.pairs)), 2)
    rows = []
    for dimension in range(len(data.dimensions)):
        parts = [data.counts(dimension, rows=mask, directed=True) for mask in (first, ~first)]
        stacked = grouped(np.hstack([alpha_rows(part) for part in parts]), pair)
        found = _alphas(
            stacked,
            "change",
            units,
            parts=2,
            nothing=nothing,
            size=len(data.labels),
            level=level,
            rng=rng,
            resamples=resamples,
            confidence=confidence,
        )
        early, late = found.pop("alphas")
        rows.append(
            {
                "dimension": data.dimensions[dimension],
                "early": early,
                "late": late,
                "delta": abs(late - early),
                **found,
            }
        )
    return of_rows(rows)


def _alphas(
    rows: FloatArray,
    name: str,
    units: Units,
    *,
    parts: int,
    nothing: str,
    size: int,
    level: str,
    **drawing: Any,
) -> dict[str, Any]:
    """The alpha of each part, and its contrast with an interval; ``rows`` (pairs, parts * s).

    ``nothing`` is the reason where no votes can be compared.
    """
    one = alpha_statistic(level, np.arange(float(size)))
    width = rows.shape[1] // parts

    def alphas(sums: FloatArray) -> list[FloatArray]:
        return [one(sums[..., k * width : (k + 1) * width]) for k in range(parts)]

    def contrast(sums: FloatArray) -> FloatArray:
        found = alphas(sums)
        last = found[-1]
        # Three parts: two directions and both; two parts: early and late.
        return (found[0] + found[1]) / 2 - last if parts == 3 else last - found[0]

    unknown = {name: np.nan, "low": np.nan, "high": np.nan}
    some = rows.any(axis=1)
    if not some.any():
        return {"alphas": [np.nan] * parts, **unknown, "reason": nothing}
    used = grouped(rows[some], units.of[some])
    values = [float(value[0]) for value in alphas(used.sum(axis=0, keepdims=True))]
    try:
        found = estimate(used, np.ones(len(used)), contrast, noun=units.noun, **drawing)
    except NoVariation:
        return {"alphas": values, **unknown, "reason": "the votes of a part do not vary"}
    return {
        "alphas": values,
        name: found.estimate,
        "low": found.low,
        "high": found.high,
        "reason": found.reason,
    }


def neutral_drift(
    data: ShownVotes, *, split: int = 7, confidence: float = 0.95, family: int = 0
) -> Table:
    """Do workers turn to the neutral label as they go on? Intervals clustered by worker.

    A row per dimension that anybody was neutral on, and one for all of these together:
    ``early`` and ``late`` shares of neutral votes (positions up to ``split``, and after),
    ``difference`` (late - early) with ``se``, ``low``, ``high``; ``slope`` a position within
    workers (so that who answers more does not count) with ``slope_low``, ``slope_high``;
    ``workers``; ``reason``. The row of all has its interval at ``confidence``; those of the
    dimensions hold all at once (Bonferroni over ``family`` of them). With a ``family``, each row's
    holds together with so many others. Raises BadParameter (also without a neutral label).
    """
    if len(data.labels) % 2 == 0:
        raise BadParameter(
            f"labels has {len(data.labels)} labels; without a middle none is neutral"
        )
    answered, data = len(data), data.take(data.order_known)
    if answered and not len(data):
        return of_rows([{"dimension": ALL, **_no_drift(NO_ORDER)}])
    first, side = _early(data, split), data.side()
    offered = [k for k in range(len(data.dimensions)) if (side[:, k] == 0).any()]
    rows = []
    for name, columns in [(ALL, offered), *((data.dimensions[k], [k]) for k in offered)]:
        if not columns:
            return of_rows([{"dimension": ALL, **_no_drift("nobody was ever neutral")}])
        neutral = (side[:, columns] == 0).sum(axis=1).astype(np.float64)
        given = (~np.isnan(side[:, columns])).sum(axis=1).astype(np.float64)
        own = family or (1 if name == ALL else len(offered))
        found = _drift(data, first, neutral, given, family_level(confidence, own))
        rows.append({"dimension": name, **found, "family": own})
    return of_rows(rows)


def _drift(
    data: ShownVotes,
    first: NDArray[np.bool_],
    neutral: FloatArray,
    given: FloatArray,
    confidence: float,
) -> dict[str, Any]:
    early, late = (neutral * first, given * first), (neutral * ~first, given * ~first)
    change = difference(early, late, data.worker, confidence)
    share = np.divide(neutral, given, out=np.zeros_like(neutral), where=given > 0)
    slope = within_slope(data.position.astype(np.float64), share, given, data.worker, confidence)
    return {
        "early": ratio(*early, data.worker, confidence).estimate,
        "late": ratio(*late, data.worker, confidence).estimate,
        "difference": change.estimate,
        "se": change.se,
        "low": change.low,
        "high": change.high,
        "slope": slope.estimate,
        "slope_low": slope.low,
        "slope_high": slope.high,
        "workers": change.clusters,
        "reason": change.reason or slope.reason,
    }


def _no_drift(reason: str) -> dict[str, Any]:
    names = ("early", "late", "difference", "se", "low", "high", "slope", "slope_low", "slope_high")
    return {**dict.fromkeys(names, np.nan), "workers": 0, "reason": reason, "family": 1}


def side_preference(
    data: ShownVotes, *, confidence: float = 0.95, units: Units | None = None, family: int = 0
) -> Table:
    """Test whether the right side wins more often than the left, whatever text it shows.

    Only pairs shown both ways round count, and both ways weigh the same: whatever is better then
    stands on either side alike, and .5 is no preference. A row per dimension and one for all:
    ``right`` (share of the right side among decisive votes) with ``se``, ``low``, ``high``
    clustered by worker and by unit (the pairs unless topics are given: what is better wins once on
    either side, which is no noise), ``n`` decisive votes, ``pairs``, ``workers``, ``reason``. The
    row of all has its interval at ``confidence``; those of the dimensions hold all at once
    (Bonferroni over ``family`` of them). With a ``family``, each row's holds together with so many
    others.
    """
    units, data = units or Units.pairs(data), data.take(data.sides_known)
    side = data.side()
    no_pair = "no pair was judged both ways round" if len(data) else NO_SIDES
    rows = []
    for name, columns in [
        (ALL, list(range(len(data.dimensions)))),
        *((name, [k]) for k, name in enumerate(data.dimensions)),
    ]:
        given = (~np.isnan(side[:, columns])).sum(axis=1).astype(np.float64)
        weight, pairs = _balance(data, given)
        wins = (side[:, columns] == 1).sum(axis=1) * weight
        decisive = np.isin(side[:, columns], (-1, 1)).sum(axis=1)
        own = family or (1 if name == ALL else len(data.dimensions))
        found = share(
            wins,
            decisive * weight,
            data.worker,
            family_level(confidence, own),
            crossed=units.of[data.pair],
            nouns=("workers", units.noun),
        )
        rows.append(
            {
                "dimension": name,
                "right": found.estimate,
                "se": found.se,
                "low": found.low,
                "high": found.high,
                "n": int(decisive[weight > 0].sum()),
                "pairs": pairs,
                "workers": found.clusters,
                "family": own,
                "reason": no_pair if not pairs else found.reason,
            }
        )
    return of_rows(rows)


def _balance(data: ShownVotes, given: FloatArray) -> tuple[FloatArray, int]:
    """Weights (n,) under which both directions of a pair have the same mass; 0 for one-way pairs.

    A direction's votes are scaled to the mean of both, so that balanced data keep weight 1.
    """
    item = 2 * data.pair + data.flipped
    mass = np.bincount(item, weights=given, minlength=2 * len(data.pairs)).astype(np.float64)
    mass = mass.reshape(-1, 2)  # counts of nothing are whole numbers
    both = (mass[:, 0] > 0) & (mass[:, 1] > 0)
    scale = np.divide(
        mass.mean(axis=1, keepdims=True), mass, out=np.zeros_like(mass), where=both[:, None]
    )
    return scale.ravel()[item] * (given > 0), int(both.sum())


@dataclass(frozen=True, eq=False)
class StraightLining:
    """``share`` of judgments with one label on every dimension, and what to read it against.

    ``chance`` is the share that the same votes would give if dimensions were independent;
    ``worker`` a table of ``worker`` (index), ``share`` and ``n`` (judgments).
    """

    share: Clustered
    chance: float
    worker: Table


def straight_lining(
    data: ShownVotes, *, dimensions: int | None = None, confidence: float = 0.95
) -> StraightLining:
    """Share of judgments that carry one label on every dimension, clustered by worker.

    Only judgments with ``dimensions`` answers (default all) count. It is evidence to look at,
    not a verdict: a clearly better answer is better on every dimension. Raises BadParameter.
    """
    wanted = len(data.dimensions) if dimensions is None else dimensions
    if not 2 <= wanted <= len(data.dimensions):
        raise BadParameter(
            f"dimensions is {wanted}; it must lie between 2 and {len(data.dimensions)}"
        )
    answered = data.vote != MISSING
    full = answered.sum(axis=1) >= wanted
    same = full & ((data.vote == data.vote.max(axis=1)[:, None]) | ~answered).all(axis=1)
    found = share(same.astype(np.float64), full.astype(np.float64), data.worker, confidence)
    given = np.maximum(answered[full].sum(axis=0), 1)
    shares = [(data.vote[full] == k).sum(axis=0) / given for k in range(len(data.labels))]
    n = np.bincount(data.worker[full], minlength=len(data.workers))
    worker = np.flatnonzero(n)
    each = np.bincount(data.worker[same], minlength=len(data.workers))[worker] / n[worker]
    table = Table({"worker": worker, "share": each, "n": n[worker]})
    return StraightLining(found, float(np.prod(shares, axis=1).sum()), table)


def _early(data: ShownVotes, split: int) -> NDArray[np.bool_]:
    if isinstance(split, bool) or not isinstance(split, int) or split < 1:
        raise BadParameter(f"split is {split!r}; it must be a position, 1 or more")
    return data.position <= split


def interdependence(
    label: IntArray,
    dimensions: tuple[str, ...],
    *,
    size: int,
    rng: np.random.Generator,
    resamples: int = 1000,
    confidence: float = 0.95,
    units: Units | None = None,
) -> Table:
    """Kendall's tau-b between every two dimensions (CrowdRAG, Table 6).

    ``label`` (items, d) holds the items' label indices in the order of the scale (gold labels,
    or one row a vote), -1 for none; ``size`` is the number of labels. A row per ordered pair of
    dimensions: ``first``, ``second`` (names), ``n``, ``tau_b`` with ``low``, ``high`` (bootstrap
    over ``units``, the items themselves unless given), ``reason``. Raises BadShape, BadVector,
    BadParameter.
    """
    found = np.asarray(label)
    if found.ndim != 2 or found.shape[1] != len(dimensions):
        raise BadShape(f"label is {found.shape}; it must be (items, {len(dimensions)})")
    if not np.issubdtype(found.dtype, np.integer) or (found < -1).any() or (found >= size).any():
        raise BadVector(f"label holds something that is no index into {size} labels")
    known: dict[tuple[int, int], dict[str, Any]] = {}
    rows = []
    for a in range(len(dimensions)):
        for b in range(len(dimensions)):
            if a < b:
                known[a, b] = _tau(
                    found[:, [a, b]],
                    units or Units(np.arange(len(found)), "items"),
                    size,
                    rng=rng,
                    resamples=resamples,
                    confidence=confidence,
                )
            if a != b:
                both = known[min(a, b), max(a, b)]
                rows.append({"first": dimensions[a], "second": dimensions[b], **both})
    if not rows:
        raise BadShape("there is one dimension; there must be two")
    return of_rows(rows)


def _tau(label: IntArray, units: Units, size: int, **drawing: Any) -> dict[str, Any]:
    """Tau-b of two columns of labels (items, 2), with an interval over units."""
    both = (label >= 0).all(axis=1)
    n = int(both.sum())
    nothing = {"n": n, "tau_b": np.nan, "low": np.nan, "high": np.nan}
    table = contingency(label[:, 0], label[:, 1], size)
    if n == 0 or bool(np.isnan(tau_of(table))):
        return {**nothing, "reason": "one of the two has one label throughout, or none shared"}
    cell = np.eye(size * size)[label[both, 0] * size + label[both, 1]]
    kinds, times = patterns(grouped(cell, units.of[both]))

    def statistic(sums: FloatArray) -> FloatArray:
        return tau_of(sums.reshape(*sums.shape[:-1], size, size))

    found = estimate(kinds, times, statistic, noun=units.noun, **drawing)
    return {
        "n": n,
        "tau_b": found.estimate,
        "low": found.low,
        "high": found.high,
        "reason": found.reason,
    }
