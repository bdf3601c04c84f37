"""Tables of a report, each with its chart. Every number says where it stands in the bundle."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from crowdqc.numbers import NONE, count, score
from crowdqc.web.terms import Words
from evaluation.bundles.kinds.base import read_jsonl
from evaluation.bundles.manifest import FIGURES, NAMES, RECIPE, results_file
from evaluation.charts.boards import Estimate, Scale, forest_axis, forest_cell
from evaluation.models import WorkerScore
from evaluation.results.columns import Column

MOST = 400  # rows of a table; the bundle has them all
ALL = "all together"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Bundled:
    """The files of a bundle that a report is made of, read once."""

    files: Mapping[str, bytes]
    manifest: Row

    @cached_property
    def recipe(self) -> Row:
        """Recipe of the run."""
        return dict(json.loads(self.files[RECIPE]))

    @cached_property
    def figures(self) -> Row:
        """Figures of the run by name: results that are not rows of a table."""
        return dict(json.loads(self.files[FIGURES]))

    @cached_property
    def names(self) -> Mapping[str, Mapping[str, str]]:
        """Names behind the ids of workers, systems and items."""
        return dict(json.loads(self.files[NAMES]))

    @cached_property
    def version(self) -> Row:
        """The last version of the task that was answered."""
        versions = self.manifest["task_versions"]
        return dict(versions[-1]) if versions else {"settings": {}}

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Labels of the task's dimensions, scales or styles, by name."""
        settings = self.version["settings"]
        asked = (settings.get(name) for name in ("dimensions", "scales", "styles"))
        return {one["name"]: one["label"] for one in next(filter(None, asked), ())}

    @cached_property
    def options(self) -> Mapping[str, str]:
        """What the options of the run's field are called, by code."""
        told = self.figures.get("field")
        if told:
            return dict(told["options"])
        name = (dig(self.figures, "frame.field") or [""])[0]
        fields = self.version["settings"].get("fields") or ()
        return {
            one["value"]: one["label"] or one["value"]
            for field in fields
            if field["name"] == name
            for one in field.get("options") or ()
        }

    def option(self, code: str) -> str:
        """What the option of a code is called."""
        return self.options.get(code, code)

    def label(self, name: str) -> str:
        """The label of a dimension or style; of no name all of them."""
        return str(self.labels.get(name, name or ALL))

    def rows(self, model: type) -> list[Row]:
        """The rows of a model; none where the run has none."""
        path = results_file(model)
        return read_jsonl(self.files[path]) if path in self.files else []


@dataclass(frozen=True)
class Line:
    """A row of a table: its name, where its data stand in the bundle, and these data."""

    name: str
    place: str
    data: Row


@dataclass
class Table:
    """One table with its chart: ``rows`` are a name, a number and its interval, counts beside."""

    title: str
    measure: str
    heads: list[str]  # of the columns beside
    axis: SafeString
    left: int
    rows: list[dict[str, Any]]
    has_intervals: bool
    why: str  # none of its rows has an interval, "" where rows differ in it or none is due


def written(value: Any) -> str:
    """Format a number for the report: counts whole, others with three decimals."""
    if value is None:
        return NONE
    return count(value) if isinstance(value, int) else score(value, 3)


def number(value: Any, place: str) -> SafeString:
    """Render a number with its place in the bundle, so that it can be checked."""
    if value is None:
        return format_html('<span class="dim">{}</span>', NONE)
    return format_html(
        '<data value="{}" data-at="{}">{}</data>', json.dumps(value), place, written(value)
    )


def dig(data: Row, path: str) -> Any:
    """Return the value at a path such as ``words.mean``; None if there is none."""
    value: Any = data
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def measured(
    label: Words,
    key: str = "estimate",
    counts: Mapping[str, Words] = MappingProxyType({}),
    *,
    ends: tuple[str, str] | None = ("low", "high"),
    why: str = "",
) -> tuple[Column, ...]:
    """Make the columns of a number with its interval, and of counts, by their paths.

    ``why`` stands in place of an interval where the row itself has no reason.
    """
    main = Column.score(key, label, digits=3, is_main=True, bounds=ends, missing=why)
    return main, *(Column.count(path, head) for path, head in counts.items())


