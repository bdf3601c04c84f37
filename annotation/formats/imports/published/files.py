"""Files of a published study, plain or gzipped: rows with their lines, and what is wrong with them.

Every refusal names the file, and the column and line where there is one.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.files.reading.importer import MAX_PROBLEMS, MAX_SHOWN, Problem
from crowdqc.errors import Invalid
from crowdqc.files.json_input import Unreadable, read_json

Record = dict[str, Any]
Advance = Callable[[int, int], None]  # bytes read, of how many
TOLD_EVERY = 2000  # rows


class Source:
    """One file: yields its rows, collects what is wrong with them, and refuses in the end."""

    def __init__(self, folder: Path, name: str, *, needed: Sequence[str]) -> None:
        self.path, self.name, self.needed = folder / name, name, tuple(needed)
        self.problems: list[Problem] = []
        self.line = 0  # of the row that was yielded last

    @property
    def exists(self) -> bool:
        """Whether the file exists."""
        return self.path.is_file()

    def rows(self) -> Iterator[Record]:
        """The rows of a CSV or JSONL file by column; raises Invalid where it cannot be read.

        At the end of the rows it raises Invalid for all that ``add_error`` was told of.
        """
        text = self._text()
        kind = self.name.removesuffix(".gz").rpartition(".")[2]
        yield from self._csv(text) if kind == "csv" else self._jsonl(text.split("\n"))
        self._end()

    def stream(self, advance: Advance = lambda done, total: None) -> Iterator[Record]:
        """The rows of a JSONL file that is too large to be held, one after another.

        ``advance`` is told now and then how many of the file's bytes were read. Raises as ``rows``.
        """
        try:
            total = self.path.stat().st_size
            with self.path.open("rb") as raw:
                packed = self.name.endswith(".gz")
                lines = gzip.GzipFile(fileobj=raw) if packed else raw
                yield from self._jsonl(_decoded(lines, raw, total, advance))
        except UnicodeDecodeError as error:
            raise self._refused(f"is not UTF-8 in line {self.line + 1:,}") from error
        except (OSError, EOFError, zlib.error) as error:
            raise self._unread(error) from error
        advance(total, total)
        self._end()

    def _end(self) -> None:
        if self.line == 0 and not self.problems:
            raise self._refused("has no rows")
        self.refuse()

    def refuse(self) -> None:
        """Raise Invalid for what ``bad`` was told of, if it was told of anything."""
        if self.problems:
            count = len({problem.line for problem in self.problems})
            raise Invalid(
                f"{self.name}: {count:,} {'row' if count == 1 else 'rows'} cannot be read. "
                "Nothing was imported.",
                fields={"file": self.name},
                rows=[problem.as_dict() for problem in self.problems[:MAX_PROBLEMS]],
            )

    def json(self) -> Any:
        """The file as one JSON document."""
        try:
            return read_json(self._text(), any_text=True)
        except Unreadable as error:
            raise self._refused(f"cannot be read: {error.says}") from error

    def add_error(self, column: str, value: Any, wrong: str, mend: str = "") -> None:
        """Note what is wrong with the row that was yielded last."""
        mend = mend or gettext_noop("Take the file as it was published.")
        self.problems.append(Problem(self.line, column, str(value)[:MAX_SHOWN], _(wrong), _(mend)))

    def read_whole(self, row: Record, column: str, *, least: int = 0) -> int:
        """A whole number from ``least``; what is none is noted, and read as ``least``."""
        try:
            value = int(str(row[column]))
        except ValueError:
            value = least - 1
        if value < least:
            self.add_error(column, row[column], f"This is not a whole number from {least}.")
            return least
        return value

    def number(self, row: Record, column: str, *, most: float = 1.0) -> float:
        """A number from 0 to ``most``; what is none is noted, and read as 0."""
        try:
            value = float(row[column])
        except (TypeError, ValueError):
            value = -1.0
        if not 0 <= value <= most:
            self.add_error(column, row[column], f"This is not a number from 0 to {most:g}.")
            return 0.0
        return value

    def known(self, row: Record, column: str, names: Collection[str], what: str) -> bool:
        """Whether a value is one of ``names``; else it is noted."""
        if row[column] in names:
            return True
        shown = f" It must be one of {', '.join(sorted(names))}." if len(names) < 10 else ""
        self.add_error(column, row[column], f"There is no such {what}.{shown}")
        return False

    def _text(self) -> str:
        try:
            content = self.path.read_bytes()
            if self.name.endswith(".gz"):
                content = gzip.decompress(content)
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise self._refused(f"is not UTF-8 in line {line:,}") from error
        except (OSError, EOFError, zlib.error) as error:
            raise self._unread(error) from error

    def _unread(self, error: Exception) -> Invalid:
        if isinstance(error, FileNotFoundError):
            wrong = f"There is no {self.name} in {self.path.parent}."
            return Invalid(wrong, fields={"file": self.name})
        if isinstance(error, OSError):  # gzip's own error is one
            return self._refused(f"cannot be read: {error.strerror or error}")
        return self._refused("is cut off or damaged; fetch it again")

    def _refused(self, why: str) -> Invalid:
        return Invalid(f"{self.name} {why}.", fields={"file": self.name})

    def _csv(self, text: str) -> Iterator[Record]:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        self._columns(reader.fieldnames or ())
        try:
            for row in reader:
                self.line = reader.line_num
                missing = [name for name in self.needed if row[name] is None]
                if missing:
                    self.add_error(missing[0], "", "The row ends before this column.")
                elif None in row:
                    self.add_error(
                        "", "", "The row has more values than the first line has columns."
                    )
                else:
                    yield row
        except csv.Error as error:
            raise self._refused(f"cannot be read in line {reader.line_num:,}: {error}") from error

    def _jsonl(self, lines: Iterable[str]) -> Iterator[Record]:
        for self.line, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = read_json(line, any_text=True)
            except Unreadable as error:
                self.add_error("", line, error.says)
                continue
            if not isinstance(row, dict):
                self.add_error("", line, "This line is not a JSON object.")
                continue
            missing = [name for name in self.needed if row.get(name) is None]
            if missing:
                self.add_error(missing[0], "", "This is missing.")
                continue
            yield row

    def _columns(self, columns: Sequence[str]) -> None:
        missing = [name for name in self.needed if name not in columns]
        if missing:
            raise self._refused(f"has no column {missing[0]}; it has {', '.join(columns)}")


def _decoded(lines: Iterable[bytes], raw: IO[bytes], total: int, advance: Advance) -> Iterator[str]:
    """Lines as text, saying now and then how far the file beneath them was read."""
    for number, line in enumerate(lines):
        if number % TOLD_EVERY == 0:
            advance(min(raw.tell(), total - 1), total)
        yield line.decode("utf-8-sig" if number == 0 else "utf-8")
