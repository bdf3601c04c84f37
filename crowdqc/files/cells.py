"""The only CSV writer: no cell can become a formula in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

# Full-width signs begin a formula in some spreadsheets, and a tab or a line end hides one.
_SIGNS = r"[=+\-@\t\r\n＝＋－＠]"
_FIRST = frozenset("'=+-@\t\r\n＝＋－＠")  # what a text begins with that may have to be protected
_FORMULA = re.compile(rf"'*{_SIGNS}")
_PROTECTED = re.compile(rf"'+{_SIGNS}")


def protect_cell(value: Any) -> Any:
    """Prefix text that would start a formula with an apostrophe; None is empty."""
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return "" if value is None else value


def unprotect_cell(text: str) -> str:
    """Undo ``protect_cell``."""
    return text[1:] if _PROTECTED.match(text) else text


class _Echo:
    """A file for the CSV writer that returns each line instead of keeping it."""

    def write(self, line: str) -> str:
        return line


def csv_lines(rows: Iterable[Iterable[Any]], *, ends: str = "\r\n") -> Iterator[str]:
    """Yield each row as a line of CSV: protected text, words for booleans, JSON lists."""
    writer = csv.writer(_Echo(), lineterminator=ends)
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as one CSV text."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([[_cell(value) for value in row] for row in rows])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if value.__class__ is str and value[:1] not in _FIRST:  # as nearly all are
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return protect_cell(value)


PIECE = 64 * 1024


class _Pipe(io.RawIOBase):
    """A write-only buffer that can neither seek nor tell, like a socket."""

    def __init__(self) -> None:
        self.held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.held += data
        return len(data)

    def take(self) -> bytes:
        taken, self.held = bytes(self.held), bytearray()
        return taken


def stream_zip(files: Iterable[tuple[str, Iterable[str | bytes]]]) -> Iterator[bytes]:
    """Yield the pieces of a ZIP of these files (name, content in pieces)."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, parts in files:
            with archive.open(name, "w", force_zip64=True) as entry:
                for part in parts:
                    entry.write(part.encode() if isinstance(part, str) else part)
                    if len(pipe.held) > PIECE:
                        yield pipe.take()
    yield pipe.take()
