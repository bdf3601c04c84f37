"""Inference for every method: clustered variances, degrees of freedom, families, and claims.

Activity is never even: a few people do most of the work. A t quantile over the count of clusters
then claims too much (12 workers with Zipf 1.5 activity: .76 covered at a stated .95). So:

- Variances leave each cluster out in turn (CR3; Bell and McCaffrey 2002, Survey Methodology 28):
  a cluster's summed influence is divided by one minus its share of the information.
- Degrees of freedom are Bell and McCaffrey's (Satterthwaite) for these shares. With equal shares
  they are clusters - 1; with unequal ones about the effective number (sum n)^2 / sum n^2.
- Below ``LEAST_EFFECTIVE`` effective clusters there is no interval, with the reason.

Measured for shares at a stated .95 (means over intraclass correlations 0, .05 and .2, chances .5
and .8, 1,000 data sets each; ``python -m tests.studies.coverage``):

=======================  =========  ====  ====  ====
activity                 effective  CR1   CR2   CR3
=======================  =========  ====  ====  ====
even, 10 workers              10.0  .942  .942  .952
Zipf 1, 30 workers            10.0  .898  .936  .948
Zipf 1, 100 workers           16.3  .907  .936  .945
Zipf 1.5, 100 workers          5.3  .823  .937  .956
Zipf 1.5, 30 workers           4.2  .815  .947  .964
Zipf 1.5, 12 workers           3.5  .813  .942  .965
2 of 40 do 80 %                3.1  .713  .937  .968
Zipf 2, 30 workers             2.4  .663  .952  .976
1 of 10 does 80 %              1.5  .449  .968  .987
=======================  =========  ====  ====  ====

CR1 has a t of (clusters - 1) degrees of freedom, CR2 and CR3 those of Bell and McCaffrey.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray

LEAST_EFFECTIVE = 3.0  # effective clusters below which there is no interval
Correction = Literal["CR2", "CR3"]


def t_quantile(level: float, freedom: float | FloatArray, family: int = 1) -> float | FloatArray:
    """Half-width of a two-sided t interval in standard errors.

    ``family`` intervals hold at once with probability ``level`` (Bonferroni). Freedom below 1 is
    read as given (the quantile grows quickly); it must be positive.
    """
    tail = (1 - family_level(level, family)) / 2
    found = -scipy.special.stdtrit(freedom, tail)
    return float(found) if np.ndim(found) == 0 else np.asarray(found, dtype=np.float64)


def normal_quantile(level: float, family: int = 1) -> float:
    """Half-width of a two-sided normal interval in standard errors (Bonferroni over a family)."""
    return float(-scipy.special.ndtri((1 - family_level(level, family)) / 2))


def family_level(level: float, family: int) -> float:
    """Level of each of ``family`` intervals that hold all at once (Bonferroni)."""
    return 1 - (1 - level) / max(1, family)


def effective_clusters(size: FloatArray | IntArray) -> float:
    """Kish's effective number of clusters, (sum n)^2 / sum n^2, from sizes (g,); 0 without any."""
    size = np.asarray(size, dtype=np.float64)
    squares = float(np.square(size).sum())
    return float(size.sum()) ** 2 / squares if squares else 0.0


def bell_mccaffrey(share: FloatArray) -> FloatArray:
    """Degrees of freedom of clustered variances of means, from shares of information (g, ...).

    Satterthwaite's approximation under independent rows (Bell and McCaffrey 2002; Imbens and
    Kolesar 2016, section 4), in closed form for one parameter:
    1 / (sum p^2 + (sum b)^2 - sum b^2) with b = p^2 / (1 - p). Equal shares give g - 1. A cluster
    with all of the information gives 0.
    """
    alone = share >= 1
    b = share**2 / np.where(alone, 1.0, 1 - share)
    squares = np.square(share).sum(axis=0) + b.sum(axis=0) ** 2 - np.square(b).sum(axis=0)
    return np.where(alone.any(axis=0), 0.0, 1 / squares)


@dataclass(frozen=True, slots=True)
class Spread:
    """How well an estimate is known.

    ``variance`` of the estimate, ``freedom`` of that variance, the number of ``clusters`` and of
    ``effective`` ones, and ``noun``, what the scarcest kind of cluster is called (plural).
    """

    variance: float
    freedom: float
    clusters: int
    effective: float
    noun: str = "clusters"

    @property
    def se(self) -> float:
        """Standard error."""
        return float(np.sqrt(self.variance))

    def reach(self, level: float, family: int = 1) -> float:
        """Half-width of the interval at ``level``; inf without degrees of freedom."""
        if self.freedom <= 0:
            return float("inf")
        return float(t_quantile(level, self.freedom, family)) * self.se

    def why_no_interval(self, least: float) -> str:
        """Why these clusters give no interval ("" where they do); ``least`` of them are needed."""
        return too_few_clusters(self.clusters, self.effective, self.noun, least)


