"""The share of traces that fail, from reviews of traces that were drawn with uneven probabilities.

Every trace has the rules that matched it (its stratum), and where a judge scored it, the judge's
verdict. Both are known of all traces, so the estimate is post-stratified: the share among reviewed
traces of each cell, weighted by how many traces the cell has. With cells of strata alone it rests
on people only. With cells of strata and verdicts it is the prediction-powered estimate with a
binary judge and a tuning parameter for each stratum (Fisch et al. 2024, arXiv 2406.04291): the
judge says how many traces there are of each kind, people say how often each kind fails. A judge
that is wrong makes the interval wide, not false.

Within a cell a review counts one over the probability of its draw, times drawn over reviewed traces
of its stratum, since queues hand out some strata first. Intervals are Wilson's (1927) of each cell
with Korn and Graubard's effective number of reviews (1998, Survey Methodology 24), combined by
recovered variances (Zou and Donner 2008, Statistics in Medicine 27, equation 4). A cell without any
failure keeps its upper bound, which variances of 0 would lose: failures are rare, and most cells
have none.

Measured at a stated .95, 400 populations each (``python -m tests.studies.trace_rates``):

====================  =======  ======  =====  ==========  =====
crowd                 reviews  people  width  with judge  width
====================  =======  ======  =====  ==========  =====
good judge                988    .998   .028        .953   .019
weak judge              1,477    .960   .027        .973   .028
useless judge           1,835    .958   .039        .960   .039
rare failures           1,185    .990   .018        .958   .015
few reviews               236    .990   .081        .955   .070
random reviewed last      814    .998   .033        .948   .029
====================  =======  ======  =====  ==========  =====
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.methods.core.base import BadShape, DataError, FloatArray, IntArray
from evaluation.methods.core.inference import Claim, effective_clusters, normal_quantile

VERSION = "1.0"
LEAST = 30  # fewest reviewed traces for an interval
LEAST_EFFECTIVE = 10.0
CELL = 8  # fewest reviewed traces of a cell that stands alone
NO_JUDGE = -1


@dataclass(frozen=True, slots=True)
class Population:
    """All traces: how many of each stratum and verdict (s, 3), of none, pass and fail.

    ``drawn`` (s,): how many of each stratum were drawn for review. ``blind`` (s,): which stratum
    it is where the judge's score is left out, as rules may draw by it.
    """

    count: IntArray
    drawn: IntArray
    blind: IntArray

    @property
    def size(self) -> int:
        """Number of traces."""
        return int(self.count.sum())


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Reviewed traces (n,): ``value`` from 0 to 1, probability of the draw, stratum, verdict.

    ``verdict`` of the judge: 1 fail, 0 pass, -1 none.
    """

    value: FloatArray
    inclusion: FloatArray
    stratum: IntArray
    verdict: IntArray


@dataclass(frozen=True, slots=True)
class Rates:
    """The share that fails, twice. ``covered``: share of all traces whose kind was reviewed.

    ``judged``: share of all traces that the judge scored. ``agreement``: share of all traces of
    which the judge's verdict is that of people.
    """

    people: Claim
    both: Claim
    agreement: Claim
    covered: float
    judged: float


def estimate_rates(reviewed: Reviewed, population: Population, *, level: float = 0.95) -> Rates:
    """Estimate the share of all traces that fail, by people alone and with the judge's verdicts.

    Raises BadShape, DataError for probabilities outside (0, 1] and values outside 0 to 1.
    """
    _check(reviewed, population)
    strata = len(population.drawn)
    here = np.bincount(reviewed.stratum, minlength=strata)
    response = np.maximum(population.drawn, here) / np.maximum(here, 1)
    weight = response[reviewed.stratum] / reviewed.inclusion
    by_rule = population.count.sum(axis=1)
    blind = np.bincount(population.blind, by_rule, minlength=strata).astype(np.int64)
    own = population.blind[reviewed.stratum]
    people = _claim("failure_people", reviewed.value, weight, cell=own, count=blind, level=level)
    cell = 3 * reviewed.stratum + reviewed.verdict + 1
    both = _claim(
        "failure_both",
        reviewed.value,
        weight,
        cell=cell,
        count=population.count.ravel(),
        level=level,
    )
    judged = reviewed.verdict != NO_JUDGE
    agrees = np.where(reviewed.verdict == 1, reviewed.value, 1 - reviewed.value)
    seen = population.count.copy()
    seen[:, 0] = 0
    agreement = _claim(
        "judge_agrees",
        agrees[judged],
        weight[judged],
        cell=cell[judged],
        count=seen.ravel(),
        level=level,
    )
    size = max(population.size, 1)
    return Rates(
        people,
        both,
        agreement,
        covered=float(by_rule[here > 0].sum() / size),
        judged=float(population.count[:, 1:].sum() / size),
    )


