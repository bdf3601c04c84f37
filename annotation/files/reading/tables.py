"""A file as a table in a stream: CSV, JSON (one list, or a line an object), Parquet and Excel.

Nothing is held but the row at hand, so that memory does not grow with the file. A limit that is
passed raises Invalid which names it; a row that cannot be read is a Problem beside the rows.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext as _

from annotation.files import conll
from annotation.files.reading import parquet, workbook
from annotation.files.reading.json_list import elements
from annotation.files.reading.limits import (
    Limits,
    check_columns,
    check_head,
    check_names,
    check_size,
    current,
    too_many_rows,
)
from annotation.files.reading.rows import MAX_SHOWN, Problem, Row
from annotation.files.reading.sources import (
    ZIP,
    Encoding,
    Source,
    encoding_of,
    lines,
    refuse_foreign,
)
from annotation.files.reading.values import MEND, UNSTORABLE, WRONG, as_text, displayable_value
from crowdqc.errors import Invalid
from crowdqc.files.cells import unprotect_cell
from crowdqc.files.json_input import Unreadable, read_json

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
UNNAMED = "unnamed"  # what a first column without a name is called
SAMPLE = 20_000  # characters from which the delimiter is told
csv.field_size_limit(Limits().cell)
Event = Row | Problem


@dataclass(frozen=True)
class Table:
    """A file that is being read; of JSON Lines ``columns`` grow while ``events`` are read."""

    kind: str  # "CSV", "JSON", "JSONL", "parquet", "Excel" or "CoNLL"
    encoding: str
    encoding_note: str
    delimiter: str  # in words; empty but for CSV
    columns: list[str]
    events: Iterator[Event]


def open_table(source: Source, name: str, limits: Limits | None = None) -> Table:
    """The table of a file; Invalid where there is nothing to read, or where it passes a limit."""
    limits = limits or current()
    check_size(source.size, limits.size)
    head = source.head()
    if head.startswith(ZIP) and (found := _archive(source, limits)) is not None:
        return Table("CoNLL", "UTF-8", "", "", list(conll.COLUMNS), _counted(found, limits))
    if (book := workbook.read(source, limits)) is not None:
        columns, note, rows = book
        columns[0] = columns[0] or UNNAMED  # as pandas writes the names of rows
        return Table("Excel", "", note, "", columns, _counted(_objects(rows, columns), limits))
    refuse_foreign(head)
    if head.startswith(b"PAR1"):
        columns, rows = parquet.read(source, limits)
        check_head(columns, limits)
        return Table("parquet", "", "", "", columns, _counted(_objects(rows, columns), limits))
    encoding = encoding_of(source)
    first = _first(source, encoding)
    if not first:
        raise Invalid(
            gettext("The file holds no rows."), fields={"file": gettext("Choose a file with rows.")}
        )
    if name.lower().endswith(conll.SUFFIXES):
        spans = conll.table_rows(conll.read_conll(lines(source, encoding, limits.line)))
        columns = list(conll.COLUMNS)
        return Table("CoNLL", encoding.name, encoding.note, "", columns, _counted(spans, limits))
    is_list = first == "[" and name.lower().endswith((".json", ".jsonl"))
    if is_list or first == "{" or name.lower().endswith((".jsonl", ".ndjson")):
        kind, texts = "JSONL", enumerate(lines(source, encoding, limits.line), 1)
        if is_list:
            kind, texts = "JSON", enumerate(elements(source, encoding, limits.line), 1)
        names: list[str] = []
        events = _json_rows(texts, names, limits)
        return Table(kind, encoding.name, encoding.note, "", names, _counted(events, limits))
    return _delimited(source, encoding, limits)


def _archive(source: Source, limits: Limits) -> Iterator[Event] | None:
    """The rows of an archive of spans, as it was exported; None for any other archive."""
    held = tempfile.TemporaryFile()  # noqa: SIM115 (read on while the rows are)
    for piece in source.pieces():
        held.write(piece)
    return conll.archive_rows(held, limits.decoded)


def _first(source: Source, encoding: Encoding) -> str:
    """The first character that is no space."""
    for line in lines(source, encoding, source.size + 1):
        if line.strip():
            return line.lstrip()[0]
    return ""


def _counted(events: Iterator[Event], limits: Limits) -> Iterator[Event]:
    """The same, but never more than may be imported."""
    for count, event in enumerate(events):
        if count >= limits.rows:
            raise too_many_rows(_("more than %(rows)s") % {"rows": f"{limits.rows:,}"}, limits)
        yield event


# CSV ---------------------------------------------------------------------------------------------


def _delimited(source: Source, encoding: Encoding, limits: Limits) -> Table:
    delimiter = _delimiter(source, encoding)
    found = _parsed(lines(source, encoding, limits.line), delimiter)
    _, head = next(found, (1, []))
    if isinstance(head, csv.Error):
        raise Invalid(
            gettext("The first line cannot be read: %(head)s.") % {"head": head},
            fields={"file": gettext("The first line names the columns.")},
        )
    columns = [name.strip() for name in head]
    check_head(columns, limits)
    if not columns[0] and UNNAMED not in columns:  # as pandas and R write the names of rows
        columns[0] = UNNAMED
    return Table(
        "CSV",
        encoding.name,
        encoding.note,
        DELIMITERS[delimiter],
        columns,
        _counted(_cells(found, columns, delimiter), limits),
    )


def _delimiter(source: Source, encoding: Encoding) -> str:
    """The delimiter that gives the head most columns, and rows as many as the head."""
    sample = source.head(4 * SAMPLE).decode(encoding.codec, errors="ignore")[:SAMPLE]

    def fit(delimiter: str) -> tuple[float, int]:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        counts = []
        try:
            for row in reader:
                if row:
                    counts.append(len(row))
                if len(counts) == 30:
                    break
        except csv.Error:
            pass
        if not counts or counts[0] < 2:
            return 0.0, 0
        return sum(n == counts[0] for n in counts) / len(counts), counts[0]

    return max(DELIMITERS, key=fit)


def _parsed(text: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Rows with the line where each begins; a row that cannot be read is its error."""
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    while True:
        begins = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield begins, error
            continue
        if any(value.strip() for value in row):
            yield begins, row


