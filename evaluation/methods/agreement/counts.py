"""Value counts and coincidences: what every agreement coefficient is made of.

Krippendorff, "Content Analysis" (4th ed. 2019), chapter 12: units with fewer than two votes pair
with nothing and are left out; a unit of m votes adds its m (m - 1) ordered pairs, each divided by
m - 1, to the coincidence matrix.

In a bootstrap items are drawn with replacement. Every coefficient here is a function of sums over
items (coincidences, margins, shares of agreeing pairs). Items with the same votes are one pattern,
so a resample is one multinomial draw over the patterns and all resamples are one matrix product;
the cost does not grow with the items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import (
    SMALL,
    BadParameter,
    BadShape,
    BadVector,
    DataError,
    FloatArray,
    IntArray,
    check_within,
)
from evaluation.methods.core.bootstrap import percentile_interval
from evaluation.methods.core.inference import (
    bell_mccaffrey,
    effective_clusters,
    too_few_clusters,
)
from evaluation.methods.core.units import AGREEMENT, ALL_SAME, LEAST, SAME, too_few_units
from evaluation.methods.core.votes import Labels

EXACT_BITS = 52  # of whole numbers that doubles hold exactly
LEVELS = ("nominal", "ordinal", "interval", "ratio")
# (items, labels): dense where that fits, else sparse; both know @, .T and sum.
Counts = Any


class TooFewVotes(DataError):
    """No item has two votes, so agreement cannot be computed."""


class NoVariation(DataError):
    """All votes are equal, so chance-corrected agreement is undefined."""


def scale(
    labels: Sequence[str], level: str, values: Sequence[float] | FloatArray | None = None
) -> tuple[FloatArray, np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the scale's values (v,) in ascending order, and each label's place (k,) among them.

    ``values`` (k,) is a number per label; labels of equal value are one. Without it, labels that
    all read as numbers are these numbers; else the order of ``labels`` counts, which is enough
    for nominal and ordinal data. Raises BadParameter.
    """
    if level not in LEVELS:
        raise BadParameter(f"level is {level!r}; it must be one of {', '.join(LEVELS)}")
    if level == "nominal":
        order = np.arange(len(labels))
        return order.astype(np.float64), order
    found = _numbers(labels, level) if values is None else np.asarray(values, dtype=np.float64)
    if found.shape != (len(labels),):
        raise BadParameter(f"values has shape {found.shape}; it must be ({len(labels)},)")
    if not np.isfinite(found).all():
        raise BadParameter("values holds something that is not a finite number")
    if level == "ratio" and (found < 0).any():
        raise BadParameter("values holds a negative number; a ratio scale begins at 0")
    known, place = np.unique(found, return_inverse=True)
    return known, place.astype(np.int64)


def _numbers(labels: Sequence[str], level: str) -> FloatArray:
    try:
        found = np.array([float(label) for label in labels])
        if np.isfinite(found).all():
            return found
    except ValueError:
        pass
    if level == "ordinal":
        return np.arange(len(labels), dtype=np.float64)
    raise BadParameter(f"values is missing: the labels are no numbers, as level {level!r} needs")


def value_counts(data: Labels, place: np.ndarray[Any, np.dtype[np.int64]], size: int) -> Counts:
    """Count the labels of each item as a matrix (items, values).

    ``place`` (k,) is the column of each label. Two votes of one worker on one item are two votes.
    Raises BadVector on a weight that is no whole number: votes come in ones.
    """
    _whole_votes(data)
    items = len(data.items)
    column = place[data.label]
    if items * size > SMALL:
        return scipy.sparse.csr_array((data.weight, (data.item, column)), shape=(items, size))
    flat = np.bincount(data.item * size + column, weights=data.weight, minlength=items * size)
    return flat.reshape(items, size)


def vote_patterns(
    data: Labels, place: np.ndarray[Any, np.dtype[np.int64]], size: int
) -> tuple[FloatArray, FloatArray] | None:
    """The different rows of ``value_counts`` (p, size), and how many items have each (p,).

    An item's votes are the digits of one number, to whose base no item has as many votes; so
    items are counted without a row of each. None where numbers would be too large for that.
    Raises BadVector as ``value_counts`` does.
    """
    weight = _whole_votes(data)
    items = len(data.items)
    most = np.bincount(data.item, weights=weight, minlength=items).max(initial=0.0)
    base = float(most) + 1.0
    if size * np.log2(base) > EXACT_BITS or (weight is not None and weight.min(initial=0.0) < 0):
        return None
    digit = base ** np.arange(size)
    added = digit[place][data.label]
    if weight is not None:
        added *= weight
    code = np.bincount(data.item, weights=added, minlength=items).astype(np.int64)
    known, times = counted(code, int(base**size))
    found = known[:, None] // digit.astype(np.int64) % int(base)
    return found.astype(np.float64), times


def counted(code: IntArray, top: int) -> tuple[IntArray, FloatArray]:
    """Return the distinct numbers in ``code`` (n,) and how often each occurs."""
    if top <= max(len(code), SMALL):  # a place for each costs less than to sort
        times = np.bincount(code, minlength=1)
        known = np.flatnonzero(times)
        return known, times[known].astype(np.float64)
    known, times = np.unique(code, return_counts=True)
    return known, times.astype(np.float64)


