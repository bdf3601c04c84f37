"""Agreement between workers: Krippendorff's alpha and its relatives, with intervals.

Intervals draw items (or groups of items) with replacement. They say how the figure would vary
over other items judged by such a crowd; the workers are taken as they are.

Agreement of two follows from contingency tables (..., v, v): how often one said c where the other
said k. So a pair of dimensions and every bootstrap resample cost the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement import counts as parts
from evaluation.methods.agreement.counts import (
    Counts,
    Estimate,
    NoVariation,
    TooFewVotes,
    alpha_rows,
    alpha_statistic,
    distance_statistic,
    estimate,
    grouped,
    patterns,
)
from evaluation.methods.core.base import BadParameter, BadShape, FloatArray, IntArray
from evaluation.methods.core.units import PERCENT, Clustered, count_in_words
from evaluation.methods.core.units import share as clustered_share
from evaluation.methods.core.votes import Labels

# Units that are mostly of another label than the commonest, below which chance is not known.
LEAST_OTHER = 3


def contingency(first: IntArray, second: IntArray, size: int) -> FloatArray:
    """Cross-tabulate the codes ``first`` (n,) and ``second`` (n,) as counts (size, size).

    Rows with -1 on either side are left out.
    """
    both = (first >= 0) & (second >= 0)
    flat = np.bincount(first[both] * size + second[both], minlength=size * size)
    return flat.reshape(size, size).astype(np.float64)


def tau_of(table: FloatArray) -> FloatArray:
    """Kendall's tau-b (...) of contingency tables (..., v, v); NaN where one side is constant.

    (concordant - discordant) / sqrt((pairs - ties of one) (pairs - ties of the other)).
    """
    above = np.zeros_like(table)  # pairs' partners that are larger on both sides
    above[..., :-1, :-1] = _from_end(table)[..., 1:, 1:]
    across = np.zeros_like(table)  # larger on the first side, smaller on the second
    across[..., :-1, 1:] = _from_end(table[..., ::-1])[..., ::-1][..., 1:, :-1]
    difference = (table * (above - across)).sum(axis=(-2, -1))
    total = table.sum(axis=(-2, -1))
    pairs = total * (total - 1) / 2
    free = [
        pairs - (margin * (margin - 1) / 2).sum(axis=-1)
        for margin in (table.sum(axis=-1), table.sum(axis=-2))
    ]
    scale = np.sqrt(np.maximum(free[0], 0) * np.maximum(free[1], 0))
    return np.asarray(
        np.divide(difference, scale, out=np.full_like(scale, np.nan), where=scale > 0)
    )


def _from_end(table: FloatArray) -> FloatArray:
    """Sums over all cells at or after each in both directions."""
    turned = table[..., ::-1, ::-1]
    return np.asarray(turned.cumsum(axis=-1).cumsum(axis=-2)[..., ::-1, ::-1])


def krippendorff_alpha(
    data: Labels, level: str = "nominal", values: Sequence[float] | FloatArray | None = None
) -> float:
    """Krippendorff's alpha of the votes: 1 is full agreement, 0 what chance gives.

    ``level`` is 'nominal', 'ordinal', 'interval' or 'ratio'. ``values`` (k,) is a number per
    label; without it, labels that read as numbers are those, and for ordinal data their order in
    ``data.labels`` counts. Any number of votes per item; items with fewer than two are left out.
    Cost is linear in the votes plus items x values^2.

    Krippendorff, "Content Analysis" (4th ed. 2019), chapter 12. Raises BadParameter, BadVector (a
    weight that is no count), TooFewVotes and NoVariation.
    """
    scale, place = parts.scale(data.labels, level, values)
    matrix, margins = parts.coincidences(*_kinds(data, place, len(scale)))
    return _defined(margins, lambda: parts.alpha(matrix, margins, level, scale))


def alpha_from_counts(
    counts: Any, level: str = "nominal", values: Sequence[float] | FloatArray | None = None
) -> float:
    """The same from value counts (items, values); ``values`` is 0, 1, 2, ... if left out.

    Raises BadShape, BadVector, BadParameter, TooFewVotes and NoVariation.
    """
    found = parts.checked_counts(counts)
    given = np.arange(float(found.shape[1])) if values is None else values
    scale, place = parts.scale([""] * found.shape[1], level, given)
    merged = np.zeros((len(scale), len(found)))
    np.add.at(merged, place, found.T)
    matrix, margins = parts.coincidences(merged.T)
    return _defined(margins, lambda: parts.alpha(matrix, margins, level, scale))


def _kinds(data: Labels, place: IntArray, size: int) -> tuple[Counts, FloatArray | float]:
    """Rows of value counts, and how many items each stands for: patterns, or else an item each."""
    found = parts.vote_patterns(data, place, size)
    return found if found is not None else (parts.value_counts(data, place, size), 1.0)


def _defined(margins: FloatArray, value_of: Callable[[], FloatArray]) -> float:
    if not margins.any():
        raise TooFewVotes("no item has two votes; there is nothing to agree about")
    value = float(value_of())
    if np.isnan(value):
        raise NoVariation("all votes that share an item are the same; alpha is not defined")
    return value


def alpha_interval(
    data: Labels,
    level: str = "nominal",
    values: Sequence[float] | FloatArray | None = None,
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    confidence: float = 0.95,
    group: IntArray | None = None,
    noun: str = "items",
) -> Estimate:
    """Alpha with a bootstrap interval over items, or over groups where ``group`` (items,) is given.

    It is about these workers on further items. Group what is not independent: both directions of a
    pair, the items of a topic; ``noun`` names what is drawn, for the reason why there is no
    interval. Raises as ``krippendorff_alpha`` does.
    """
    scale, place = parts.scale(data.labels, level, values)
    return _interval(
        data,
        (place, len(scale)),
        alpha_rows,
        alpha_statistic(level, scale),
        group,
        rng=rng,
        resamples=resamples,
        confidence=confidence,
        noun=noun,
    )


def distance_alpha(data: Labels, distance: Any) -> float:
    """Krippendorff's alpha under one's own distances (k, k) of the labels.

    ``distance`` takes the place of the squared difference: 1 off the diagonal is nominal alpha.
    Raises BadParameter, BadVector, TooFewVotes and NoVariation.
    """
    squared = parts.checked_distance(distance, len(data.labels))
    matrix, margins = parts.coincidences(*_kinds(data, *_nominal(data)))
    return _defined(margins, lambda: parts.alpha_under(matrix, margins, squared))


def distance_interval(
    data: Labels, distance: Any, *, group: IntArray | None = None, **drawing: Any
) -> Estimate:
    """The same with a bootstrap interval, as ``alpha_interval``."""
    squared = parts.checked_distance(distance, len(data.labels))
    return _interval(
        data, _nominal(data), alpha_rows, distance_statistic(squared), group, **_drawing(drawing)
    )


def _drawing(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"resamples": 2000, "confidence": 0.95, "noun": "items", **given}


def _interval(
    data: Labels,
    values: tuple[IntArray, int],
    rows: Any,
    statistic: Any,
    group: IntArray | None,
    *,
    single: bool = False,
    least_other: int = LEAST_OTHER,
    **drawing: Any,
) -> Estimate:
    """Items with two votes are drawn, with ``single`` those with one too.

    ``values`` is each label's place, and how many there are. Without groups, equal items are one
    pattern. There are no bounds where fewer than ``least_other`` units have most votes for others
    than the commonest label: chance is then not known (95 % of one label, 20 to 60 items: .65 to
    .89 covered).
    """
    if group is not None and np.shape(group) != (len(data.items),):
        raise BadShape(f"group has shape {np.shape(group)}; it must be {(len(data.items),)}")
    kept = parts.vote_patterns(data, *values) if group is None else None
    counts, times = kept if kept else (parts.value_counts(data, *values), None)
    paired = parts.pair_weights(counts) > 0
    if not paired.any():
        raise TooFewVotes("no item has two votes; there is nothing to agree about")
    if not isinstance(counts, np.ndarray):
        raise BadParameter("values has too many values to resample; put them into bins")
    drawn = counts.sum(axis=1) > 0 if single else paired
    if group is not None:
        summed = grouped(rows(counts[drawn]), group[drawn])
        votes = np.unique(group[paired], return_inverse=True)[1]
        mass = np.bincount(votes, weights=counts[paired].sum(axis=1))
        others = len(np.unique(group[paired & _has_no_majority(counts, 1.0)]))
        found = estimate(
            summed, np.ones(len(summed)), statistic, units=len(mass), mass=mass, **drawing
        )
        return _if_varied(found, others, least_other, drawing["noun"])
    each = np.ones(len(counts)) if times is None else times
    units, others = (
        int(each[paired].sum()),
        int(each[paired & _has_no_majority(counts, each)].sum()),
    )
    kinds, times = (counts[drawn], times[drawn]) if times is not None else patterns(counts[drawn])
    found = estimate(rows(kinds), times, statistic, units=units, **drawing)
    return _if_varied(found, others, least_other, drawing["noun"])


def _has_no_majority(counts: FloatArray, times: FloatArray | float) -> NDArray[np.bool_]:
    """Rows (p,) of which the commonest label has less than half of the votes."""
    commonest = int((counts * np.reshape(times, (-1, 1))).sum(axis=0).argmax())
    return np.asarray(2 * counts[:, commonest] < counts.sum(axis=1))


def _if_varied(found: Estimate, others: int, least: int, noun: str) -> Estimate:
    if found.reason or others >= least:
        return found
    reason = (
        f"{count_in_words(others, noun)} with another label than the commonest; an interval "
        f"needs {least}"
    )
    return replace(found, low=np.nan, high=np.nan, reason=reason)


def _agreeing(counts: FloatArray) -> FloatArray:
    """Rows (items, 2): share of agreeing pairs, and 1; 0 without pairs."""
    votes = counts.sum(axis=1, keepdims=True)
    weight = parts.pair_weights(counts)[:, None]
    same = (counts * (counts - 1)).sum(axis=1, keepdims=True)
    share = same * weight / np.maximum(votes, 1)
    return np.hstack([share, (weight > 0).astype(np.float64)])


def _kappa(sums: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = sums[..., 0] / sums[..., 1]
        share = sums[..., 3:] / sums[..., 2:3]
        expected = np.square(share).sum(axis=-1)
        return np.asarray(
            np.where(expected < 1 - 1e-12, (observed - expected) / (1 - expected), np.nan)
        )


def _percent(sums: FloatArray) -> FloatArray:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _sums(data: Labels, rows: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Rows of all items added up; the second sum is of items with two votes."""
    counts, times = _kinds(data, *_nominal(data))
    found = rows(counts if isinstance(counts, np.ndarray) else counts.toarray())
    sums = np.broadcast_to(times, len(found)) @ found
    if not sums[1]:
        raise TooFewVotes("no item has two votes; there is nothing to agree about")
    return sums


