"""Prediction-powered estimates: few labels of people, a judge on all, one honest interval.

PPI++, Angelopoulos, Duchi and Zrnic (2023, arXiv 2311.01453): the judge's mean over all items,
corrected by its mean error on the items that people labelled, both weighted by a tuning parameter
lambda, which is estimated so that the interval is never much wider than that of the people alone.
Items that people label must be drawn at random, or with probabilities that are known (weights).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.methods.core.base import BadParameter, BadShape, EmptyData, FloatArray

VERSION = "1.0"
LABELS = 30  # fewest labels of people: below it coverage falls short (tests/studies)
RARER = 8  # fewest labels of the rarer of two values, for the same reason
SHIFTED = 0.01  # p from which labelled items are told apart from the others


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and interval; ``n`` is what it rests on."""

    value: float
    error: float
    low: float
    high: float
    n: int


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


def check_judge(human: FloatArray, judge: FloatArray, rest: FloatArray) -> None:
    """Raise NoEstimate where a combined interval would promise what it does not keep.

    ``human``, ``judge`` (n,): on the labelled items; ``rest`` (N,): the judge on all others.
    """
    if len(human) < LABELS:
        raise NoEstimate(
            f"it needs {LABELS} items that people labelled, and there are {len(human)}"
        )
    given, times = np.unique(human, return_counts=True)
    if len(given) == 1:
        raise NoEstimate("people gave every item that they labelled the same value")
    if len(given) == 2 and times.min() < RARER:
        raise NoEstimate(
            f"people gave the rarer of two values {times.min()} times, and {RARER} are needed"
        )
    values = np.concatenate([judge, rest])
    if np.ptp(values) == 0:
        raise NoEstimate("the judge gives every item the same value")
    if np.ptp(judge) == 0:
        raise NoEstimate("the judge gives the same value to every item that people labelled")
    # Welch's test: the labelled items look otherwise to the judge than those they stand for.
    spread = judge.var(ddof=1) / len(judge) + rest.var(ddof=1) / len(rest)
    if spread > 0:
        z = abs(judge.mean() - rest.mean()) / np.sqrt(spread)
        if z > scipy.special.ndtri(1 - SHIFTED / 2):
            raise NoEstimate(
                "the labelled items are not like the others: the judge's mean is "
                f"{judge.mean():.2f} on them and {rest.mean():.2f} on the others"
            )


def combine_means(
    human: FloatArray,
    judge: FloatArray,
    rest: FloatArray,
    *,
    weights: FloatArray | None = None,
    tuning: float | None = None,
    level: float = 0.95,
    exact: bool = True,
) -> Combined:
    """Mean of what people would say about all items (a share where values are 0 and 1).

    ``human``, ``judge`` (n,): on the labelled items; ``rest`` (N,): the judge on all others;
    ``weights`` (n,): one over the probability that an item was chosen for people (any scale).
    ``tuning``: lambda, estimated where None. ``exact``: n - 1 in variances and t quantiles, which
    cover at 30 labels; without it as published (and as in the package ppi-python).
    Raises BadShape, EmptyData, BadParameter.
    """
    n, size = len(human), len(rest)
    if len(judge) != n or (weights is not None and len(weights) != n):
        raise BadShape("human, judge and weights must have one length")
    if n < 2 or size < 2:
        raise EmptyData("two items with labels of people and two without are the least")
    if tuning is not None and not 0 <= tuning <= 1:
        raise BadParameter(f"tuning is {tuning:g}; it must be from 0 to 1")
    w = np.ones(n) if weights is None else weights / weights.sum() * n
    one = float(rest.mean() + (w * (human - judge)).mean()) if tuning is None else 0.0
    if tuning is None:
        tuning = tune(
            (w * (human - one))[:, None],
            (w * (judge - one))[:, None],
            (rest - one)[:, None],
            np.eye(1),
        )
    ddof = 1 if exact else 0
    quantile = _quantile(level, n, exact)

    def mean(values: FloatArray, centre: float, error: float, count: int) -> Estimate:
        return Estimate(centre, error, centre - quantile * error, centre + quantile * error, count)

    rectifier = w * (human - tuning * judge)
    value = float(tuning * rest.mean() + rectifier.mean())
    error = np.hypot(
        tuning * rest.std(ddof=ddof) / np.sqrt(size), rectifier.std(ddof=ddof) / np.sqrt(n)
    )
    alone = float((w * human).std(ddof=ddof) / np.sqrt(n))
    everywhere = np.concatenate([judge, rest])
    naive = float(everywhere.std(ddof=ddof) / np.sqrt(n + size))
    return Combined(
        people=mean(human, float((w * human).mean()), alone, n),
        judge=mean(everywhere, float(everywhere.mean()), naive, n + size),
        both=mean(human, value, float(error), n),
        tuning=tuning,
        worth=float(n * (alone / error) ** 2) if error > 0 else float(n),
    )


def _quantile(level: float, n: int, exact: bool) -> float:
    if not 0 < level < 1:
        raise BadParameter(f"level is {level:g}; it must lie between 0 and 1")
    return float(
        scipy.special.stdtrit(n - 1, 0.5 + level / 2)
        if exact
        else scipy.special.ndtri(0.5 + level / 2)
    )


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
