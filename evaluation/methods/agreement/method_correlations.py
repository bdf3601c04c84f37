"""Correlations of several methods' scores with one truth, and how each differs from a base.

Tables 3 and D1 of Geva et al. 2025: Pearson's r and Spearman's rho of each method with the experts,
and p-values of the differences by BCa bootstrap. What was sampled is drawn anew, workers or
questions, the same for all methods, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.agreement.significance import bca, blocks, correlations, fisher_z
from evaluation.methods.core.base import BadShape, FloatArray, IntArray, Table, of_rows
from evaluation.methods.core.inference import family_level
from evaluation.methods.core.units import RESAMPLED, too_few_units

MEASURES = ("pearson", "spearman")
CONSTANT = "one side is the same throughout"
COLUMNS = (
    "measure",
    "method",
    "r",
    "low",
    "high",
    "p_zero",
    "n",
    "reason",
    "difference",
    "difference_low",
    "difference_high",
    "p",
    "adjusted",
    "difference_reason",
    "family",
)
GAPS = COLUMNS[8:14]


@dataclass(frozen=True, eq=False)
class Plan:
    """Weights (1 + b + u, u) of the units: as they are, b resamples, each left out; of draws too.

    ``draws`` (1 + b + u, d) are the weights of the draws in each of these.
    """

    units: FloatArray
    draws: FloatArray
    resamples: int

    @classmethod
    def draw(cls, units: int, draws: int, resamples: int, rng: np.random.Generator) -> Plan:
        """Draw ``resamples`` of the units, and of the ``draws`` where there are several."""
        again = rng.multinomial(units, np.full(units, 1 / units), size=resamples)
        weights = np.concatenate([np.ones((1, units)), again, 1 - np.eye(units)])
        over = np.ones((len(weights), draws))
        if draws > 1:
            over[1 : 1 + resamples] = rng.multinomial(
                draws, np.full(draws, 1 / draws), size=resamples
            )
        return cls(weights, over, resamples)


def compare_correlations(
    scores: Mapping[str, FloatArray],
    truth: FloatArray,
    unit: IntArray,
    *,
    base: str,
    rng: np.random.Generator,
    resamples: int = 2000,
    level: float = 0.95,
    noun: str = "workers",
) -> Table:
    """A row a measure and method: its correlation with ``truth``, and less that of ``base``.

    ``scores`` are (n,) or (draws, n) by method, NaN where there is none; ``truth`` and ``unit``
    (n,). Units, which ``noun`` names, are resampled whole; several draws as well, whose mean is
    taken of Fisher's z. ``low`` and ``high`` are BCa bounds at ``level``, ``p_zero`` the p-value
    of no correlation. The bounds of the differences hold all at once (Bonferroni over the
    ``family`` of methods but ``base``), and ``adjusted`` are their p-values by Holm within a
    measure. A difference is over the rows that both methods score. Raises BadShape.
    """
    sides = {slug: np.atleast_2d(np.asarray(own, dtype=np.float64)) for slug, own in scores.items()}
    shape = sides[base].shape
    if any(own.shape != shape for own in sides.values()) or shape[1:] != np.shape(truth):
        raise BadShape("scores and truth do not have the same rows")
    known = np.isfinite(truth)
    named, place = np.unique(np.asarray(unit)[known], return_inverse=True)
    sides = {slug: own[:, known] for slug, own in sides.items()}
    plan = Plan.draw(max(len(named), 1), shape[0], resamples, rng)
    rows = []
    for measure in MEASURES:
        found = _Measured(measure, truth[known], place, plan, sides, base)
        rows += found.rows(level, noun)
    return of_rows(rows, COLUMNS)


@dataclass(frozen=True, eq=False)
class _Measured:
    measure: str
    truth: FloatArray
    place: IntArray
    plan: Plan
    sides: Mapping[str, FloatArray]
    base: str

    def rows(self, level: float, noun: str) -> list[dict[str, Any]]:
        others = [slug for slug in self.sides if slug != self.base]
        values = {slug: self._values(own, np.isfinite(own)) for slug, own in self.sides.items()}
        made: list[dict[str, Any]] = []
        for slug, own in self.sides.items():
            row: dict[str, Any] = {"measure": self.measure, "method": slug, "family": len(others)}
            row |= self._estimate(values[slug], self._units(np.isfinite(own)), level, noun)
            row |= dict.fromkeys(GAPS, np.nan) | {"difference_reason": ""}
            if slug != self.base:
                row |= self._difference(slug, values, family_level(level, len(others)), noun)
            made.append(row)
        tested = [row for row in made if np.isfinite(row["p"])]
        for row, p in zip(tested, holm([row["p"] for row in tested]), strict=True):
            row["adjusted"] = p
        return made

    def _units(self, rows: Any) -> int:
        return len(np.unique(self.place[rows.any(axis=0)]))

    def _values(self, own: FloatArray, rows: Any) -> FloatArray:
        """The correlation under every weighting (1 + b + u,), a mean over draws of Fisher's z."""
        z = np.stack([self._z(one, used) for one, used in zip(own, rows, strict=True)], axis=1)
        weight = np.where(np.isfinite(z), self.plan.draws, 0.0)
        total = weight.sum(axis=1)
        mean = (weight * np.nan_to_num(z)).sum(axis=1) / np.where(total > 0, total, 1.0)
        return np.asarray(np.where(total > 0, np.tanh(mean), np.nan))

    def _z(self, own: FloatArray, used: Any) -> FloatArray:
        out = np.full(len(self.plan.units), np.nan)
        if used.sum() < 3:
            return out
        place = self.place[used]
        for start, stop in blocks(len(out), len(place)):
            weights = self.plan.units[start:stop][:, place]
            filled = (weights > 0).sum(axis=1) > 1
            weights = np.where(filled[:, None], weights, 1.0)
            r = correlations(own[used], self.truth[used], weights, self.measure)
            out[start:stop] = np.where(filled, fisher_z(r), np.nan)
        return out

    def _estimate(self, values: FloatArray, units: int, level: float, noun: str) -> dict[str, Any]:
        low, high, p, reason = self._bounds(values, units, level, noun)
        told = {"r": values[0], "low": low, "high": high, "p_zero": p}
        return {**told, "n": units, "reason": reason}

    def _difference(
        self, slug: str, values: Mapping[str, FloatArray], level: float, noun: str
    ) -> dict[str, Any]:
        own, base = self.sides[slug], self.sides[self.base]
        both = np.isfinite(own) & np.isfinite(base)
        one, other = (
            values[name] if (np.isfinite(side) == both).all() else self._values(side, both)
            for name, side in ((slug, own), (self.base, base))
        )
        gaps = one - other
        low, high, p, reason = self._bounds(gaps, self._units(both), level, noun)
        names = ("difference", "difference_low", "difference_high", "p", "difference_reason")
        return dict(zip(names, (gaps[0], low, high, p, reason), strict=True))

    def _bounds(
        self, values: FloatArray, units: int, level: float, noun: str
    ) -> tuple[float, float, float, str]:
        """Bounds, p-value of 0, and why there are none."""
        if reason := too_few_units(units, noun, RESAMPLED):
            return np.nan, np.nan, np.nan, reason
        size = self.plan.resamples
        draws, left_out = values[1 : 1 + size], values[1 + size :]
        draws, left_out = draws[np.isfinite(draws)], left_out[np.isfinite(left_out)]
        if not np.isfinite(values[0]) or len(draws) < max(2, 0.9 * size) or len(left_out) < 2:
            return np.nan, np.nan, np.nan, CONSTANT
        found = bca(float(values[0]), draws, left_out, level)
        return found.low, found.high, found.p, found.reason


def holm(p: Any) -> FloatArray:
    """Adjusted p-values (k,) that control the chance of any false finding (Holm 1979)."""
    given = np.asarray(p, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    steps = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    out = np.empty(len(given))
    out[order] = np.minimum(steps, 1.0)
    return out
