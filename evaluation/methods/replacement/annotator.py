"""The alternative annotator test: may a model stand in for one of the people?

Calderon, Reichart and Dror, "The Alternative Annotator Test for LLM-as-a-Judge" (ACL 2025,
arXiv 2501.10970). Each person is left out in turn; on every item the person and the model are
compared with the remaining people. The model holds against a person where the share of items on
which the person is at least as good exceeds the model's by less than epsilon, which a one-sided
t-test must show (an exact one where all differences are equal); Benjamini and Yekutieli (2001)
correct over people. The winning rate is the share
of people against whom that is shown, and the model passes from one half on.

A verdict rests on an interval: :func:`claim_half` says how much worse the model is than half of the
people at most. Only where it lies above epsilon is a model shown to be worse, and below, good
enough. Where items come in topics, topics are the units.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    Claim,
    Spread,
    cluster_spread,
    t_quantile,
    too_few_clusters,
)
from evaluation.methods.core.units import LEAST, MEAN, effective_trials, wilson

VERSION = "1.2"
SCORES = ("accuracy", "rmse")
PEOPLE, ITEMS = 3, 30  # fewest people for a verdict, fewest items of a person
HALF = 0.5  # winning rate from which a model passes (section 3)
LEVEL = 0.05  # false discoveries among people
EPSILONS = np.round(np.arange(0.0, 0.3001, 0.01), 2)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Each person and the model beside the remaining people, item by item.

    ``person`` (n,) indexes ``people``, ``item`` (n,) any items; ``human`` and ``model`` (n,) are
    scores, higher is better. People with too few items are no rows here. ``topic`` (n,): of the
    item, where items come in topics.
    """

    person: IntArray
    item: IntArray
    human: FloatArray
    model: FloatArray
    people: tuple[str, ...]
    topic: IntArray | None = None

    @property
    def advantage(self) -> FloatArray:
        """(n,) 1 where the model is at least as good."""
        return (self.model >= self.human).astype(np.float64)

    @property
    def difference(self) -> FloatArray:
        """(n,) person at least as good, less model at least as good: -1, 0 (a tie) or 1."""
        return (self.human >= self.model).astype(np.float64) - self.advantage


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the test says at one epsilon; arrays are by person.

    ``worse`` (m,) is how much more often the person is at least as good, ``advantage`` (m,) the
    share of items on which the model is; ``p`` (m,) one-sided and uncorrected, ``corrected`` (m,)
    after Benjamini and Yekutieli; ``holds`` (m,) whether the model was shown to hold.
    """

    epsilon: float
    items: IntArray
    worse: FloatArray
    error: FloatArray
    advantage: FloatArray
    p: FloatArray
    corrected: FloatArray
    holds: FloatArray

    @property
    def winning_rate(self) -> float:
        """Return the share of people whom the model may replace."""
        return float(self.holds.mean())

    @property
    def advantage_probability(self) -> float:
        """Mean over people of the share of items on which the model is at least as good."""
        return float(self.advantage.mean())

    @property
    def passes(self) -> bool:
        """Whether the model wins against half of the people or more."""
        return self.winning_rate >= HALF


def compare_labels(
    person: IntArray,
    item: IntArray,
    value: FloatArray,
    model: FloatArray,
    *,
    people: tuple[str, ...],
    score: str = "accuracy",
    items_per_person: int = ITEMS,
) -> Comparisons:
    """Score labels of people and of a model against the remaining people's.

    ``person``, ``item``, ``value`` (n,): who gave which value to which item, once each; ``model``
    (items,): its values, NaN where it gave none. ``accuracy``: share of the remaining people with
    the same value; ``rmse``: minus the root mean squared difference. Items with one person or
    without the model are left out, then people with fewer than ``items_per_person`` items.
    Raises BadShape, DataError, BadParameter, EmptyData.
    """
    if not len(person) == len(item) == len(value):
        raise BadShape("person, item and value must have one length")
    if score not in SCORES:
        raise BadParameter(f"score is {score!r}; it must be one of {', '.join(SCORES)}")
    if len(item) and not 0 <= int(item.min()) <= int(item.max()) < len(model):
        raise BadShape("item must index model")
    if not np.isfinite(value).all():
        raise DataError("value holds something that is not a number")
    given = np.bincount(item, minlength=len(model))
    keep = (given[item] >= 2) & ~np.isnan(model[item])
    keep &= np.bincount(person[keep], minlength=len(people))[person] >= items_per_person
    # An item's people all count as its rest, also those who have too few items themselves.
    rows = np.flatnonzero(keep)
    if not len(rows):
        raise EmptyData(
            f"nobody has {items_per_person} items that another person and the model labelled"
        )
    human, other = _scores(item, value, model, rows, score)
    used, at = np.unique(person[rows], return_inverse=True)
    return Comparisons(
        at.astype(np.int64), item[rows], human, other, tuple(people[one] for one in used)
    )


def _scores(
    item: IntArray, value: FloatArray, model: FloatArray, rows: IntArray, score: str
) -> tuple[FloatArray, FloatArray]:
    """Of each row the person's and the model's score against the item's remaining people."""
    others = np.bincount(item, minlength=len(model))[item[rows]] - 1
    own, its = value[rows], model[item[rows]]
    if score == "accuracy":
        _, code = np.unique(np.concatenate([value, model]), return_inverse=True)
        labels = int(code.max()) + 1
        votes = np.bincount(item * labels + code[: len(value)], minlength=len(model) * labels)
        mine = votes[item[rows] * labels + code[: len(value)][rows]] - 1
        model_votes = votes[item[rows] * labels + code[len(value) :][item[rows]]] - (own == its)
        return mine / others, model_votes / others
    # Sum over the rest of (x - y)^2 from sums of y and y^2, about the item's mean: exact enough.
    size = len(model)
    mean = np.bincount(item, value, minlength=size) / np.bincount(item, minlength=size).clip(1)
    centred = value - mean[item]
    first = np.bincount(item, centred, minlength=size)
    second = np.bincount(item, centred**2, minlength=size)
    mine, at = centred[rows], item[rows]
    rest_first, rest_second = first[at] - mine, second[at] - mine**2

    def error(x: FloatArray) -> FloatArray:
        squares = rest_second - 2 * x * rest_first + others * x**2
        found: FloatArray = -np.round(np.sqrt(squares.clip(0) / others), 9)  # ties stay ties
        return found

    return error(mine), error(its - mean[at])


