"""Rows of seven dimensions, each with the reason why it is not the printed figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from evaluation.published.reproduce.crowdrag.published import SHORT
from evaluation.published.reproduce.rows import Row

FINDING = "in the data, not published"
TWICE = "printed after rounding to three, then two decimals"
DIFFERS = "differs"


def as_printed(value: float) -> float:
    """Rounded to three and then to two decimals (halves to even), as the published code does."""
    return float(np.round(round(value, 3), 2))


def rounding(printed: float, measured: float) -> str:
    """Why the printed figure is not the measured one rounded once; empty where it is."""
    if round(measured, 2) == printed:
        return ""
    return TWICE if as_printed(measured) == printed else DIFFERS


def compare_rows(
    table: str,
    name: str,
    protocol: str,
    *,
    printed: Sequence[float],
    values: Iterable[float],
    note: str = "",
    why: str = "",
) -> list[Row]:
    """Make a row per dimension comparing values with printed ones."""
    rows = []
    for dimension, target, value in zip(SHORT, printed, values, strict=True):
        said = rounding(target, value)
        reason = why if said == DIFFERS and why else said
        text = "; ".join(part for part in (note, reason) if part)
        rows.append(Row(table, f"{name}, {dimension}", protocol, target, float(value), text))
    return rows
