"""A file as a table in a stream: CSV, JSON (one list, or a line an object), Parquet and Excel.

Nothing is held but the row at hand, so that memory does not grow with the file. A limit that is
passed raises Invalid which names it; a row that cannot be read is a Problem beside the rows.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

from django.utils.translation import gettext, gettext_noop, ngettext
from django.utils.translation import gettext as _

from annotation.files import conll
from annotation.files.reading import objects, parquet, preflib, workbook
from annotation.files.reading.headers import (
    keys_of,
    note_of_header,
    second_header,
    without_nameless,
)
from annotation.files.reading.json_list import elements, is_value, separate_values, spans_lines
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
from annotation.files.reading.literals import is_printed, json_of_python, read_value
from annotation.files.reading.recognise import NAMELESS
from annotation.files.reading.rows import FILE, MAX_SHOWN, Problem, Row
from annotation.files.reading.shape import (
    LOOKED,
    SHOWN_DELIMITERS,
    USUAL_DELIMITERS,
    RowParser,
    Shape,
    aligned_columns,
    is_spaced_table,
    markdown_of,
    shape_of,
)
from annotation.files.reading.sources import (
    GZIP,
    PIECE,
    ZIP,
    Encoding,
    Source,
    encoding_of,
    lines,
    of_bytes,
    refuse_foreign,
    stream,
    without_mark,
)
from annotation.files.reading.spool import Spool
from annotation.files.reading.values import MEND, UNSTORABLE, WRONG, as_text, displayable_value
from crowdqc import numbers
from crowdqc.errors import Invalid
from crowdqc.files.cells import unprotect_cell
from crowdqc.files.json_input import Unreadable

UNNAMED = "unnamed"  # what a first column without a name is called
SAMPLE = 20_000  # characters from which the delimiter and the header are told
SEPARATOR = re.compile(r'"?sep=([^\s"])"?\s*\r?\n', re.IGNORECASE)  # as Excel writes it
IMPORT_ID = '{"ImportId"'  # in each cell of the third line of Qualtrics
RESPONSES = {"Response", "Open-Ended Response", "Other (please specify)"}  # SurveyMonkey, below
# What a library raises for an archive that is damaged, or that has a password.
DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError),
    *(NotImplementedError, RuntimeError),
)
UNSEEN = re.compile(r"(?:^|/)(?:__MACOSX/|\.)")  # in archives, beside the files that people see
# What stands beside the tables of a data set, and how its parts are called.
BESIDE = re.compile(
    r"(?i)\.(?:md|ya?ml|txt|cff)$|(?:^|/)(?:manifest|state|dataset_infos?|dataset_dict)\.json$"
    r"|(?:^|/)columns\.csv$|(?:^|/)licen[cs]e$"
)
TABLE = re.compile(r"(?i)\.(?:csv|tsv|jsonl?|ndjson|parquet|arrow|xlsx|ods)$")
NAMED = 5  # files that a note lists
PART = re.compile(r"-\d{5}-of-\d{5}\.(?:parquet|arrow|csv)$")
UTF_8 = Encoding("utf-8", "UTF-8")
MARK = "\ufeff"  # a byte order mark, also where files were joined
BLANK = " \t\r\n\x0b\x0c\xa0\x00"
csv.field_size_limit(Limits().cell)
Event = Row | Problem


@dataclass(frozen=True)
class Table:
    """A file that is being read; of JSON Lines ``columns`` grow while ``events`` are read."""

    kind: str  # "CSV", "JSON", "JSONL", "parquet", "Excel", "CoNLL", "PrefLib", or "Files"
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
    limits = limits or current()
    check_size(source.size, limits.size)
    return _open(source, name, limits, reading or Reading())


def _open(
    source: Source, name: str, limits: Limits, reading: Reading, *, is_packed: bool = False
) -> Table:
    """The table of a file, or of the one file in a packed file (``is_packed``)."""
    head = source.head()
    if head.startswith(GZIP) and not is_packed:
        inner, inner_name = unpack(source, limits), name.removesuffix(".gz")
        return _open(inner, inner_name, limits, reading, is_packed=True)
    if table := _binary(source, head, limits):
        return table
    if head.startswith(ZIP) and not is_packed and (members := _members(source, limits)):
        return _open_members(members, limits, reading)
    refuse_foreign(head)
    if reading.encoding:
        source = without_mark(source)
    encoding = encoding_of(source, reading.encoding)
    first = _first(source, encoding)
    if not first:
        raise Invalid(
            gettext("The file holds no rows."), fields={"file": gettext("Choose a file with rows.")}
        )
    if table := _of_lines(source, encoding, name, head, limits):
        return table
    is_list = first == "[" and name.lower().endswith(".json")
    if is_list or first == "{" or name.lower().endswith((".jsonl", ".ndjson")):
        return _json(source, encoding, name.lower(), first, limits)
    return _delimited(source, encoding, limits, reading.header)


def _of_lines(
    source: Source, encoding: Encoding, name: str, head: bytes, limits: Limits
) -> Table | None:
    """The table of a text whose lines are neither separated values nor JSON; None for others."""
    text = lines(source, encoding, limits.line)
    if name.lower().endswith(conll.SUFFIXES):
        kind, columns = "CoNLL", list(conll.COLUMNS)
        rows: Iterator[Event] = conll.table_rows(conll.read_conll(text))
    elif preflib.is_preflib(head):
        kind, columns, rows = "PrefLib", list(preflib.COLUMNS), preflib.read_rankings(text)
    else:
        return None
    return Table(kind, encoding.name, encoding.note, "", columns, _counted(rows, limits))


def _binary(source: Source, head: bytes, limits: Limits) -> Table | None:
    """The table of a workbook, an archive of spans, or a file of columns; None for any other."""
    if (book := workbook.read(source, limits)) is not None:
        columns, note, rows = book
        notes = list[str]()
        columns, rows = _two_header_lines(columns, rows, notes)
        check_head(columns, limits)
        columns[0] = columns[0] or UNNAMED  # as pandas writes the names of rows
        keys = keys_of(columns)
        found = _objects(_without_further_headers(rows, notes), keys)
        events = without_nameless(keys, _counted(found, limits), notes)
        return Table("Excel", "", note, "", [*filter(None, columns)], events, notes)
    if head.startswith(ZIP) and (spans := _archive(source, limits)) is not None:
        return Table("CoNLL", "UTF-8", "", "", list(conll.COLUMNS), _counted(spans, limits))
    for kind, marks in (("parquet", parquet.PARQUET), ("arrow", parquet.ARROW)):
        if head.startswith(marks):
            columns, values = parquet.read(source, limits, kind)
            check_head(columns, limits)
            found = _objects(enumerate(values, 1), columns)
            return Table(kind, "", "", "", columns, _counted(found, limits))
    return None


def _json(source: Source, encoding: Encoding, name: str, first: str, limits: Limits) -> Table:
    notes: list[str] = []
    source, encoding = _without_python(source, encoding, name, notes)
    kind, texts = "JSONL", enumerate(lines(source, encoding, limits.line), 1)
    if first == "{" and name.endswith(".json") and (found := _one_object(source, encoding)):
        kind, texts = "JSON", enumerate(map(json.dumps, found.rows), 1)
        notes.append(found.note)
    elif first == "[" and name.endswith((".json", ".jsonl")):
        kind, texts = "JSON", enumerate(elements(source, encoding, limits.line), 1)
    elif first == "{" and spans_lines(source, encoding):
        kind, texts = "JSON", enumerate(separate_values(source, encoding, limits.line), 1)
    names: list[str] = []
    events = _counted(_json_rows(texts, names, limits), limits)
    return Table(kind, encoding.name, encoding.note, "", names, events, notes)


def _without_python(
    source: Source, encoding: Encoding, name: str, notes: list[str]
) -> tuple[Source, Encoding]:
    """Values that Python printed as JSON, unless each is on a line of its own; it is noted."""
    head = source.head(PIECE).decode(encoding.codec, "ignore").lstrip()
    if is_value(head) or not is_printed(head):
        return source, encoding
    notes.append(_("Python printed the values: None is empty, and tuples are lists."))
    is_whole = head[:1] == "[" or not name.endswith((".jsonl", ".ndjson"))
    if source.size > AT_ONCE or not is_whole:
        return source, encoding
    text = "".join(lines(source, encoding, source.size + 1))
    return of_bytes(json_of_python(text).encode(errors="surrogatepass")), UTF_8


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


def _members(source: Source, limits: Limits) -> list[tuple[Source, str]]:
    """The tables in a ZIP archive with their names; [] where it is no archive or holds no file.

    What only describes a data set is left out. Raises Invalid where other files are in it.
    """
    found: list[tuple[Source, str]] = []
    size = 0
    with tempfile.TemporaryFile() as file:
        for piece in source.pieces():
            file.write(piece)
        try:
            opened = zipfile.ZipFile(file)
        except DAMAGED:
            return []  # it only begins like one
        try:
            with opened as archive:
                for one in _tables_in(archive):
                    held = Spool[bytes]()
                    with archive.open(one) as packed:
                        while piece := packed.read(PIECE):
                            size += len(piece)
                            check_decoded(size, limits)
                            held.append(piece, len(piece))
                    found.append((Source(one.file_size, partial(iter, held)), one.filename))
        except DAMAGED as bad:
            raise Invalid(
                gettext("The ZIP archive is damaged or has a password."),
                fields={"file": gettext("Choose the table that is in it.")},
            ) from bad
    for inner, _name in found:
        check_size(inner.size, limits.decoded)
    return found


def _tables_in(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The one file of an archive, or its tables by name. Raises Invalid where others are in it."""
    files = [one for one in archive.infolist() if not one.is_dir()]
    named = [one for one in files if not UNSEEN.search(one.filename)]
    if len(named) < 2:
        return named
    chosen = [one for one in named if one.file_size and not BESIDE.search(one.filename)]
    if others := [one.filename for one in chosen if not TABLE.search(one.filename)]:
        raise Invalid(
            ngettext(
                "The ZIP archive holds a file that is no table: %(names)s.",
                "The ZIP archive holds %(n)s files that are no tables, such as %(names)s.",
                len(others),
            )
            % {"n": numbers.count(len(others)), "names": ", ".join(others[:3])},
            fields={"file": gettext("Unpack it, and choose the table in it.")},
        )
    return sorted(chosen, key=lambda one: one.filename)


