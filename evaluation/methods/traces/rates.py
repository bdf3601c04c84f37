"""The share of traces that fail, from reviews of traces that were drawn with uneven probabilities.

Every trace has the rules that matched it (its stratum), and where a judge scored it, the judge's
verdict. Both are known of all traces, so the estimate is post-stratified: the share among reviewed
traces of each cell, weighted by how many traces the cell has. With cells of strata alone it rests
on people only. With cells of strata and verdicts it is the prediction-powered estimate with a
binary judge and a tuning parameter for each stratum (Fisch et al. 2024, arXiv 2406.04291): the
judge says how many traces there are of each kind, people say how often each kind fails. A judge
that is wrong makes the interval wide, not false.

Within a cell a review counts one over the probability of its draw, times drawn over reviewed traces
of its stratum and priority, since queues hand out by priority; random draws, whose place in the
queue is random, too, are one kind of their stratum. Where such a kind has no review, its traces are
not covered: the share is of the others, and without an interval below ``LEAST_COVERED``.

Intervals are Wilson's (1927) of each cell with Korn and Graubard's effective number of reviews
(1998, Survey Methodology 24), combined by recovered variances (Zou and Donner 2008, Statistics in
Medicine 27, equation 4). A cell without any failure keeps its upper bound, which variances of 0
would lose: failures are rare, and most cells have none. Reviews of one reviewer are alike: where
the t interval of variances by trace and by reviewer reaches further, it counts. It needs
``LEAST_REVIEWERS`` effective reviewers; with fewer, the interval is about these reviewers.

Measured at a stated .95, 1,000 populations each (``python -m tests.studies.trace_rates``). Traces
of high priority fail more often; with a backlog, 3 in 10 draws of the lowest are reviewed:

====================  =======  ======  =====  ==========  =====
crowd                 reviews  people  width  with judge  width
====================  =======  ======  =====  ==========  =====
good judge                987   1.000   .029       1.000   .024
weak judge              1,473    .977   .037        .996   .037
useless judge           1,833    .988   .052        .990   .052
rare failures           1,185   1.000   .019       1.000   .018
few reviews               238   1.000   .090       1.000   .082
backlog                   594   1.000   .039       1.000   .034
useless, backlog          917    .978   .075        .986   .075
strict reviewers          987    .938   .083        .935   .082
4 strict reviewers        988    .966   .197        .964   .196
====================  =======  ======  =====  ==========  =====

Each draw has one of 12 reviewers (or of 4). Strict ones call a share of passing traces failures
that is Beta(1, 19) over reviewers, and the rate is as all such reviewers would judge. Among few
reviewers there is seldom one of the strictest, so errors are skewed: the interval by reviewer is
taken on logits where it reaches further there (without, .914 hold the rate). Without variances by
reviewer .79 and .67 do; with weights by stratum alone .83 do in the backlog of the useless judge
(100 each).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import BadShape, DataError, FloatArray, IntArray
from evaluation.methods.core.inference import (
    LEAST_EFFECTIVE as LEAST_REVIEWERS,
)
from evaluation.methods.core.inference import (
    Claim,
    effective_clusters,
    normal_quantile,
    two_way_spread,
)

VERSION = "1.3"
LEAST = 30  # fewest reviewed traces for an interval
LEAST_EFFECTIVE = 10.0
LEAST_COVERED = 0.9  # least share of traces of a kind that was reviewed, for an interval
CELL = 8  # fewest reviewed traces of a cell that stands alone
NO_JUDGE = -1
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Population:
    """All traces: how many of each stratum and verdict (s, 3), of none, pass and fail.

    ``blind`` (s,): which stratum it is where the judge's score is left out, as rules may draw by
    it. ``outside``: further traces, which no rule could draw.
    """

    count: IntArray
    blind: IntArray
    outside: int = 0

    @property
    def size(self) -> int:
        """Number of traces, those outside included."""
        return int(self.count.sum()) + self.outside


@dataclass(frozen=True, slots=True)
class Votes:
    """Reviews (m,): the place of the trace among those drawn, the reviewer, a value from 0 to 1."""

    trace: IntArray
    reviewer: IntArray
    value: FloatArray

    def take(self, kept: BoolArray) -> Votes:
        """Votes on the traces that are kept (n,), at their places among these."""
        mine = kept[self.trace]
        place = np.cumsum(kept) - 1
        return Votes(place[self.trace[mine]], self.reviewer[mine], self.value[mine])


NO_VOTES = Votes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


@dataclass(frozen=True, slots=True)
class Draws:
    """Drawn traces (n,): ``value`` from 0 to 1, NaN while it lacks reviews; how it was drawn.

    ``inclusion``: probability of the draw. ``verdict`` of the judge: 1 fail, 0 pass, -1 none.
    ``priority``: how early the queue hands it out, 0 at random. ``votes``: of whom, left out: of
    nobody twice.
    """

    value: FloatArray
    inclusion: FloatArray
    stratum: IntArray
    verdict: IntArray
    priority: IntArray
    votes: Votes = NO_VOTES

    def take(self, kept: BoolArray) -> Draws:
        """The draws that are kept (n,), with the votes on them."""
        return Draws(
            self.value[kept],
            self.inclusion[kept],
            self.stratum[kept],
            self.verdict[kept],
            self.priority[kept],
            self.votes.take(kept),
        )

    @property
    def reviewed(self) -> Draws:
        """The draws that have a value."""
        return self.take(~np.isnan(self.value))

    @property
    def agreeing(self) -> Draws:
        """The draws with a verdict, the value being how far people share it."""
        found = self.take(self.verdict != NO_JUDGE)
        fails = found.verdict == 1
        votes = found.votes
        shared = np.where(fails[votes.trace], votes.value, 1 - votes.value)
        return replace(
            found,
            value=np.where(fails, found.value, 1 - found.value),
            votes=replace(votes, value=shared),
        )


@dataclass(frozen=True, slots=True)
class Rates:
    """The share of covered traces that fails: by people, with the judge, as these reviewers judge.

    ``these`` is the better of the first two with an interval about these reviewers alone, which
    leaves out how much others would differ from them.
    ``covered``: share of all traces whose kind was reviewed. ``judged``: share of these that the
    judge scored. ``agreement``: share of these of which the judge's verdict is that of people.
    ``reviewers``: how many reviewed, and how many equally active ones, by weight.
    """

    people: Claim
    both: Claim
    agreement: Claim
    these: Claim
    covered: float
    judged: float
    reviewers: int
    effective_reviewers: float

    @property
    def rests_on_few(self) -> bool:
        """Whether so few people reviewed that the interval cannot say how much they differ."""
        return 0 < self.effective_reviewers < LEAST_REVIEWERS


def estimate_rates(draws: Draws, population: Population, *, level: float = 0.95) -> Rates:
    """Estimate the share of traces that fail, by people alone and with the judge's verdicts.

    It is the share of covered traces. Raises BadShape, DataError for probabilities outside (0, 1]
    and values outside 0 to 1.
    """
    _check(draws, population)
    done = ~np.isnan(draws.value)
    kind = np.unique(draws.stratum * 2**16 + draws.priority, return_inverse=True)[1]
    waiting = np.bincount(kind)
    here = np.bincount(kind[done], minlength=len(waiting))
    count = _covered_count(draws, here[kind] > 0, population)
    covered = float(count.sum() / max(population.size, 1))
    reviewed = draws.reviewed
    weight = (waiting / np.maximum(here, 1))[kind[done]] / reviewed.inclusion
    work = _work_of_reviewers(reviewed.votes, weight)
    effective = round(effective_clusters(work), 9)  # 3 reviewers of all traces are 3, not 2.99...
    alone = replace(reviewed, votes=NO_VOTES)
    if effective < LEAST_REVIEWERS:
        reviewed = alone
    strata = len(population.blind)
    blind: FloatArray = np.bincount(population.blind, count.sum(axis=1), minlength=strata).astype(
        np.float64
    )
    own = population.blind[reviewed.stratum]
    cell = 3 * reviewed.stratum + reviewed.verdict + 1
    scored = count.copy()
    scored[:, 0] = 0
    judged = reviewed.verdict != NO_JUDGE

    people = _claim("failure_people", reviewed, weight, own, blind, period=1, level=level)
    both = _claim("failure_both", reviewed, weight, cell, count.ravel(), period=3, level=level)
    agreement = _claim(
        "judge_agrees",
        reviewed.agreeing,
        weight[judged],
        cell[judged],
        scored.ravel(),
        period=3,
        level=level,
    )
    share = float(scored.sum() / max(count.sum(), 1))
    if uses_judge(both, share):
        cells, period, size = cell, 3, count.ravel()
    else:
        cells, period, size = own, 1, blind
    these = _claim("failure_these", alone, weight, cells, size, period=period, level=level)
    return Rates(
        _if_covered(people, covered),
        _if_covered(both, covered),
        _if_covered(agreement, covered),
        _if_covered(these, covered),
        covered=covered,
        judged=share,
        reviewers=len(work),
        effective_reviewers=effective,
    )


def uses_judge(both: Claim, judged: float) -> bool:
    """Whether the judge scored enough traces to correct by: a share, and an interval with it."""
    return judged > 0.5 and both.has_interval


def _check(draws: Draws, population: Population) -> None:
    names = ("value", "inclusion", "stratum", "verdict", "priority")
    sizes = {len(getattr(draws, name)) for name in names}
    if len(sizes) != 1 or population.count.shape != (len(population.blind), 3):
        raise BadShape("drawn traces must have one length, and counts a row a stratum")
    if not ((draws.inclusion > 0) & (draws.inclusion <= 1)).all():
        raise DataError("the probability of a draw must be above 0 and at most 1")
    if ((draws.value < 0) | (draws.value > 1)).any():
        raise DataError("a trace fails with a value from 0 to 1")


def _covered_count(draws: Draws, known: BoolArray, population: Population) -> FloatArray:
    """Traces of each stratum and verdict (s, 3) that are of a kind with reviews.

    ``known`` (n,): whether draws of its stratum and priority have a review. The share of these
    among all traces of a cell is estimated from all draws of the cell, else of its stratum.
    """
    cell = 3 * draws.stratum + draws.verdict + 1
    cells = population.count.size
    mass = np.bincount(cell, 1 / draws.inclusion, minlength=cells).reshape(-1, 3)
    seen = np.bincount(cell, known / draws.inclusion, minlength=cells).reshape(-1, 3)
    rows = mass.sum(axis=1, keepdims=True)
    share = np.where(
        mass > 0,
        seen / np.where(mass > 0, mass, 1),
        seen.sum(axis=1, keepdims=True) / np.where(rows > 0, rows, 1),
    )
    return np.asarray(population.count * share, dtype=np.float64)


def _work_of_reviewers(votes: Votes, weight: FloatArray) -> FloatArray:
    """Sum of weights (n,) of the traces that each reviewer (g,) reviewed, shared among theirs."""
    _, place = np.unique(votes.reviewer, return_inverse=True)
    each = weight / np.maximum(np.bincount(votes.trace, minlength=len(weight)), 1)
    return np.bincount(place, weights=each[votes.trace]).astype(np.float64)


def _if_covered(claim: Claim, covered: float) -> Claim:
    """Return the claim, without its interval where too many traces are of unreviewed kinds."""
    if not claim.has_interval or covered >= LEAST_COVERED:
        return claim
    return replace(claim, low=float("nan"), high=float("nan"), reason="uncovered")


def _claim(
    compared: str,
    rows: Draws,
    weight: FloatArray,
    cell: IntArray,
    count: FloatArray,
    *,
    period: int,
    level: float,
) -> Claim:
    """Claim of a post-stratified share: rows and weights (n,) in cells with counts (c,)."""
    value, n = rows.value, len(rows.value)
    nothing = float("nan")
    effective = effective_clusters(weight)
    group = _merge(cell, count, period)
    size = np.bincount(group, weights=count, minlength=len(count))
    place = group[cell]
    used = np.unique(place)
    total = float(size[used].sum())
    if not total:
        return Claim(compared, nothing, nothing, nothing, level, n, 0.0, reason="no_reviews")
    share = size[used] / total
    means, lows, highs = np.empty((3, len(used)))
    part, centre = np.empty((2, n))
    for number, one in enumerate(used):
        inside = place == one
        own = weight[inside]
        means[number] = mean = float((own * value[inside]).sum() / own.sum())
        lows[number], highs[number] = wilson(mean, effective_size(value[inside], own), level)
        part[inside], centre[inside] = share[number] * own / own.sum(), mean
    estimate = float((share * means).sum())
    reason = "few_reviews" if n < LEAST else ""
    if not reason and effective < LEAST_EFFECTIVE:
        reason = "uneven_draws"
    if reason:
        return Claim(compared, estimate, nothing, nothing, level, n, effective, reason=reason)
    reach = _reviewers_reach(rows.votes, part, centre, level)
    down, up = _uneven(estimate, reach)
    below = max(float(np.sqrt(np.square(share * (means - lows)).sum())), down)
    above = max(float(np.sqrt(np.square(share * (highs - means)).sum())), up)
    low, high = max(0.0, estimate - below), min(1.0, estimate + above)
    return Claim(compared, estimate, low, high, level, n, effective)


def _reviewers_reach(votes: Votes, part: FloatArray, centre: FloatArray, level: float) -> float:
    """Half-width of the interval when reviews of one reviewer are alike; 0 without votes.

    ``part`` (n,) of each trace in the estimate, ``centre`` (n,) the mean of its cell.
    """
    if not len(votes.trace):
        return 0.0
    each = part[votes.trace] / np.bincount(votes.trace, minlength=len(part))[votes.trace]
    influence = each * (votes.value - centre[votes.trace])
    return two_way_spread(influence, each, votes.trace, votes.reviewer).reach(level)


def _uneven(share: float, reach: float) -> tuple[float, float]:
    """How far an interval of a share reaches down and up: as it is or on logits, whichever is more.

    Few reviewers with many false alarms are seldom among those who reviewed: the error is skewed.
    """
    if not 0 < share < 1 or not 0 < reach < np.inf:
        return reach, reach
    ends = np.log(share / (1 - share)) + reach / (share * (1 - share)) * np.array([-1, 1])
    low, high = np.exp(-np.logaddexp(0, -ends))  # the logistic function, never too large
    return max(reach, share - float(low)), max(reach, float(high) - share)


def _merge(cell: IntArray, count: FloatArray, period: int) -> IntArray:
    """Group (c,) of each cell, so that each group with traces has ``CELL`` reviews or is alone.

    A cell with few reviews joins the smallest group of the same verdict, else the smallest of all.
    Cells of one verdict are ``period`` apart: 3 in cells of strata and verdicts, 1 in strata.
    """
    reviews = np.bincount(cell, minlength=len(count)).astype(float)
    group = np.arange(len(count))
    live = [int(one) for one in np.flatnonzero(count > 0)]
    while len(live) > 1:
        smallest = min(live, key=lambda one: (reviews[one], count[one]))
        if reviews[smallest] >= CELL:
            break
        others = [one for one in live if one != smallest]
        alike = [one for one in others if one % period == smallest % period] or others
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
