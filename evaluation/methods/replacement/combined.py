"""Prediction-powered estimates: few labels of people, a judge on all, one honest interval.

PPI++, Angelopoulos, Duchi and Zrnic (2023, arXiv 2311.01453): the judge's mean over all items,
corrected by its mean error on the items that people labelled, both weighted by a tuning parameter
lambda, which is estimated so that the interval is never much wider than that of the people alone.
Items that people label must be drawn at random, or with probabilities that are known (weights).
Where items come in topics, topics are the units (Bell and McCaffrey, core.inference). Strata of
which people labelled unequal parts are estimated one by one and weighed by their size: Fisch et al.
(2024), "Stratified prediction-powered inference" (arXiv 2406.04291).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    DataError,
    EmptyData,
    FloatArray,
    IntArray,
)
from evaluation.methods.core.inference import (
    Spread,
    cluster_spread,
    effective_clusters,
    normal_quantile,
    t_quantile,
    too_few_clusters,
)
from evaluation.methods.core.units import LEAST, MEAN

VERSION = "1.2"
LABELS = 30  # fewest labels of people: below it coverage falls short (tests/studies)
RARER = 8  # fewest labels other than the most frequent value, for the same reason
SHIFTED = 0.01  # p from which labelled items are told apart from the others
SKEWED = 25  # times the squared skewness: so many labels a mean needs (Cochran 1977, 2.15)
NO_ERRORS = "the judge is never off where people labelled too, so its errors are not known"
STRATUM = 10  # fewest labels of people in a stratum


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and interval; ``n`` is what it rests on.

    ``freedom``: degrees of freedom of the error; NaN where there are none to speak of.
    """

    value: float
    error: float
    low: float
    high: float
    n: int
    freedom: float = float("nan")


@dataclass(frozen=True)
class Combined:
    """The same quantity three ways.

    ``judge`` says nothing of the judge's errors: its interval does not hold. ``tuning`` is lambda,
    0: the judge does not help. ``worth``: so many labels of people alone would be as exact.
    """

    people: Estimate
    judge: Estimate
    both: Estimate
    tuning: float
    worth: float

    @property
    def saved(self) -> float:
        """Share of the labels that people alone would have needed, and that were not needed."""
        return max(0.0, 1 - self.people.n / self.worth)


class NoEstimate(ValueError):
    """Why no combined estimate is given, in words that follow "because"."""


Topics = tuple[IntArray, IntArray]  # of the labelled items (n,), and of the others (N,)


def check_judge(
    human: FloatArray,
    judge: FloatArray,
    rest: FloatArray,
    *,
    topics: Topics | None = None,
    doubt: tuple[FloatArray, FloatArray] | None = None,
    alike: bool = True,
) -> None:
    """Raise NoEstimate where a combined interval would promise what it does not keep.

    ``human``, ``judge`` (n,): on the labelled items; ``rest`` (N,): the judge on all others.
    ``doubt``: of both, how far other judges disagree with it, NaN where there are none. ``alike``:
    labelled items should look like the others to the judge. Raises DataError.
    """
    _check_numbers(human=human, judge=judge, rest=rest)
    if len(human) < LABELS:
        raise NoEstimate(
            f"it needs {LABELS} items that people labelled, and there are {len(human)}"
        )
    values = np.concatenate([judge, rest])
    check_values(human, values)
    if np.ptp(values) == 0:
        raise NoEstimate("the judge gives every item the same value")
    if np.ptp(judge) == 0:
        raise NoEstimate("the judge gives the same value to every item that people labelled")
    if np.ptp(judge - human) == 0:
        raise NoEstimate(NO_ERRORS)
    if topics is not None:
        sizes = np.unique(topics[0], return_counts=True)[1]
        few = too_few_clusters(len(sizes), effective_clusters(sizes), "topics", LEAST[MEAN])
        if few:
            raise NoEstimate(f"the items that people labelled are of {few}")
    if alike and _differ(judge, rest, topics):
        raise NoEstimate(
            "the labelled items are not like the others: the judge's mean is "
            f"{judge.mean():.2f} on them and {rest.mean():.2f} on the others"
        )
    if doubt is not None:
        check_doubt(*doubt, topics=topics)


