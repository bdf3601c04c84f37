"""A matrix of ratings, a column for each worker, as a row for each rating.

Whole numbers of a few points are labels, and stay in their matrix; numbers with decimals are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from annotation.files.reading.recognise import ITEMS, NA, WORKERS, named_column
from annotation.files.reading.rows import Row
from annotation.files.reading.tables import UNNAMED, Event, Table
from annotation.files.reading.values import NUMBER, plain_number
from annotation.formats.imports.tables.labels import people_among
from annotation.formats.imports.tables.nested import peek
from annotation.formats.imports.tables.summaries import TOTALS
from annotation.task_types.scales import MAX_POINTS

LEAST_WORKERS = 3
MOST_TEXT = 60  # characters of a text that names its row
# What the corner of a table says of people who rate each other.
RATER = (
    r"(?:evaluador\w*|evaluator|rater|bewerter\w*|évaluateur|avaliador\w*|giver|from|de|von|quien)"
)
RATERS_DOWN = re.compile(rf"\b{RATER}\W*[↓⬇]", re.IGNORECASE)
RATERS_ACROSS = re.compile(rf"\b{RATER}\W*[→⮕➡]", re.IGNORECASE)
NUMBERED = re.compile(r"[A-Za-z]*[\W_]*\d{1,4}")


@dataclass(frozen=True)
class Layout:
    """The columns of workers, of what names the item, and of means and other totals."""

    workers: list[str]
    item: list[str]
    totals: list[str]


def fold(table: Table) -> Table:
    """A matrix of ratings with a row for each; others stay as they are."""
    table, rows = peek(table)
    names = list(table.columns)
    if peers := _peers(names, rows):
        return _of_peers(table, peers)
    found = _layout(names, rows)
    if found is None:
        return table
    note = _("%(workers)s and %(n)s more columns are read as workers, and their values as ratings.")
    table.notes.append(note % {"workers": found.workers[0], "n": len(found.workers) - 1})
    if len(found.item) > 1:
        note = _("%(columns)s together name the item.")
        table.notes.append(note % {"columns": ", ".join(found.item)})
    if found.totals:
        note = _("Columns left out, as they sum up others: %(columns)s.")
        table.notes.append(note % {"columns": ", ".join(found.totals)})
    gone = {*found.workers, *found.totals}
    others = [name for name in names if name not in gone]
    columns = dict.fromkeys(["worker", "item", "score", *others])
    return replace(table, columns=[*columns], events=_ratings(table.events, found, others))


def _ratings(events: Iterable[Event], found: Layout, others: Sequence[str]) -> Iterator[Event]:
    for event in events:
        if not isinstance(event, Row):
            yield event
            continue
        kept = {name: event.values.get(name, "") for name in others}
        item = " / ".join(event.values.get(name, "").strip() for name in found.item)
        for worker in found.workers:
            score = _bare(event.values.get(worker, ""))
            if score and score not in NA:
                yield Row(event.line, {**kept, "worker": worker, "item": item, "score": score})


def _peers(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> list[str]:
    """The columns of people who rate each other: rows and columns have the same names.

    [] where the first column does not say who rates whom.
    """
    corner = names[0] if names else ""
    own = {row.get(corner, "").strip() for row in rows}
    peers = [name for name in names[1:] if name.strip() in own]
    cells = [row.get(name, "").strip() for row in rows for name in peers]
    numbers = [cell for cell in cells if NUMBER.fullmatch(cell.replace(",", "."))]
    is_square = len(peers) >= max(LEAST_WORKERS, len(names[1:]) / 2)
    if not is_square or 2 * len(numbers) < len(cells):
        return []
    if not RATERS_DOWN.search(corner) and not RATERS_ACROSS.search(corner):
        return []
    return peers


def _of_peers(table: Table, peers: Sequence[str]) -> Table:
    """A table with a row for each rating that one gave another."""
    corner = table.columns[0]
    down = bool(RATERS_DOWN.search(corner))
    note = _("Rows rate columns: %(corner)s.") if down else _("Columns rate rows: %(corner)s.")
    table.notes.append(note % {"corner": corner})

    def ratings() -> Iterator[Event]:
        for event in table.events:
            if not isinstance(event, Row):
                yield event
                continue
            mine = event.values.get(corner, "").strip()
            for other in () if _is_total(mine) else peers:
                score = event.values.get(other, "").strip()
                if NUMBER.fullmatch(score.replace(",", ".")):
                    worker, item = (mine, other) if down else (other, mine)
                    yield Row(event.line, {"worker": worker, "item": item, "score": score})

    return replace(table, columns=["worker", "item", "score"], events=ratings())


def _layout(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Layout | None:
    """The layout of a matrix of decimal numbers by numbered people; None for any other table."""
    cells = {name: [_bare(row.get(name, "")) for row in rows] for name in names}
    people = people_among(names)
    totals = [name for name in names if _is_total(name)]
    workers = [
        name
        for name in names
        if (name in people or NUMBERED.fullmatch(name))
        and name not in totals
        and _are_numbers(cells[name])
    ]
    left = [name for name in names if name not in (*workers, *totals)]
    given = {cell for name in workers for cell in cells[name]} - NA - {""}
    if (
        len(workers) < LEAST_WORKERS
        or named_column(left, WORKERS)
        or len(given) > MAX_POINTS
        or not any("." in plain_number(cell.replace(",", ".")) for cell in given)
        or len({re.sub(r"\d+$", "", name) for name in workers if name not in people}) > 1
    ):
        return None
    named = named_column(left, ITEMS) or (UNNAMED if UNNAMED in left else "")
    texts = [name for name in left if not _are_numbers(cells[name])]
    short = [name for name in texts if max(map(len, cells[name])) <= MOST_TEXT]
    item = [named] if named and len(set(cells[named])) == len(rows) else short
    keys = list(zip(*(cells[name] for name in item), strict=True))
    return Layout(workers, item, totals) if item and len(set(keys)) == len(rows) else None


def _bare(cell: str) -> str:
    """A number without the sign of an ordinal: 3 for 3º."""
    return cell.strip().rstrip("ºª°").strip()


def _are_numbers(cells: Iterable[str]) -> bool:
    given = [cell for cell in cells if cell and cell not in NA]
    return bool(given) and all(NUMBER.fullmatch(cell.replace(",", ".")) for cell in given)


def _is_total(name: str) -> bool:
    return not TOTALS.isdisjoint(re.findall(r"[^\W_]+", name.casefold()))