def compare_similarities(
    person: IntArray,
    item: IntArray,
    similarity: list[FloatArray],
    *,
    people: tuple[str, ...],
    items_per_person: int = ITEMS,
) -> Comparisons:
    """Compare each person and the model with the others by similarities of texts.

    ``similarity[i]`` (k + 1, k): of the k people's answers to item i, in the order of the rows of
    ``person`` and ``item``, and last of the model's answer, with the k people's. Raises BadShape,
    EmptyData.
    """
    order = np.argsort(item, kind="stable")
    human, model = np.full(len(item), np.nan), np.full(len(item), np.nan)
    ends = np.cumsum(np.bincount(item, minlength=len(similarity)))
    for at, found in enumerate(similarity):
        rows = order[ends[at - 1] if at else 0 : ends[at]]
        k = len(rows)
        if found.shape != (k + 1, k):
            raise BadShape(f"similarity {at} must be of {k + 1} x {k}")
        if k > 1:
            own = np.diagonal(found[:k])
            human[rows] = (found[:k].sum(axis=1) - own) / (k - 1)
            model[rows] = (found[k].sum() - found[k]) / (k - 1)
    keep = np.isfinite(human) & np.isfinite(model)
    keep &= np.bincount(person[keep], minlength=len(people))[person] >= items_per_person
    if not keep.any():
        raise EmptyData(
            f"nobody has {items_per_person} items that another person and the model answered"
        )
    used, index = np.unique(person[keep], return_inverse=True)
    return Comparisons(
        index.astype(np.int64),
        item[keep],
        human[keep],
        model[keep],
        tuple(people[one] for one in used),
    )