def check_values(human: FloatArray, judge: FloatArray) -> None:
    """Raise NoEstimate where people's values are too much alike, or too skewed, for a mean.

    ``human`` (n,) on labelled items; ``judge`` on all, which shows tails that few labels miss.
    """
    given, times = np.unique(human, return_counts=True)
    if len(given) == 1:
        raise NoEstimate("people gave every item that they labelled the same value")
    others = int(times.sum() - times.max())
    if others < RARER:
        few = "the rarer of two values" if len(given) == 2 else "other values than the usual one"
        raise NoEstimate(f"people gave {few} {others} times, and {RARER} are needed")
    if len(given) == 2:
        return
    skewness = max(_skewness(human), _skewness(judge))
    if len(human) < SKEWED * skewness**2:
        raise NoEstimate(
            f"a few values are far from the others (skewness {skewness:.1f}), so "
            f"{SKEWED * skewness**2:.0f} labelled items are needed, and there are {len(human)}"
        )


def _skewness(values: FloatArray) -> float:
    """Size of the skewness; 0 of one or two values, whose rarer one is counted instead."""
    if len(np.unique(values)) <= 2:
        return 0.0
    left = values - values.mean()
    return abs(float((left**3).mean())) / float((left**2).mean()) ** 1.5


def check_doubt(own: FloatArray, others: FloatArray, *, topics: Topics | None = None) -> None:
    """Raise NoEstimate where other judges agree with the judge more, or less, on labelled items.

    ``own`` (n,), ``others`` (N,): how far judges disagree on an item, NaN where one judged alone.
    Errors of the judge on labelled items then say little of its errors on the others.
    """
    here, there = ~np.isnan(own), ~np.isnan(others)
    if here.sum() < LABELS or there.sum() < LABELS:
        return
    if topics is not None:
        topics = topics[0][here], topics[1][there]
    own, others = own[here], others[there]
    if _differ(own, others, topics):
        harder = "easier" if own.mean() < others.mean() else "harder"
        raise NoEstimate(
            f"the labelled items are {harder} than the others: models disagree by {own.mean():.2f} "
            f"on them and by {others.mean():.2f} on the others"
        )


def _differ(own: FloatArray, others: FloatArray, topics: Topics | None) -> bool:
    """Whether two means differ at SHIFTED (Welch's test), between topics where there are any."""
    if topics is None:
        variance = own.var(ddof=1) / len(own) + others.var(ddof=1) / len(others)
        quantile = normal_quantile(1 - SHIFTED)
    else:
        spread = two_part_spread(own - own.mean(), -(others - others.mean()), topics)
        variance, quantile = spread.variance, float(t_quantile(1 - SHIFTED, spread.freedom))
    return bool(variance > 0 and abs(own.mean() - others.mean()) > quantile * np.sqrt(variance))


def two_part_spread(
    own: FloatArray, others: FloatArray, topics: Topics, weight: FloatArray | None = None
) -> Spread:
    """Spread of mean(own) + mean(others), both centred, between topics that may hold both.

    Each topic is left out in turn of both means (CR3); the labelled part has the fewer topics, and
    its shares say the degrees of freedom.
    """
    w = np.ones(len(own)) if weight is None else weight
    _, at = np.unique(np.concatenate(topics), return_inverse=True)
    size, n = int(at.max()) + 1, len(own)
    total = np.zeros(size)
    for values, mass, place in ((own, w, at[:n]), (others, np.ones(len(others)), at[n:])):
        share = np.bincount(place, mass, minlength=size) / mass.sum()
        left = np.bincount(place, values, minlength=size) / len(values)
        total += left / np.maximum(1 - share, 1e-9)
    labelled = cluster_spread(own / n, w, topics[0], noun="topics")
    return Spread(
        float(np.square(total).sum()),
        labelled.freedom,
        labelled.clusters,
        labelled.effective,
        "topics",
    )


