"""Tables as files: the stored rows of a run by the columns of its boards, and rows of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Expression, QuerySet, Subquery

from crowdqc.files.cells import csv_text
from evaluation.results.columns import RANK, Column, Format, read

# What a stored row spreads into: further columns, and their values by line, out of its ``extra``.
Spread = tuple[tuple[str, ...], Callable[[Mapping[str, Any]], Iterable[Sequence[Any]]]]
# Columns that count something; a method may have them as numbers with a point.
COUNTS = frozenset(
    "n n_others pairs of rank words statements citations documents unknown yes total items "
    "fallback declined tie votes known_n known_right".split()
)


def stored(*names: str, inside: str = "", prefix: str = "") -> tuple[Column, ...]:
    """Make columns for files only, from fields or from keys ``inside`` a JSON field."""
    within = f"{inside}." if inside else ""
    return tuple(
        Column("", "", Format.FILE, exports={prefix + name.replace(".", "_"): within + name})
        for name in names
    )


def named(**paths: str) -> tuple[Column, ...]:
    """Columns that only files have, by name: paths in the database."""
    return tuple(Column("", "", Format.FILE, exports={name: paths[name]}) for name in paths)


PLACE = stored("dimension", "component")
BASE = (*PLACE, *stored("estimate", "low", "high", "n"))
RANKED = (*BASE, RANK)
WORKER = named(worker="worker__pseudonym")
SYSTEM_NAME = {"system": "system__name", "prompt_strategy": "system__prompt_strategy"}
SYSTEM = named(**SYSTEM_NAME)
ITEM = named(item_id="item__key")


def _order(one: tuple[str, str]) -> int:
    """Names come first in a file, then figures, ranks, and what only one method has."""
    path = one[1]
    if "__" in path:
        return 0
    return 2 if path in RANK.exports.values() else 3 if "." in path else 1


@dataclass(frozen=True)
class StoredTable:
    """The rows of a model as a file, by all ``columns`` that files have.

    With ``spread`` a row becomes several lines. ``beside`` are the last columns, of other tables
    than the run's; ``computed`` are expressions that columns name as paths.
    """

    model: Any
    columns: Sequence[Column]
    spread: Spread | None = None
    beside: Mapping[str, Subquery] = field(default_factory=dict)
    computed: Mapping[str, Expression] = field(default_factory=dict)

    @cached_property
    def paths(self) -> dict[str, str]:
        """Path of each stored value by its name in the file; a dot leads into a JSON field."""
        every = [one for column in self.columns for one in column.exports.items()]
        return dict(sorted(every, key=_order))

    @property
    def header(self) -> list[str]:
        """Names of the file's columns."""
        return [*self.paths, *(self.spread[0] if self.spread else ()), *self.beside]

    def records(self, found: QuerySet[Any]) -> Iterator[dict[str, Any]]:
        """The rows in a fixed order, by column name; a missing figure is None."""
        names = [path for path in self.paths.values() if "__" in path]
        asked = list(dict.fromkeys(path.partition(".")[0] for path in self.paths.values()))
        at = len(asked)
        source = ["extra"] if self.spread else []
        readers = [
            (name, asked.index(head), key, name in COUNTS)
            for name, (head, _, key) in ((n, p.partition(".")) for n, p in self.paths.items())
        ]
        rows = found.annotate(**self.computed, **self.beside).order_by(*names, "component", "pk")
        for values in rows.values_list(*asked, *source, *self.beside).iterator(chunk_size=2000):
            told = {}
            for name, place, key, counts in readers:
                value = _dig(values[place], key) if key else values[place]
                told[name] = strip_zero_decimals(value) if counts else value
            last = dict(zip(self.beside, values[at + len(source) :], strict=True))
            if self.spread is None:
                yield told | last
                continue
            for line in self.spread[1](values[at]):
                yield told | dict(zip(self.spread[0], line, strict=True)) | last


def _dig(value: Any, path: str) -> Any:
    """The value behind keys with dots between them."""
    for key in path.split("."):
        value = (value or {}).get(key)
    return value


def strip_zero_decimals(value: Any) -> Any:
    """Convert a whole float to int: 120 for 120.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def records(columns: Sequence[Column], rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Typed rows by the names that their columns have in files; None where a row has no such."""
    names = [one for column in columns for one in column.exports.items()]
    return [{name: read(row, path, None) for name, path in names} for row in rows]


def csv_of(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> str:
    """Records, or the rows of a figure, as CSV; a column that an older run lacks is empty."""
    names = [name for column in columns for name in column.exports]
    return csv_text([names, *([row.get(name) for name in names] for row in rows)])