def report_table(title: str, columns: Sequence[Column], lines: Sequence[Line]) -> Table:
    """Make a report's table of these columns; the first is drawn with its interval."""
    main, *counts = columns
    shown = lines[:MOST]
    ends = (main.key, *(main.bounds or ()))
    scale = Scale.around([dig(line.data, key) for line in shown for key in ends], width=200.0)
    rows = [_row(line, main, counts, scale) for line in shown]
    heads = [str(one.label) for one in counts]
    left = max(0, len(lines) - MOST)
    has_intervals = any(row["ends"] for row in rows)
    reasons = {row["why"] for row in rows} if main.bounds and not has_intervals else set()
    if len(reasons) > 1:  # each stands in its row
        has_intervals, reasons = True, set()
    why = "".join(reasons)
    return Table(title, str(main.label), heads, forest_axis(scale), left, rows, has_intervals, why)


def _row(line: Line, main: Column, counts: Sequence[Column], scale: Scale) -> dict[str, Any]:
    value, low, high = (dig(line.data, key) for key in (main.key, *(main.bounds or ("", ""))))
    estimate = None if value is None else Estimate(value, low, high)
    inner = dig(line.data, main.key.rpartition(".")[0]) if "." in main.key else line.data
    reason = inner.get("reason") or dig(line.data, "extra.no_interval") or main.missing

    def cell(path: str) -> SafeString:
        return number(dig(line.data, path), f"{line.place}.{path}")

    return {
        "name": line.name,
        "plot": forest_cell(scale, estimate, name=line.name, height=22.0),
        "value": cell(main.key),
        "ends": [] if low is None else [cell(path) for path in main.bounds or ()],
        "why": str(reason),
        "counts": [cell(one.key) for one in counts],
    }


@dataclass(frozen=True)
class FigureTable:
    """A table of the rows of one figure, which may be a list or be kept by name (``slug``)."""

    figure: str
    title: str
    columns: Sequence[Column]
    name: Callable[[Row, Bundled], str]
    kept: Callable[[Row], bool] = lambda row: True

    def __call__(self, found: Bundled) -> Iterator[Table]:
        """The table, where the run has such rows with a number."""
        rows: Any = dig(found.figures, self.figure) or ()
        placed = rows.items() if isinstance(rows, Mapping) else enumerate(rows)
        lines = []
        for at, row in placed:
            data = {"slug": at, **row}
            if dig(data, self.columns[0].key) is not None and self.kept(data):
                name = self.name(data, found)
                lines.append(Line(name, f"{FIGURES}:{self.figure}.{at}", data))
        if lines:
            yield report_table(self.title, self.columns, lines)


def withhold_nothing(row: Row) -> str:
    """Return no reason, for scores that are all shown."""
    return ""


def scores(
    found: Bundled,
    model: type,
    measure: Words,
    withhold: Callable[[Row], str] = withhold_nothing,
) -> Iterator[Table]:
    """A table a dimension of the scores of workers or systems, the highest first.

    ``withhold`` says why a score is not shown; such rows stand last.
    """
    who = "worker" if model is WorkerScore else "system"
    rows = list(enumerate(found.rows(model), 1))
    ranked = any(row["rank_low"] is not None for _, row in rows)
    ranks = {"rank_low": "Rank from", "rank_high": "to"} if ranked else {}
    columns = measured(measure, counts={"n": "n"} | ranks)
    names = found.names[f"{who}s"]
    dimensions = list(dict.fromkeys(row["dimension"] for _, row in rows))
    for dimension in dimensions:
        lines = [
            Line(
                names.get(str(row[f"{who}_id"]), f"{who} {row[f'{who}_id']}"),
                f"{results_file(model)}:{at}",
                _shown(row, withhold(row)),
            )
            for at, row in rows
            if row["dimension"] == dimension
        ]
        lines.sort(key=_descending)
        of = f", {found.label(dimension)}" if len(dimensions) > 1 else ""
        yield report_table(f"{who.capitalize()}s{of}", columns, lines)


def _shown(row: Row, reason: str) -> Row:
    """The row, or without its score and with the reason."""
    if not reason:
        return row
    return {**row, "estimate": None, "low": None, "high": None, "reason": reason}


def _descending(line: Line) -> tuple[bool, float]:
    """Order by estimate, the highest first, missing ones last."""
    value = line.data["estimate"]
    return value is None, -(value or 0.0)
