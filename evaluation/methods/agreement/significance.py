"""Is a difference more than chance? For correlations, paired scores and many tests at once.

AQER compares methods by BCa bootstrap of correlation differences (Table 3), CrowdRAG grades by
Wilcoxon's signed rank test with Benjamini-Hochberg correction (section 5.2), InteractEval
correlations on Fisher's z scale.

Correlations are computed under many weightings at once. A bootstrap resample is a count per row, a
jackknife one is 1 without one row; so both are rows of a weight matrix (b, n), and every
correlation is a few matrix products over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from evaluation.methods.core.base import (
    SMALL,
    BadParameter,
    BadShape,
    BadVector,
    DataError,
    FloatArray,
    Table,
    check_within,
    of_rows,
)
from evaluation.methods.core.inference import normal_quantile, normal_score, t_quantile
from evaluation.methods.core.units import ALL_SAME, SAME

CORRELATIONS = ("pearson", "spearman", "kendall")
# Kendall compares every two rows.
MOST_ROWS = 3000
NEARLY = 1 - 1e-12  # the largest r of which Fisher's z is taken


def correlations(x: FloatArray, y: FloatArray, weights: FloatArray, method: str) -> FloatArray:
    """Correlate x and y (n,) under each of the weights (b, n); NaN where one side is constant.

    'pearson', 'spearman' (mean ranks among the weighted rows) or 'kendall' (tau-b). Raises
    BadParameter.
    """
    if method not in CORRELATIONS:
        raise BadParameter(f"method is {method!r}; it must be one of {', '.join(CORRELATIONS)}")
    if method == "kendall":
        return _kendall(x, y, weights)
    if method == "pearson":
        total = weights.sum(axis=1)
        # Centred first, so that the moments do not cancel.
        x, y = x - x.mean(), y - y.mean()
        columns = np.stack([x, y, x * y, x * x, y * y], axis=1)
        mean = (weights @ columns / total[:, None]).T
        return _ratio(mean[2] - mean[0] * mean[1], mean[3] - mean[0] ** 2, mean[4] - mean[1] ** 2)
    a, b = _ranks(x, weights), _ranks(y, weights)
    total = weights.sum(axis=1, keepdims=True)
    a -= (weights * a).sum(axis=1, keepdims=True) / total
    b -= (weights * b).sum(axis=1, keepdims=True) / total
    cross, left, right = ((weights * p * q).sum(axis=1) for p, q in ((a, b), (a, a), (b, b)))
    return _ratio(cross, left, right)


def _ratio(cross: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    largest = max(float(left.max()), float(right.max()), 1e-300)
    usable = (left > 1e-12 * largest) & (right > 1e-12 * largest)
    scale = np.sqrt(np.where(usable, left * right, 1.0))
    return np.where(usable, np.clip(cross / scale, -1.0, 1.0), np.nan)


def _ranks(x: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean rank (b, n) of each row's value when row i occurs weights[., i] times."""
    _, place = np.unique(x, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(place[order]) > 0])
    mass = np.add.reduceat(weights[:, order], starts, axis=1)
    rank = np.cumsum(mass, axis=1) - mass / 2
    return np.asarray(rank[:, place])