def _cells(
    found: Iterator[tuple[int, list[str] | csv.Error]], columns: list[str], delimiter: str
) -> Iterator[Event]:
    for line, values in found:
        if isinstance(values, csv.Error):
            yield _broken(line, values)
        elif len(values) > len(columns):
            shown = delimiter.join(values[:20])[:MAX_SHOWN]
            wrong = _("%(values)s values, but the first line names %(columns)s columns.") % {
                "values": f"{len(values):,}",
                "columns": len(columns),
            }
            mend = _("Put quotation marks around a value that holds a %(delimiters)s.") % {
                "delimiters": DELIMITERS[delimiter]
            }
            yield Problem(line, "", shown, wrong, mend)
        elif any("\x00" in value for value in values):
            yield _unstorable(line, dict(zip(columns, values, strict=False)))
        else:
            yield Row(line, dict(zip(columns, map(unprotect_cell, values), strict=False)))


def _broken(line: int, error: csv.Error) -> Problem:
    mend = gettext_noop('Close it, and write a mark within a value twice: "".')
    if "end of data" in str(error):
        wrong = gettext_noop(
            "A quotation mark opens here and never closes; all below it is swallowed."
        )
    elif "field limit" in str(error):
        wrong = _(
            "A value has more than %(cell)s characters; perhaps a quotation mark opens "
            "here and never closes."
        ) % {"cell": f"{Limits().cell:,}"}
    else:
        wrong = gettext_noop("The quotation marks of this row do not match.")
    return Problem(line, "", "", wrong, mend)


def _unstorable(line: int, values: dict[str, str]) -> Problem:
    column = next(name for name, value in values.items() if UNSTORABLE.search(value))
    return Problem(
        line, displayable_value(column), displayable_value(values[column]), str(WRONG), str(MEND)
    )


# JSON, Parquet -----------------------------------------------------------------------------


def _json_rows(
    texts: Iterator[tuple[int, str]], columns: list[str], limits: Limits
) -> Iterator[Event]:
    """A row an object, of the line where each begins and its JSON."""
    known: set[str] = set()
    for number, line in texts:
        if not line.strip():
            continue
        try:
            values = _object(line, limits)
        except ValueError as error:
            mend = gettext_noop("Write one JSON object with texts here.")
            yield Problem(number, "", line.strip()[:MAX_SHOWN], str(error), mend)
            continue
        new = [name for name in values if name not in known]
        if new:
            check_columns(len(columns) + len(new), limits)
            check_names(new, len(columns) + 1)
            known.update(new)
            columns.extend(new)
        if "\\u" in line and any(map(UNSTORABLE.search, values.values())):
            yield _unstorable(number, values)
        else:
            yield Row(number, values)


def _object(line: str, limits: Limits) -> dict[str, str]:
    try:
        raw: Any = read_json(line, any_text=True)
    except Unreadable as error:
        raise ValueError(error.says) from error
    if not isinstance(raw, dict):
        raise ValueError("A JSON object is wanted here, not a list or a single value.")
    found = {str(key): as_text(value) for key, value in raw.items()}
    if len(line) > limits.cell:
        for name, value in found.items():
            if len(value) > limits.cell:
                raise ValueError(f"{name} has {len(value):,} characters; {limits.cell:,} at most.")
    return found


def _objects(rows: Iterator[list[str]], columns: list[str]) -> Iterator[Event]:
    """Rows of Parquet or of a workbook; their number stands for the line."""
    for number, values in enumerate(rows, 1):
        found = dict(zip(columns, values, strict=True))
        if any(map(UNSTORABLE.search, values)):
            yield _unstorable(number, found)
        else:
            yield Row(number, found)