def _nominal(data: Labels) -> tuple[IntArray, int]:
    scale, place = parts.scale(data.labels, "nominal")
    return place, len(scale)


def _counts(data: Labels) -> Counts:
    return parts.value_counts(data, *_nominal(data))


def fleiss_kappa(data: Labels) -> float:
    """Fleiss' kappa: agreeing pairs against what the labels' shares alone would give.

    Items may have different numbers of votes; each counts the same in the share of agreeing pairs
    and in the labels' shares (items with one vote in the latter alone), as in Gwet, Handbook of
    Inter-Rater Reliability (4th ed. 2014), and irrCAC. Fleiss, "Measuring nominal scale agreement
    among many raters" (1971), eq. 1-7. Raises TooFewVotes, NoVariation, BadVector.
    """
    value = float(_kappa(_sums(data, _shared)))
    if np.isnan(value):
        raise NoVariation("all votes that share an item are the same; kappa is not defined")
    return value


def percent_agreement(data: Labels) -> float:
    """Mean over items of the share of pairs of votes that agree, in [0, 1].

    Raises TooFewVotes, BadVector.
    """
    return float(_percent(_sums(data, _agreeing)))


def kappa_interval(
    data: Labels,
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    confidence: float = 0.95,
    group: IntArray | None = None,
    noun: str = "items",
) -> Estimate:
    """Fleiss' kappa with a bootstrap interval, as ``alpha_interval``."""
    return _interval(
        data,
        _nominal(data),
        _shared,
        _kappa,
        group,
        single=True,
        rng=rng,
        resamples=resamples,
        confidence=confidence,
        noun=noun,
    )