def _whole_votes(data: Labels) -> FloatArray | None:
    """The weights of votes (n,), None where all are 1; raises BadVector on parts of votes."""
    if (data.weight == 1.0).all():
        return None
    if not (data.weight == np.rint(data.weight)).all():
        raise BadVector("a weight is not a whole number; agreement counts votes")
    return data.weight


def checked_counts(counts: Any) -> FloatArray:
    """Counts (items, values) given as an array; raises BadShape, BadVector."""
    found = np.asarray(counts, dtype=np.float64)
    if found.ndim != 2:
        raise BadShape(f"counts has {found.ndim} dimensions; it must be (items, values)")
    if not (np.isfinite(found).all() and (found >= 0).all() and (found == np.rint(found)).all()):
        raise BadVector("counts holds something that is not a whole number of votes")
    return found


def pair_weights(counts: Counts) -> FloatArray:
    """Return 1 / (m - 1) for each item's m votes (items,); 0 for fewer than two."""
    votes: FloatArray = np.asarray(counts.sum(axis=1)).ravel()
    out: FloatArray = np.divide(1.0, votes - 1, out=np.zeros(len(votes)), where=votes >= 2)
    return out


def coincidences(counts: Counts, times: FloatArray | float = 1.0) -> tuple[FloatArray, FloatArray]:
    """The coincidence matrix (v, v) and its margins (v,), the votes that pair with another.

    Rows of ``counts`` stand for ``times`` items (items,) each.
    """
    weight = pair_weights(counts) * times
    if isinstance(counts, np.ndarray):
        matrix = (counts * weight[:, None]).T @ counts
    else:
        matrix = (counts.multiply(weight[:, None]).T @ counts).toarray()
    matrix[np.diag_indices_from(matrix)] -= weight @ counts
    return matrix, ((weight > 0) * times) @ counts


def squared_difference(level: str, values: FloatArray, margins: FloatArray) -> FloatArray:
    """Squared differences (..., v, v) of the values (v,) under margins (..., v).

    Ordinal: (sum of the margins from c to k - half of both ends)^2, which is the difference of
    their mean ranks; so it follows the margins. Interval: (c - k)^2. Ratio: ((c - k) / (c + k))^2.
    """
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "ordinal":
        rank = np.cumsum(margins, axis=-1) - margins / 2
        return np.square(rank[..., :, None] - rank[..., None, :])
    apart = values[:, None] - values[None, :]
    if level == "ratio":
        total = values[:, None] + values[None, :]
        apart = np.divide(apart, total, out=np.zeros_like(apart), where=total != 0)
    return np.square(apart)


def alpha(matrix: FloatArray, margins: FloatArray, level: str, values: FloatArray) -> FloatArray:
    """Alpha (...) of coincidences (..., v, v); NaN where the margins hold one value only."""
    return alpha_under(matrix, margins, squared_difference(level, values, margins))


def alpha_under(matrix: FloatArray, margins: FloatArray, squared: FloatArray) -> FloatArray:
    """Alpha (...) under squared differences (..., v, v) of the values.

    alpha = 1 - (n - 1) * sum(o_ck d_ck) / sum(n_c n_k d_ck) with n = sum of the margins.
    """
    observed = (matrix * squared).sum(axis=(-2, -1))
    expected = (margins * (squared @ margins[..., None])[..., 0]).sum(axis=-1)
    total = margins.sum(axis=-1)
    ratio = np.divide(
        (total - 1) * observed, expected, out=np.full_like(expected, np.nan), where=expected > 0
    )
    return np.asarray(1.0 - ratio)


def checked_distance(distance: Any, size: int) -> FloatArray:
    """Distances (size, size) of labels: symmetric, 0 on the diagonal, not negative.

    Raises BadParameter.
    """
    found = np.asarray(distance, dtype=np.float64)
    if found.shape != (size, size):
        raise BadParameter(f"distance has shape {found.shape}; it must be ({size}, {size})")
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise BadParameter("distance holds something that is not a number from 0 on")
    if np.diagonal(found).any() or not np.allclose(found, found.T, rtol=0, atol=1e-12):
        raise BadParameter("distance must be symmetric, with 0 from each label to itself")
    return found


# Sums (..., s) -> coefficient (...), NaN where it is not defined.
Statistic = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Estimate:
    """A number with its interval at ``confidence``, from ``n`` units that were resampled.

    ``undefined`` of the ``resamples`` had no value (all votes the same) and were left out. Without
    an interval ``low`` and ``high`` are NaN and ``reason`` says why.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    n: int
    resamples: int
    undefined: int
    reason: str = ""


def check_resampling(resamples: int, confidence: float) -> None:
    """Raise BadParameter on fewer than 100 resamples or a confidence outside (0, 1)."""
    if isinstance(resamples, bool) or not isinstance(resamples, int) or resamples < 100:
        raise BadParameter(f"resamples is {resamples!r}; it must be a whole number, 100 or more")
    check_within("confidence", confidence)


def alpha_rows(counts: Counts) -> FloatArray:
    """Return each item's part (items, v*v + v) of the coincidence matrix and its margins."""
    if not isinstance(counts, np.ndarray):
        raise BadParameter("values has too many values to resample; put them into bins")
    size = counts.shape[1]
    weight = pair_weights(counts)
    matrix = np.einsum("ic,ik,i->ick", counts, counts, weight)
    matrix[:, np.arange(size), np.arange(size)] -= counts * weight[:, None]
    paired = counts * (weight > 0)[:, None]
    return np.hstack([matrix.reshape(len(counts), size * size), paired])