def combine_means(
    human: FloatArray,
    judge: FloatArray,
    rest: FloatArray,
    *,
    weights: FloatArray | None = None,
    topics: Topics | None = None,
    tuning: float | None = None,
    level: float = 0.95,
    exact: bool = True,
) -> Combined:
    """Estimate people's mean over all items from their labels and a judge's.

    ``human``, ``judge`` (n,): on the labelled items; ``rest`` (N,): the judge on all others;
    ``weights`` (n,): one over the probability that an item was chosen for people (any scale).
    ``topics``: of both, the units where items come in topics. ``tuning``: lambda, estimated where
    None. ``exact``: n - 1 in variances and t quantiles, which cover at 30 labels, and weighted
    variances about the weighted mean; without it as published (and as in the package ppi-python).
    Raises BadShape, DataError, EmptyData, BadParameter.
    """
    n, size = len(human), len(rest)
    if len(judge) != n or (weights is not None and len(weights) != n):
        raise BadShape("human, judge and weights must have one length")
    if n < 2 or size < 2:
        raise EmptyData("two items with labels of people and two without are the least")
    if tuning is not None and not 0 <= tuning <= 1:
        raise BadParameter(f"tuning is {tuning:g}; it must be from 0 to 1")
    if topics is not None and (len(topics[0]) != n or len(topics[1]) != size or not exact):
        raise BadShape("topics must be of the labelled items and of the others; exact only")
    w = np.ones(n) if weights is None else weights / weights.sum() * n
    _check_numbers(human=human, judge=judge, rest=rest, weights=w)
    fitted = 0
    if tuning is None and topics is not None:
        fitted, tuning = 1, _tune_by_topic(human, judge, rest, topics, w)
    elif tuning is None:
        one = float(rest.mean() + (w * (human - judge)).mean())
        tuning = tune(
            (w * (human - one))[:, None],
            (w * (judge - one))[:, None],
            (rest - one)[:, None],
            np.eye(1),
        )
    ddof = 1 if exact else 0
    if not 0 < level < 1:
        raise BadParameter(f"level is {level:g}; it must lie between 0 and 1")

    def estimate(values: FloatArray, others: FloatArray, fitted: int = 0) -> Estimate:
        """Weighted mean of ``values`` (n,) plus the mean of ``others`` (N,)."""
        middle = float((w * values).mean())
        centred = w * (values - middle) if exact else w * values
        far = float(others.std(ddof=ddof) / np.sqrt(size))
        if topics is not None:
            spread = two_part_spread(centred, others - others.mean(), topics, w)
            spread = replace(spread, freedom=max(spread.freedom - fitted, 1.0))
        elif exact and weights is not None:
            spread = cluster_spread(centred / n, w, np.arange(n), noun="items")
            spread = Spread(spread.variance + far**2, spread.freedom, n, spread.effective, "items")
        else:
            near = float(centred.std(ddof=ddof) / np.sqrt(n))
            spread = Spread(near**2 + far**2, n - 1, n, n, "items")
        half = spread.reach(level) if exact else normal_quantile(level) * spread.se
        value = float(others.mean()) + middle
        return Estimate(value, spread.se, value - half, value + half, n, spread.freedom)

    people = estimate(human, np.zeros(size))
    both = estimate(human - tuning * judge, tuning * rest, fitted)
    everywhere = np.concatenate([judge, rest])
    naive = _everywhere(everywhere, topics, ddof)
    half = naive.reach(level) if exact else normal_quantile(level) * naive.se
    middle = float(everywhere.mean())
    return Combined(
        people=people,
        judge=Estimate(middle, naive.se, middle - half, middle + half, n + size, naive.freedom),
        both=both,
        tuning=tuning,
        worth=float(n * (people.error / both.error) ** 2) if both.error > 0 else float(n),
    )