def _open_members(members: list[tuple[Source, str]], limits: Limits, reading: Reading) -> Table:
    """One table of the files of an archive, which have the same columns.

    Where they are no numbered parts, the column ``FILE`` holds what differs in their names.
    """
    first = _open(*members[0], limits, reading, is_packed=True)
    if len(members) == 1:
        return first
    names = [name for _source, name in members]
    if all(map(PART.search, names)):
        told: list[dict[str, str]] = [{} for _ in names]
        note = _("Read from %(n)s parts, whose rows are numbered on.") % {"n": len(names)}
    else:
        told = [{FILE: name} for name in _told_apart(names)]
        note = _(
            "Read from %(n)s files, whose rows are numbered on: %(names)s. Their names stand for "
            "the worker or item that no column names."
        ) % {"n": len(names), "names": ", ".join(one[FILE] for one in told[:NAMED])}
    first.notes.append(note)
    columns = [*first.columns, *told[0]]
    known = set(columns)

    def events() -> Iterator[Event]:
        last, head = 0, set[str]()
        for at, (member, more) in enumerate(zip(members, told, strict=True)):
            table = _open(*member, limits, reading, is_packed=True) if at else first
            before, is_checked = last, False
            for event in table.events:
                last = before + (event.line or 0)
                if not isinstance(event, Row):
                    yield replace(event, line=last)
                    continue
                mine = set(table.columns)
                head = head or mine
                is_same = mine == head or (_grows(table) and (mine < head or head < mine))
                if not is_checked and not is_same:
                    raise Invalid(
                        _("%(name)s has other columns than %(first)s.")
                        % {"name": names[at], "first": names[0]},
                        fields={"file": gettext("Unpack it, and choose the table in it.")},
                    )
                is_checked = True
                if new := [name for name in event.values if name not in known]:
                    check_columns(len(columns) + len(new), limits)
                    columns.extend(new)
                    known.update(new)
                yield Row(last, {**event.values, **more})

    return replace(first, columns=columns, events=_counted(events(), limits), notes=first.notes)