def _check(reviewed: Reviewed, population: Population) -> None:
    sizes = {len(getattr(reviewed, name)) for name in Reviewed.__slots__}
    if len(sizes) != 1 or population.count.shape != (len(population.drawn), 3):
        raise BadShape("reviewed traces must have one length, and counts a row a stratum")
    if not ((reviewed.inclusion > 0) & (reviewed.inclusion <= 1)).all():
        raise DataError("the probability of a draw must be above 0 and at most 1")
    if not ((reviewed.value >= 0) & (reviewed.value <= 1)).all():
        raise DataError("a trace fails with a value from 0 to 1")


def _claim(
    compared: str,
    value: FloatArray,
    weight: FloatArray,
    *,
    cell: IntArray,
    count: IntArray,
    level: float,
) -> Claim:
    """Claim of a post-stratified share: values and weights (n,) in cells with counts (c,)."""
    n = len(value)
    nothing = float("nan")
    effective = effective_clusters(weight)
    if n == 0 or count.sum() == 0:
        return Claim(compared, nothing, nothing, nothing, level, n, 0.0, reason="no_reviews")
    group = _merge(cell, count)
    size = np.bincount(group, weights=count, minlength=int(group.max()) + 1)
    place = group[cell]
    used = np.unique(place)
    share = size[used] / size[used].sum()
    means, lows, highs = np.empty((3, len(used)))
    for number, one in enumerate(used):
        inside = place == one
        own = weight[inside]
        means[number] = mean = float((own * value[inside]).sum() / own.sum())
        lows[number], highs[number] = wilson(mean, effective_size(value[inside], own), level)
    estimate = float((share * means).sum())
    low = estimate - float(np.sqrt(np.square(share * (means - lows)).sum()))
    high = estimate + float(np.sqrt(np.square(share * (highs - means)).sum()))
    reason = "few_reviews" if n < LEAST else ""
    if not reason and effective < LEAST_EFFECTIVE:
        reason = "uneven_draws"
    if reason:
        low = high = nothing
    else:
        low, high = max(0.0, low), min(1.0, high)
    return Claim(compared, estimate, low, high, level, n, effective, reason=reason)


def _merge(cell: IntArray, count: IntArray) -> IntArray:
    """Group (c,) of each cell, so that each group with traces has ``CELL`` reviews or is alone.

    A cell with few reviews joins the smallest group of the same verdict, else the smallest of all.
    Cells of strata (c,) and verdicts come in threes, so that cells of one verdict are 3 apart.
    """
    reviews = np.bincount(cell, minlength=len(count)).astype(float)
    group = np.arange(len(count))
    live = [int(one) for one in np.flatnonzero(count > 0)]
    while len(live) > 1:
        smallest = min(live, key=lambda one: (reviews[one], count[one]))
        if reviews[smallest] >= CELL:
            break
        others = [one for one in live if one != smallest]
        alike = [one for one in others if one % 3 == smallest % 3] or others
        joined = min(alike, key=lambda one: (reviews[one], count[one]))
        group[group == smallest] = joined
        reviews[joined] += reviews[smallest]
        live.remove(smallest)
    return group


def effective_size(value: FloatArray, weight: FloatArray) -> float:
    """Number of equally weighted reviews that would know a share as well (Korn and Graubard 1998).

    From the variance of the weighted mean; Kish's number where no value differs from the others.
    At most the number of reviews.
    """
    mean = float((weight * value).sum() / weight.sum())
    variance = float(np.square(weight * (value - mean)).sum()) / float(weight.sum()) ** 2
    n = len(value)
    if variance <= 0 or n < 2:
        return effective_clusters(weight)
    return min(float(n), mean * (1 - mean) / (variance * n / (n - 1)))


def wilson(share: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's (1927) score interval of a share of ``n`` trials, which may be no whole number."""
    z = normal_quantile(level)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))
    return max(0.0, middle - half), min(1.0, middle + half)
