"""Tables that become tasks: what readers of all kinds share, and how a kind is recognised."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotation.files.reading.importer import CheckedRows, Importer, Reader, Refused, Row, missing
from annotation.files.reading.rows import Problem
from annotation.formats.imports.labels import MAX_COLUMNS, MAX_META

LOOKED_AT = 2_000  # rows that tell what a column without a usual name holds
NAMED = 5  # names that a page lists
MAX_OFFERS = 50
Fixes = Mapping[str, Mapping[str, str]]  # column -> value -> what it is read as


@dataclass(frozen=True)
class Fit:
    """Whether a file is of a kind, and in words what it has of it."""

    fits: bool
    said: str


class TableReader(Importer):
    """Reads a table of one kind. ``checked.about`` has what its page says, under these keys.

    ``facts``: [name, number] pairs; ``by``: the line beside the button; ``warnings``: {level, head,
    text}; ``cannot``: head and sentence where the rows cannot be scored; ``offers``: {column,
    value, use, text}, a value that can be read as another one with a click. Columns that no field
    reads are kept (``meta``) with the item where they say the same in all of its rows, else with
    the answer.

    One rule for all kinds: a row with a problem is left out and named, and of a worker's rows on
    one item the last counts.
    """

    unit: str  # what a row is
    unread = "Keep as metadata"  # what becomes of a column that no field reads

    @abstractmethod
    def fit(self, columns: Sequence[str], rows: Sequence[Row]) -> Fit:
        """How the first rows of a file fit this kind."""

    def check(self, rows: Iterable[Row], mapping: Mapping[str, str], known: Any) -> CheckedRows:
        """Sort rows into good and bad; ``known`` are the fixes that a person chose."""
        checked = CheckedRows(about={"offers": []})
        self.read(Reader(mapping, checked), fixed(rows, known or {}), known or {})
        return checked

    def lacks(self, mapping: Mapping[str, str]) -> str:
        """``no worker, item column``, or nothing where all are there."""
        names = ", ".join(str(one.label).lower() for one in missing(mapping, self.fields))
        return _("no %(names)s") % {"names": names} if names else ""


def fixed(rows: Iterable[Row], fixes: Fixes) -> Iterator[Row]:
    """The rows with values read as a person said."""
    for row in rows:
        changed = {
            column: told[row.values[column].strip()]
            for column, told in fixes.items()
            if row.values.get(column, "").strip() in told
        }
        yield Row(row.line, {**row.values, **changed}) if changed else row


def unread(reader: Reader, row: Row) -> dict[str, str]:
    """The columns of a row that no field reads, which are kept with what it makes."""
    read = set(reader.mapping.values())
    return {
        name: value.strip()[:MAX_META]
        for name, value in itertools.islice(row.values.items(), MAX_COLUMNS)
        if name and name not in read and value.strip()
    }


def offer(reader: Reader, name: str, value: str, use: str, text: str) -> None:
    """Let a person read ``value`` of a field as ``use``."""
    one = {"column": reader.column(name), "value": value, "use": use, "text": text}
    offers = reader.checked.about["offers"]
    if one not in offers and len(offers) < MAX_OFFERS:
        offers.append(one)


def moment(reader: Reader, row: Row, name: str) -> Any:
    """The time of a row; what is none can be left empty with a click. Raises Refused."""
    try:
        return reader.moment(row, name)
    except Refused:
        offer(reader, name, reader.value(row, name), "", _("Keep without a time"))
        raise


class LastCounts:
    """Rows by worker and item, of which the last counts; the earlier ones are named."""

    def __init__(self, reader: Reader, names: Sequence[str], said: str) -> None:
        self.reader, self.names, self.said = reader, list(names), said
        self.found: dict[tuple[str, ...], tuple[int, dict[str, Any]]] = {}

    def take(self, row: Row, key: tuple[str, ...], one: dict[str, Any]) -> None:
        """Take one more row in."""
        line, before = self.found.get(key, (row.line, one))
        if line != row.line and before[self.said] == one[self.said]:
            self.reader.repeated(row, self.names, line, self.said)
            return
        if line != row.line:
            wrong = _("%(key)s has this item again on line %(line)s.") % {
                "key": key[0],
                "line": f"{row.line:,}",
            }
            where, value = self.reader.column(self.said), before[self.said]
            self.reader.checked.problems.append(
                Problem(line, where, value, wrong, _("The last one counts."))
            )
        self.found[key] = (row.line, one)

    def good(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Line and row of each that counts."""
        return iter(self.found.values())