def too_few_clusters(clusters: int, effective: float, noun: str, least: float) -> str:
    """Return why so few clusters give no interval; "" if they are enough.

    ``noun`` is a plural that names the clusters, ``least`` how many an interval needs.
    """
    if clusters < least:
        name = noun[:-1] if clusters == 1 else noun
        return f"{clusters} {name}; an interval needs {least:g}"
    if effective < LEAST_EFFECTIVE:
        return (
            f"{clusters} {noun}, but a few did most of the work: as much as {effective:.1f} "
            f"equally active ones; an interval needs {LEAST_EFFECTIVE:g}"
        )
    return ""


def cluster_spread(
    influence: FloatArray,
    weight: FloatArray,
    cluster: IntArray,
    *,
    correction: Correction = "CR3",
    noun: str = "clusters",
) -> Spread:
    """Spread of an estimate that is a sum of rows' ``influence`` (n,), clustered.

    ``weight`` (n,) is each row's information: the denominator of a ratio, the trials of a share.
    A cluster with all of the information has no degrees of freedom.
    """
    _, place = np.unique(cluster, return_inverse=True)
    mass = np.bincount(place, weights=weight)
    summed = np.bincount(place, weights=influence)
    summed, mass = summed[mass > 0], mass[mass > 0]
    clusters, effective = len(mass), effective_clusters(mass)
    if clusters < 2:
        return Spread(0.0, 0.0, clusters, effective, noun)
    share = mass / mass.sum()
    power = 1 if correction == "CR2" else 2
    variance = float((np.square(summed) / (1 - share) ** power).sum())
    return Spread(variance, float(bell_mccaffrey(share)), clusters, effective, noun)


def two_way_spread(
    influence: FloatArray,
    weight: FloatArray,
    cluster: IntArray,
    crossed: IntArray,
    *,
    nouns: tuple[str, str] = ("clusters", "clusters"),
) -> Spread:
    """Estimate the spread when rows are alike within two crossed clusterings.

    Variance by the one + by the other - by their cells (Cameron, Gelbach and Miller 2011), and
    not below any of the three; the scarcer clusters say the degrees of freedom.
    """
    one = cluster_spread(influence, weight, cluster, noun=nouns[0])
    two = cluster_spread(influence, weight, crossed, noun=nouns[1])
    _, first = np.unique(cluster, return_inverse=True)
    _, second = np.unique(crossed, return_inverse=True)
    cell = first * (int(second.max()) + 1) + second
    shared = float(np.square(np.bincount(np.unique(cell, return_inverse=True)[1], influence)).sum())
    variance = max(one.variance + two.variance - shared, one.variance, two.variance, shared)
    scarcer = min(one, two, key=lambda found: (found.freedom, found.effective))
    return Spread(variance, scarcer.freedom, scarcer.clusters, scarcer.effective, scarcer.noun)


def mean_interval(
    values: FloatArray, level: float = 0.95, *, family: int = 1
) -> tuple[float, float, float]:
    """Mean of independent, equally weighted values (n,), with its bounds; NaN below two."""
    n = len(values)
    middle = float(np.mean(values)) if n else float("nan")
    if n < 2:
        return middle, float("nan"), float("nan")
    reach = float(t_quantile(level, n - 1, family)) * float(np.std(values, ddof=1)) / n**0.5
    return middle, middle - reach, middle + reach


