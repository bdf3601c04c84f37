"""Tables of a report, each with its chart. Every number says where it stands in the bundle."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from crowdqc.numbers import NONE, count, score
from crowdqc.web.terms import Words
from evaluation.bundles.kinds.base import read_jsonl
from evaluation.bundles.manifest import FIGURES, NAMES, RECIPE, results_file
from evaluation.charts.boards import Estimate, Scale, forest_axis, forest_cell
from evaluation.models import WorkerScore

MOST = 400  # rows of a table; the bundle has them all
ALL = "all together"
Row = Mapping[str, Any]
Counts = tuple[tuple[str, str], ...]  # heads of further columns, and where their numbers stand


@dataclass(frozen=True)
class Bundled:
    """The files of a bundle that a report is made of, read once."""

    files: Mapping[str, bytes]
    manifest: Row

    @cached_property
    def recipe(self) -> Row:
        """What gives the numbers again."""
        return dict(json.loads(self.files[RECIPE]))

    @cached_property
    def figures(self) -> Row:
        """Everything that is not a row of its own, by name."""
        return dict(json.loads(self.files[FIGURES]))

    @cached_property
    def names(self) -> Mapping[str, Mapping[str, str]]:
        """What ids of workers, systems and items stand for."""
        return dict(json.loads(self.files[NAMES]))

    @cached_property
    def version(self) -> Row:
        """The last version of the task that was answered."""
        versions = self.manifest["task_versions"]
        return dict(versions[-1]) if versions else {"settings": {}}

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """What the task calls its dimensions, scales or styles."""
        settings = self.version["settings"]
        asked = (settings.get(name) for name in ("dimensions", "scales", "styles"))
        return {one["name"]: one["label"] for one in next(filter(None, asked), ())}

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
    counts: Counts
    axis: SafeString
    left: int
    rows: list[dict[str, Any]] = field(default_factory=list)


def written(value: Any) -> str:
    """How the report writes a number: counts whole, everything else with three decimals."""
    if value is None:
        return NONE
    return count(value) if isinstance(value, int) else score(value, 3)


def number(value: Any, place: str) -> SafeString:
    """A number of the bundle that says where it stands there."""
    if value is None:
        return format_html('<span class="dim">{}</span>', NONE)
    return format_html(
        '<data value="{}" data-at="{}">{}</data>', json.dumps(value), place, written(value)
    )


def dig(data: Row, path: str) -> Any:
    """The entry at a path such as ``words.mean``; None where there is none."""
    value: Any = data
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


@dataclass(frozen=True)
class Columns:
    """What a table shows of each row: paths of the number, of its interval and of counts.

    ``why`` stands in place of an interval where the row itself has no reason.
    """

    measure: Words
    key: str = "estimate"
    low: str = "low"
    high: str = "high"
    counts: Counts = ()
    why: str = ""

    def table(self, title: str, lines: Sequence[Line]) -> Table:
        """These columns of the lines."""
        shown = lines[:MOST]
        ends = (self.key, self.low, self.high)
        scale = Scale.around([dig(line.data, key) for line in shown for key in ends], width=200.0)
        left = max(0, len(lines) - MOST)
        table = Table(title, str(self.measure), self.counts, forest_axis(scale), left)
        table.rows += [self._row(line, scale) for line in shown]
        return table

    def _row(self, line: Line, scale: Scale) -> dict[str, Any]:
        value, low, high = (dig(line.data, key) for key in (self.key, self.low, self.high))
        estimate = None if value is None else Estimate(value, low, high)

        def cell(path: str) -> SafeString:
            return number(dig(line.data, path), f"{line.place}.{path}")

        return {
            "name": line.name,
            "plot": forest_cell(scale, estimate, name=line.name, height=22.0),
            "value": cell(self.key),
            "low": None if low is None else cell(self.low),
            "high": None if high is None else cell(self.high),
            "why": self._reason(line.data),
            "counts": [cell(path) for _, path in self.counts],
        }

    def _reason(self, data: Row) -> str:
        inner = dig(data, self.key.rpartition(".")[0]) if "." in self.key else data
        said = inner.get("reason") or dig(data, "extra.no_interval")
        return str(said or self.why)


@dataclass(frozen=True)
class FigureTable:
    """A table of the rows of one figure, which may be a list or be kept by name (``slug``)."""

    figure: str
    title: str
    columns: Columns
    name: Callable[[Row, Bundled], str]
    kept: Callable[[Row], bool] = lambda row: True

    def __call__(self, found: Bundled) -> Iterator[Table]:
        """The table, where the run has such rows with a number."""
        rows: Any = dig(found.figures, self.figure) or ()
        placed = rows.items() if isinstance(rows, Mapping) else enumerate(rows)
        lines = []
        for at, row in placed:
            data = {"slug": at, **row}
            if dig(data, self.columns.key) is not None and self.kept(data):
                name = self.name(data, found)
                lines.append(Line(name, f"{FIGURES}:{self.figure}.{at}", data))
        if lines:
            yield self.columns.table(self.title, lines)


def scores(found: Bundled, model: type, measure: Words) -> Iterator[Table]:
    """A table a dimension of the scores of workers or systems, the highest first."""
    who = "worker" if model is WorkerScore else "system"
    rows = list(enumerate(found.rows(model), 1))
    ranked = any(row["rank_low"] is not None for _, row in rows)
    ranks = (("Rank from", "rank_low"), ("to", "rank_high")) if ranked else ()
    columns = Columns(measure, counts=(("n", "n"), *ranks))
    names = found.names[f"{who}s"]
    dimensions = list(dict.fromkeys(row["dimension"] for _, row in rows))
    for dimension in dimensions:
        lines = [
            Line(
                names.get(str(row[f"{who}_id"]), f"{who} {row[f'{who}_id']}"),
                f"{results_file(model)}:{at}",
                row,
            )
            for at, row in rows
            if row["dimension"] == dimension
        ]
        lines.sort(key=lambda line: -(line.data["estimate"] or 0.0))
        of = f", {found.label(dimension)}" if len(dimensions) > 1 else ""
        yield columns.table(f"{who.capitalize()}s{of}", lines)
