"""A file that is one JSON object: a list of rows within it, columns, or votes by worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotation.files.reading.recognise import ITEMS, is_usual, named_column

WRAPPERS = ("data", "rows", "records", "results", "items", "examples")
PLAIN = (str, int, float, type(None))


@dataclass(frozen=True)
class Rows:
    """Rows as objects, and in words how they were read."""

    rows: list[dict[str, Any]]
    note: str


def read(raw: Any) -> Rows | None:
    """The rows of an object in one of the forms that programs write; None for any other."""
    if not isinstance(raw, dict):
        return None
    return _wrapped(raw) or _lists(raw) or _by_index(raw) or _votes(raw)


def _wrapped(raw: Mapping[str, Any]) -> Rows | None:
    """A list of objects under a usual name; or of lists, beside the names of the columns."""
    for name in WRAPPERS:
        inner = raw.get(name)
        if not isinstance(inner, list) or not inner:
            continue
        note = _("Read from the list “%(name)s”.") % {"name": name}
        if all(isinstance(row, dict) for row in inner):
            return Rows(inner, note)
        columns = raw.get("columns")
        if isinstance(columns, list) and all(isinstance(row, list) for row in inner):
            names = [str(column) for column in columns]
            return Rows([dict(zip(names, row, strict=False)) for row in inner], note)
    return None


def _lists(raw: Mapping[str, Any]) -> Rows | None:
    """A list a column, all of one length: as pandas and data sets write them."""
    values = list(raw.values())
    if len(values) < 2 or not all(isinstance(one, list) for one in values):
        return None
    if len({len(one) for one in values}) != 1 or not any(map(is_usual, raw)):
        return None
    rows = [dict(zip(raw, row, strict=True)) for row in zip(*values, strict=True)]
    return Rows(rows, _("Read as a list for each column."))


def _by_index(raw: Mapping[str, Any]) -> Rows | None:
    """An object a column or a row, with the names of the others in it, as pandas writes them."""
    inner = list(raw.values())
    if not all(isinstance(one, dict) for one in inner) or not inner:
        return None
    if not all(one.keys() == inner[0].keys() for one in inner):
        return None
    if sum(map(is_usual, raw)) > 1:
        rows = [{name: raw[name][at] for name in raw} for at in inner[0]]
        return Rows(rows, _("Read as an object for each column."))
    holds_more = len(inner) > 1 and not all(isinstance(one, PLAIN) for one in inner[0].values())
    if holds_more or sum(map(is_usual, inner[0])) > 1:
        rows = inner
        if not named_column(inner[0], ITEMS):
            rows = [{"item": key, **one} for key, one in raw.items()]
        return Rows(rows, _("Read as an object for each row."))
    return None


def _votes(raw: Mapping[str, Any]) -> Rows | None:
    """Votes as ``{worker: {item: label}}``, or turned."""
    if not all(
        isinstance(inner, dict) and all(isinstance(value, PLAIN) for value in inner.values())
        for inner in raw.values()
    ):
        return None
    inner_names = {name for inner in raw.values() for name in inner}
    turned = len(inner_names) < len(raw)

    def votes() -> Iterator[dict[str, Any]]:
        for outer, inner in raw.items():
            for name, value in inner.items():
                worker, item = (name, outer) if turned else (outer, name)
                if value is not None:
                    yield {"worker": worker, "item": item, "label": value}

    note = _("Read as {worker: {item: label}}; the workers are the level with fewer names.")
    rows = list(votes())
    return Rows(rows, note) if rows else None
