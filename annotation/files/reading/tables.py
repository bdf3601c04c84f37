"""A file as a table in a stream: CSV, JSON (one list, or a line an object), Parquet and Excel.

Nothing is held but the row at hand, so that memory does not grow with the file. A limit that is
passed raises Invalid which names it; a row that cannot be read is a Problem beside the rows.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext as _

from annotation.files import conll
from annotation.files.reading import parquet, workbook
from annotation.files.reading.json_list import elements
from annotation.files.reading.limits import (
    AT_ONCE,
    Limits,
    check_columns,
    check_decoded,
    check_head,
    check_names,
    check_size,
    current,
    too_many_rows,
)
from annotation.files.reading.recognise import is_usual
from annotation.files.reading.rows import MAX_SHOWN, Problem, Row
from annotation.files.reading.sources import (
    GZIP,
    PIECE,
    ZIP,
    Encoding,
    Source,
    encoding_of,
    lines,
    refuse_foreign,
    stream,
)
from annotation.files.reading.spool import Spool
from annotation.files.reading.values import MEND, UNSTORABLE, WRONG, as_text, displayable_value
from crowdqc.errors import Invalid
from crowdqc.files.cells import unprotect_cell
from crowdqc.files.json_input import Unreadable, read_json

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
UNNAMED = "unnamed"  # what a first column without a name is called
SAMPLE = 20_000  # characters from which the delimiter and the header are told
NAMELESS = "column %s"  # of a file without a header
SEPARATOR = re.compile(r'"?sep=([^\s"])"?\s*\r?\n', re.IGNORECASE)  # as Excel writes it
IMPORT_ID = '{"ImportId"'  # in each cell of the third line of Qualtrics
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
    notes: list[str] = field(default_factory=list)  # how it was read, where that is a choice


@dataclass(frozen=True)
class Reading:
    """How a person says that a file is to be read; what is not said is told from the file."""

    header: bool | None = None
    encoding: str = ""


def open_table(
    source: Source, name: str, limits: Limits | None = None, reading: Reading | None = None
) -> Table:
    """The table of a file; Invalid where there is nothing to read, or where it passes a limit."""
    limits, reading = limits or current(), reading or Reading()
    check_size(source.size, limits.size)
    head = source.head()
    if head.startswith(GZIP):
        source, name = unpack(source, limits), name.removesuffix(".gz")
        head = source.head()
    if (book := workbook.read(source, limits)) is not None:
        columns, note, rows = book
        columns[0] = columns[0] or UNNAMED  # as pandas writes the names of rows
        return Table("Excel", "", note, "", columns, _counted(_objects(rows, columns), limits))
    if head.startswith(ZIP) and (spans := _archive(source, limits)) is not None:
        return Table("CoNLL", "UTF-8", "", "", list(conll.COLUMNS), _counted(spans, limits))
    refuse_foreign(head)
    if head.startswith(b"PAR1"):
        columns, values = parquet.read(source, limits)
        check_head(columns, limits)
        found = _objects(enumerate(values, 1), columns)
        return Table("parquet", "", "", "", columns, _counted(found, limits))
    encoding = encoding_of(source, reading.encoding)
    first = _first(source, encoding)
    if not first:
        raise Invalid(
            gettext("The file holds no rows."), fields={"file": gettext("Choose a file with rows.")}
        )
    if name.lower().endswith(conll.SUFFIXES):
        marked = conll.table_rows(conll.read_conll(lines(source, encoding, limits.line)))
        columns = list(conll.COLUMNS)
        return Table("CoNLL", encoding.name, encoding.note, "", columns, _counted(marked, limits))
    is_list = first == "[" and name.lower().endswith(".json")
    if is_list or first == "{" or name.lower().endswith((".jsonl", ".ndjson")):
        return _json(source, encoding, name.lower(), first, limits)
    return _delimited(source, encoding, limits, reading.header)


def _json(source: Source, encoding: Encoding, name: str, first: str, limits: Limits) -> Table:
    if first == "{" and name.endswith(".json") and (cells := _nested(source, encoding)):
        note = _("Read as {worker: {item: label}}; the workers are the level with fewer names.")
        columns = ["worker", "item", "label"]
        events = _counted(_objects(enumerate(cells, 1), columns), limits)
        return Table("JSON", encoding.name, encoding.note, "", columns, events, [note])
    kind, texts = "JSONL", enumerate(lines(source, encoding, limits.line), 1)
    if first == "[" and name.endswith((".json", ".jsonl")):
        kind, texts = "JSON", enumerate(elements(source, encoding, limits.line), 1)
    names: list[str] = []
    events = _counted(_json_rows(texts, names, limits), limits)
    return Table(kind, encoding.name, encoding.note, "", names, events)


def unpack(source: Source, limits: Limits) -> Source:
    """Return the file in a gzip file; Invalid where it is damaged or too large."""
    held, size = Spool[bytes](), 0
    try:
        with gzip.GzipFile(fileobj=stream(source)) as packed:
            while piece := packed.read(PIECE):
                size += len(piece)
                check_decoded(size, limits)
                held.append(piece, len(piece))
    except (OSError, EOFError, zlib.error) as error:
        raise Invalid(
            gettext("The gzip file is cut off or damaged."),
            fields={"file": gettext("Choose the table that is in it.")},
        ) from error
    found = Source(size, lambda: iter(held))
    check_size(size, limits.decoded)
    return found


def _nested(source: Source, encoding: Encoding) -> list[list[str]]:
    """Rows (worker, item, label) of ``{worker: {item: label}}``; none of another object."""
    if source.size > AT_ONCE:
        return []
    text = "".join(lines(source, encoding, source.size + 1))
    try:
        raw: Any = read_json(text, any_text=True, empty_nan=True)
    except Unreadable:
        return []
    plain = (str, int, float, type(None))
    if not all(
        isinstance(inner, dict) and all(isinstance(value, plain) for value in inner.values())
        for inner in raw.values()
    ):
        return []
    inner_names = {name for inner in raw.values() for name in inner}
    turned = len(inner_names) < len(raw)
    return [
        [*((name, outer) if turned else (outer, name)), as_text(value)]
        for outer, inner in raw.items()
        for name, value in inner.items()
        if value is not None
    ]


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


def _delimited(
    source: Source, encoding: Encoding, limits: Limits, has_header: bool | None
) -> Table:
    sample = source.head(4 * SAMPLE).decode(encoding.codec, errors="ignore")[:SAMPLE]
    text, skipped, notes = lines(source, encoding, limits.line), 0, list[str]()
    if said := SEPARATOR.match(sample):
        delimiter, skipped, sample = said[1], 1, sample[said.end() :]
        next(text)
    else:
        delimiter = _delimiter(sample)
    found = _parsed(text, delimiter, skipped)
    first, head = next(found, (1, []))
    if isinstance(head, csv.Error):
        raise Invalid(
            gettext("The first line cannot be read: %(head)s.") % {"head": head},
            fields={"file": gettext("The first line names the columns.")},
        )
    columns = [name.strip() for name in head]
    looked = _rows_of(sample, delimiter)
    if not (_has_header(looked) if has_header is None else has_header):
        columns = [NAMELESS % at for at in range(1, max(map(len, [head, *looked])) + 1)]
        found = itertools.chain([(first, head)], found)
        if has_header is None:
            notes.append(_("No header line was found: the first line is read as a row."))
    else:
        found = _without_further_headers(found, notes)
    check_head(columns, limits)
    if not columns[0] and UNNAMED not in columns:  # as pandas and R write the names of rows
        columns[0] = UNNAMED
    return Table(
        "CSV",
        encoding.name,
        encoding.note,
        DELIMITERS.get(delimiter, delimiter),
        columns,
        _counted(_cells(found, columns, delimiter), limits),
        notes,
    )


def _rows_of(sample: str, delimiter: str) -> list[list[str]]:
    """The rows of a sample, as far as they can be read."""
    rows = []
    try:
        for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter):
            if row:
                rows.append(row)
    except csv.Error:
        pass
    return rows


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names columns: a name seldom is a value of its own column."""
    if not rows:
        return True
    names = [(at, name.strip()) for at, name in enumerate(rows[0]) if name.strip()]
    if any(is_usual(name) for _, name in names):
        return True
    if not rows[0][0].strip() and all(row[0].strip() for row in rows[1:]):
        return True  # as pandas and R write the names of rows
    again = [
        name
        for at, name in names
        if any(len(row) > at and row[at].strip() == name for row in rows[1:])
    ]
    if again in ([str(at + n) for n in range(len(again))] for at in (0, 1)):
        return True  # numbered columns
    return len(again) < max(2, len(names) / 2)


