"""Rows of a name, an estimate and its interval: the form that most tables of results have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.safestring import SafeString

from crowdqc.web.terms import Words
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.results.columns import PLOT, Column, Format, head_column, interval_column


@dataclass(frozen=True)
class EstimateRow:
    """A named estimate of ``n`` units with its interval; ``why``: the reason for none.

    ``detail`` stands beside its name, which leads to ``url``.
    """

    name: Words
    estimate: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    detail: Words = ""
    why: Words = ""
    plot: SafeString | str = ""
    url: str = ""
    term: str = ""


def drawn(
    rows: Sequence[EstimateRow], scale: Scale, *, height: float = charts.ROW
) -> list[EstimateRow]:
    """The rows with their intervals as drawings along a scale."""
    made = []
    for row in rows:
        known = None if row.estimate is None else Estimate(row.estimate, row.low, row.high)
        plot = charts.forest_cell(scale, known, name=str(row.name), height=height)
        made.append(replace(row, plot=plot))
    return made


def estimate_columns(
    name: Column | Words,
    value: Words,
    *,
    term: str = "",
    digits: int = 2,
    count: Column | None = None,
) -> tuple[Column, ...]:
    """Columns of EstimateRows: name, interval as a drawing, value, interval and ``count``."""
    return (
        name if isinstance(name, Column) else head_column("name", name),
        PLOT,
        Column("estimate", value, Format.SCORE, digits=digits, term=term, is_main=True),
        interval_column(digits, needs_interval=False, reason="why"),
        *([count] if count else []),
    )
