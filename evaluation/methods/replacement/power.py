"""How often the alternative annotator test lets a model pass that is as good as the people.

A test that would rarely let such a model pass says little when one does not: then more items are
needed, and this says how many.
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
    p_values,
)

DRAWS = 400  # a chance near .8 is then known to about .02, its standard error
ENOUGH = 0.8  # chance from which a model that does not pass is said not to hold
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
    hooks: Hooks | None = None,
) -> FloatArray:
    """(len(sizes), len(epsilons)) chance that a model passes that is exactly as good as everybody.

    Differences of each person are shifted to a mean of 0, which keeps how they spread and how they
    depend on each other within an item; then as many items as ``sizes`` says are drawn with
    replacement, ``draws`` times. People keep their share of the items. The chance's standard error
    is sqrt(p (1 - p) / draws).
    """
    units, at = np.unique(data.item, return_inverse=True)
    people, difference = len(data.people), data.difference
    mean = np.bincount(data.person, difference) / np.bincount(data.person)
    given, centred = np.zeros((len(units), people)), np.zeros((len(units), people))
    given[at, data.person] = 1
    centred[at, data.person] = difference - mean[data.person]
    squares = centred**2
    found = np.zeros((len(sizes), len(epsilons)))
    for row, size in enumerate(sizes):
        drawn = rng.multinomial(size, np.full(len(units), 1 / len(units)), size=draws).astype(float)
        n = drawn @ given
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = drawn @ centred / n
            spread = (drawn @ squares - n * middle**2).clip(0) / (n - 1)
            error = np.sqrt(spread / n)
        for column, epsilon in enumerate(epsilons):
            p = np.where(n >= 2, p_values(n, middle, error, float(epsilon)), 1.0)
            holds = correct(p) <= level
            found[row, column] = (holds.mean(axis=1) >= HALF).mean()
        if hooks is not None:
            hooks.step("simulation", row + 1, len(sizes))
    return found


def items_needed(
    chance: FloatArray, sizes: Sequence[int], enough: float = ENOUGH
) -> list[int | None]:
    """For each column of ``chances``: the first of ``sizes`` from which it is enough, and stays."""
    found: list[int | None] = []
    for column in chance.T:
        below = np.flatnonzero(column < enough)
        first = int(below[-1]) + 1 if len(below) else 0
        found.append(sizes[first] if first < len(sizes) else None)
    return found
