"""What people say in forms of few points: shares by style, and correlations between questions.

Spearman's rho is computed from the table of counts of two questions, ties sharing their mean rank;
its interval is a percentile interval of the bootstrap over workers, whose answers are alike, moved
out for small numbers of them and left out below the least number of ``units``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.agreement.counts import bounds
from evaluation.methods.core.base import BadShape, FloatArray, IntArray
from evaluation.methods.core.units import RESAMPLED, too_few_units


@dataclass(frozen=True, eq=False)
class Forms:
    """Answers (n, q) to q questions, NaN for none; ``worker`` and ``style`` (n,) are indices."""

    value: FloatArray
    worker: IntArray
    style: IntArray
    questions: tuple[str, ...]
    styles: tuple[str, ...]

    def __post_init__(self) -> None:
        n = len(self.worker)
        if self.value.shape != (n, len(self.questions)) or len(self.style) != n:
            raise BadShape("value must be (rows, questions), worker and style one entry a row")


def distributions(forms: Forms, points: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """A row a question and style ("" is all of them): how often each point was chosen.

    ``points`` are the points of each question in their order; others are added at the end.
    """
    rows = []
    for at, name in enumerate(forms.questions):
        given = forms.value[:, at]
        known = ~np.isnan(given)
        listed = [*points[at]]
        listed += sorted({int(value) for value in given[known]} - set(listed))
        for style, label in [*enumerate(forms.styles), (-1, "")]:
            chosen = given[known & (forms.style == style if style >= 0 else True)]
            rows.append(
                {
                    "question": name,
                    "style": label,
                    "n": len(chosen),
                    "points": listed,
                    "counts": [int((chosen == point).sum()) for point in listed],
                    "mean": float(chosen.mean()) if len(chosen) else None,
                    "median": float(np.median(chosen)) if len(chosen) else None,
                }
            )
    return rows


def correlations(
    forms: Forms,
    pairs: Sequence[tuple[int, int]],
    *,
    rng: np.random.Generator,
    resamples: int = 1000,
    level: float = 0.95,
) -> list[dict[str, Any]]:
    """Spearman's rho of pairs of questions, {first, second, n, workers, rho, low, high, reason}."""
    people, index = np.unique(forms.worker, return_inverse=True)
    size = max(len(people), 1)
    weights = rng.multinomial(size, np.full(size, 1 / size), size=resamples)
    made = []
    for first, second in pairs:
        x, y = forms.value[:, first], forms.value[:, second]
        used = ~np.isnan(x) & ~np.isnan(y)
        there = len(np.unique(index[used]))
        row: dict[str, Any] = {
            "first": forms.questions[first],
            "second": forms.questions[second],
            "n": int(used.sum()),
            "workers": there,
            "rho": None,
            "low": None,
            "high": None,
            "reason": "",
        }
        if used.sum() >= 2:
            tables = _tables(x[used], y[used], index[used], size)
            whole = _rho(tables.sum(axis=0)[None])[0]
            row["rho"] = None if np.isnan(whole) else float(whole)
        if row["rho"] is None:
            row["reason"] = "nobody differs" if row["n"] > 1 else "too few answers"
        elif few := too_few_units(there, "workers", RESAMPLED):
            row["reason"] = few
        elif resamples:
            shape = tables.shape[1:]
            again = _rho((weights @ tables.reshape(size, -1)).reshape(-1, *shape))
            low, high, row["reason"] = bounds(again, there, level, "workers", RESAMPLED)
            if not row["reason"]:
                row["low"], row["high"] = low, high
        made.append(row)
    return made


def _tables(x: FloatArray, y: FloatArray, worker: IntArray, size: int) -> FloatArray:
    """Each worker's table of counts (workers, points of x, points of y)."""
    levels_x, at_x = np.unique(x, return_inverse=True)
    levels_y, at_y = np.unique(y, return_inverse=True)
    tables = np.zeros((size, len(levels_x), len(levels_y)))
    np.add.at(tables, (worker, at_x, at_y), 1.0)
    return tables


def _rho(tables: FloatArray) -> FloatArray:
    """Spearman's rho of tables of counts (t, a, b); NaN where a side does not vary."""
    total = tables.sum(axis=(1, 2))
    sides = []
    for axis in (2, 1):
        counts = tables.sum(axis=axis)
        rank = np.cumsum(counts, axis=1) - (counts - 1) / 2
        sides.append((counts, rank - (total[:, None] + 1) / 2))
    (counts_x, rank_x), (counts_y, rank_y) = sides
    shared = np.einsum("tab,ta,tb->t", tables, rank_x, rank_y)
    spread = (counts_x * rank_x**2).sum(axis=1) * (counts_y * rank_y**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 1e-12, shared / np.sqrt(spread), np.nan)
