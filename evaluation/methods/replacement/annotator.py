"""The alternative annotator test: may a model stand in for one of the people?

Calderon, Reichart and Dror, "The Alternative Annotator Test for LLM-as-a-Judge" (ACL 2025,
arXiv 2501.10970). Each person is left out in turn; on every item the person and the model are
compared with the remaining people. The model holds against a person where the share of items on
which the person is at least as good exceeds the model's by less than epsilon, which a one-sided
t-test must show; Benjamini and Yekutieli (2001) correct over people. The winning rate is the share
of people against whom that is shown, and the model passes from one half on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    EmptyData,
    FloatArray,
    IntArray,
)

VERSION = "1.0"
SCORES = ("accuracy", "rmse")
PEOPLE, ITEMS = 3, 30  # fewest people for a verdict, fewest items of a person
HALF = 0.5  # winning rate from which a model passes (section 3)
LEVEL = 0.05  # false discoveries among people
EPSILONS = np.round(np.arange(0.0, 0.3001, 0.01), 2)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Each person and the model beside the remaining people, item by item.

    ``person`` (n,) indexes ``people``, ``item`` (n,) any items; ``human`` and ``model`` (n,) are
    scores, higher is better. People with too few items are no rows here.
    """

    person: IntArray
    item: IntArray
    human: FloatArray
    model: FloatArray
    people: tuple[str, ...]

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
        return float(self.holds.mean())

    @property
    def advantage_probability(self) -> float:
        """Mean over people of the share of items on which the model is at least as good."""
        return float(self.advantage.mean())

    @property
    def passes(self) -> bool:
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
    Raises BadShape, BadParameter, EmptyData.
    """
    if not len(person) == len(item) == len(value):
        raise BadShape("person, item and value must have one length")
    if score not in SCORES:
        raise BadParameter(f"score is {score!r}; it must be one of {', '.join(SCORES)}")
    if len(item) and not 0 <= int(item.min()) <= int(item.max()) < len(model):
        raise BadShape("item must index model")
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
    """The same where agreement is a similarity of texts, such as the cosine of vectors.

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
    items, mean, error = moments(data)
    p = p_values(items, mean, error, epsilon)
    corrected = correct(p)
    advantage = np.bincount(data.person, data.advantage) / items
    return Verdict(
        epsilon, items, mean, error, advantage, p, corrected, (corrected <= level).astype(float)
    )


def moments(data: Comparisons) -> tuple[IntArray, FloatArray, FloatArray]:
    """Items, mean difference and its standard error of each person."""
    difference = data.difference
    items = np.bincount(data.person)
    mean = np.bincount(data.person, difference) / items
    squares = np.bincount(data.person, (difference - mean[data.person]) ** 2)
    return items, mean, np.sqrt(squares / (items - 1).clip(1) / items)


def p_values(
    items: IntArray | FloatArray, mean: FloatArray, error: FloatArray, epsilon: float
) -> FloatArray:
    """One-sided p of mean difference < epsilon; without any spread it is known for sure."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (mean - epsilon) / error
    sure = np.where(mean < epsilon, -np.inf, np.inf)
    p: FloatArray = scipy.special.stdtr(items - 1, np.where(error > 0, t, sure))
    return p


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
    """Where the advantage probability lies for these people on items of this kind.

    Items are the units, as all comparisons of an item share its people: the mean over people of
    their shares is linearised (Taylor), and its variance taken between items; t interval with the
    number of items less one as degrees of freedom. Coverage: tests/studies/replacement.
    """
    units, at = np.unique(data.item, return_inverse=True)
    people, n = len(data.people), len(units)
    counts = np.bincount(data.person)
    share = np.bincount(data.person, data.advantage) / counts
    influence = (data.advantage - share[data.person]) / counts[data.person] / people
    by_unit = np.bincount(at, influence, minlength=n)
    half = float(
        scipy.special.stdtrit(n - 1, 0.5 + level / 2) * np.sqrt((by_unit**2).sum() * n / (n - 1))
    )
    middle = float(share.mean())
    return max(0.0, middle - half), min(1.0, middle + half)


def winning_rates(
    data: Comparisons, epsilons: FloatArray = EPSILONS, *, level: float = LEVEL
) -> FloatArray:
    """(len(epsilons),) winning rate at each epsilon: the curve of section 3.3."""
    items, mean, error = moments(data)
    return np.array(
        [(correct(p_values(items, mean, error, one)) <= level).mean() for one in epsilons]
    )