def gwet_ac1(data: Labels) -> float:
    """Gwet's AC1: agreeing pairs against chance that counts only votes that are hard to cast.

    pe = sum p_k (1 - p_k) / (K - 1) over the K ``data.labels``, p_k the mean over items of label
    k's share of the votes. Less swayed than kappa by labels that are rare. Gwet, "Computing
    inter-rater reliability and its variance in the presence of high agreement" (2008); items with
    one vote count in p alone (Gwet, Handbook, 4th ed. 2014). Raises TooFewVotes, NoVariation (one
    label), BadVector.
    """
    value = float(_ac1(_sums(data, _shared)))
    if np.isnan(value):
        raise NoVariation("there is one label only; AC1 is not defined")
    return value


def gwet_interval(data: Labels, *, group: IntArray | None = None, **drawing: Any) -> Estimate:
    """Gwet's AC1 with a bootstrap interval, as ``alpha_interval``."""
    more = {**_drawing(drawing), "single": True, "least_other": 0}
    return _interval(data, _nominal(data), _shared, _ac1, group, **more)


def _shared(counts: FloatArray) -> FloatArray:
    """Rows (items, 3 + v): share of agreeing pairs, 1 with two votes, 1 with any, their shares."""
    votes = counts.sum(axis=1, keepdims=True)
    return np.hstack(
        [_agreeing(counts), (votes > 0).astype(np.float64), counts / np.maximum(votes, 1)]
    )


