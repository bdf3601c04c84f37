"""How often the alternative annotator test lets a model pass that is as good as the people.

A plan of how many items to label, and no part of a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation.methods.core.base import FloatArray, Hooks
from evaluation.methods.replacement.annotator import (
    EPSILONS,
    HALF,
    LEVEL,
    Comparisons,
    correct,
    half_bound,
    p_values,
)

DRAWS = 400  # a chance near .8 is then known to about .02, its standard error
ENOUGH = 0.8  # chance to pass for which items are planned
# Numbers of items that are tried, about a quarter apart.
SIZES = (30, 40, 50, 65, 80, 100, 125, 160, 200, 250, 315, 400, 500, 650, 800, 1000, 1500, 2000)


def chances(
    data: Comparisons,
    sizes: Sequence[int],
    epsilons: FloatArray = EPSILONS,
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
    level: float = LEVEL,
    family: int = 1,
    hooks: Hooks | None = None,
) -> FloatArray:
    """(len(sizes), len(epsilons)) chance that a model passes that is exactly as good as everybody.

    Differences of each person are shifted to a mean of 0, which keeps how they spread and how they
    depend on each other within an item; then as many items as ``sizes`` says are drawn with
    replacement, ``draws`` times, in whole topics where there are any. People keep their share of
    the items. ``family`` models are tested at once. The chance's standard error is
    sqrt(p (1 - p) / draws).
    """
    unit = data.item if data.topic is None else data.topic
    units, at = np.unique(unit, return_inverse=True)
    people, difference = len(data.people), data.difference
    mean = np.bincount(data.person, difference) / np.bincount(data.person)
    given, centred = np.zeros((len(units), people)), np.zeros((len(units), people))
    np.add.at(given, (at, data.person), 1)
    np.add.at(centred, (at, data.person), difference - mean[data.person])
    each = len(np.unique(data.item)) / len(units)  # items of a unit
    found = np.zeros((len(sizes), len(epsilons)))
    for row, size in enumerate(sizes):
        many = max(2, round(size / each))
        drawn = rng.multinomial(many, np.full(len(units), 1 / len(units)), size=draws).astype(float)
        n = drawn @ given
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = drawn @ centred / n
            effective = n**2 / (drawn @ given**2)
            squares = drawn @ centred**2 - 2 * middle * (drawn @ (centred * given))
            squares += middle**2 * (drawn @ given**2)
            error = np.sqrt(squares.clip(0) / n**2 * effective / (effective - 1))
        told = n >= 2
        freedom = np.where(told, effective - 1, 0.0).clip(0)
        middle, error = np.where(told, middle, 0.0), np.nan_to_num(error, posinf=0.0)
        high = half_bound(n, middle, error, freedom, level=level, family=family)
        for column, epsilon in enumerate(epsilons):
            holds = correct(p_values(freedom, middle, error, float(epsilon))) <= level
            found[row, column] = ((holds.mean(axis=1) >= HALF) & (high < epsilon)).mean()
        if hooks is not None:
            hooks.step("simulation", row + 1, len(sizes))
    return found


def items_needed(
    chance: FloatArray, sizes: Sequence[int], enough: float = ENOUGH
) -> list[int | None]:
    """Find for each column of ``chance`` the smallest size from which it stays high enough."""
    found: list[int | None] = []
    for column in chance.T:
        below = np.flatnonzero(column < enough)
        first = int(below[-1]) + 1 if len(below) else 0
        found.append(sizes[first] if first < len(sizes) else None)
    return found
