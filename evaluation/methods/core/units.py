"""From how many units an interval is told: one rule for every figure.

A unit is what was sampled: a topic, not its pairs; a worker, not their votes. An interval from few
units holds the truth less often than it says, so below the least number of its kind there is none,
and a sentence says so. The least numbers are where ``python -m tests.studies.small_samples``
measured that intervals at .95 hold the truth in .92 to .97 of simulated data sets, on average over
designs (200 data sets a design; simulation error .005 to .01). Where there is no interval, what it
would have covered follows a minus:

=================  ====  ====  ====  ====  ====  ====  ====
units                 2     3     5     6    10    15    20
=================  ====  ====  ====  ====  ====  ====  ====
share                 - -.996  .987  .982  .970  .959  .952
mean                  - -.972  .956  .957  .955  .960  .942
resampled         -.499 -.733 -.911 -.907  .938  .923  .931
alpha             -.172 -.477 -.816 -.867 -.940  .937  .939
percent               - -.976 -.982 -.979  .965  .958  .975
kappa             -.539 -.756 -.902 -.923 -.935  .943  .948
rho                   - -.337 -.767 -.920  .953  .970  .963
correlation           -     -  .951  .958  .942  .947  .928
difference of r   -.998 -.968  .955  .970  .978  .942  .955
=================  ====  ====  ====  ====  ====  ====  ====

What came later, by ``python -m tests.studies.small_samples_ranked`` (150 data sets a design):

=================  ====  ====  ====  ====  ====  ====  ====
units                 2     3     5    10    15    20    30
=================  ====  ====  ====  ====  ====  ====  ====
tau                   - -1.00 -.822 -.840 -.887 -.896  .929
change of tau     -.000 -.219 -.515 -.845 -.903 -.910  .957
similarity            - -.992 -.985  .964  .957  .965  .957
board             -.990  .967  .959     -     -     -     -
=================  ====  ====  ====  ====  ====  ====  ====

"tau" (a question's yes beside human scores) and "change of tau" (under rescaling) are ``ranked``:
jackknives over texts or items. Boards cover too much from few tasks, where the variance between
tasks is cut at 0; similarities likewise where no theme is more frequent than others.

Shares and means are those of ``core.inference`` (300 data sets a design): few units cover a little
more than stated, so that uneven ones still cover .95 (there).

"alpha" and "kappa" are of kind ``agreement``, "rho" is ``resampled``, "difference of r" is
``correlation``. Single designs lie further off: the study prints the least and the largest.

Shares, means, differences and slopes have intervals clustered by worker, topic or item. The votes
of one worker are alike, so that the number of workers, not of votes, says how much is known.
Linearised variances over clusters (Cochran 1977, ratio estimators; Liang and Zeger 1986 for the
slope), each cluster left out in turn, with Bell and McCaffrey's degrees of freedom
(``core.inference``); shares have Wilson's interval on their effective number of trials, which does
not collapse where all votes are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.methods.core.base import FloatArray, IntArray, check_within
from evaluation.methods.core.inference import (
    Spread,
    cluster_spread,
    normal_quantile,
    t_quantile,
    two_way_spread,
)

# Kinds of intervals.
SHARE = "share"
MEAN = "mean"
RESAMPLED = "resampled"
AGREEMENT = "agreement"
PERCENT = "percent"
CORRELATION = "correlation"
RANKED = "ranked"
SIMILARITY = "similarity"
BOARD = "board"

LEAST: dict[str, int] = {
    BOARD: 3,
    SHARE: 5,
    MEAN: 5,
    CORRELATION: 5,
    SIMILARITY: 10,
    PERCENT: 10,
    RESAMPLED: 10,
    AGREEMENT: 15,
    RANKED: 30,
}
SAME = 1e-9  # width below which resamples say nothing
ALL_SAME = "every resample gives this value, so no interval"


def too_few_units(units: int, noun: str, kind: str) -> str:
    """Why ``units`` (named by the plural ``noun``) give no interval of a kind; "" where they do."""
    least = LEAST[kind]
    if units >= least:
        return ""
    return f"{count_in_words(units, noun)}; an interval needs {least}"


def joined_bins(place: IntArray, least: int) -> list[IntArray]:
    """The rows (n,) of each bin, in the order of ``place``, neighbours joined to ``least`` or more.

    What is left over at the end goes to the last; no bin where there are fewer rows than that.
    """
    found: list[list[int]] = []
    waiting: list[int] = []
    for value in np.unique(place):
        waiting += np.flatnonzero(place == value).tolist()
        if len(waiting) >= least:
            found.append(waiting)
            waiting = []
    if found:
        found[-1] += waiting
    return [np.array(rows, dtype=np.int64) for rows in found]


def count_in_words(number: int, noun: str) -> str:
    """``1 topic``, ``5 topics`` from the plural."""
    return f"{number} {noun[:-1] if number == 1 else noun}"


def wilson(share: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson's (1927) interval of a share of ``n`` independent trials, or of an effective n."""
    z = normal_quantile(confidence)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if share <= 0 else max(0.0, float(middle - reach))
    high = 1.0 if share >= 1 else min(1.0, float(middle + reach))
    return low, high