def _without_further_headers(
    found: Iterator[tuple[int, list[str] | csv.Error]], notes: list[str]
) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """The rows without the two lines by which Qualtrics describes its columns."""
    held = list(itertools.islice(found, 2))
    for at, (_line, row) in enumerate(held):
        if isinstance(row, list) and all(cell.startswith(IMPORT_ID) for cell in row if cell):
            notes.append(
                _("Left out as further headers: lines %(lines)s.")
                % {"lines": ", ".join(str(line) for line, _row in held[: at + 1])}
            )
            return itertools.chain(held[at + 1 :], found)
    return itertools.chain(held, found)


def _delimiter(sample: str) -> str:
    """The delimiter that gives the head most columns, and rows as many as the head."""

    def fit(delimiter: str) -> tuple[float, int]:
        counts = [len(row) for row in _rows_of(sample, delimiter)[:30]]
        if not counts or counts[0] < 2:
            return 0.0, 0
        return sum(n == counts[0] for n in counts) / len(counts), counts[0]

    return max(DELIMITERS, key=fit)


def _parsed(
    text: Iterator[str], delimiter: str, skipped: int = 0
) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Rows with the line where each begins; a row that cannot be read is its error.

    Raises Invalid where a quotation mark that never closes swallows a tenth of the file.
    """
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    while True:
        begins = reader.line_num + 1 + skipped
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            swallowed = reader.line_num + skipped - begins
            if "end of data" in str(error) and swallowed > max(1, reader.line_num // 10):
                raise Invalid(
                    _(
                        "A quotation mark opens on line %(line)s and never closes: the "
                        "%(n)s lines below it are swallowed."
                    )
                    % {"line": f"{begins:,}", "n": f"{swallowed:,}"},
                    fields={"file": _('Close it, and write a mark within a value twice: "".')},
                ) from error
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
                "delimiters": DELIMITERS.get(delimiter, delimiter)
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
        raw: Any = read_json(line, any_text=True, empty_nan=True)
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


def _objects(rows: Iterator[tuple[int, list[str]]], columns: list[str]) -> Iterator[Event]:
    """Rows of Parquet or of a workbook; their number stands for the line."""
    for number, values in rows:
        found = dict(zip(columns, values, strict=True))
        if any(map(UNSTORABLE.search, values)):
            yield _unstorable(number, found)
        else:
            yield Row(number, found)
