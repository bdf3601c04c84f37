"""CSV that a spreadsheet may open: the only writer of it, so that no cell becomes a formula."""

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


def protected(value: Any) -> Any:
    """A text that would begin a formula gets an apostrophe before it; None is an empty cell."""
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return "" if value is None else value


def unprotected(text: str) -> str:
    """The text as it was before ``protected``; spreadsheets show it so, too."""
    return text[1:] if _PROTECTED.match(text) else text


class _Echo:
    """What a CSV writer writes into, handing each line back instead of keeping it."""

    def write(self, line: str) -> str:
        return line


def csv_lines(rows: Iterable[Iterable[Any]], *, ends: str = "\r\n") -> Iterator[str]:
    """Each row as a line of CSV: texts protected, true and false in words, lists as JSON."""
    writer = csv.writer(_Echo(), lineterminator=ends)
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """The same of some rows at once."""
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
    return protected(value)


PIECE = 64 * 1024


class _Pipe(io.RawIOBase):
    """What was written and not yet taken; it can neither seek nor tell, as a socket cannot."""

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


def stream(files: Iterable[tuple[str, Iterable[str | bytes]]]) -> Iterator[bytes]:
    """The pieces of a ZIP of these files (name, content in pieces)."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, parts in files:
            with archive.open(name, "w", force_zip64=True) as entry:
                for part in parts:
                    entry.write(part.encode() if isinstance(part, str) else part)
                    if len(pipe.held) > PIECE:
                        yield pipe.take()
    yield pipe.take()
