"""How often intervals from 2 to 20 units hold the truth, through the functions that pages use.

``python -m tests.studies.small_samples [RUNS]`` simulates RUNS (1,000; about three minutes) data
sets a design and prints a line a kind of interval and number of units: covered (mean over designs),
least and largest of a design, and the share of data sets that got an interval. Where ``units``
gives none, the interval is forced, so that the line says what it would have covered; such lines
end with "-". The table stands in ``evaluation/methods/core/units.py``. A small version is
``tests/evaluation/methods/core/test_units.py``.

Units are workers or topics with several trials each (even and uneven numbers, differences between
units from none to marked), items with 2 or 5 raters and alphas from .13 to .83, and texts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from evaluation.methods.agreement import coefficients as agreement
from evaluation.methods.aqer_study.method import Drawn, compare_r
from evaluation.methods.checklists.agreement import kappa_of
from evaluation.methods.core import units
from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.units import ratio, share
from evaluation.methods.core.votes import Labels
from evaluation.methods.writing.draws import Draws
from evaluation.methods.writing.questionnaires import Forms, correlations

LEVEL, RESAMPLES = 0.95, 400
UNITS = (2, 3, 5, 6, 10, 15, 20)
NONE = (np.nan, np.nan)
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Design:
    """One way in which data come about: ``interval`` of a simulated data set, and the truth."""

    kind: str
    interval: Callable[[np.random.Generator, int], Bounds]
    truth: float


class Sampling(NamedTuple):
    """Trials a unit (on average, or all alike) and the share of variance between units."""

    each: int
    even: bool
    alike: float

    def sizes(self, rng: np.random.Generator, number: int) -> FloatArray:
        """Trials of each unit."""
        if self.even:
            return np.full(number, self.each)
        return np.maximum(1, rng.negative_binomial(2, 2 / (2 + self.each), number))


def shares() -> Iterator[Design]:
    """Shares of votes by worker; ``alike`` is the intraclass correlation."""
    for chance in (0.5, 0.7, 0.9, 0.95):
        for sampling in (
            Sampling(1, True, 0.0),
            Sampling(8, True, 0.1),
            Sampling(8, True, 0.3),
            Sampling(8, False, 0.1),
            Sampling(8, False, 0.3),
        ):

            def once(
                rng: np.random.Generator,
                number: int,
                chance: float = chance,
                sampling: Sampling = sampling,
            ) -> Bounds:
                n = sampling.sizes(rng, number)
                odds = (1 - sampling.alike) / max(sampling.alike, 1e-9)
                own = rng.beta(chance * odds, (1 - chance) * odds, number)
                hit = rng.binomial(n, own).astype(float)
                found = share(hit, n.astype(float), np.arange(number), LEVEL)
                return found.low, found.high

            yield Design(units.SHARE, once, chance)


def means(kind: str) -> Iterator[Design]:
    """Means by a clustered t interval, or by topics drawn anew."""
    for skewed in (False, True):
        for sampling in (
            Sampling(1, True, 0.0),
            Sampling(4, False, 0.1),
            Sampling(4, False, 0.4),
            Sampling(8, True, 0.1),
            Sampling(8, True, 0.4),
        ):

            def once(
                rng: np.random.Generator,
                number: int,
                sampling: Sampling = sampling,
                skewed: bool = skewed,
            ) -> Bounds:
                of = np.repeat(np.arange(number), sampling.sizes(rng, number))
                between = sampling.alike**0.5 * rng.normal(size=number)
                value = between[of] + (1 - sampling.alike) ** 0.5 * rng.normal(size=len(of))
                value = np.exp(0.5 * value) if skewed else value
                if kind == units.MEAN:
                    found = ratio(value, np.ones(len(value)), of, LEVEL)
                    return found.low, found.high
                draws = Draws(number, resamples=RESAMPLES, level=LEVEL, rng=rng)
                row = draws.mean(value, of)
                return NONE if row["low"] is None else (row["low"], row["high"])

            yield Design(kind, once, float(np.exp(0.125)) if skewed else 0.0)


def votes(rng: np.random.Generator, items: int, raters: int, know: float, labels: int) -> Labels:
    """Votes of raters who know an item's label with a chance of that item's own, else guess."""
    truth = rng.integers(0, labels, (items, 1))
    knows = rng.random((items, raters)) < rng.beta(4 * know, 4 - 4 * know, (items, 1))
    label = np.where(knows, truth, rng.integers(0, labels, (items, raters)))
    return Labels.build(
        np.tile(np.arange(raters), items),
        np.repeat(np.arange(items), raters),
        label.ravel(),
        workers=["w"] * raters,
        items=["i"] * items,
        labels=[str(k) for k in range(labels)],
    )


@cache
def _large(raters: int, know: float, labels: int) -> Labels:
    return votes(np.random.default_rng(1), 100_000, raters, know, labels)


def agreements() -> Iterator[Design]:
    """Alpha, Fleiss' kappa and percent agreement of items drawn."""
    for raters in (2, 5):
        for know in (0.3, 0.6, 0.9):
            for labels in (2, 3):
                design = (raters, know, labels)

                def alpha(
                    rng: np.random.Generator, items: int, design: tuple[int, float, int] = design
                ) -> Bounds:
                    try:
                        found = agreement.alpha_interval(
                            votes(rng, items, *design), "ordinal", rng=rng, resamples=RESAMPLES
                        )
                    except agreement.NoVariation:
                        return NONE
                    return found.low, found.high

                def percent(
                    rng: np.random.Generator, items: int, design: tuple[int, float, int] = design
                ) -> Bounds:
                    same = agreement.percent_interval(votes(rng, items, *design))
                    return same.low, same.high

                large = _large(*design)
                yield Design("alpha", alpha, agreement.krippendorff_alpha(large, "ordinal"))
                yield Design("percent", percent, agreement.percent_agreement(large))