def judge(data: Comparisons, epsilon: float, *, level: float = LEVEL) -> Verdict:
    """The test at ``epsilon`` (how much worse the model may be). Raises BadParameter."""
    if not 0 <= epsilon < 1:
        raise BadParameter(f"epsilon is {epsilon:g}; it must be from 0 to below 1")
    items, mean, error, freedom = moments(data)
    p = p_values(freedom, mean, error, epsilon)
    corrected = correct(p)
    advantage = np.bincount(data.person, data.advantage) / items
    return Verdict(
        epsilon, items, mean, error, advantage, p, corrected, (corrected <= level).astype(float)
    )


def moments(data: Comparisons) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Items, mean difference, its standard error and degrees of freedom of each person.

    Between topics where there are any: no freedom (0) from fewer than an interval needs.
    """
    difference = data.difference
    items = np.bincount(data.person)
    mean = np.bincount(data.person, difference) / items
    left = difference - mean[data.person]
    if data.topic is None:
        squares = np.bincount(data.person, left**2)
        alone: FloatArray = np.sqrt(squares / (items - 1).clip(1) / items)
        return items.astype(np.int64), mean, alone, np.asarray(items - 1.0)
    error, freedom = np.zeros(len(items)), np.zeros(len(items))
    for at in range(len(items)):
        own = data.person == at
        spread = cluster_spread(left[own] / items[at], np.ones(items[at]), data.topic[own])
        error[at] = spread.se
        freedom[at] = 0.0 if spread.why_no_interval(LEAST[MEAN]) else spread.freedom
    return items.astype(np.int64), mean, error, freedom


def few_topics(data: Comparisons) -> str:
    """Why the topics of the items compared are too few for a test; "" where they do."""
    if data.topic is None:
        return ""
    size = np.unique(data.topic, return_counts=True)[1].astype(np.float64)
    effective = float(size.sum() ** 2 / np.square(size).sum())
    return too_few_clusters(len(size), effective, "topics", LEAST[MEAN])


def p_values(
    freedom: FloatArray, mean: FloatArray, error: FloatArray, epsilon: float
) -> FloatArray:
    """Return one-sided p-values (m,) of "the mean difference is below epsilon".

    By t where differences vary. Where all units show the same one, by the greatest chance of that:
    differences are 1 at most, so a mean of epsilon leaves (1 - epsilon) / (1 - mean) of the units
    as they are. 1 where there is no ``freedom``.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        by_t = scipy.special.stdtr(np.maximum(freedom, 1e-9), (mean - epsilon) / error)
        alike = np.minimum((1 - epsilon) / (1 - mean), 1.0) ** (freedom + 1)
    return np.where(freedom > 0, np.where(error > 0, by_t, alike), 1.0)


def claim_half(
    items: IntArray | FloatArray,
    worse: FloatArray,
    error: FloatArray,
    freedom: FloatArray,
    epsilon: float,
    *,
    family: int = 1,
    level: float = LEVEL,
) -> Claim:
    """Bound how much worse the model is than half of the people, with an interval.

    Arrays (m,) are by person, as of :func:`moments`. The model meets the definition of the test
    where for k = m / 2 people (rounded up) its difference is below epsilon: where the k-th smallest
    is. Of its bounds each misses with a chance of ``level`` / ``family`` at most, whatever depends
    on what: they are the k-th smallest of people's bounds, corrected as Benjamini and Heller (2008,
    Biometrics 64) do for "at least so many of m". ``family``: so many models are compared at once.
    Above epsilon the model is shown to be worse than allowed, below it is shown to be good enough.
    A bound is never nearer than one from ``items`` without any difference.
    """
    parts = (items, worse, error, freedom)
    return Claim(
        "worse than half of the people",
        float(np.sort(worse)[_half(len(worse)) - 1]),
        float(half_bound(*parts, level=level, family=family, lower=True)),
        float(half_bound(*parts, level=level, family=family)),
        level=1 - 2 * level,
        n=int(np.sum(items)),
        null=epsilon,
        compared_with=family,
        simultaneous_over=family,
        adjustment="bonferroni",
    )


