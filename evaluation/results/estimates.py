"""Rows of a name, an estimate and its interval: the form that most tables of results have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, TypeVar

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from crowdqc.numbers import interval, score
from crowdqc.web.terms import Words
from evaluation.charts import boards as charts
from evaluation.charts.agreement import known_estimate
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
    n: int | None = 0
    detail: Words = ""
    why: Words = ""
    plot: SafeString | str = ""
    url: str = ""
    term: str = ""
    sure: bool = True  # else ``why`` stands in place of what needs an interval


Row = TypeVar("Row", bound=EstimateRow)


def drawn(
    rows: Sequence[Row], scale: Scale, *, height: float = charts.ROW, reference: float | None = None
) -> list[Row]:
    """The rows with their intervals as drawings along a scale."""
    made = []
    for row in rows:
        known = None if row.estimate is None else Estimate(row.estimate, row.low, row.high)
        plot = charts.forest_cell(
            scale, known, name=str(row.name), height=height, reference=reference
        )
        made.append(replace(row, plot=plot))
    return made


def file_row(row: EstimateRow) -> SimpleNamespace:
    """Return a row as the files of a shared page hold it."""
    names = ("name", "detail", "estimate", "low", "high", "n")
    nothing = {"dimension": "", "component": 1, "best": None, "worst": None, "group": None}
    return SimpleNamespace(**{name: getattr(row, name) for name in names}, **nothing)


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


DIFFERENCE = Column("estimate", _("Difference"), Format.SIGNED, short=_("Difference"), is_main=True)


def with_interval(estimate: Estimate, digits: int = 2) -> SafeString:
    """An estimate and its interval in one cell."""
    value, low, high = estimate.value, estimate.low, estimate.high
    return format_html("<b>{}</b> {}", score(value, digits), interval(low, high, digits))


def known_estimates(row: Mapping[str, Any], *names: str) -> list[Estimate | None]:
    """Estimates that a stored row has, each with ``_low`` and ``_high``; None for no value."""
    return [known_estimate(row[one], row[f"{one}_low"], row[f"{one}_high"]) for one in names]
