"""The process that reads a Parquet or Arrow file or a workbook from its standard input (``child``).

It writes JSON, a line each: the columns, lists of rows as texts, and how it ended.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import resource
import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from annotation.files.reading.limits import (
    Limits,
    check_columns,
    check_decoded,
    check_head,
    check_names,
    check_rows,
)
from annotation.files.reading.values import as_text
from crowdqc import numbers
from crowdqc.errors import Invalid

LOCALE = Path(__file__).resolve().parents[3] / "locale"
LOOKED = 10  # rows in which the names of the columns are looked for
SHEETS = ((2, 2), (2, 1), (1, 1))  # rows, and values in each, that a sheet should have
MIN_ALIKE = 2  # columns that sheets must share to be one table
MOST_SHEETS = 200  # that are looked at
BATCH = 500  # rows that are unpacked at a time


def main(told: dict[str, Any]) -> None:
    """Read the file on standard input and print its rows, or the error, as lines of JSON."""
    # The application's settings would take a second to load.
    language = told.pop("language") or "en"
    settings.configure(USE_I18N=not language.startswith("en"), LOCALE_PATHS=[LOCALE])
    apps.populate(())
    translation.activate(language)
    kind, memory, seconds = told.pop("kind"), told.pop("memory"), told.pop("seconds")
    limits = Limits(**told)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    if kind == "workbook":
        _read_workbook(limits, memory)
    else:
        _read_columns(kind, limits, memory)


def _limit_memory(memory: int) -> None:
    """Allow so many bytes beside what is used now."""
    used = _mapped()
    resource.setrlimit(resource.RLIMIT_DATA, (used + memory, used + memory))


def _read_workbook(limits: Limits, memory: int) -> None:
    import python_calamine

    _limit_memory(memory)
    try:
        _read_sheet(python_calamine.CalamineWorkbook.from_filelike(sys.stdin.buffer), limits)
        write_line({"done": True})
    except Invalid as refused:
        write_line({"wrong": refused.message, "mend": refused.fields["file"]})
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        wrong = _("The workbook cannot be read: %(error)s.") % {"error": str(error)[:300]}
        write_line({"wrong": wrong, "mend": _("Save it again, or as CSV (UTF-8).")})


class _Sheet:
    """A sheet of a workbook: the names of its columns, and its rows below them."""

    def __init__(self, book: Any, name: str) -> None:
        self.name, sheet = name, book.get_sheet_by_name(name)
        self._rows = _filled_rows(sheet)
        self._looked = list(islice(self._rows, LOOKED))
        filled = [row for _, row in self._looked]
        self.titles = _title_rows(filled) if filled else 0
        self.begins, head = self._looked[self.titles] if filled else (0, [])
        columns = [_cell_text(cell).strip() for cell in head]
        below = filled[self.titles + 1] if len(filled) > self.titles + 1 else []
        places = (at for row in (head, below) for at, cell in enumerate(row, 1) if cell != "")
        width = max(places, default=0)
        self.columns = (columns + [""] * width)[:width]
        self.merged = _Merged(sheet, self.begins, width)

    def has(self, rows: int, width: int) -> bool:
        """Whether so many of the first rows have so many values."""
        wide = (sum(cell != "" for cell in row) >= width for _, row in self._looked)
        return sum(wide) >= rows

    def below(self) -> Iterator[tuple[int, list[str]]]:
        """Rows below the names of the columns as texts, with their numbers; none empty."""
        width = len(self.columns)
        for number, row in chain(self._looked[self.titles + 1 :], self._rows):
            texts = [_cell_text(cell) for cell in row[:width]]
            texts += [""] * (width - len(texts))
            if any(texts):
                self.merged.fill(number, texts)
                yield number, texts


def _read_sheet(book: Any, limits: Limits) -> None:
    """The first sheet with a table, else the first with rows, or else the first with a value.

    A table has two rows with two values or more. Cells that are merged downwards hold their value
    in each row. Further sheets with the same columns are read below it, each row with the name of
    its sheet.
    """
    names = book.sheet_names
    wanted = ((name, *least) for least in SHEETS for name in names)
    found = next((one for name, *least in wanted if (one := _Sheet(book, name)).has(*least)), None)
    if found is None:
        raise Invalid(
            _("The workbook holds no rows."), fields={"file": _("Choose a file with rows.")}
        )
    check_columns(len(found.columns), limits)
    check_names(found.columns)
    sheets = [found, *_alike(book, found)]
    write_line(
        {
            "columns": found.columns,
            "sheet": found.name,
            "sheets": len(names),
            "stacked": [one.name for one in sheets] if len(sheets) > 1 else [],
            "head": found.begins if found.titles else 0,
            "merged": sum(len(one.merged.below) for one in sheets),
        }
    )
    count = decoded = last = 0
    batch: list[tuple[int, list[str]]] = []
    for sheet in sheets:
        before = last
        for number, texts in sheet.below():
            last = before + number
            count += 1
            check_rows(count, limits)
            decoded += sum(map(len, texts))
            check_decoded(decoded, limits)
            batch.append((last, [*texts, sheet.name] if len(sheets) > 1 else texts))
            if len(batch) == BATCH:
                write_line(batch)
                batch = []
    if batch:
        write_line(batch)


def _alike(book: Any, first: _Sheet) -> list[_Sheet]:
    """Further sheets with the columns of the first, all of them named, and rows below."""
    names = book.sheet_names
    if len(first.columns) < MIN_ALIKE or not all(first.columns):
        return []
    others = (_Sheet(book, name) for name in names[names.index(first.name) + 1 :][:MOST_SHEETS])
    return [one for one in others if one.columns == first.columns and one.has(2, 1)]


class _Merged:
    """Cells that are merged downwards, below the names of the columns."""

    def __init__(self, sheet: Any, head: int, width: int) -> None:
        left = (sheet.start or (0, 0))[1]  # empty columns, which rows begin without
        self.below = {
            (first + 1, column - left): last + 1
            for (first, column), (last, _) in sheet.merged_cell_ranges or ()
            if last > first >= head and column - left < width
        }
        self._open: dict[int, tuple[int, str]] = {}  # column -> last row and value

    def fill(self, number: int, texts: list[str]) -> None:
        """Give the cells of a row the value of the merged cell that they are part of."""
        for column, text in enumerate(texts):
            if last := self.below.get((number, column)):
                self._open[column] = last, text
            elif not text and number <= self._open.get(column, (0, ""))[0]:
                texts[column] = self._open[column][1]


def _filled_rows(sheet: Any) -> Iterator[tuple[int, list[Any]]]:
    """Rows that hold something, each with the number that the workbook shows beside it."""
    for number, row in enumerate(sheet.iter_rows(), 1):
        if any(cell != "" for cell in row):
            yield number, row


def _title_rows(rows: list[list[Any]]) -> int:
    """Count the rows above the first two that have more than one value: titles."""
    filled = [sum(cell != "" for cell in row) for row in rows]
    at = next((at for at, count in enumerate(filled) if count > 1), 0)
    return at if min(filled[at : at + 2]) > 1 and len(filled) > at + 1 else 0


def _cell_text(value: Any) -> str:
    """A cell as text: 3 for 3.0, as workbooks hold all numbers alike, and dates in ISO 8601."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return as_text(value)


