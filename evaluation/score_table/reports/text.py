"""What the report of every kind is made of: boards as aligned text, and tables as CSV files."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from crowdqc.files.cells import csv_lines
from crowdqc.numbers import by_size, count, plural
from evaluation.methods.core.base import Hooks, Result, Table
from evaluation.methods.core.ranking import leaders

SHOWN = 30  # rows of a board that are printed


@dataclass(frozen=True)
class Options:
    """What a person asked of a report; ``reliable`` and ``ordered`` are of labels."""

    seed: int = 0
    reliable: float | None = None
    ordered: bool = False
    hooks: Hooks = field(default_factory=Hooks)


@dataclass(frozen=True)
class Report:
    """The verdict and boards as lines; tables with the names that their index columns point to.

    ``about`` is the recipe (method, version, parameters) and the diagnostics, where they are known.
    """

    lines: Sequence[str]
    tables: Mapping[str, Table]
    names: Mapping[str, Sequence[str]]
    about: Mapping[str, Any] = field(default_factory=dict)


def first_place(ranks: Sequence[tuple[str, int, int]], noun: str) -> str:
    """Say who is first from (name, best rank, worst rank); rank 0 means not ranked."""
    found = leaders([(1, best, worst) for _, best, worst in ranks])
    if found.ranked < 2:
        return f"Too few {noun}s have an interval to be ranked."
    if found.is_open:
        return f"The {count(found.ranked)} {noun}s cannot be told apart (by 95% intervals)."
    best = [ranks[at][0] for at in found.first]
    if found.is_sure:
        return f"{best[0]} ranks first of {plural(found.ranked, noun)} (by 95% intervals)."
    shown = ", ".join(best[:5]) + (f" and {count(len(best) - 5)} more" if len(best) > 5 else "")
    return f"{shown} may each be first of {plural(found.ranked, noun)} (by 95% intervals)."


def index_of(values: Sequence[str]) -> tuple[list[str], dict[str, int]]:
    """Names in order, and the place of each."""
    names = sorted(set(values), key=by_size)
    return names, {name: at for at, name in enumerate(names)}


def in_order(values: Collection[str]) -> tuple[list[str], dict[str, int]]:
    """Names as a run numbers them, by their characters, and the place of each."""
    names = sorted(set(values))
    return names, {name: at for at, name in enumerate(names)}


def board(title: str, rows: Iterator[Sequence[str]]) -> Iterator[str]:
    """A table as aligned text; the first row of ``rows`` are headings."""
    lines = [list(row) for row in rows]
    shown = lines[: SHOWN + 1]
    widths = [max(len(line[k]) for line in shown) for k in range(len(shown[0]))]
    yield title
    for line in shown:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(cells).rstrip()
    if len(lines) > len(shown):
        rest = plural(len(lines) - len(shown), "row")
        yield f"... {rest} more; --out writes all of them"
    yield ""


def number(value: float | None) -> str:
    """Format with three decimals; "-" for None."""
    return "-" if value is None else f"{value:.3f}"


def interval(low: float | None, high: float | None) -> str:
    """Format as " (low-high)"; "" where a bound is missing."""
    return "" if low is None or high is None else f" ({low:.3f}-{high:.3f})"


def warnings_of(result: Result) -> Iterator[str]:
    """Yield the method's warnings as lines."""
    yield from (f"Warning: {text}" for text in result.diagnostics.get("warnings", ()))


def write_tables(folder: Path, report: Report) -> None:
    """Write every table as a CSV file with names in place of indices."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in report.tables.items():
        lines = csv_lines(_cells(table, report.names), ends="\n")
        (folder / f"{name}.csv").write_text("".join(lines), encoding="utf-8")


def as_json(report: Report, kind: str) -> str:
    """The whole result as JSON: its kind, lines, ``about``, and tables as rows with names."""
    tables = {}
    for name, table in report.tables.items():
        head, *rows = _cells(table, report.names)
        tables[name] = [dict(zip(head, row, strict=True)) for row in rows]
    found = {"kind": kind, **report.about, "lines": list(report.lines), "tables": tables}
    return json.dumps(_finite(found), ensure_ascii=False, indent=1)


def _finite(value: Any) -> Any:
    """The same of plain values; None for a number that is not known."""
    if isinstance(value, Mapping):
        return {str(name): _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return _finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cells(table: Table, names: Mapping[str, Sequence[str]]) -> Iterator[list[Any]]:
    """Headings and rows; "mace" and "glad" are labels of items, but numbers of workers."""
    columns = list(table.columns)
    whole = [np.issubdtype(table[column].dtype, np.integer) for column in columns]
    yield columns
    for row in table.rows():
        yield [
            _name(names[column], row[column]) if index and column in names else row[column]
            for column, index in zip(columns, whole, strict=True)
        ]


def _name(names: Sequence[str], at: int) -> str:
    return names[at] if at >= 0 else ""
