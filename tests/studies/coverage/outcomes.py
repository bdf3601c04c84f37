"""What one simulated page said, and what many of them come to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from evaluation.methods.core.base import FloatArray


@dataclass(frozen=True)
class Outcome:
    """Of one data set: the intervals that a page shows beside the truth.

    ``held`` of ``given`` intervals held the truth, ``wanted`` could have been given; ``width`` is
    their mean. ``false_sure``: something untrue is called sure; ``true_sure``: something true is.
    None where nothing of the kind is claimed.
    """

    held: int
    given: int
    wanted: int
    width: float
    false_sure: bool | None = None
    true_sure: bool | None = None
    extra: float | None = None  # a further figure that the case names

    @classmethod
    def of_bounds(
        cls,
        low: FloatArray | Sequence[float],
        high: FloatArray | Sequence[float],
        truth: FloatArray | Sequence[float] | float,
        **more: bool | float | None,
    ) -> Outcome:
        """From bounds (k,) that are NaN where there is none, and true values."""
        low, high = np.atleast_1d(np.asarray(low, float)), np.atleast_1d(np.asarray(high, float))
        true = np.broadcast_to(np.asarray(truth, float), low.shape)
        known = np.isfinite(low) & np.isfinite(high)
        held = (low <= true + 1e-12) & (true <= high + 1e-12) & known
        width = float((high - low)[known].mean()) if known.any() else float("nan")
        return cls(int(held.sum()), int(known.sum()), len(low), width, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    """Methods with a design: ``once`` draws a data set and says what came out of each method."""

    methods: tuple[str, ...]
    design: str
    once: Callable[[np.random.Generator], Sequence[Outcome]]
    simulations: int = 400
    extra: tuple[str, ...] = ()  # what ``Outcome.extra`` is, by method

    @classmethod
    def of(cls, method: str, design: str, once: Callable[[np.random.Generator], Outcome]) -> Case:
        """With one method."""
        return cls((method,), design, lambda rng: (once(rng),))


@dataclass(frozen=True)
class Cell:
    """One row of the table; rates are NaN where nothing of the kind was claimed."""

    method: str
    design: str
    simulations: int
    given: float
    covered: float
    error: float
    width: float
    false_sure: float
    power: float
    extra: float
    extra_name: str

    def as_json(self) -> dict[str, object]:
        """Plain values; None for NaN."""
        return {
            name: None if isinstance(value, float) and np.isnan(value) else value
            for name, value in asdict(self).items()
        }


def measure(case: Case, simulations: int | None = None, seed: int = 34) -> list[Cell]:
    """A cell a method, from the case's number of data sets (at most ``simulations``)."""
    most = case.simulations if simulations is None else min(simulations, case.simulations)
    found: list[Sequence[Outcome]] = []
    for number in range(most):
        name = [ord(letter) for letter in case.methods[0] + case.design]
        found.append(case.once(np.random.default_rng([seed, number, *name])))
    extra = case.extra or ("",) * len(case.methods)
    return [
        cell_of(method, case.design, outcomes, extra_name)
        for method, outcomes, extra_name in zip(
            case.methods, zip(*found, strict=True), extra, strict=True
        )
    ]


def cell_of(method: str, design: str, found: Sequence[Outcome], extra_name: str) -> Cell:
    """What the outcomes of many data sets come to."""
    given = np.array([one.given for one in found], dtype=float)
    held = np.array([one.held for one in found], dtype=float)
    total = given.sum()
    covered = float(held.sum() / total) if total else float("nan")
    # Intervals of one data set are not independent: the ratio's error is over data sets.
    off = held - covered * given
    error = float(np.sqrt((off**2).sum()) / total) if total else float("nan")

    def rate(values: list[bool | None]) -> float:
        told = [value for value in values if value is not None]
        return float(np.mean(told)) if told else float("nan")

    widths = [one.width for one in found if one.given]
    extras = [one.extra for one in found if one.extra is not None]
    return Cell(
        method,
        design,
        len(found),
        float(total / max(sum(one.wanted for one in found), 1)),
        covered,
        error,
        float(np.median(widths)) if widths else float("nan"),
        rate([one.false_sure for one in found]),
        rate([one.true_sure for one in found]),
        float(np.nanmean(extras)) if extras else float("nan"),
        extra_name,
    )
