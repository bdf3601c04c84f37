"""Cells of the tables of the writing study: one figure by origin and style, and its row."""

from __future__ import annotations

from typing import Any

from evaluation.published.reproduce.crowdrag.writing.printed import explain_difference
from evaluation.published.reproduce.rows import Row

Figures = dict[str, Any]
WHO = {"human": "human", "llm": "LLM"}
MEAN_OF_STYLES = "mean of the three styles"
AS_CUT = "the published code also makes a statement of a stretch of spaces between two marks"


def cell(rows: list[Figures], group: str, style: str = "") -> Figures:
    """Return the row of a group and style."""
    return next(row for row in rows if row["group"] == group and row["style"] == style)


def pairing(rows: list[Figures], first: str, second: str, style: str) -> Figures:
    """The row of a pairing on the same style."""
    return next(
        row
        for row in rows
        if (row["first"], row["second"], row["style"], row["scope"])
        == (first, second, style, "style")
    )


def interval(row: Figures) -> str:
    """Format an estimate's interval, or the reason for none."""
    if row["low"] is None:
        return f"no interval: {row.get('reason') or 'nothing to measure'}"
    return f"95 % over topics: {row['low']:.3f} to {row['high']:.3f}"


def number(value: float | None) -> float:
    """A figure, NaN where it does not exist."""
    return float("nan") if value is None else float(value)


def value_of(found: Figures) -> float:
    """Return the mean of these figures, or their value where they have no mean."""
    return number(found["mean"] if "mean" in found else found["value"])


def figure_row(
    table: str, quantity: str, protocol: str, figures: tuple[float, float], why: str
) -> Row:
    """A row of (printed, measured) that gives its reason only where rounding does not explain."""
    return Row(table, quantity, protocol, *figures, explain_difference(*figures, why))