@dataclass(frozen=True, slots=True)
class Claim:
    """What a sentence about a result may rest on.

    ``compared`` says what is compared (a code of the method's), ``estimate`` with its interval
    ``low`` to ``high`` at ``level``, from ``n`` observations in ``effective`` clusters. ``null`` is
    the value that must lie outside. ``compared_with`` is how many such comparisons the same page
    makes, ``simultaneous_over`` over how many the interval holds at once, and ``adjustment`` how
    ("bonferroni", "max-t", "holm"). ``reason`` says why there is no interval.
    """

    compared: str
    estimate: float
    low: float
    high: float
    level: float = 0.95
    n: int = 0
    effective: float = float("nan")
    null: float = 0.0
    compared_with: int = 1
    simultaneous_over: int = 1
    adjustment: str = ""
    reason: str = ""

    @property
    def has_interval(self) -> bool:
        """Whether the minimum of units is met."""
        return not self.reason and bool(np.isfinite(self.low) and np.isfinite(self.high))

    @property
    def is_simultaneous(self) -> bool:
        """Whether the interval holds simultaneously over everything that it is compared with."""
        return self.simultaneous_over >= self.compared_with

    @property
    def is_sure(self) -> bool:
        """Whether it may be called sure: simultaneous, minimum met, and the null ruled out."""
        return self.has_interval and self.is_simultaneous and self.direction != 0

    @property
    def direction(self) -> int:
        """1 where the whole interval lies above the null, -1 below, else 0."""
        if not self.has_interval:
            return 0
        return int(self.low > self.null) - int(self.high < self.null)

    @classmethod
    def of_spread(
        cls,
        compared: str,
        estimate: float,
        spread: Spread,
        *,
        n: int,
        level: float = 0.95,
        null: float = 0.0,
        compared_with: int = 1,
        least: float = 0.0,
    ) -> Claim:
        """A claim by the t interval of a spread, simultaneous over all it is compared with."""
        reason = spread.why_no_interval(least)
        reach = float("nan") if reason else spread.reach(level, compared_with)
        return cls(
            compared,
            estimate,
            estimate - reach,
            estimate + reach,
            level=level,
            n=n,
            effective=spread.effective,
            null=null,
            compared_with=compared_with,
            simultaneous_over=compared_with,
            adjustment="bonferroni" if compared_with > 1 else "",
            reason=reason,
        )


def normal_score(share: float) -> float:
    """The standard normal value that ``share`` of the values lie below."""
    return float(scipy.special.ndtri(share))


def t_for_normal(z: float | FloatArray, freedom: float | FloatArray) -> FloatArray:
    """The value of t with the tail of the normal value ``z`` (0 or above)."""
    tail = np.maximum(scipy.special.ndtr(-np.asarray(z)), 1e-300)
    return np.asarray(-scipy.special.stdtrit(freedom, tail), dtype=np.float64)


def mean_spread(values: FloatArray, noun: str = "clusters") -> Spread:
    """Spread of the mean of independent, equally weighted values (n,)."""
    n = len(values)
    variance = float(np.var(values, ddof=1)) / n if n > 1 else 0.0
    return Spread(variance, float(max(n - 1, 0)), n, float(n), noun)


def jackknife_spread(
    without: FloatArray,
    weight: NDArray[Any] | None = None,
    *,
    correction: Correction = "CR2",
    noun: str = "clusters",
) -> Spread:
    """Spread of an estimate from its values ``without`` (g,) each cluster in turn.

    ``weight`` (g,) is each cluster's share of the information, up to a factor; left out: equal.
    Of a ratio it is ``cluster_spread``; with equal weights and CR2 it is Quenouille's jackknife
    (Efron 1982, 3.2) with g - 1 degrees of freedom.
    """
    mass = np.ones(len(without)) if weight is None else np.asarray(weight, dtype=np.float64)
    kept = mass > 0
    without, mass = without[kept], mass[kept]
    clusters, effective = len(mass), effective_clusters(mass)
    if clusters < 2:
        return Spread(0.0, 0.0, clusters, effective, noun)
    share = mass / mass.sum()
    rest = 1 - share
    centre = float((rest * without).sum() / rest.sum())
    power = 1 if correction == "CR2" else 0
    variance = float((rest**power * np.square(without - centre)).sum())
    return Spread(variance, float(bell_mccaffrey(share)), clusters, effective, noun)


def scale_interval(
    mean: float, spread: Spread, level: float, ends: tuple[float, float], *, family: int = 1
) -> tuple[float, float]:
    """Bounds of a mean of values between ``ends`` that never leave these; NaN without any spread.

    Wilson's (1927) interval with t quantiles: the variance at another mean is taken to change as
    that of a share does. A mean at an end, where nothing varies, counts as ``freedom`` + 1 trials.
    """
    bottom, reach = ends[0], ends[1] - ends[0]
    nothing = (float("nan"), float("nan"))
    if reach <= 0 or spread.freedom <= 0:
        return nothing
    share = min(max((mean - bottom) / reach, 0.0), 1.0)
    room, variance = share * (1 - share), spread.variance / reach**2
    if room < 1e-12:
        c = normal_quantile(level, family) ** 2 / (spread.freedom + 1)
    elif variance < 1e-18:
        return nothing
    else:
        c = float(t_quantile(level, spread.freedom, family)) ** 2 * variance / room
    middle, half = share + c / 2, (c * room + c * c / 4) ** 0.5
    low, high = max(0.0, (middle - half) / (1 + c)), min(1.0, (middle + half) / (1 + c))
    return bottom + reach * low, bottom + reach * high