def _read_columns(kind: str, limits: Limits, memory: int) -> None:
    # Memory that is freed goes back at once, and the limit counts what is used.
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    import pyarrow
    import pyarrow.parquet

    _limit_memory(memory)
    try:
        columns, batches = READERS[kind](pyarrow, limits)
        write_batches(columns, batches, limits)
        write_line({"done": True})
    except Invalid as refused:
        write_line({"wrong": refused.message, "mend": refused.fields["file"]})
    except (pyarrow.ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
        if isinstance(error, pyarrow.ArrowMemoryError):
            raise
        wrong = _("The file cannot be read as %(kind)s: %(error)s.")
        wrong %= {"kind": kind, "error": str(error)[:300]}
        write_line({"wrong": wrong, "mend": _("Write it again.")})


def _mapped() -> int:
    """Bytes of memory that count under the limit now."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))


def _parquet(pyarrow: Any, limits: Limits) -> tuple[list[str], Iterator[Any]]:
    """Columns and batches of rows of a Parquet file."""
    file = pyarrow.parquet.ParquetFile(
        sys.stdin.buffer,
        pre_buffer=False,
        buffer_size=1024 * 1024,
        thrift_string_size_limit=limits.size,
        thrift_container_size_limit=1_000_000,
    )
    meta = file.metadata
    check_rows(meta.num_rows, limits)
    check_columns(meta.num_columns, limits)
    groups = (meta.row_group(number) for number in range(meta.num_row_groups))
    check_decoded(sum(group.total_byte_size for group in groups), limits)
    return list(file.schema_arrow.names), file.iter_batches(BATCH, use_threads=False)


def _arrow(pyarrow: Any, limits: Limits) -> tuple[list[str], Iterator[Any]]:
    """Columns and batches of rows of an Arrow file or stream."""
    data = sys.stdin.buffer.read(limits.size + 1)
    if data.startswith(b"ARROW1"):
        file = pyarrow.ipc.open_file(data)
        batches = (file.get_batch(number) for number in range(file.num_record_batches))
    else:
        file = batches = pyarrow.ipc.open_stream(data)
    return list(file.schema.names), _small_batches(batches, limits)


def _small_batches(batches: Any, limits: Limits) -> Iterator[Any]:
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        check_rows(rows, limits)
        batch.validate(full=True)
        for at in range(0, batch.num_rows, BATCH):
            yield batch.slice(at, BATCH)


READERS = {"parquet": _parquet, "arrow": _arrow}


def write_batches(columns: list[str], batches: Iterator[Any], limits: Limits) -> None:
    """Write the columns, and the rows as texts. Raises Invalid where a limit is passed."""
    check_columns(len(columns), limits)
    check_head(columns, limits)
    write_line({"columns": columns})
    decoded = 0
    for batch in batches:
        check_decoded(batch.nbytes, limits)
        rows = []
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            texts = [as_text(value) for value in row]
            decoded += sum(map(len, texts))
            check_decoded(decoded, limits)
            for name, text in zip(columns, texts, strict=True):
                if len(text) > limits.cell:
                    raise Invalid(
                        _("A value of %(name)s has %(text)s characters; %(cell)s is the most.")
                        % {
                            "name": name,
                            "text": numbers.count(len(text)),
                            "cell": numbers.count(limits.cell),
                        },
                        fields={"file": _("Shorten it, or leave the row out.")},
                    )
            rows.append(texts)
        write_line(rows)


def write_line(told: Any) -> None:
    """Write one line to the process that asked."""
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
    sys.stdout.flush()