def fisher(r: float, n: int, confidence: float) -> tuple[float, float]:
    """Fisher's (1921) interval of Pearson's r of ``n`` independent pairs, 4 or more."""
    reach = normal_quantile(confidence) / (n - 3) ** 0.5
    middle = float(np.arctanh(np.clip(r, -0.9999, 0.9999)))
    return float(np.tanh(middle - reach)), float(np.tanh(middle + reach))


def effective_trials(
    share: float, variance: float, *, trials: float, freedom: float, confidence: float
) -> float:
    """Return how many independent trials a share from clustered trials is worth.

    ``trials`` over the design effect (Kish 1965, section 8.2), which is taken as 1 or more, times
    the squared ratio of the t quantiles of trials and of ``freedom``, since a variance between few
    units is hardly known (Korn and Graubard 1998, "Confidence intervals for proportions with small
    expected number of positive counts"). Where all trials or none show it, ``freedom`` + 1.
    """
    if not 0 < share < 1:
        return freedom + 1
    effect = max(1.0, variance * trials / (share * (1 - share)))
    known = float(t_quantile(confidence, max(trials, 2.0) - 1))
    known /= float(t_quantile(confidence, freedom))
    return float(trials / effect * min(1.0, known) ** 2)


# What clusters, and crossed clusters, are called in a reason.
NOUNS = ("workers", "pairs")


@dataclass(frozen=True)
class Clustered:
    """An estimate with its clustered standard error and interval; NaN with a ``reason``.

    From too few clusters, or effectively too few, there is an estimate without bounds, and
    ``reason`` says so. ``effective`` clusters and degrees of ``freedom`` are those of the scarcest.
    """

    estimate: float
    se: float
    low: float
    high: float
    clusters: int
    reason: str = ""
    effective: float = np.nan
    freedom: float = np.nan


def ratio(
    above: FloatArray,
    below: FloatArray,
    cluster: IntArray,
    confidence: float = 0.95,
    *,
    crossed: IntArray | None = None,
    nouns: tuple[str, str] = NOUNS,
) -> Clustered:
    """sum(above) / sum(below) over rows (n,), clustered by ``cluster`` and, if given, ``crossed``.

    Two-way: variance by the one + by the other - by both (Cameron, Gelbach and Miller 2011).
    ``nouns`` name what clusters and what is crossed. For shares: :func:`share`.
    """
    total = float(below.sum())
    if total <= 0:
        return _undefined(0, "there is nothing to count")
    value = float(above.sum()) / total
    influence = (above - value * below) / total
    return _interval(value, _spread(influence, below, cluster, crossed, nouns), confidence)


