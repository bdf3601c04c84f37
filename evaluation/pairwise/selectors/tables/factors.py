"""Styles compared whatever the origin, and origins whatever the style (Table 7, both)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crowdqc.files.cells import csv_text
from crowdqc.numbers import format_signed, interval, listed, p_value, score
from evaluation.charts import agreement as drawn
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.pairwise.factors import Factor, compare_factors
from evaluation.methods.pairwise.tables import EVERY
from evaluation.pairwise.messages import MESSAGES
from evaluation.results.cells import Cell, bold, note_below
from evaluation.results.findings import Finding
from evaluation.results.matrices import MatrixRow, matrix_table
from evaluation.results.rows import typed
from evaluation.results.tables import Group, ResultTable

MOST_VALUES = 12  # of a factor: 66 comparisons a dimension
TABLE = "factors"  # its name in the address of its file
STYLE, ORIGIN = "style", "origin"
HEADINGS = {
    STYLE: gettext_lazy("By style, whatever the origin"),
    ORIGIN: gettext_lazy("By origin, whatever the style"),
}


def grade_cell(value: float | None, low: float | None, high: float | None, most: float) -> Cell:
    """A mean grade with its interval; ``most``: the highest grade."""
    if low is not None and high is not None:  # no mean grade lies beyond the grades
        low, high = max(1.0, low), min(most, high)
    html = note_below(score(value, 2), interval(low, high, 1))
    heat = f"heat {drawn.heat_between(value, 1.0, most)}"
    return Cell(html, heat, figures=(value, low, high), figure_names="|low|high")


def difference_cell(value: float | None, p: float | None, reason: str, *, differs: bool) -> Cell:
    """Cell with a difference of mean grades, bold if it is significant, and its adjusted p."""
    if value is None:
        return Cell(format_html('<span class="zero">{}</span>', _("none")), "c")
    text = format_signed(value, 2)
    html = bold(text) if differs else format_html('<span class="zero">{}</span>', text)
    words = reason if p is None else f"p {p_value(p)}"
    return Cell(note_below(html, words), "c", figures=(value, p), figure_names="|p")


@dataclass(frozen=True)
class ValueMean:
    """Mean grade of the texts of one value; ``dimension`` "" for the mean over all."""

    factor: str
    value: str
    dimension: str
    grade: float | None
    low: float | None
    high: float | None
    n: int

    def cell(self, most: float) -> Cell:
        """The mean with its interval; ``most``: the highest grade."""
        return grade_cell(self.grade, self.low, self.high, most)


@dataclass(frozen=True)
class ValueDifference:
    """First value - second value on one dimension, tested by topic."""

    factor: str
    first: str
    second: str
    dimension: str
    difference: float | None
    low: float | None
    high: float | None
    n: int
    effect: float | None
    p: float | None
    adjusted: float | None
    differs: bool
    reason: str

    @property
    def cell(self) -> Cell:
        return difference_cell(self.difference, self.adjusted, self.reason, differs=self.differs)


@dataclass(frozen=True)
class Factors:
    """Every two values of every factor, all of them tested together."""

    means: list[ValueMean]
    differences: list[ValueDifference]
    labels: Mapping[str, str]  # of the dimensions
    most: float  # the highest grade

    @property
    def tests(self) -> int:
        """Count the differences that were tested."""
        return sum(one.adjusted is not None for one in self.differences)

    @property
    def table(self) -> ResultTable:
        """A line a value and one for every two, under a heading a factor."""
        groups = []
        for factor in dict.fromkeys(one.factor for one in self.means):
            rows: dict[Any, list[Cell]] = {}
            for mean in self.means:
                if mean.factor == factor:
                    rows.setdefault(mean.value, []).append(mean.cell(self.most))
            lines = [MatrixRow(name, [*own[1:], own[0]]) for name, own in rows.items()]
            pairs: dict[tuple[str, str], list[Cell]] = {}
            for one in self.differences:
                if one.factor == factor:
                    pairs.setdefault((one.first, one.second), []).append(one.cell)
            lines += [
                MatrixRow(f"{first} − {second}", [*cells, Cell("")], "difference")
                for (first, second), cells in pairs.items()
            ]
            groups.append(Group(HEADINGS[factor], lines))
        mean_head = format_html('<span class="read">{}</span>{}', _("Mean"), _("of all"))
        return matrix_table(
            _("Mean grade by style or origin alone, and every two compared"),
            _("Texts"),
            [*self.labels.values(), mean_head],
            groups,
            classes="heat means",
        )

    def findings(self) -> Iterator[Finding]:
        """Yield which value has the higher grades, on which dimensions."""
        for factor, first, second in dict.fromkeys(
            (one.factor, one.first, one.second) for one in self.differences
        ):
            own = [
                one
                for one in self.differences
                if (one.factor, one.first, one.second) == (factor, first, second) and one.differs
            ]
            for sign, high, low in ((1, first, second), (-1, second, first)):
                names = [
                    self.labels[one.dimension] for one in own if sign * (one.difference or 0) > 0
                ]
                if names:
                    yield MESSAGES.find(
                        f"{factor}_higher", high=high, low=low, dimensions=listed(names)
                    )

    def csv(self) -> str:
        """Means, then differences, a row each."""
        lines: list[list[Any]] = [[one.name for one in fields(ValueDifference)]]
        for mean in self.means:
            row = [mean.factor, mean.value, "", mean.dimension, mean.grade, mean.low, mean.high]
            lines.append([*row, mean.n, *[None] * 4, ""])
        lines += [[getattr(one, key) for key in lines[0]] for one in self.differences]
        lines[0][lines[0].index("difference")] = "grade_or_difference"
        return csv_text(lines)


def factors(
    grade: FloatArray,
    topic: IntArray,
    values: Mapping[str, Sequence[str]],
    labels: Mapping[str, str],
    *,
    most: float,
) -> Factors | None:
    """Compare grades (texts, d) by style and by origin; None where no two of them differ.

    ``values`` are those of each text by factor, ``labels`` those of the dimensions by name. Two
    origins are left out: the table by style and origin compares those.
    """
    names = {key: sorted(set(own)) for key, own in values.items()}
    numbers = {
        key: np.array([names[key].index(one) for one in own], dtype=np.int64)
        for key, own in values.items()
    }
    shown = [
        key
        for key, known in names.items()
        if (2 if key == STYLE else 3) <= len(known) <= MOST_VALUES
    ]
    if not shown:
        return None
    other = {STYLE: ORIGIN, ORIGIN: STYLE}
    made = [Factor(numbers[key], numbers[other[key]]) for key in shown]
    mean, test = compare_factors(grade, topic, made)
    dimensions = list(labels)

    def named(row: dict[str, Any], value: str) -> str:
        name = names[shown[row["factor"]]][row[value]]
        return capfirst(name) if name else _("Without a style")

    return Factors(
        [
            typed(
                ValueMean,
                row,
                factor=shown[row["factor"]],
                value=named(row, "value"),
                dimension="" if row["dimension"] == EVERY else dimensions[row["dimension"]],
            )
            for row in mean.rows()
        ],
        [
            typed(
                ValueDifference,
                row,
                factor=shown[row["factor"]],
                first=named(row, "value_a"),
                second=named(row, "value_b"),
                dimension=dimensions[row["dimension"]],
            )
            for row in test.rows()
        ],
        labels,
        most,
    )
