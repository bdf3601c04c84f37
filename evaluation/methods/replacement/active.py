"""Which items people should see next, and an honest estimate from items chosen that way.

Active statistical inference, Zrnic and Candes (2024, arXiv 2403.03208): an item goes to people with
a probability that grows with the judge's uncertainty, mixed with an equal one, so that no weight is
much larger than the others'. The labels are weighted by one over that probability, which makes up
for the choice. Probabilities are exact (systematic sampling in random order), and so is the number
of items that are drawn. Labels from before count as they are. They also tell of the other items
where they may be taken for a random part of all, and what was drawn does not speak against it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import BadParameter, BadShape, EmptyData, FloatArray, IntArray
from evaluation.methods.core.inference import Spread, cluster_spread, mean_interval, t_quantile
from evaluation.methods.core.units import LEAST as LEAST_UNITS
from evaluation.methods.core.units import MEAN
from evaluation.methods.replacement.combined import (
    LABELS,
    NO_ERRORS,
    RARER,
    Combined,
    Estimate,
    NoEstimate,
    check_judge,
    check_values,
    combine_means,
)

VERSION = "1.1"
APART = 2.0  # standard errors from which earlier labels are not taken for a random part
MIX = 0.5  # share of the equal probability: no weight is above twice that of a random draw
PRIOR = 8.0  # labelled items that a group's own are mixed with
GROUPS = 4  # of how far other models agree
LEAST = 0.25  # doubt where all models agree, as they may err alike
BoolArray = NDArray[np.bool_]


def group_items(judge: FloatArray, others: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Items (n,) in groups of like uncertainty, and how uncertain each is before people answer.

    ``judge`` (n,) and ``others`` (k, n) are values, NaN where another model gave none. A group is
    what the judge said, and how many others say so; uncertainty is the share of others that do not.
    Values that are no classes (more than 20) are parted at their quintiles, and half a standard
    deviation is still the same then.
    """
    distinct = np.unique(judge)
    wide = len(distinct) > 20
    edges = np.unique(np.quantile(judge, [0.2, 0.4, 0.6, 0.8])) if wide else distinct
    said = np.searchsorted(edges, judge)
    there = ~np.isnan(others)
    near = there & (np.abs(others - judge) <= (judge.std() / 2 if wide else 1e-9))
    count = there.sum(axis=0)
    share = np.where(count > 0, near.sum(axis=0) / np.maximum(count, 1), 1.0)
    return _grouped(said, share)