def share(
    above: FloatArray,
    below: FloatArray,
    cluster: IntArray,
    confidence: float = 0.95,
    *,
    crossed: IntArray | None = None,
    trials: float | None = None,
    nouns: tuple[str, str] = NOUNS,
    kind: str = SHARE,
) -> Clustered:
    """Estimate a share from clustered rows: ``above`` hits among ``below`` trials in each.

    Wilson's interval on the effective number of trials; ``trials`` are as many as there are at
    most (default: the sum of ``below``); ``kind`` of ``units`` says from how many clusters.
    """
    check_within("confidence", confidence)
    total = float(below.sum())
    if total <= 0:
        return _undefined(0, "there is nothing to count")
    value = float(above.sum()) / total
    spread = _spread((above - value * below) / total, below, cluster, crossed, nouns)
    if reason := spread.why_no_interval(LEAST[kind]):
        return _without_interval(value, spread, reason)
    effective = effective_trials(
        value,
        spread.variance,
        trials=total if trials is None else trials,
        freedom=spread.freedom,
        confidence=confidence,
    )
    low, high = wilson(value, effective, confidence)
    return _with_interval(value, low, high, spread)


def difference(
    one: tuple[FloatArray, FloatArray],
    two: tuple[FloatArray, FloatArray],
    cluster: IntArray,
    confidence: float = 0.95,
) -> Clustered:
    """Ratio ``two`` - ratio ``one``, each (above, below) over the same rows (n,)."""
    totals = [float(below.sum()) for _, below in (one, two)]
    if min(totals) <= 0:
        return _undefined(0, "one of the two parts has no votes")
    values = [float(part[0].sum()) / total for part, total in zip((one, two), totals, strict=True)]
    shares = [
        (above - value * below) / total
        for (above, below), value, total in zip((one, two), values, totals, strict=True)
    ]
    weight = one[1] / totals[0] ** 2 + two[1] / totals[1] ** 2
    spread = _spread(shares[1] - shares[0], weight, cluster)
    return _interval(values[1] - values[0], spread, confidence)


def within_slope(
    x: FloatArray, y: FloatArray, weight: FloatArray, cluster: IntArray, confidence: float = 0.95
) -> Clustered:
    """Estimate the slope of y on x within clusters (fixed effects)."""
    size = int(cluster.max()) + 1
    mass = np.bincount(cluster, weights=weight, minlength=size)
    safe = np.where(mass > 0, mass, 1.0)

    def centred(values: FloatArray) -> FloatArray:
        means = np.bincount(cluster, weights=weight * values, minlength=size) / safe
        return np.asarray(values - means[cluster])

    x, y = centred(x), centred(y)
    information = weight * x * x
    total = float(information.sum())
    if total <= 1e-12:
        return _undefined(0, "nobody's votes differ in position")
    slope = float((weight * x * y).sum()) / total
    spread = _spread(weight * x * (y - slope * x) / total, information, cluster)
    return _interval(slope, spread, confidence)


def _spread(
    influence: FloatArray,
    weight: FloatArray,
    cluster: IntArray,
    crossed: IntArray | None = None,
    nouns: tuple[str, str] = NOUNS,
) -> Spread:
    if crossed is None:
        return cluster_spread(influence, weight, cluster, noun=nouns[0])
    return two_way_spread(influence, weight, cluster, crossed, nouns=nouns)


def _interval(value: float, spread: Spread, confidence: float) -> Clustered:
    check_within("confidence", confidence)
    if reason := spread.why_no_interval(LEAST[MEAN]):
        return _without_interval(value, spread, reason)
    reach = spread.reach(confidence)
    return _with_interval(value, value - reach, value + reach, spread)


def _with_interval(value: float, low: float, high: float, spread: Spread) -> Clustered:
    return Clustered(
        value,
        spread.se,
        low,
        high,
        spread.clusters,
        effective=spread.effective,
        freedom=spread.freedom,
    )


def _without_interval(value: float, spread: Spread, reason: str) -> Clustered:
    nothing = (np.nan, np.nan, np.nan)
    return Clustered(
        value, *nothing, spread.clusters, reason, effective=spread.effective, freedom=spread.freedom
    )


def _undefined(clusters: int, reason: str) -> Clustered:
    return Clustered(np.nan, np.nan, np.nan, np.nan, clusters, reason)