def coefficients() -> Iterator[Design]:
    """Cohen's kappa with articles as units, and Spearman's rho with workers as units."""
    for alike in (0.05, 0.3):

        def cells(rng: np.random.Generator, articles: int, alike: float = alike) -> FloatArray:
            odds = (1 - alike) / alike
            right = rng.beta(0.8 * odds, 0.2 * odds, articles)
            yes = rng.random((articles, 12)) < 0.6
            same = rng.random((articles, 12)) < right[:, None]
            code = 2 * yes + (yes == same)
            return np.stack([(code == k).sum(axis=1) for k in range(4)], axis=1).astype(float)

        def kappa(rng: np.random.Generator, articles: int, cells=cells) -> Bounds:  # type: ignore[no-untyped-def]
            row = kappa_of(cells(rng, articles), rng=rng, resamples=RESAMPLES, level=LEVEL)
            return row["low"], row["high"]

        big = kappa_of(
            cells(np.random.default_rng(1), 100_000),
            rng=np.random.default_rng(1),
            resamples=1,
            level=LEVEL,
        )
        yield Design("kappa", kappa, big["kappa"])
    for rho in (0.0, 0.5, 0.8):

        def spearman(rng: np.random.Generator, workers: int, rho: float = rho) -> Bounds:
            forms = Forms(
                _points(rng, workers, rho),
                np.arange(workers),
                np.zeros(workers, dtype=int),
                ("a", "b"),
                ("",),
            )
            (row,) = correlations(forms, [(0, 1)], rng=rng, resamples=RESAMPLES)
            return NONE if row["low"] is None else (row["low"], row["high"])

        large = Forms(
            _points(np.random.default_rng(1), 100_000, rho),
            np.zeros(100_000, dtype=int),
            np.zeros(100_000, dtype=int),
            ("a", "b"),
            ("",),
        )
        (whole,) = correlations(large, [(0, 1)], rng=np.random.default_rng(1), resamples=0)
        yield Design("rho", spearman, whole["rho"])


def _points(rng: np.random.Generator, n: int, rho: float) -> FloatArray:
    """Two columns of points from 1 to 5 (n, 2)."""
    one, two = rng.normal(size=(2, n))
    both = np.stack([one, rho * one + (1 - rho * rho) ** 0.5 * two], axis=1)
    return np.clip(np.round(3.4 + 1.1 * both), 1, 5)