def _tune_by_topic(
    human: FloatArray, judge: FloatArray, rest: FloatArray, topics: Topics, weight: FloatArray
) -> float:
    """Lambda that makes the variance between topics least, kept within 0 and 1.

    That of items may make the interval wider than people's alone where the judge errs by topic.
    """
    _, at = np.unique(np.concatenate(topics), return_inverse=True)
    size, n = int(at.max()) + 1, len(human)
    ours, theirs = (
        np.bincount(at[:n], weight * (one - (weight * one).mean()), minlength=size) / n
        for one in (human, judge)
    )
    shift = theirs - np.bincount(at[n:], rest - rest.mean(), minlength=size) / len(rest)
    total = float(np.square(shift).sum())
    return float(np.clip((ours * shift).sum() / total, 0, 1)) if total > 0 else 0.0


def _everywhere(values: FloatArray, topics: Topics | None, ddof: int) -> Spread:
    """Variance of the judge's mean over all items, labelled or not; values (n + N,)."""
    n = len(values)
    if topics is None:
        return Spread(float(values.var(ddof=ddof)) / n, n - 1, n, n, "items")
    left = (values - values.mean()) / n
    return cluster_spread(left, np.ones(n), np.concatenate(topics), noun="topics")


def are_alike(own: IntArray, others: IntArray) -> bool:
    """Whether labelled items (n,) and the others (N,) are of the same strata in equal parts.

    Then strata need no estimates of their own. A chi-square test at SHIFTED.
    """
    names, at = np.unique(np.concatenate([own, others]), return_inverse=True)
    if len(names) < 2:
        return True
    labelled = np.bincount(at[: len(own)], minlength=len(names)).astype(np.float64)
    whole = np.bincount(at, minlength=len(names)).astype(np.float64)
    expected = whole * len(own) / len(at)
    variance = expected * (1 - len(own) / len(at))
    statistic = float(((labelled - expected) ** 2 / variance).sum())
    return bool(scipy.special.chdtrc(len(names) - 1, statistic) > SHIFTED)


def combine_strata(
    human: FloatArray,
    judge: FloatArray,
    rest: FloatArray,
    strata: Topics,
    *,
    topics: Topics | None = None,
    level: float = 0.95,
) -> Combined:
    """Estimate as ``combine_means`` in each stratum, and average by the strata's numbers of items.

    So that unequal parts of them may be labelled; lambda is each stratum's own. Topics lie within
    strata. Raises BadShape, NoEstimate where people labelled fewer than STRATUM items of one.
    """
    if len(strata[0]) != len(human) or len(strata[1]) != len(rest):
        raise BadShape("strata must be of the labelled items and of the others")
    parts: list[tuple[float, Combined]] = []
    for one in np.unique(np.concatenate(strata)):
        here, there = strata[0] == one, strata[1] == one
        n, size = int(here.sum()), int(there.sum())
        if n < STRATUM:
            raise NoEstimate(
                f"people labelled {n} items of a kind of which there are {n + size}, and {STRATUM} "
                "are needed"
            )
        of = None if topics is None else (topics[0][here], topics[1][there])
        if size < 2:  # people labelled all of it: what the judge says there is not asked
            rest_there, fixed = judge[here], 0.0
            of = None if of is None else (of[0], of[0])
        else:
            rest_there, fixed = rest[there], None
        found = combine_means(human[here], judge[here], rest_there, topics=of, tuning=fixed)
        parts.append(((n + size) / (len(human) + len(rest)), found))
    people, alone, both = (
        _weighed([(share, getattr(found, name)) for share, found in parts], level)
        for name in ("people", "judge", "both")
    )
    return Combined(
        people=people,
        judge=alone,
        both=both,
        tuning=float(sum(share * found.tuning for share, found in parts)),
        worth=float(len(human) * (people.error / both.error) ** 2) if both.error else people.n,
    )