def half_bound(
    items: IntArray | FloatArray,
    worse: FloatArray,
    error: FloatArray,
    freedom: FloatArray,
    *,
    level: float = LEVEL,
    family: int = 1,
    lower: bool = False,
) -> FloatArray:
    """The upper, or the lower, bound of :func:`claim_half`; arrays are (..., m)."""
    m = worse.shape[-1]
    k = _half(m)
    tail = level / family / (k if lower else m - k + 1)
    reach = reach_of(tail, items, error, freedom)
    found: FloatArray = np.sort(worse - reach if lower else worse + reach, axis=-1)[..., k - 1]
    return found


def _half(people: int) -> int:
    """Return half the number of people, rounded up."""
    return int(np.ceil(HALF * people))


def reach_of(
    tail: float, items: IntArray | FloatArray, error: FloatArray, freedom: FloatArray
) -> FloatArray:
    """Return how far from the means one-sided bounds (m,) lie that ``tail`` misses.

    Never nearer than from as many items, or units where none differ, without any difference.
    """
    each, at = np.unique(np.maximum(freedom, 1.0), return_inverse=True)
    quantile = np.asarray(t_quantile(1 - 2 * tail, each))[at.reshape(freedom.shape)]
    units = np.where(error > 0, items, freedom + 1)
    least = 1 - tail ** (1 / np.maximum(units, 1))
    return np.where(freedom > 0, np.maximum(quantile * error, least), np.inf)


def correct(p: FloatArray) -> FloatArray:
    """p-values (..., m) after Benjamini and Yekutieli (2001), along the last axis.

    Valid whatever depends on what.
    """
    m = p.shape[-1]
    order = np.argsort(p, axis=-1, kind="stable")
    harmonic = (1 / np.arange(1, m + 1)).sum()
    scaled = np.take_along_axis(p, order, -1) * m * harmonic / np.arange(1, m + 1)
    least = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1].clip(max=1)
    found = np.empty_like(least)
    np.put_along_axis(found, order, least, -1)
    return found


def advantage_interval(data: Comparisons, *, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of the advantage probability for these people.

    Topics are the units, or else items, as all comparisons of an item share its people: the mean
    over people of their shares is linearised (Taylor), and its variance taken between units;
    Wilson's interval on the effective number of comparisons. Coverage:
    tests/studies/replacement_coverage.
    """
    people = len(data.people)
    counts = np.bincount(data.person)
    share = np.bincount(data.person, data.advantage) / counts
    influence = (data.advantage - share[data.person]) / counts[data.person] / people
    if data.topic is None:
        _, at = np.unique(data.item, return_inverse=True)
        squares = float(np.square(np.bincount(at, influence)).sum())
        n = int(at.max()) + 1
        spread = Spread(squares * n / (n - 1), n - 1, n, n, "items")
    else:
        weight = 1 / counts[data.person]
        spread = cluster_spread(influence, weight, data.topic, noun="topics")
        if spread.why_no_interval(LEAST[MEAN]):
            return float("nan"), float("nan")
    trials = effective_trials(
        float(share.mean()),
        spread.variance,
        trials=float(counts.sum()),
        freedom=spread.freedom,
        confidence=level,
    )
    return wilson(float(share.mean()), trials, level)


def winning_rates(
    data: Comparisons, epsilons: FloatArray = EPSILONS, *, level: float = LEVEL
) -> FloatArray:
    """(len(epsilons),) winning rate at each epsilon: the curve of section 3.3."""
    _, mean, error, freedom = moments(data)
    return np.array(
        [(correct(p_values(freedom, mean, error, one)) <= level).mean() for one in epsilons]
    )