def _kendall(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    if len(x) > MOST_ROWS:
        raise BadParameter(f"kendall takes {MOST_ROWS} rows at most; there are {len(x)}")
    one, two = (np.sign(v[:, None] - v[None, :]) for v in (x, y))
    cross, left, right = (
        ((weights @ (p * q)) * weights).sum(axis=1) for p, q in ((one, two), (one, one), (two, two))
    )
    return _ratio(cross, left, right)


def blocks(size: int, n: int) -> list[tuple[int, int]]:
    """Split ``size`` rows of n numbers into ranges of limited size."""
    step = max(1, SMALL // max(n, 1))
    return [(start, min(start + step, size)) for start in range(0, size, step)]


@dataclass(frozen=True)
class Bca:
    """Interval and two-sided p-value (of the value 0) by BCa.

    ``low`` and ``high`` are NaN where ``reason`` says why there is no interval.
    """

    low: float
    high: float
    p: float
    bias: float
    acceleration: float
    reason: str = ""


def bca(
    point: float,
    draws: FloatArray,
    jackknife: FloatArray,
    confidence: float,
    *,
    expand: bool = True,
) -> Bca:
    """Bias-corrected and accelerated interval (Efron 1987).

    ``draws`` (b,) are the resampled values, ``jackknife`` (n,) the values without each unit. The
    p-value is the level at which the interval just reaches 0. ``expand`` moves the tails out for
    small n as a t interval would (Hesterberg 2015): plain BCa covers too little there. Where the
    draws, or both ends, are one value there is no interval: a point would say that nothing is in
    doubt, beside a p-value that may be above .05. Without any spread p is 1 at 0.

    No p lies below 2 / 2^n, the least that flipping the signs of n units can give (the exact p
    where all of them differ by the same): draws that all fall on one side do not say more.
    """
    size, n = len(draws), len(jackknife)
    least = max(1 / (size + 1), 2.0 ** (1 - n))
    if np.ptp(draws) <= 1e-12 * max(1.0, abs(point)):
        p = 1.0 if abs(point) < 1e-12 else least
        return Bca(np.nan, np.nan, p, 0.0, 0.0, ALL_SAME)
    # Ties with the point count half, as for a discrete statistic.
    below = ((draws < point).sum() + 0.5 * (draws == point).sum()) / size
    bias = normal_score(float(np.clip(below, 0.5 / size, 1 - 0.5 / size)))
    apart = jackknife.mean() - jackknife
    spread = float(np.square(apart).sum()) ** 1.5
    acceleration = float((apart**3).sum()) / (6 * spread) if spread > 0 else 0.0
    widen = float(np.sqrt(n / (n - 1)))
    reach = widen * float(t_quantile(confidence, n - 1)) if expand else normal_quantile(confidence)
    shifted = bias + np.array([-reach, reach])
    # The map has a pole far out, where a skewed jackknife of few rows may come to lie.
    at = scipy.special.ndtr(bias + shifted / np.maximum(1 - acceleration * shifted, 1e-3))
    low, high = np.quantile(draws, at)
    zero = _reach_of_zero(draws, bias, acceleration)
    beyond = (
        float(scipy.special.stdtr(n - 1, zero / widen))
        if expand
        else float(scipy.special.ndtr(zero))
    )
    p = max(2 * min(beyond, 1 - beyond), least)
    if high - low < SAME:
        return Bca(np.nan, np.nan, p, bias, acceleration, ALL_SAME)
    return Bca(float(low), float(high), p, bias, acceleration)


def _reach_of_zero(draws: FloatArray, bias: float, acceleration: float) -> float:
    """The interval's map, read backwards at 0: the normal quantile whose end it is."""
    size = len(draws)
    below = ((draws < 0).sum() + 0.5 * (draws == 0).sum()) / size
    shift = normal_score(float(np.clip(below, 0.5 / size, 1 - 0.5 / size))) - bias
    return float(shift / max(1 + acceleration * shift, 1e-3) - bias)


EXACT_UP_TO = 50  # pairs whose signed ranks are counted out; more are taken for normal


class TooFewRows(DataError):
    """Too few rows for this comparison."""


class Constant(DataError):
    """A column that does not vary, so that it correlates with nothing."""


@dataclass(frozen=True)
class Difference:
    """``first`` - ``second`` with interval and two-sided p-value.

    ``n`` units were resampled or flipped; ``undefined`` of the ``resamples`` had no value.
    ``reason`` says why resamples gave no interval (``low`` and ``high`` are NaN then); ``z`` is
    the difference in standard errors, of ``fisher_z_difference`` alone.
    """

    estimate: float
    low: float
    high: float
    p: float
    first: float
    second: float
    n: int
    resamples: int
    undefined: int = 0
    reason: str = ""
    z: float = np.nan


def bca_correlation_difference(
    first: Any,
    second: Any,
    truth: Any,
    *,
    rng: np.random.Generator,
    method: str = "pearson",
    resamples: int = 10_000,
    confidence: float = 0.95,
    expand: bool = True,
) -> Difference:
    """Does ``first`` correlate with ``truth`` better than ``second`` does? All three are (n,).

    Rows (workers, texts) are drawn together, so the difference is paired. ``method`` 'pearson',
    'spearman' or 'kendall' (tau-b). BCa interval and p-value (AQER, Table 3; Efron 1987), its
    tails moved out for few rows unless ``expand`` is False. Raises BadShape, BadVector,
    TooFewRows (n < 5), Constant, BadParameter.
    """
    a, b, t = _columns(first=first, second=second, truth=truth)
    _check(resamples, confidence)
    if len(t) < 5:
        raise TooFewRows(f"there are {len(t)} rows; a resampled correlation needs 5 or more")
    n = len(t)

    def values(weights: FloatArray) -> FloatArray:
        one, two = correlations(a, t, weights, method), correlations(b, t, weights, method)
        return np.stack([one, two, one - two])

    point = values(np.ones((1, n)))[:, 0]
    for name, value in (("first", point[0]), ("second", point[1])):
        if np.isnan(value):
            raise Constant(f"{name} or truth is the same in all rows; they have no correlation")
    even = np.full(n, 1 / n)
    draws = np.concatenate(
        [
            values(rng.multinomial(n, even, size=stop - start).astype(np.float64))[2]
            for start, stop in blocks(resamples, n)
        ]
    )
    known = draws[np.isfinite(draws)]
    left_out = np.concatenate(
        [values(1.0 - np.eye(stop - start, n, k=start))[2] for start, stop in blocks(n, n)]
    )
    left_out = left_out[np.isfinite(left_out)]
    if len(known) < 100 or len(left_out) < 2:
        raise Constant("almost every resample holds one value only; there is no interval")
    found = bca(float(point[2]), known, left_out, confidence, expand=expand)
    return Difference(
        float(point[2]),
        found.low,
        found.high,
        found.p,
        float(point[0]),
        float(point[1]),
        n,
        resamples,
        len(draws) - len(known),
        found.reason,
    )


def bca_mean_difference(
    first: Any,
    second: Any,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    confidence: float = 0.95,
    expand: bool = True,
) -> Difference:
    """Difference of the means of paired values (n,): one a repetition, an article, a topic.

    For sample-level correlations give one correlation per article. BCa over the pairs, ``expand``
    as above. Raises
    BadShape, BadVector, TooFewRows (n < 2), BadParameter.
    """
    a, b = _columns(first=first, second=second)
    _check(resamples, confidence)
    n, apart = len(a), a - b
    if n < 2:
        raise TooFewRows("there is one pair; it has no spread")
    even = np.full(n, 1 / n)
    draws = np.concatenate(
        [
            rng.multinomial(n, even, size=stop - start) @ apart / n
            for start, stop in blocks(resamples, n)
        ]
    )
    left_out = (apart.sum() - apart) / (n - 1)
    point = float(apart.mean())
    found = bca(point, draws, left_out, confidence, expand=expand)
    return Difference(
        point,
        found.low,
        found.high,
        found.p,
        float(a.mean()),
        float(b.mean()),
        n,
        resamples,
        reason=found.reason,
    )


def benjamini_hochberg(p: Any) -> FloatArray:
    """Adjusted p-values (k,) that control the false discovery rate; NaN (no test) stays NaN.

    Benjamini and Hochberg 1995. Raises BadShape, BadVector (outside [0, 1]).
    """
    found = np.asarray(p, dtype=np.float64)
    if found.ndim != 1:
        raise BadShape(f"p has {found.ndim} dimensions; it must have one")
    known = ~np.isnan(found)
    if ((found[known] < 0) | (found[known] > 1)).any():
        raise BadVector("p holds something outside [0, 1]")
    out = np.full(len(found), np.nan)
    if known.any():
        out[known] = scipy.stats.false_discovery_control(found[known])
    return out


def wilcoxon_bh(pairs: Mapping[str, tuple[Any, Any]], *, level: float = 0.05) -> Table:
    """Wilcoxon's signed rank test of each pair of columns, corrected for their number.

    ``pairs`` maps a name to (first, second), each (n,). A row a name: ``name``, ``n``, ``zero``
    (equal pairs, dropped as in Wilcoxon 1945), ``difference`` (mean of first - second),
    ``effect`` (matched-pairs rank-biserial correlation, 1: first is always higher), ``p``
    (two-sided), ``adjusted`` (Benjamini-Hochberg over the rows), ``differs`` (adjusted <=
    ``level``), ``reason`` where there is no test. Raises BadShape, BadVector, BadParameter.
    """
    check_within("level", level)
    if not pairs:
        raise TooFewRows("there is no pair of columns to compare")
    rows = [{"name": name, **_wilcoxon(name, one, two)} for name, (one, two) in pairs.items()]
    table = dict(of_rows(rows).columns)
    adjusted = benjamini_hochberg(table["p"])
    reason = table.pop("reason")
    return Table({**table, "adjusted": adjusted, "differs": adjusted <= level, "reason": reason})


def _wilcoxon(name: str, first: Any, second: Any) -> dict[str, Any]:
    a, b = _columns(**{f"{name}, first": first, f"{name}, second": second})
    apart = a - b
    rank = apart[np.abs(apart) > 0]
    row = {
        "n": len(apart),
        "zero": len(apart) - len(rank),
        "difference": float(apart.mean()),
        "effect": 0.0,
        "p": np.nan,
        "reason": "all pairs are equal",
    }
    if not len(rank):
        return row
    if len(rank) > EXACT_UP_TO:
        p = float(scipy.stats.wilcoxon(rank, zero_method="wilcox", method="asymptotic").pvalue)
    else:
        p = _signed_rank_p(rank)
    total = len(rank) * (len(rank) + 1) / 2
    above = float(scipy.stats.rankdata(np.abs(rank))[rank > 0].sum())
    return {**row, "effect": 2 * above / total - 1, "p": p, "reason": ""}


def _signed_rank_p(apart: FloatArray) -> float:
    """Exact two-sided p of the signed rank sum of ``apart`` (n,), none of it 0; ties keep it exact.

    Every rank has either sign with chance 1/2, so the distribution of the sum is a convolution
    over the ranks: n steps where going through all signs takes 2**n. Midranks are doubled, which
    makes them whole.
    """
    doubled = np.rint(2 * scipy.stats.rankdata(np.abs(apart))).astype(np.int64)
    chance = np.zeros(int(doubled.sum()) + 1)
    chance[0] = 1.0
    for rank in doubled:
        moved = np.zeros_like(chance)
        moved[rank:] = chance[:-rank]
        chance = (chance + moved) / 2
    above = int(doubled[apart > 0].sum())
    return float(min(1.0, 2 * min(chance[: above + 1].sum(), chance[above:].sum())))


def fisher_z(r: Any) -> FloatArray:
    """Return Fisher's z of correlations, artanh(r), finite where r is 1 or -1; NaN of NaN."""
    return np.asarray(np.arctanh(np.clip(r, -NEARLY, NEARLY)), dtype=np.float64)


def fisher_z_difference(
    first: float, n_first: int, second: float, n_second: int, *, between: float | None = None
) -> Difference:
    """Two correlations compared on Fisher's z scale, z = artanh(r).

    Without ``between`` they come from independent samples of ``n_first`` and ``n_second`` rows:
    z difference over sqrt(1 / (n - 3) + 1 / (m - 3)) (Fisher 1921). With ``between``, the
    correlation of the two predictors, both are of one sample with one truth: the test of Meng,
    Rosenthal and Rubin (1992, eq. 1). ``low`` and ``high`` bound the difference of the z values
    at 95 %. Raises BadParameter, TooFewRows (n < 4).
    """
    for name, value in (("first", first), ("second", second), ("between", between)):
        if value is not None and not -1 < value < 1:
            raise BadParameter(f"{name} is {value!r}; it must lie between -1 and 1, both excluded")
    if min(n_first, n_second) < 4:
        raise TooFewRows("Fisher's z needs 4 rows or more")
    apart = float(np.arctanh(first) - np.arctanh(second))
    if between is None:
        se = float(np.sqrt(1 / (n_first - 3) + 1 / (n_second - 3)))
    else:
        if n_first != n_second:
            raise BadParameter("between is given, so both correlations are of the same rows")
        mean = (first**2 + second**2) / 2
        f = min((1 - between) / (2 * (1 - mean)), 1.0)
        h = (1 - f * mean) / (1 - mean)
        se = float(np.sqrt(2 * (1 - between) * h / (n_first - 3)))
    p = float(2 * scipy.special.ndtr(-abs(apart) / se))
    reach = normal_quantile(0.95) * se
    ends, n = (apart - reach, apart + reach), min(n_first, n_second)
    return Difference(apart, *ends, p, first, second, n, 0, z=apart / se)


def _columns(**columns: Any) -> list[FloatArray]:
    found = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    shapes = {array.shape for array in found.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        said = ", ".join(f"{name} {array.shape}" for name, array in found.items())
        raise BadShape(f"the columns must have one length: {said}")
    for name, array in found.items():
        if not len(array):
            raise TooFewRows(f"{name} is empty")
        if not np.isfinite(array).all():
            raise BadVector(f"{name} holds something that is not a finite number")
    return list(found.values())


def _check(resamples: int, confidence: float) -> None:
    if isinstance(resamples, bool) or not isinstance(resamples, int):
        raise BadParameter(f"resamples is {resamples!r}; it must be a whole number")
    if not 100 <= resamples <= SMALL:
        raise BadParameter(f"resamples is {resamples}; it must lie between 100 and {SMALL}")
    check_within("confidence", confidence)
