"""AQER's numerical simulations (App. F and K) and the bounds of Figure 1, measured again.

The paper gives these as figures and in words, so hardly any row has a published number; the
un-iterated score stands beside each curve, since iterating does not always help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluation.methods.aqer import diagnostics
from evaluation.methods.aqer.rounds import PUBLISHED, iterate, prepare
from evaluation.methods.core.base import FloatArray
from evaluation.methods.simulation import simulated_texts as simulated
from evaluation.methods.simulation.simulated_texts import Simulated
from evaluation.published.reproduce.rows import Row

REPETITIONS = 30  # as published
DECIMALS = {"Figure F1": 2}
TITLE = "AQER's numerical simulations (App. F and K) and its bounds (eq. 6 and 8)"
LEFT_OUT = (
    "The published curves are drawn, not tabled: they are compared with what the text says of "
    "them. F1's correlation is made in two ways, since the paper does not say how."
)
CORRELATIONS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1.0)
WORKERS = (90, 60, 30, 24, 18, 12, 9, 6, 3)
DEVIATIONS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
WRONG = (0, 2, 4, 6, 8, 10)
QUALITIES, CROWDS = (0.3, 0.5, 0.7, 0.9), (5, 20, 100)
DROPS_AT = 0.7  # "when the correlation reaches 0.70, the performance drops significantly"
FIGURE = "published as a figure only"
Say = Callable[[str], None]
Make = Callable[[np.random.Generator, float], Simulated]


@dataclass(frozen=True)
class Curve:
    """One figure: what is varied, over which values, and how it is named."""

    table: str
    quantity: str
    values: tuple[float, ...]
    make: Make
    protocol: str = "as published"
    note: Callable[[float], str] = lambda value: FIGURE


def _mixed_note(value: float) -> str:
    true = value**2 / (value**2 + (1 - value) ** 2)
    return f"{FIGURE}; Pearson correlation of the noise {true:.2f}"


def _noise(rng: np.random.Generator, lowest: float) -> Simulated:
    return simulated.noisy(rng, lowest - simulated.HIGH)


MIXED = "noise = c common + (1 - c) own"
F1 = "correlation {:.2f} of low-quality workers"
CURVES = (
    Curve(
        "Figure F1",
        F1,
        CORRELATIONS,
        lambda rng, value: simulated.correlated(rng, value, mixed=True),
        protocol=MIXED,
        note=_mixed_note,
    ),
    Curve(
        "Figure F1",
        F1,
        CORRELATIONS,
        simulated.correlated,
        protocol="noise = sqrt(c) common + sqrt(1 - c) own",
    ),
    Curve(
        "Figure F2",
        "{:.0f} workers",
        WORKERS,
        lambda rng, value: simulated.simulate_few_workers(rng, int(value)),
    ),
    Curve(
        "Figure F3",
        "deviation {:.1f} of high-quality workers",
        DEVIATIONS,
        _noise,
        note=lambda value: f"{FIGURE}; mean deviation of all workers {value + 0.5:.1f}",
    ),
    Curve("Figure F4", "{:.1f} of the workers biased", SHARES, simulated.biased),
    Curve(
        "App. K",
        "{:.0f} wrong answers of a good worker",
        WRONG,
        lambda rng, value: simulated.wrong_answers(rng, int(value)),
        note=lambda value: f"{FIGURE}; said to lose less than 1 %",
    ),
)


def reproduce(
    folder: Path, *, say: Say, seed: int = 0, repetitions: int = REPETITIONS
) -> list[Row]:
    """All rows; the same seed gives the same rows. ``folder`` is not read: nothing is needed."""
    rows: list[Row] = []
    for number, curve in enumerate(CURVES):
        say(f"{curve.table}, {curve.protocol}")
        rows += curve_rows(curve, [seed, number], repetitions)
    return [*rows, *bound_rows()]


def curve_rows(curve: Curve, seed: list[int], repetitions: int = REPETITIONS) -> list[Row]:
    """Compute the Pearson correlation of AQER's with true scores at each value of a curve.

    For F1 also the first value at which the iterated correlation is negative.
    """
    rows, flips = [], None
    for value in curve.values:
        found = np.array(
            [measure(curve.make, value, [*seed, repetition]) for repetition in range(repetitions)]
        )
        error = found.std(axis=0, ddof=1) / np.sqrt(repetitions)
        name = curve.quantity.format(value)
        for column, words in enumerate(("AQER", "no iteration")):
            note = f"{curve.note(value)}; standard error {error[column]:.3f}"
            mean = float(found[:, column].mean())
            rows.append(
                Row(curve.table, f"{name}, {words}, Pearson", curve.protocol, None, mean, note)
            )
        if flips is None and found[:, 0].mean() < 0:
            flips = value
    if curve.quantity == F1 and flips is not None:
        note = "published: where performance drops; steps of .05 here"
        where = "correlation at which the sign flips"
        is_variant = curve.protocol == MIXED  # its c is no Pearson correlation
        rows.append(
            Row(curve.table, where, curve.protocol, DROPS_AT, flips, note, is_variant=is_variant)
        )
    return rows


def measure(make: Make, value: float, seed: list[int]) -> tuple[float, float]:
    """Simulate once; return the Pearson correlation with true quality, iterated and not."""
    data = make(np.random.default_rng(seed), value)
    fit = iterate(prepare(data.texts())[0], PUBLISHED, np.random.default_rng(0))
    return _pearson(fit.grades, data.quality), _pearson(fit.uniterated, data.quality)


def bound_rows() -> Iterator[Row]:
    """Eq. 6 and 8 at delta .05 (Figure 1); a worst case above 1 is called vacuous."""
    for workers in CROWDS:
        for quality in QUALITIES:
            found = diagnostics.bound(quality, workers)
            name = f"{workers} workers of quality {quality:g}"
            said = f"{FIGURE}; vacuous" if found.vacuous else FIGURE
            for words, value, note in (
                ("expected error, eq. 6", found.expected, FIGURE),
                ("worst error, eq. 8", found.worst, said),
            ):
                yield Row("Figure 1", f"{name}, {words}", "delta .05", None, value, note)


def _pearson(x: FloatArray, y: FloatArray) -> float:
    return float(np.corrcoef(x, y)[0, 1])
