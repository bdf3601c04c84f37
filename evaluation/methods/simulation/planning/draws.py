"""What one kind of study hands to the planner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.special import stdtrit

from evaluation.methods.core.base import BadParameter, FloatArray
from evaluation.methods.simulation.simulation import share, whole_number

# Numbers that all replicates, and one pass, may draw.
BUDGET, CHUNK = 10_000_000, 1_000_000


@dataclass(frozen=True, eq=False)
class Draws:
    """Replicates (r,) of a study: the estimated difference of the two systems and its interval.

    ``target`` (r,) is what the intervals should hold. ``means`` are further figures (r,), whose
    mean is reported; ``errors`` (r, k) are estimate - truth of k things of each replicate.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    target: FloatArray
    means: Mapping[str, FloatArray]
    errors: Mapping[str, FloatArray]

    @classmethod
    def join(cls, parts: Sequence[Draws]) -> Draws:
        """All replicates of several passes."""
        first = parts[0]
        return cls(
            np.concatenate([part.estimate for part in parts]),
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
            np.concatenate([part.target for part in parts]),
            {name: np.concatenate([p.means[name] for p in parts]) for name in first.means},
            {name: np.concatenate([p.errors[name] for p in parts]) for name in first.errors},
        )


class Study(Protocol):
    """A planned study; a frozen dataclass with these fields and its own."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def slug(self) -> str:
        """The model's name."""
        ...

    @property
    def workers(self) -> int: ...

    @property
    def items(self) -> int: ...

    @property
    def judgments(self) -> int:
        """How many judgments have to be paid."""
        ...

    @property
    def usual(self) -> int:
        """How many replicates to draw where nobody says."""
        ...

    @property
    def at_once(self) -> int:
        """How many replicates fit in one pass."""
        ...

    def check(self) -> None:
        """Raise BadParameter, naming it, on a value outside its range."""
        ...

    def draw(self, rng: np.random.Generator, replicates: int, level: float) -> Draws:
        """Simulate the study so many times."""
        ...


def check_size(workers: int, items: int, votes: int, least_votes: int) -> None:
    """Raise BadParameter on a study too small to give an interval, or too large to simulate."""
    whole_number("workers", workers, 2)
    whole_number("items", items, 2)
    whole_number("votes", votes, least_votes)
    if votes > workers:
        raise BadParameter(
            f"votes is {votes}, but there are only {workers} workers; nobody votes twice on an item"
        )
    if items * votes > BUDGET:
        raise BadParameter(f"items x votes is {items * votes}; {BUDGET} are the most")


def check_gap(gap: float) -> None:
    """Raise BadParameter unless 0 <= gap < 1."""
    share("gap", gap)
    if gap == 1:
        raise BadParameter("gap is 1; it must be below 1")


def mean_interval(values: FloatArray, level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean over items, and its t interval, of values (r, items)."""
    n = values.shape[1]
    centre = values.mean(axis=1)
    reach = -stdtrit(n - 1, (1 - level) / 2) * values.std(axis=1, ddof=1) / n**0.5
    return centre, centre - reach, centre + reach
