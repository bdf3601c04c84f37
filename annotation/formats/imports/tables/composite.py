"""Items that several columns name together, such as a segment's number and its system."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from annotation.files.reading.importer import MAX_ID, plain
from annotation.files.reading.recognise import LOOKED_AT, MOSTLY, is_numbered, share_of_new
from annotation.files.reading.rows import Row

JOINED = " / "
MOST_COLUMNS = 3  # besides the item's own
LEAST_ROWS = 4
# What tells the votes of one worker on one item apart, not items.
OCCASIONS = {
    *("session", "round", "pass", "wave", "attempt", "repetition", "rep", "time", "phase", "run"),
    *("occasion", "visit", "trial", "test", "durchgang", "runde", "zeitpunkt", "welle", "sesion"),
    *("ronda", "ola", "vuelta", "confidence", "certainty", "duration", "seconds", "version"),
}


def columns_of_item(
    rows: Iterable[Row], worker: str, item: str, vote: str, aside: Collection[str]
) -> list[str]:
    """The columns that name items together with ``item``, as they stand; [] where it does alone.

    They tell the rows of a worker and item apart, and other workers have rows with the same values.
    ``aside`` are columns that cannot be among them. Of a matrix ``worker`` and ``vote`` are "".
    """
    looked = [row.values for row in itertools.islice(rows, LOOKED_AT)]
    needed = [name for name in (worker, item, vote) if name]
    looked = [row for row in looked if all(row.get(name, "").strip() for name in needed)]
    cells = {name: [row.get(name, "").strip() for row in looked] for name in (looked or [{}])[0]}
    people = cells.get(worker, [""] * len(looked))
    if len(looked) < LEAST_ROWS or share_of_new(people, cells[item]) >= MOSTLY:
        return []
    names = [
        name
        for name, values in cells.items()
        if name not in (worker, item, vote, *aside)
        and plain(name) not in OCCASIONS
        and all(values)
        and len(set(values)) > 1
        and max(map(len, values)) < MAX_ID // 2
    ]
    found = [item]
    least = MOSTLY * _share_of_others(people, [cells[item]])
    while names and len(found) <= MOST_COLUMNS:
        told = {
            name: share_of_new(people, *(cells[one] for one in (*found, name)))
            for name in names
            if _share_of_others(people, [cells[one] for one in (*found, name)]) >= least
        }
        best = max(told, key=lambda name: (told[name], is_numbered(name)), default="")
        if not best or told[best] <= share_of_new(people, *(cells[one] for one in found)):
            return []
        found.append(best)
        names.remove(best)
        if told[best] >= MOSTLY:
            return sorted(found, key=[*cells].index)
    return []


def _share_of_others(people: Sequence[str], columns: Sequence[Sequence[str]]) -> float:
    """Return the share of rows whose values in these columns stand in rows of other people."""
    keys = list(zip(*columns, strict=True))
    workers = defaultdict(set)
    for key, worker in zip(keys, people, strict=True):
        workers[key].add(worker)
    return sum(len(workers[key]) > 1 for key in keys) / len(keys)


def joined_items(rows: Iterable[Row], item: str, columns: Sequence[str]) -> Iterator[Row]:
    """Yield rows whose item is what ``columns`` hold together."""
    for row in rows:
        yield Row(row.line, {**row.values, item: joined_name(row.values, columns)})


def joined_name(values: Mapping[str, str], columns: Sequence[str]) -> str:
    """The name of an item by several columns; "" where one is empty."""
    parts = [values.get(name, "").strip() for name in columns]
    return JOINED.join(parts) if all(parts) else ""
