"""Tables as CSV, JSONL, parquet or Excel, piece by piece, and files that are whole or not there."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from django.utils.translation import gettext as _

from annotation.files.writing import parquet, xlsx
from crowdqc.errors import Conflict, Invalid
from crowdqc.files.cells import csv_lines, csv_text

FORMATS = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": parquet.MEDIA,
    "xlsx": xlsx.MEDIA,
}
EVERY = tuple(FORMATS)
Part = str | bytes


def check_format(form: str) -> None:
    """Raise Invalid where there is no such format."""
    if form not in FORMATS:
        raise Invalid(
            _("There is no format %(form)s.") % {"form": repr(form)},
            fields={"format": ", ".join(FORMATS)},
        )


Row = Mapping[str, Any] | tuple[Any, ...]
BLOCK = 1_000  # rows that are written at a time
to_json = json.JSONEncoder(ensure_ascii=False).encode


@dataclass
class Table:
    """Rows by column name, or as tuples in the order of ``columns``, to be gone through once.

    ``count`` grows as they are. Without ``columns`` a row has those that it has, which only JSONL
    can hold.
    """

    columns: Sequence[str]
    rows: Iterable[Row]
    count: int = 0

    def blocks(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the values of the rows in blocks."""
        names = self.columns
        source = iter(self.rows)
        while block := list(itertools.islice(source, BLOCK)):
            self.count += len(block)
            yield [
                row if isinstance(row, tuple) else tuple([row[name] for name in names])
                for row in block
            ]

    def parts(self, form: str) -> Iterator[Any]:
        """The file, piece by piece: text, or bytes of parquet and Excel. ``json`` is one list.

        JSONL is exact, in CSV what looks like a formula is quoted. Raises Invalid where there is
        no such format, and Conflict where Excel cannot hold the rows, before the first piece.
        """
        if form == "json":
            return self._json()
        check_format(form)
        if form == "parquet":
            return parquet.parts(self.columns, self.blocks())
        if form == "xlsx":
            return xlsx.parts(self.columns, self.blocks())
        return self._jsonl() if form == "jsonl" else self._csv()

    def _objects(self) -> Iterator[list[Mapping[str, Any]]]:
        """The same as objects."""
        if self.columns:
            for block in self.blocks():
                yield [dict(zip(self.columns, row, strict=True)) for row in block]
            return
        source = cast("Iterator[Mapping[str, Any]]", iter(self.rows))  # tuples need columns
        while some := list(itertools.islice(source, BLOCK)):
            self.count += len(some)
            yield some

    def _jsonl(self) -> Iterator[str]:
        for block in self._objects():
            yield "".join([f"{to_json(row)}\n" for row in block])

    def _json(self) -> Iterator[str]:
        before = "["
        for block in self._objects():
            for row in block:
                yield f"{before}\n{to_json(row)}"
                before = ","
        yield "[]\n" if before == "[" else "\n]\n"

    def _csv(self) -> Iterator[str]:
        yield from csv_lines([self.columns])
        for block in self.blocks():
            yield csv_text(block)


def lines(columns: Sequence[str], rows: Iterable[Row], form: str) -> Iterator[Any]:
    """Write a table in a format; yields the pieces of the file."""
    return Table(columns, rows).parts(form)


@dataclass(frozen=True)
class WrittenFile:
    """A file that was written: how many rows it holds and its SHA-256."""

    rows: int
    sha256: str


def write(path: Path, parts: Iterable[str | bytes], *, head: int = 0) -> WrittenFile:
    """Write ``parts`` to a temporary file beside ``path`` and rename it there at the end.

    Whatever goes wrong before, ``path`` stays as it was. ``head`` parts are no rows. Raises
    Conflict where the folder cannot be written to.
    """
    digest, count = hashlib.sha256(), -head
    try:
        handle = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed below, renamed in between
            "wb", dir=path.parent, prefix=f".{path.name}.", delete=False
        )
    except OSError as error:
        raise Conflict(
            _("%(parent)s cannot be written to: %(strerror)s.")
            % {"parent": path.parent, "strerror": error.strerror}
        ) from error
    try:
        with handle:
            for part in parts:
                data = part.encode() if isinstance(part, str) else part
                digest.update(data)
                handle.write(data)
                count += 1
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(handle.name, 0o644 & ~_umask())
        Path(handle.name).replace(path)
    except BaseException as error:
        Path(handle.name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise Conflict(
                _("%(path)s cannot be written: %(strerror)s.")
                % {"path": path, "strerror": error.strerror}
            ) from error
        raise
    return WrittenFile(max(count, 0), digest.hexdigest())


def _umask() -> int:
    """The process's mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