def _grows(table: Table) -> bool:
    """Whether a table names its columns row by row."""
    return table.kind in ("JSON", "JSONL")


def _told_apart(names: list[str]) -> list[str]:
    """What differs in the paths of files, without their suffix: ``ann`` of ``out/ann.jsonl``."""
    paths = [TABLE.sub("", name).split("/") for name in names]
    if len(set(map(len, paths))) > 1:
        return ["/".join(path) for path in paths]
    differs = [len(set(parts)) > 1 for parts in zip(*paths, strict=True)]
    return ["/".join(itertools.compress(path, differs)) for path in paths]


def _one_object(source: Source, encoding: Encoding) -> objects.Rows | None:
    """The rows of a file that is one JSON object; None where it is another or too large."""
    if source.size > AT_ONCE:
        return None
    text = "".join(lines(source, encoding, source.size + 1))
    try:
        raw: Any = read_value(text, empty_nan=True, as_written=True)
    except Unreadable:
        return None
    return objects.read(raw)


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
            raise too_many_rows(
                _("more than %(rows)s") % {"rows": numbers.count(limits.rows)}, limits
            )
        yield event


# CSV ---------------------------------------------------------------------------------------------


def _delimited(
    source: Source, encoding: Encoding, limits: Limits, has_header: bool | None
) -> Table:
    sample = source.head(4 * SAMPLE).decode(encoding.codec, errors="ignore")[:SAMPLE]
    sample = sample.removeprefix(MARK)
    text: Iterator[str] = (line.removeprefix(MARK) for line in lines(source, encoding, limits.line))
    skipped, notes, delimiter = 0, list[str](), ""
    if stated := SEPARATOR.match(sample):
        delimiter, skipped, sample = stated[1], 1, sample[stated.end() :]
        next(text)
    again = partial(lines, source, encoding, limits.line)
    if delimiter in ("", "\t") and _has_bare_marks(again, skipped):
        sample, text = "".join(map(_quoted, sample.splitlines())), map(_quoted, text)
        notes.append(_("Quotation marks are read as parts of the values: only tabs end a value."))
    elif not delimiter and is_spaced_table(sample):
        delimiter = " "
        notes.append(_("Values are separated by spaces."))
    elif not (delimiter or USUAL_DELIMITERS & set(sample)) and (places := aligned_columns(again())):
        take = partial(_by_places, places)
        sample, text = "".join(map(take, sample.splitlines())), map(take, text)
        notes.append(_("Columns are read by their places: spaces align them."))
    if markdown := markdown_of(sample):
        sample = "".join(map(markdown.bare_line, sample.splitlines()))
        text, delimiter = map(markdown.bare_line, text), "|"
    shape = shape_of(sample, delimiter, has_header)
    rows = _parsed(text, shape, skipped)
    if shape.titles:
        above = [str(line) for line, _row in itertools.islice(rows, shape.titles)]
        notes.append(
            _("Left out above the names of the columns: lines %(lines)s.")
            % {"lines": ", ".join(above)}
        )
    first, head = next(rows, (1, []))
    if isinstance(head, csv.Error):
        raise Invalid(
            gettext("The first line cannot be read: %(head)s.") % {"head": head},
            fields={"file": gettext("The first line names the columns.")},
        )
    columns = [name.strip() for name in head]
    if not shape.has_header:
        columns = [NAMELESS % at for at in range(1, max(len(head), shape.width) + 1)]
        rows = itertools.chain([(first, head)], rows)
        if has_header is None:
            notes.append(_("No header line was found: the first line is read as a row."))
    else:
        columns, rows = _pivot_names(columns, rows, notes)
        if not shape.names_rows:
            columns, rows = _two_header_lines(columns, rows, notes, first)
        rows = _without_further_headers(rows, notes)
        columns = ["", *columns] if shape.names_rows else columns
    check_head(columns, limits)
    if not columns[0] and UNNAMED not in columns:  # as pandas and R write the names of rows
        columns[0] = UNNAMED
    keys = keys_of(columns)
    events = _counted(_cells(rows, keys, shape, head if shape.has_header else []), limits)
    return Table(
        "CSV",
        encoding.name,
        encoding.note,
        _(SHOWN_DELIMITERS.get(shape.delimiter, shape.delimiter)),
        [*filter(None, columns)],
        without_nameless(keys, events, notes),
        notes,
    )