def can_part(own: FloatArray, others: FloatArray) -> bool:
    """Whether items on which judges agree, and those on which they do not, can be two strata.

    ``own`` (n,), ``others`` (N,) as of check_doubt: 0 where all agree. Labelled items that are
    easier than the others then do less harm, and intervals are up to a third narrower.
    """
    if np.isnan(own).any() or np.isnan(others).any():
        return False
    apart = int((own > 0).sum())
    return min(apart, len(own) - apart) >= STRATUM


def beside_people(people: Estimate, found: Combined) -> Combined:
    """Replace the estimate by people alone, and compute what the judge is worth anew."""
    worth = people.n * (people.error / found.both.error) ** 2 if found.both.error else people.n
    return replace(found, people=people, worth=float(worth))


def _weighed(parts: list[tuple[float, Estimate]], level: float) -> Estimate:
    """A weighted sum of independent estimates, with Satterthwaite's degrees of freedom."""
    value = sum(share * one.value for share, one in parts)
    variances = [(share * one.error) ** 2 for share, one in parts]
    below = sum(v**2 / one.freedom for v, (_, one) in zip(variances, parts, strict=True) if v)
    freedom = sum(variances) ** 2 / below if below > 0 else float(len(parts))
    error = float(np.sqrt(sum(variances)))
    half = float(t_quantile(level, freedom)) * error
    n = sum(one.n for _, one in parts)
    return Estimate(float(value), error, float(value - half), float(value + half), n, freedom)


def _check_numbers(**arrays: FloatArray) -> None:
    """Raise DataError, naming the array, where a value is not a finite number."""
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise DataError(f"{name} holds something that is not a number")


def tune(gradient: FloatArray, judged: FloatArray, rest: FloatArray, inverse: FloatArray) -> float:
    """Lambda that makes the total variance least (PPI++, proposition 2), kept within 0 and 1.

    Gradients of the loss by item: of people's labels (n, d), of the judge's on the same items
    (n, d) and on the others (N, d); ``inverse`` (d, d): of the Hessian.
    """
    n, size = len(gradient), len(rest)
    ours, theirs = gradient - gradient.mean(axis=0), judged - judged.mean(axis=0)
    covariance = (ours.T @ theirs + theirs.T @ ours) / n
    d = gradient.shape[1]
    variance = np.cov(np.concatenate([judged, rest]).T).reshape(d, d)
    below = 2 * (1 + n / size) * np.trace(inverse @ variance @ inverse)
    if below <= 0:
        return 0.0
    return float(np.clip(np.trace(inverse @ covariance @ inverse) / below, 0, 1))


@dataclass(frozen=True, eq=False)
class CombinedFit:
    """Coefficients (d,) three ways with standard errors (d,); ``covariance`` (d, d) of ``both``."""

    people: FloatArray
    people_error: FloatArray
    judge: FloatArray
    judge_error: FloatArray
    both: FloatArray
    covariance: FloatArray
    tuning: float

    @property
    def both_error(self) -> FloatArray:
        """Return the standard errors (d,) of the coefficients ``both``."""
        found: FloatArray = np.sqrt(np.diagonal(self.covariance))
        return found