def alpha_statistic(level: str, values: FloatArray) -> Statistic:
    """Alpha from summed ``alpha_rows`` of one set of counts."""
    return _from_sums(len(values), lambda matrix, margins: alpha(matrix, margins, level, values))


def distance_statistic(squared: FloatArray) -> Statistic:
    """Return a statistic that computes alpha under given squared differences (v, v)."""
    return _from_sums(len(squared), lambda matrix, margins: alpha_under(matrix, margins, squared))


def _from_sums(size: int, of: Callable[[FloatArray, FloatArray], FloatArray]) -> Statistic:
    def statistic(sums: FloatArray) -> FloatArray:
        matrix = sums[..., : size * size].reshape(*sums.shape[:-1], size, size)
        return of(matrix, sums[..., size * size :])

    return statistic


def patterns(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct rows of counts (p, k), and how many items have each (p,)."""
    base = int(counts.max(initial=0)) + 1
    if base ** counts.shape[1] < 2**EXACT_BITS:
        digit = float(base) ** np.arange(counts.shape[1])
        code = (counts @ digit).astype(np.int64)
        known, size = counted(code, base ** counts.shape[1])
        return (known[:, None] // digit.astype(np.int64) % base).astype(np.float64), size
    found, times = np.unique(counts, axis=0, return_counts=True)
    return found, times.astype(np.float64)


def grouped(rows: FloatArray, group: IntArray) -> FloatArray:
    """Add up rows (items, s) by group (items,), for resampling groups together."""
    if np.shape(group) != (len(rows),):
        raise BadShape(f"group has shape {np.shape(group)}; it must be ({len(rows)},)")
    _, place = np.unique(group, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(place[order]) > 0])
    return np.add.reduceat(rows[order], starts, axis=0)


def draw_sums(
    rows: FloatArray, times: FloatArray, rng: np.random.Generator, resamples: int
) -> FloatArray:
    """Sums (resamples, s) of rows (p, s) that occur ``times`` (p,) each, drawn with replacement."""
    total = int(times.sum())
    block = max(1, SMALL // len(rows))
    parts = []
    for start in range(0, resamples, block):
        drawn = rng.multinomial(total, times / total, size=min(block, resamples - start))
        parts.append(drawn.astype(np.float64) @ rows)
    return np.concatenate(parts)


def estimate(
    rows: FloatArray,
    times: FloatArray,
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    resamples: int,
    confidence: float,
    units: int | None = None,
    mass: NDArray[Any] | None = None,
    noun: str = "items",
) -> Estimate:
    """Compute a statistic of summed rows (p, s) with its bootstrap interval.

    Percentile interval, moved out for small numbers of ``units`` (default: all that occur) and for
    their ``mass``, as ``bounds``; none where these, called by the plural ``noun``, are too few or
    every resample gives one value. Raises NoVariation where the statistic, or every resample of
    it, is not defined.
    """
    check_resampling(resamples, confidence)
    point = float(statistic((times @ rows)[None, :])[0])
    draws = statistic(draw_sums(rows, times, rng, resamples))
    if np.isnan(point) or not np.isfinite(draws).any():
        raise NoVariation("all votes that share an item are the same; agreement is not defined")
    units = int(times.sum()) if units is None else units
    low, high, reason = bounds(draws, units, confidence, noun, mass=mass)
    undefined = int(len(draws) - np.isfinite(draws).sum())
    return Estimate(point, low, high, confidence, units, resamples, undefined, reason)


def bounds(
    draws: FloatArray,
    n: int,
    confidence: float,
    noun: str,
    kind: str = AGREEMENT,
    *,
    mass: NDArray[Any] | None = None,
) -> tuple[float, float, str]:
    """Return the percentile interval of draws (b,) over ``n`` units.

    NaN twice with a reason if none.

    ``mass`` (n,) is how much of the data each unit holds: where few hold most of it, the tails are
    moved out as for so few (30 topics with Zipf 1.5 texts: .90 covered without, .97 with).
    """
    known = draws[np.isfinite(draws)]
    size, reason = float(n), too_few_units(n, noun, kind)
    if mass is not None and not reason:
        size = float(bell_mccaffrey(mass / mass.sum())) + 1
        reason = too_few_clusters(n, effective_clusters(mass), noun, LEAST[kind])
    if not reason and (not len(known) or np.ptp(known) < SAME):
        reason = ALL_SAME
    if reason:
        return np.nan, np.nan, reason
    low, high = percentile_interval(known[:, None], np.array([size]), confidence, complete=True)
    return float(low[0]), float(high[0]), ""