def _has_bare_marks(text: Callable[[], Iterator[str]], skipped: int) -> bool:
    """Whether all lines have as many tabs, but not as many values where marks open and close."""
    tabs, has_marks = 0, False
    for line in itertools.islice(text(), skipped, None):
        has_marks = has_marks or '"' in line
        if line.strip(BLANK):
            tabs = tabs or line.count("\t")
            if not tabs or line.count("\t") != tabs:
                return False
    try:
        rows = csv.reader(itertools.islice(text(), skipped, None), delimiter="\t", strict=True)
        return has_marks and any(len(row) - 1 != tabs for row in rows if row)
    except csv.Error:
        return True


def _by_places(places: list[slice], line: str) -> str:
    return _quoted("\t".join(line[one].strip() for one in places))


def _quoted(line: str) -> str:
    """A line of tabs with its values in quotation marks."""
    values = line.rstrip("\r\n").replace('"', '""').split("\t")
    return "\t".join(f'"{value}"' for value in values) + "\n"


Lines = Iterator[tuple[int, list[str] | csv.Error]]
Cells = TypeVar("Cells", bound=list[str] | csv.Error)
EMPTY: list[tuple[int, list[str]]] = [(0, []), (0, [])]


def _pivot_names(columns: list[str], found: Lines, notes: list[str]) -> tuple[list[str], Lines]:
    """The names of columns as pandas writes them for a pivot table, on three lines.

    The first repeats the name of the values, the second names the columns, and the third the rows.
    Others stay as they are. Raises Invalid where there are several values.
    """
    if columns[:1] != [""] or len(set(columns)) == len(columns):
        return columns, found
    held = list(itertools.islice(found, 2))
    names, index = [row if isinstance(row, list) else [] for _line, row in (*held, *EMPTY)][:2]
    if len(names) != len(columns) or not "".join(index[:1]) or any(index[1:]):
        return columns, itertools.chain(held, found)
    if len(set(columns[1:])) > 1:
        raise Invalid(
            _("Three lines name the columns of several values: %(names)s.")
            % {"names": ", ".join(dict.fromkeys(columns[1:]))},
            fields={"file": _("Write a pivot table of one value.")},
        )
    note = _("Lines 1 to 3 name the columns, as of a pivot table: the values are %(value)s.")
    notes.append(note % {"value": columns[1]})
    return [name.strip() for name in (index[0], *names[1:])], found


