"""Scores as people write them, as numbers: 85 %, 7/10, and stars."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from django.utils.translation import gettext as _

from annotation.files.reading.recognise import NA
from annotation.files.reading.rows import Row
from annotation.files.reading.tables import Event, Table
from annotation.formats.imports.tables.nested import peek

PERCENT = re.compile(r"(\d{1,3}(?:[.,]\d+)?)\s*%")
FRACTION = re.compile(r"(\d{1,3}(?:[.,]\d+)?)\s*(?:/|von|of|de|sur|out of)\s*(\d{1,3})")
STARS = re.compile(r"([★⭐*✭]️?){1,10}[☆✩]*")
LEAST = 3  # different values


def fold(table: Table) -> Table:
    """A table whose written scores are numbers; others stay as they are."""
    table, rows = peek(table)
    found = [name for name in table.columns if _are_scores([row.get(name, "") for row in rows])]
    if not found:
        return table
    note = _("%(columns)s: numbers are read out of percentages, parts of a whole or stars.")
    table.notes.append(note % {"columns": ", ".join(found)})
    return replace(table, events=_with_numbers(table.events, found))


def _are_scores(cells: Sequence[str]) -> bool:
    """Whether all cells are percentages, parts of the same whole, or stars; several differ."""
    given = {cell.strip() for cell in cells} - NA - {""}
    if len(given) < LEAST:
        return False
    wholes = [match[2] for one in given if (match := FRACTION.fullmatch(one))]
    return (
        all(map(PERCENT.fullmatch, given))
        or all(map(STARS.fullmatch, given))
        or (len(wholes) == len(given) and len(set(wholes)) == 1)
    )


def _number(said: str) -> str:
    """The number that a cell says; the same where it says none."""
    said = said.strip()
    if match := PERCENT.fullmatch(said) or FRACTION.fullmatch(said):
        return match[1]
    return str(len(re.findall("[★⭐*✭]", said))) if STARS.fullmatch(said) else said


def _with_numbers(events: Iterator[Event], columns: Sequence[str]) -> Iterator[Event]:
    for event in events:
        if not isinstance(event, Row):
            yield event
            continue
        told: Mapping[str, str] = {name: _number(event.values.get(name, "")) for name in columns}
        yield Row(event.line, {**event.values, **told})