def _ac1(sums: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = sums[..., 0] / sums[..., 1]
        share = sums[..., 3:] / sums[..., 2:3]
        expected = (share * (1 - share)).sum(axis=-1) / (share.shape[-1] - 1)
        return np.asarray((observed - expected) / (1 - expected))


def percent_interval(
    data: Labels,
    *,
    confidence: float = 0.95,
    group: IntArray | None = None,
    noun: str = "items",
) -> Clustered:
    """Percent agreement with Wilson's interval on its effective number of pairs of votes.

    Clustered by item, or by ``group`` (items,); it does not collapse where all votes agree. Raises
    TooFewVotes, BadVector, BadShape.
    """
    counts = _counts(data)
    counts = counts if isinstance(counts, np.ndarray) else counts.toarray()
    rows = _agreeing(counts)
    if not rows[:, 1].any():
        raise TooFewVotes("no item has two votes; there is nothing to agree about")
    unit = np.arange(len(rows)) if group is None else group
    if np.shape(unit) != (len(rows),):
        raise BadShape(f"group has shape {np.shape(unit)}; it must be ({len(rows)},)")
    votes = counts.sum(axis=1)
    pairs = float((votes * (votes - 1)).sum() / 2)
    return clustered_share(
        rows[:, 0],
        rows[:, 1],
        np.unique(unit, return_inverse=True)[1],
        confidence,
        trials=pairs,
        nouns=(noun, ""),
        kind=PERCENT,
    )


def differentiability_split(
    data: Mapping[str, Labels], *, dimensions: int = 5, share: float = 0.6
) -> NDArray[np.bool_]:
    """Return for each item (items,) whether its candidates can be told apart.

    True where on at least ``dimensions`` of the dimensions (the keys of ``data``, all on the same
    items) one label has at least ``share`` of the votes. CrowdRAG, section 5.1: 5 of 7
    dimensions, 3 of 5 votes. An item without votes on a dimension has no majority there.
    Raises BadParameter, BadShape.
    """
    if not 1 <= dimensions <= len(data):
        raise BadParameter(f"dimensions is {dimensions}; it must lie between 1 and {len(data)}")
    if not 0 < share <= 1:
        raise BadParameter(f"share is {share}; it must lie in (0, 1]")
    decided: list[NDArray[np.bool_]] = []
    items = next(iter(data.values())).items
    for name, votes in data.items():
        if votes.items != items:
            raise BadShape(f"dimension {name!r} is on other items")
        counts = _counts(votes)
        top = counts.max(axis=1)
        top = top if isinstance(top, np.ndarray) else top.toarray().ravel()
        total = np.asarray(counts.sum(axis=1)).ravel()
        decided.append((total > 0) & (top >= share * total - 1e-9))
    found: NDArray[np.bool_] = np.sum(decided, axis=0) >= dimensions
    return found