def _two_header_lines(
    columns: list[str], found: Iterator[tuple[int, Cells]], notes: list[str], line: int = 0
) -> tuple[list[str], Iterator[tuple[int, Cells]]]:
    """The names of columns where a second line names the parts of merged or repeated ones."""
    held = list(itertools.islice(found, LOOKED))
    rows = itertools.chain(held, found)
    looked = [row for _line, row in held if isinstance(row, list)]
    header = second_header(columns, looked, RESPONSES)
    if header is None:
        return columns, rows
    next(rows)
    notes += note_of_header(header, (line or held[0][0] - 1, held[0][0]))
    return header.columns, (
        (at, cast(Cells, header.row(row)) if isinstance(row, list) else row) for at, row in rows
    )


def _without_further_headers(
    found: Iterator[tuple[int, Cells]], notes: list[str]
) -> Iterator[tuple[int, Cells]]:
    """The rows without the lines by which Qualtrics and SurveyMonkey describe their columns."""
    held = list(itertools.islice(found, 2))
    for at, (_line, row) in enumerate(held):
        if isinstance(row, list) and _describes(row):
            notes.append(
                _("Left out as further headers: lines %(lines)s.")
                % {"lines": ", ".join(str(line) for line, _row in held[: at + 1])}
            )
            return itertools.chain(held[at + 1 :], found)
    return itertools.chain(held, found)