def group_lists(judge: FloatArray, others: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Group checklists by the share of yes; ``judge`` (n, questions), ``others`` (k, n, questions).

    A list is what share of it is yes, parted at quintiles; others agree on the share of questions
    that they answer alike. NaN where another model gave no list.
    """
    yes = judge.mean(axis=1)
    said = np.searchsorted(np.unique(np.quantile(yes, [0.2, 0.4, 0.6, 0.8])), yes)
    there = ~np.isnan(others).any(axis=2)
    same = np.where(there, (others == judge).mean(axis=2), 0.0)
    count = there.sum(axis=0)
    return _grouped(said, np.where(count > 0, same.sum(axis=0) / np.maximum(count, 1), 1.0))


def _grouped(said: NDArray[Any], share: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    level = np.minimum((share * GROUPS).astype(np.int64), GROUPS - 1)
    group: NDArray[np.int64] = np.unique(said * GROUPS + level, return_inverse=True)[1]
    return group.astype(np.int64), 1 - share


def expected_errors(
    group: NDArray[np.int64], known: BoolArray, squares: FloatArray, doubt: FloatArray
) -> FloatArray:
    """Expected squared error of the judge on every item (n,), from the items that people labelled.

    ``squares`` (n,) are the judge's squared errors where ``known`` (n,), anything elsewhere;
    ``doubt`` (n,) from 0 to 1 as of group_items. A group's mean is mixed with a guess that grows
    with its doubt, as if PRIOR items more had been seen; without labelled items the guess stands.
    Never below a tenth of the mean, as nothing is surely right.
    """
    mean = max(float(squares[known].mean()), 1e-6) if known.any() else 1.0
    size = int(group.max()) + 1
    guess = np.bincount(group, LEAST + doubt, minlength=size) / np.bincount(group, minlength=size)
    guess *= mean / guess[group].mean()
    n = np.bincount(group[known], minlength=size)
    total = np.bincount(group[known], squares[known], minlength=size)
    own = (total + PRIOR * guess) / (n + PRIOR)
    found: FloatArray = np.maximum(own, mean / 10)[group]
    return found


def chances(errors: FloatArray, wanted: int, *, mix: float = MIX) -> FloatArray:
    """Probabilities (n,) that add up to ``wanted``: by the root of ``errors``, and equal by mix.

    Raises BadParameter where ``wanted`` is not from 1 to n, or ``mix`` not from 0 to 1.
    """
    n = len(errors)
    if not 1 <= wanted <= n:
        raise BadParameter(f"wanted is {wanted}; it must be from 1 to {n}")
    if not 0 <= mix <= 1:
        raise BadParameter(f"mix is {mix:g}; it must be from 0 to 1")
    root = np.sqrt(errors)
    shares = (1 - mix) * root / root.sum() + mix / n
    found, certain = np.zeros(n), np.zeros(n, dtype=bool)
    for _ in range(n):  # what is above 1 is certain, and the rest is shared out anew
        free = ~certain
        found[certain] = 1.0
        found[free] = (wanted - certain.sum()) * shares[free] / shares[free].sum()
        above = free & (found > 1 + 1e-12)
        if not above.any():
            break
        certain |= above
    return np.minimum(found, 1.0)


def draw(chance: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Draw items (n,), each with its probability, as many as these add up to.

    Systematic sampling in random order (Hartley and Rao 1962, Annals of Mathematical Statistics
    33).
    """
    order = rng.permutation(len(chance))
    ends = np.cumsum(chance[order])
    wanted = round(float(ends[-1]))
    ends *= wanted / ends[-1]
    at = np.minimum(np.searchsorted(ends, rng.random() + np.arange(wanted)), len(chance) - 1)
    chosen = np.zeros(len(chance), dtype=bool)
    chosen[order[at]] = True
    return chosen


def check_chosen(
    human: FloatArray,
    judge: FloatArray,
    chosen: BoolArray,
    known: BoolArray,
    topic: IntArray | None = None,
) -> None:
    """Raise NoEstimate where an interval would promise what it does not keep; as combine_chosen.

    At least LABELS items drawn, and among them RARER of the rarer of two values: what was known
    before tells nothing of the others. As many topics as an interval needs.
    """
    drawn = chosen & ~known
    if drawn.sum() < LABELS:
        raise NoEstimate(f"it needs {LABELS} items drawn for people, and there are {drawn.sum()}")
    given, times = np.unique(human[drawn], return_counts=True)
    if len(given) == 1:
        raise NoEstimate("people gave every item that was drawn for them the same value")
    if len(given) == 2 and times.min() < RARER:
        raise NoEstimate(
            f"people gave the rarer of two values to {times.min()} of the items drawn for them, "
            f"and {RARER} are needed"
        )
    if np.ptp(judge) == 0:
        raise NoEstimate("the judge gives every item the same value")
    if np.ptp((judge - human)[drawn]) == 0:
        raise NoEstimate(NO_ERRORS)
    check_values(human[drawn], judge)
    if topic is not None:
        spread = cluster_spread(np.zeros(len(judge)), np.ones(len(judge)), topic, noun="topics")
        if few := spread.why_no_interval(LEAST_UNITS[MEAN]):
            raise NoEstimate(f"the items are of {few}")


@dataclass(frozen=True)
class Stage:
    """An estimate from one round of labels: its variance from the choice of items, and freedom."""

    value: float
    variance: float
    freedom: float


def combine_chosen(
    human: FloatArray,
    judge: FloatArray,
    chance: FloatArray,
    chosen: BoolArray,
    known: BoolArray,
    *,
    trusted: bool = False,
    topic: IntArray | None = None,
    tuning: float | None = None,
) -> tuple[Combined, bool]:
    """Estimate people's mean over all items from items drawn with known probabilities.

    ``human`` (n,) is read where ``chosen`` or ``known`` (n,), labelled before; ``judge`` (n,)
    everywhere; ``chance`` (n,) is read where not known. A drawn item stands for a + lambda judge +
    (human - a - lambda judge) / chance; a is the weighted mean of human - lambda judge. Where
    ``trusted``, earlier labels give a second estimate (PPI++), whose error from the choice of items
    has no correlation with that of the first; both are weighted by their precision, unless they
    are APART standard errors from each other. To the variance comes that of items like these. The
    95 % interval is a t interval with Satterthwaite's freedom. Where items come in topics (n,) the
    variance is that between topics, and earlier labels only stand for themselves. Returns whether
    earlier labels were used so. Raises BadShape, EmptyData where fewer than two items are drawn,
    BadParameter.
    """
    n = len(human)
    if not len(judge) == len(chance) == len(chosen) == len(known) == n:
        raise BadShape("human, judge, chance, chosen and known must have one length")
    if (chosen & ~known).sum() < 2:
        raise EmptyData("two drawn items are the least")
    if tuning is not None and not 0 <= tuning <= 1:
        raise BadParameter(f"tuning is {tuning:g}; it must be from 0 to 1")
    frame, drawn = ~known, chosen & ~known
    weight = np.where(drawn, 1 / np.where(drawn, chance, 1.0), 0.0)
    spread = _spread(human, weight, known)
    used = trusted and topic is None and _alike(human, judge, known)
    given = int((known | drawn).sum())

    def both(fixed: float | None) -> tuple[Estimate, float, bool]:
        second, own, stands = _by_chance(human, judge, weight, frame, fixed)
        stages = [second]
        if topic is not None:
            left = (stands - stands.mean()) / n
            between = cluster_spread(left, np.ones(n), topic, noun="topics")
            return _by_topic(second, spread / n, between, given), own, False
        if used:
            first = _as_they_came(human, judge, known, fixed)
            off = abs(first.value - second.value)
            if off <= APART * np.sqrt(first.variance + second.variance):
                stages.append(first)
        return _pooled(stages, spread / n, given), own, len(stages) > 1

    people, _, _ = both(0.0)
    together, own, pooled = both(tuning)
    error = float(judge.std(ddof=1)) / np.sqrt(n)
    alike = spread if topic is None else given * people.error**2  # as exact as one item of people
    worth = alike / together.error**2 if together.error > 0 else float(n)
    middle, low, high = mean_interval(judge)
    alone = Estimate(middle, error, low, high, n)
    return Combined(people, alone, together, own, worth), pooled


def _alike(human: FloatArray, judge: FloatArray, known: BoolArray) -> bool:
    """Whether earlier labels are enough, and of items that look like the others to the judge."""
    try:
        check_judge(human[known], judge[known], judge[~known])
    except NoEstimate:
        return False
    return True


def _spread(human: FloatArray, weight: FloatArray, known: BoolArray) -> float:
    """Variance of what people say over all items, from the labels there are."""
    every = np.where(known, 1.0, weight)
    said = np.where(every > 0, human, 0.0)
    mean = float((every * said).sum() / every.sum())
    return float((every * (said - mean) ** 2).sum() / every.sum())


def _by_chance(
    human: FloatArray,
    judge: FloatArray,
    weight: FloatArray,
    frame: BoolArray,
    tuning: float | None,
) -> tuple[Stage, float, FloatArray]:
    """The estimate from drawn items, whose ``weight`` (n,) is not 0, its tuning, and its values."""
    n, drawn = len(human), weight > 0
    said = np.where(drawn, human, 0.0)
    y, f = (float((weight * one).sum() / weight.sum()) for one in (said, judge))
    alone = y + weight * (said - y)
    moved = np.where(frame, (judge - f) * (1 - weight), 0.0)
    if tuning is None:
        part, shift = alone[frame], moved[frame]
        total = float(shift.var())
        mixed = float(((part - part.mean()) * (shift - shift.mean())).mean())
        tuning = float(np.clip(-mixed / total, 0, 1)) if total > 0 else 0.0
    stands = np.where(frame, alone + tuning * moved, human)
    left = np.where(drawn, human - y - tuning * (judge - f), 0.0)
    effective = float(weight.sum() ** 2 / (weight**2).sum())
    grow = effective / max(effective - 2, 1)  # two numbers were fitted
    variance = grow * float((left**2 * weight * (weight - 1)).sum()) / n**2
    return Stage(float(stands.mean()), variance, max(effective - 1, 1)), tuning, stands


def _as_they_came(
    human: FloatArray, judge: FloatArray, known: BoolArray, tuning: float | None
) -> Stage:
    """The estimate from earlier labels, taken for a random part of all items."""
    n, given = len(human), int(known.sum())
    found = combine_means(human[known], judge[known], judge[~known], tuning=tuning)
    share = 1 - given / n
    left = human[known] - found.tuning / share * judge[known]
    return Stage(found.both.value, share * float(left.var(ddof=1)) / given, given - 1)


def _pooled(stages: Sequence[Stage], spread: float, given: int) -> Estimate:
    """Estimates weighted by their precision; ``spread``: the variance of the mean of all items."""
    precise = np.array([1 / max(one.variance, 1e-12) for one in stages])
    share = precise / precise.sum()
    value = float(sum(part * one.value for part, one in zip(share, stages, strict=True)))
    parts = [part**2 * one.variance for part, one in zip(share, stages, strict=True)]
    below = sum(part**2 / one.freedom for part, one in zip(parts, stages, strict=True))
    freedom = sum(parts) ** 2 / below if below > 0 else sum(one.freedom for one in stages)
    error = float(np.sqrt(sum(parts) + spread))
    half = float(t_quantile(0.95, max(freedom, 1.0))) * error
    return Estimate(value, error, value - half, value + half, given)


def _by_topic(stage: Stage, spread: float, between: Spread, given: int) -> Estimate:
    """The estimate with the variance between topics, or that of single items where it is larger."""
    error = max(between.se, float(np.sqrt(stage.variance + spread)))
    half = float(t_quantile(0.95, between.freedom)) * error
    return Estimate(stage.value, error, stage.value - half, stage.value + half, given)


def expected_half(
    human: FloatArray,
    judge: FloatArray,
    known: BoolArray,
    squares: Callable[[FloatArray], FloatArray],
    chance: FloatArray,
    *,
    trusted: bool = False,
    tunings: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
) -> float:
    """Half the width of the 95 % interval to expect of a draw with these probabilities.

    ``human`` (n,) is read where ``known`` (n,), ``chance`` (n,) elsewhere. Residuals are as
    large as ``squares`` expects them from squared residuals (n,) of labelled items; NaN with fewer
    than two of these. ``trusted``: as of combine_chosen.
    """
    n, given = len(human), int(known.sum())
    if given < 2 or known.all():
        return float("nan")
    y, f = human[known].mean(), judge[known].mean()
    spread = human[known].var(ddof=1)
    one = np.where(known, 1.0, chance)
    by_chance = np.inf
    for tuning in tunings:
        left = np.where(known, human - y - tuning * (judge - f), 0.0)
        by_chance = min(by_chance, float((squares(left**2) * (1 / one - 1)).sum()) / n**2)
    stages = [Stage(0.0, by_chance, max(float(one[~known].sum()), 2.0) - 1)]
    if trusted and _alike(human, judge, known):
        stages.append(_as_they_came(human, judge, known, None))
    told = _pooled(stages, spread / n, given)
    return (told.high - told.low) / 2
