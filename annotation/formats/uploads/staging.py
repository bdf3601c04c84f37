"""Rows of an upload between reading and importing: in the database, some hundreds at a time."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Generic, TypeVar

from annotation.files.reading.importer import CheckedRows, Problem, Row, Sheet
from annotation.files.reading.sources import Source
from annotation.files.reading.spool import Spool, is_plain
from annotation.files.reading.tables import Reading
from annotation.files.stored.selectors import GONE, pieces
from annotation.models import ImportFile, ImportPart
from crowdqc.errors import Missing

T = TypeVar("T")
CHUNK = 1_000  # rows
TEXT = 1_000_000  # or so many characters
Kind, State = ImportPart.Kind, ImportFile.State
ACTIVE = (
    State.FETCHING,
    State.READING,
    State.CHECKING,
    State.IMPORTING,
)  # a job is at it, or comes
ENDED = (State.IMPORTED, State.FAILED)
KEPT = "kept"  # in what was found of a file: its rows as they are imported
IS_CHATS = "is_chats"  # in the error of a table: why it is one of conversations, not of votes
WRITTEN = "written"  # in what was found of a file: how many answers an import has written so far
Told = Callable[[int], None]  # how many rows were gone through


def hash_of(columns: Iterable[str]) -> str:
    """Return a hash of the names of columns in their order."""
    return hashlib.sha256("\0".join(columns).encode(errors="surrogatepass")).hexdigest()


def pack_rows(rows: list[list[Any]]) -> bytes:
    """Compress rows for storing; as ASCII JSON, so that every text can be stored."""
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode(), 1)


def packed_row(row: Row, places: dict[str, int]) -> list[Any]:
    """Return line and values of a row in the order of ``places``; new columns are added there."""
    if [*row.values] == [*places]:
        return [row.line, *row.values.values()]
    values: list[Any] = [row.line]
    for name, value in row.values.items():
        place = places.setdefault(name, len(places)) + 1
        values.extend([None] * (place + 1 - len(values)))
        values[place] = value
    return values


def packed_problem(problem: Problem) -> list[Any]:
    """Return a problem's values as a list, in the order of ``Problem``."""
    return list(problem.as_dict().values())


def parts_of(file_id: int, kind: str) -> Iterator[bytes]:
    """The parts of a kind one after another; one at a time is in memory."""
    number = 0
    parts = ImportPart.objects.filter(file_id=file_id, kind=kind)
    while (data := parts.filter(number=number).values_list("data", flat=True).first()) is not None:
        yield bytes(data)
        number += 1


def source_of(file: ImportFile) -> Source:
    """Return the uploaded file as a source."""
    stored = file.stored
    if stored is None:
        raise Missing(GONE)
    return Source(file.size, lambda: pieces(stored))


def reading_of(file: ImportFile) -> Reading:
    """Return how the person chose to read the file (encoding, header)."""
    return Reading(**file.sheet.get("reading", {}))


class StagedRows(Collection[T], Generic[T]):
    """Rows of a kind, read part by part each time."""

    def __init__(
        self,
        file_id: int,
        kind: str,
        count: int,
        make: Callable[[list[Any]], T],
        told: Told = lambda done: None,
    ) -> None:
        self._file, self._kind, self._count, self._make = file_id, kind, count, make
        self._told = told

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        done = 0
        for data in parts_of(self._file, self._kind):
            rows = json.loads(zlib.decompress(data))
            yield from map(self._make, rows)
            done += len(rows)
            self._told(done)

    def __contains__(self, one: object) -> bool:
        return any(one == other for other in self)


def rows_of(file: ImportFile, told: Told = lambda done: None) -> StagedRows[Row]:
    """Return the staged rows of an upload; ``told`` is called with the number read."""
    columns = file.sheet["columns"]

    def make(raw: list[Any]) -> Row:
        line, *cells = raw
        values = dict(zip(columns, cells, strict=False))
        if None in cells:
            values = {name: value for name, value in values.items() if value is not None}
        return Row(line, values)

    return StagedRows(file.pk, Kind.ROWS, file.sheet["rows"], make, told)


def problems_of(file: ImportFile, kind: str, count: int) -> StagedRows[Problem]:
    """Return the staged problems of a kind: unreadable lines, or everything that is wrong."""
    return StagedRows(file.pk, kind, count, lambda raw: Problem(*raw))


def sheet_of(file: ImportFile, told: Told = lambda done: None) -> Sheet:
    """Return the staged file as the sheet that importers take."""
    about = file.sheet
    return Sheet(
        about["kind"],
        about["encoding"],
        about["note"],
        about["delimiter"],
        about["columns"],
        rows_of(file, told),
        problems_of(file, Kind.UNREADABLE, about["unreadable"]),
        about.get("notes", ()),
    )


def keep_checked(file: ImportFile, checked: CheckedRows, basis: str) -> dict[str, Any]:
    """Store the rows to import, where all are good; return what to note of them with the file."""
    file.parts.filter(kind=Kind.CHECKED).delete()
    if not basis or checked.problems or checked.repeats or not is_plain(checked.good):
        return {}
    ImportPart.objects.bulk_create(
        (
            ImportPart(file=file, kind=Kind.CHECKED, number=number, data=data)
            for number, data in enumerate(checked.good.chunks())
        ),
        batch_size=20,
    )
    counts = {"good": len(checked.good), "rows": checked.rows, "there": checked.there}
    return {"basis": basis, **counts}


def checked_before(file: ImportFile, told: Told, basis: str) -> CheckedRows | None:
    """The rows of ``keep_checked``; None where they were not kept, or on another basis.

    They are copied to a file: whoever writes them reads them while it writes to the database.
    """
    about = file.found.get(KEPT) or {}
    if not about or about["basis"] != basis:
        return None
    rows: Spool[dict[str, Any]] = Spool.of_chunks(parts_of(file.pk, Kind.CHECKED), about["good"])
    told(file.sheet["rows"])
    notes = file.found["notes"]
    return CheckedRows(rows, rows=about["rows"], there=about["there"], notes=notes)