def _describes(row: list[str]) -> bool:
    """Whether a row describes the columns of a survey."""
    cells = [cell for cell in row if cell]
    return all(cell.startswith(IMPORT_ID) for cell in cells) or (
        not row[0] and RESPONSES.issuperset(cells)
    )


def _parsed(
    text: Iterator[str], shape: Shape, skipped: int = 0
) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Rows with the line where each begins; a row that cannot be read is its error.

    Raises Invalid where a quotation mark that never closes swallows a tenth of the file.
    """
    reader = RowParser(text, shape.delimiter, shape.is_spaced, strict=True)
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
                    % {"line": numbers.count(begins), "n": numbers.count(swallowed)},
                    fields={"file": _('Close it, and write a mark within a value twice: "".')},
                ) from error
            yield begins, error
            continue
        if any(value.strip(BLANK) for value in row):
            yield begins, row


def _cells(
    found: Iterator[tuple[int, list[str] | csv.Error]],
    columns: list[str],
    shape: Shape,
    head: list[str],
) -> Iterator[Event]:
    """Rows of a file; ``head`` are the names of its columns as they stand, [] without a header."""
    width = len(columns)
    for line, values in found:
        if isinstance(values, csv.Error):
            yield _broken(line, values)
        elif len(values) > width and any(value.strip(BLANK) for value in values[width:]):
            shown = shape.delimiter.join(values[:20])[:MAX_SHOWN]
            wrong = _("%(values)s values, but the first line names %(columns)s columns.") % {
                "values": numbers.count(len(values)),
                "columns": width,
            }
            mend = _("Put quotation marks around a value that holds a %(delimiters)s.") % {
                "delimiters": _(SHOWN_DELIMITERS.get(shape.delimiter, shape.delimiter))
            }
            yield Problem(line, "", shown, wrong, mend)
        elif values == head and width > 1:
            shown = shape.delimiter.join(values)[:MAX_SHOWN]
            wrong = _("The names of the columns are repeated here.")
            yield Problem(line, "", shown, wrong, _("Left out."))
        elif "\x00" in "".join(values):
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
        ) % {"cell": numbers.count(Limits().cell)}
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
    head: list[str] = []  # of a list of lists
    for number, text in texts:
        line = text.rstrip().removesuffix(",")  # as of a list whose brackets are left out
        if not line.strip():
            continue
        try:
            if not known and not head and (head := _head(line)):
                continue
            values = _object(line, limits, head)
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


def _head(line: str) -> list[str]:
    """The names of columns where a row is a list of texts; [] where it is none."""
    if not line.lstrip().startswith("["):
        return []
    try:
        raw: Any = read_value(line)
    except Unreadable:
        return []
    return raw if all(isinstance(name, str) for name in raw) else []


def _object(line: str, limits: Limits, head: list[str]) -> dict[str, str]:
    try:
        raw: Any = read_value(line, empty_nan=True, as_written=True)
    except Unreadable as error:
        raise ValueError(error.says) from error
    if head and isinstance(raw, list) and len(raw) <= len(head):
        raw = dict(zip(head, raw, strict=False))
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