def correlated() -> Iterator[Design]:
    """Pearson's r of a rater and the others over texts (Fisher); and of two methods' scores with
    grades over questions, their difference."""
    for rho in (0.0, 0.5, 0.8):

        def pearson(rng: np.random.Generator, texts: int, rho: float = rho) -> Bounds:
            x, y = _points(rng, texts, rho).T
            if (
                units.too_few_units(texts, "texts", units.CORRELATION)
                or texts < 4
                or x.std() * y.std() == 0
            ):
                return NONE
            return units.fisher(float(np.corrcoef(x, y)[0, 1]), texts, LEVEL)

        x, y = _points(np.random.default_rng(1), 400_000, rho).T
        yield Design(units.CORRELATION, pearson, float(np.corrcoef(x, y)[0, 1]))
    for noise in (0.5, 1.0):

        def study(
            rng: np.random.Generator, questions: int, noise: float = noise
        ) -> tuple[Drawn, FloatArray, FloatArray]:
            systems, draws = 6, 5
            question = np.repeat(np.arange(questions), systems)
            grade = rng.normal(size=len(question)) + 0.5 * rng.normal(size=questions)[question]
            common = 0.5 * rng.normal(size=len(question))
            first, second = (
                grade
                + common
                + scale * rng.normal(size=len(question))
                + 0.2 * rng.normal(size=(draws, len(question)))
                for scale in (noise, 0.5)
            )
            frame = Drawn(
                np.tile(np.arange(systems), questions), question, grade, systems, questions
            )
            return frame, first, second

        def gap(rng: np.random.Generator, questions: int, study=study) -> Bounds:  # type: ignore[no-untyped-def]
            row = compare_r(*study(rng, questions), LEVEL)
            return row["low"], row["high"]

        large, *scores = study(np.random.default_rng(1), 20_000)
        r = [np.mean([np.corrcoef(one, large.grade)[0, 1] for one in own]) for own in scores]
        yield Design("difference of r", gap, float(r[0] - r[1]))


@cache
def designs() -> list[Design]:
    """Everything that is simulated."""
    return [
        *shares(),
        *means(units.MEAN),
        *means(units.RESAMPLED),
        *agreements(),
        *coefficients(),
        *correlated(),
    ]


@contextmanager
def forced(least: int) -> Iterator[None]:
    """Intervals from as few units as the formulas allow, whatever the rule says."""
    kept = dict(units.LEAST)
    units.LEAST.update(dict.fromkeys(kept, least))
    try:
        yield
    finally:
        units.LEAST.update(kept)


def cover(design: Design, number: int, runs: int, seed: int = 0) -> tuple[float, float]:
    """Share of intervals that hold the truth, and of data sets that have one."""
    rng = np.random.default_rng([seed, number])
    ends = np.array([design.interval(rng, number) for _ in range(runs)])
    given = np.isfinite(ends).all(axis=1)
    if not given.any():
        return float("nan"), 0.0
    held = (ends[given, 0] <= design.truth + 1e-9) & (design.truth - 1e-9 <= ends[given, 1])
    return float(held.mean()), float(given.mean())


def main(runs: int = 1000) -> None:
    """Print a line a kind and number of units."""
    found = designs()
    for kind in dict.fromkeys(one.kind for one in found):
        own = [one for one in found if one.kind == kind]
        for number in UNITS:
            told = [cover(one, number, max(runs // 20, 5)) for one in own[:1]]
            told_by_rule = told[0][1] > 0
            with forced(2):
                rows = [cover(one, number, runs) for one in own]
            covered = np.array([row[0] for row in rows])
            given = float(np.mean([row[1] for row in rows]))
            print(
                f"{kind:<16} {number:>3} {np.nanmean(covered):.3f} "
                f"[{np.nanmin(covered):.3f}, {np.nanmax(covered):.3f}] {given:.2f}"
                f"{'' if told_by_rule else ' -'}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