def combine_logistic(
    design: FloatArray,
    human: FloatArray,
    judge: FloatArray,
    rest_design: FloatArray,
    rest: FloatArray,
    *,
    tuning: float | None = None,
) -> CombinedFit:
    """Logistic coefficients, such as Bradley-Terry merits, from people and a judge.

    ``design`` (n, d) and ``rest_design`` (N, d) without a column that the others add up to (for
    Bradley-Terry: 1 for the left system, -1 for the right, one system left out); ``human``,
    ``judge`` (n,) and ``rest`` (N,) are outcomes from 0 to 1, .5 for a tie. Raises BadShape,
    EmptyData where people's labels do not determine the coefficients.
    """
    n, size, d = len(human), len(rest), design.shape[1]
    if design.shape[0] != n or rest_design.shape != (size, d) or len(judge) != n:
        raise BadShape("designs and outcomes must have the same rows, designs the same columns")
    if np.linalg.matrix_rank(design) < d:
        raise EmptyData("the labels of people do not connect everything that is compared")
    parts = [(design, human, 1 / n)]
    alone = _minimize(parts, d)
    people_covariance = _sandwich(design, human, alone)
    whole, all_judged = np.concatenate([design, rest_design]), np.concatenate([judge, rest])
    judged = _minimize([(whole, all_judged, 1 / (n + size))], d)

    def fit(weight: float) -> FloatArray:
        return _minimize(
            [*parts, (rest_design, rest, weight / size), (design, judge, -weight / n)], d, alone
        )

    def gradients(theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        ours, others = scipy.special.expit(design @ theta), scipy.special.expit(rest_design @ theta)
        hessian = (design.T * (ours * (1 - ours))) @ design
        hessian += (rest_design.T * (others * (1 - others))) @ rest_design
        return (
            design * (ours - human)[:, None],
            design * (ours - judge)[:, None],
            rest_design * (others - rest)[:, None],
            np.linalg.inv(hessian / (n + size)),
        )

    if tuning is None:
        tuning = tune(*gradients(fit(1.0)))
    theta = fit(tuning)
    own, own_judged, others, inverse = gradients(theta)
    spread = np.cov((own - tuning * own_judged).T).reshape(d, d)
    spread += n / size * np.cov(tuning * others.T).reshape(d, d)
    return CombinedFit(
        people=alone,
        people_error=np.sqrt(np.diagonal(people_covariance)),
        judge=judged,
        judge_error=np.sqrt(np.diagonal(_sandwich(whole, all_judged, judged))),
        both=theta,
        covariance=inverse @ spread @ inverse / n,
        tuning=tuning,
    )


def _minimize(
    parts: list[tuple[FloatArray, FloatArray, float]], d: int, start: FloatArray | None = None
) -> FloatArray:
    """Newton's method with halved steps on a sum of weighted logistic losses."""
    theta = np.zeros(d) if start is None else start.copy()

    def loss(at: FloatArray) -> float:
        return sum(
            weight * float((np.logaddexp(0, x @ at) - y * (x @ at)).sum()) for x, y, weight in parts
        )

    value = loss(theta)
    for _ in range(100):
        gradient, hessian = np.zeros(d), np.zeros((d, d))
        for x, y, weight in parts:
            p = scipy.special.expit(x @ theta)
            gradient += weight * (x.T @ (p - y))
            hessian += weight * ((x.T * (p * (1 - p))) @ x)
        smallest = float(np.linalg.eigvalsh(hessian)[0])
        if smallest < 1e-8:  # a negative part outweighs the others here: keep the step downhill
            hessian += (1e-6 - smallest) * np.eye(d)
        step = np.linalg.solve(hessian, gradient)
        for _halving in range(40):
            following = loss(theta - step)
            if following <= value:
                break
            step /= 2
        theta, value = theta - step, following
        if np.abs(step).max() < 1e-12:
            return theta
    if not np.isfinite(theta).all() or np.abs(theta).max() > 30:
        raise EmptyData("somebody wins or loses every comparison, so no merit is finite")
    return theta


def _sandwich(design: FloatArray, outcome: FloatArray, theta: FloatArray) -> FloatArray:
    """Robust covariance (d, d) of a logistic fit."""
    n, d = design.shape
    p = scipy.special.expit(design @ theta)
    inverse = np.linalg.inv((design.T * (p * (1 - p))) @ design / n)
    found: FloatArray = (
        inverse @ np.cov((design * (p - outcome)[:, None]).T).reshape(d, d) @ inverse / n
    )
    return found
