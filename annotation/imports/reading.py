"""From bytes to rows: encoding, delimiter, CSV, JSONL, parquet, and the line of each row."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation.exports import parquet
from crowdqc.cells import unprotected
from crowdqc.errors import Invalid

from .base import MAX_BYTES, MAX_SHOWN, Problem, Row, Sheet

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
csv.field_size_limit(MAX_BYTES)


def check_size(size: int, most: int = MAX_BYTES) -> None:
    """Refuse a file that is empty or too large, naming both sizes."""
    if size == 0:
        raise Invalid("The file is empty.", fields={"file": "Choose a file with rows."})
    if size > most:
        raise Invalid(
            f"The file has {size / 2**20:.1f} MB; {most // 2**20} MB is the most.",
            fields={"file": "Split it into smaller files; importing adds to what is there."},
        )


def decode(content: bytes) -> tuple[str, str, str]:
    """Text, the encoding's name, and a note where it had to be guessed.

    UTF-8 with or without byte order mark, UTF-16 with one or by its zero bytes, else Latin-1,
    which every file fits and which is therefore said.
    """
    for mark, codec, name in (
        (codecs.BOM_UTF8, "utf-8-sig", "UTF-8 with byte order mark"),
        (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
        (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
    ):
        if content.startswith(mark):
            return _strict(content, codec, name), name, ""
    head = content[:2000]
    if head.count(0) > len(head) // 4:
        codec = "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"
        return _strict(content, codec, "UTF-16"), "UTF-16", "without byte order mark"
    try:
        return content.decode("utf-8"), "UTF-8", ""
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        note = f"line {line:,} is not UTF-8, so it is read as Latin-1; look at its accents"
        return content.decode("cp1252", errors="replace"), "Latin-1", note


def _strict(content: bytes, codec: str, name: str) -> str:
    try:
        return content.decode(codec)
    except UnicodeDecodeError as error:
        raise Invalid(
            f"The file says that it is {name}, but its byte {error.start:,} is not.",
            fields={"file": "Save it again as UTF-8."},
        ) from error


def read(content: bytes, name: str) -> Sheet:
    """The rows of a CSV, JSONL or parquet file; Invalid where there is nothing to read at all."""
    check_size(len(content))
    if content.startswith(b"PAR1"):
        return _parquet(content)
    text, encoding, note = decode(content)
    first = text.lstrip()[:1]
    if not first:
        raise Invalid("The file holds no rows.", fields={"file": "Choose a file with rows."})
    if first == "[" and name.lower().endswith((".json", ".jsonl")):
        raise Invalid(
            "The file is one JSON list; JSONL has one object on each line.",
            fields={"file": "Write each object of the list on a line of its own."},
        )
    if first == "{" or name.lower().endswith((".jsonl", ".ndjson")):
        return _jsonl(text, encoding, note)
    return _csv(text, encoding, note)


def _parquet(content: bytes) -> Sheet:
    try:
        columns, found = parquet.read(content)
        rows = [
            Row(number, {name: _as_text(value) for name, value in row.items()})
            for number, row in enumerate(found, 1)
        ]
    except ValueError as error:
        raise Invalid(
            f"The file cannot be read as parquet: {error}.", fields={"file": "Write it again."}
        ) from error
    _check_head(columns)
    return Sheet("parquet", "", "", "", columns, rows, [])


def _jsonl(text: str, encoding: str, note: str) -> Sheet:
    columns: dict[str, None] = {}
    rows: list[Row] = []
    unreadable: list[Problem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values = _object(line)
        except ValueError as error:
            mend = "Write one JSON object with texts on this line."
            unreadable.append(Problem(number, "", line.strip()[:MAX_SHOWN], str(error), mend))
            continue
        columns.update(dict.fromkeys(values))
        rows.append(Row(number, values))
    return Sheet("JSONL", encoding, note, "", list(columns), rows, unreadable)


def sheet_of(rows: Sequence[Mapping[str, Any]]) -> Sheet:
    """Rows that came as objects (through the API), numbered from 1 in place of lines."""
    columns = dict.fromkeys(str(name) for row in rows for name in row)
    texts = [
        Row(number, {str(name): _as_text(value) for name, value in row.items()})
        for number, row in enumerate(rows, 1)
    ]
    return Sheet("rows", "", "", "", list(columns), texts, [])


def _object(line: str) -> dict[str, str]:
    try:
        raw: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"Not JSON at character {error.colno}.") from error
    except RecursionError as error:
        raise ValueError("Nested too deeply.") from error
    if not isinstance(raw, dict):
        raise ValueError("A JSON object is wanted here, not a list or a single value.")
    return {str(key): _as_text(value) for key, value in raw.items()}


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _delimiter(text: str) -> str:
    """The delimiter that gives the head most columns, and rows as many as the head."""
    sample = text[:20_000]

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


def _lines(text: str, delimiter: str) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Rows with the line where each begins; a row that cannot be read is its error."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
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


def _csv(text: str, encoding: str, note: str) -> Sheet:
    delimiter = _delimiter(text)
    lines = _lines(text, delimiter)
    _, head = next(lines, (1, []))
    if isinstance(head, csv.Error):
        raise Invalid(
            f"The first line cannot be read: {head}.",
            fields={"file": "The first line names the columns."},
        )
    columns = [name.strip() for name in head]
    _check_head(columns)
    rows: list[Row] = []
    unreadable: list[Problem] = []
    for line, values in lines:
        if isinstance(values, csv.Error):
            unreadable.append(_broken(line, values))
        elif len(values) > len(columns):
            shown = delimiter.join(values)[:MAX_SHOWN]
            wrong = f"{len(values)} values, but the first line names {len(columns)} columns."
            mend = f"Put quotation marks around a value that holds a {DELIMITERS[delimiter]}."
            unreadable.append(Problem(line, "", shown, wrong, mend))
        else:
            texts = map(unprotected, values)
            rows.append(Row(line, dict(zip(columns, texts, strict=False))))
    return Sheet("CSV", encoding, note, DELIMITERS[delimiter], columns, rows, unreadable)


def _broken(line: int, error: csv.Error) -> Problem:
    if "end of data" in str(error):
        wrong = "A quotation mark opens here and never closes; all below it is swallowed."
    else:
        wrong = "The quotation marks of this row do not match."
    return Problem(line, "", "", wrong, 'Close it, and write a mark within a value twice: "".')


def _check_head(columns: list[str]) -> None:
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if twice:
        raise Invalid(
            f"The first line names {', '.join(twice)} twice.",
            fields={"file": "Give each column a name of its own."},
        )
    if not any(columns):
        raise Invalid(
            "The first line names no column.",
            fields={"file": "The first line names the columns."},
        )
