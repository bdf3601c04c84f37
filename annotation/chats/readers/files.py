"""A file of conversations in a stream: JSON Lines, JSON, archives of logs, and tables.

A record that cannot be read is a Problem with its line beside the others, and so is a step of a
trace. A limit that is passed raises Invalid, which names it.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zipfile import ZipFile

from django.utils.translation import gettext as _

from annotation.chats.readers import evals
from annotation.chats.readers.archive import BadMember, documents, open_archive, read_member
from annotation.chats.readers.base import ChatRecord, Score, UnreadableRecord, question_and_answer
from annotation.chats.readers.dispatch import RecordReader, recognise_record
from annotation.chats.readers.messages import is_message, is_messages
from annotation.files.reading.json_list import elements
from annotation.files.reading.limits import Limits, check_rows, check_size, current
from annotation.files.reading.rows import MAX_SHOWN, Problem, Row
from annotation.files.reading.sources import (
    GZIP,
    ZIP,
    Encoding,
    Source,
    encoding_of,
    lines,
    of_bytes,
)
from annotation.files.reading.tables import open_table, unpack
from annotation.files.reading.values import displayable
from crowdqc.errors import Invalid
from crowdqc.files.json_input import Unreadable, read_json

MAX_LINE = 24 * 2**20  # characters of one record
MAX_WHOLE = 32 * 2**20  # bytes of a document that is read at once
SUFFIXES = (".json", ".jsonl", ".ndjson", ".eval", ".json.gz", ".jsonl.gz")
PLAIN = ("prompt", "arena", "preference")  # formats whose records can be texts as well
LOOKED_AT = 5  # records by which a file is told


class LineRecord(NamedTuple):
    """A conversation, and the line (or number) of the record that it comes from."""

    line: int
    record: ChatRecord


Event = LineRecord | Problem


@dataclass
class ChatFile:
    """A file that is being read; ``reasons`` grow while ``events`` are read."""

    kind: str  # "JSONL", "JSON", "archive", or that of a table
    encoding: str
    events: Iterator[Event]
    reader: RecordReader = field(default_factory=RecordReader)

    @property
    def reasons(self) -> list[str]:
        """How the records were read so far, each format with the fields that told it."""
        return [shape.reason for shape in self.reader.shapes]


def open_chats(source: Source, name: str, limits: Limits | None = None) -> ChatFile:
    """Open a file of conversations; Invalid where it holds nothing or passes a limit."""
    limits = limits or current()
    check_size(source.size, limits.size)
    head = source.head()
    if head.startswith(GZIP):
        source, name = unpack(source, limits), name.removesuffix(".gz")
        head = source.head()
    reader = RecordReader()
    if head.startswith(ZIP) and not name.lower().endswith((".xlsx", ".ods")):
        return ChatFile("archive", "", _counted(_archive(source, reader, limits), limits), reader)
    encoding = encoding_of(source)
    first = head.decode(encoding.codec, "ignore").lstrip("\ufeff").lstrip()[:1]
    if head.startswith(b"PAR1") or first not in ("{", "["):
        table = open_table(source, name, limits)
        events = _read_all([_table_values(table.events)], reader)
        return ChatFile(table.kind, table.encoding, _counted(events, limits), reader)
    if first == "[":
        kind, values = "JSON", _list_values(source, encoding)
    elif (whole := _whole(source, encoding)) is not None:
        kind, values = "JSON", iter([(1, whole)])
    else:
        kind, values = "JSONL", _line_values(source, encoding)
    return ChatFile(kind, encoding.name, _counted(_read_all([values], reader), limits), reader)


def open_values(values: Iterable[Any]) -> ChatFile:
    """Read records that came as objects, numbered from 1."""
    reader = RecordReader()
    numbered = ((number, value) for number, value in enumerate(values, 1))
    return ChatFile("rows", "", _read_all([numbered], reader), reader)


def holds_chats(source: Source, name: str) -> bool:
    """Whether the first records of a file are conversations or steps of traces.

    Prompts with one answer, or two to choose from, are texts as well as conversations: no. Two
    to choose from without a prompt can only be conversations, and so can one whole chat between
    people, which is refused by name.
    """
    try:
        head = source.head()
        if head.startswith(ZIP):
            return name.lower().endswith(".eval")
        file = open_chats(source, name)
        events = list(itertools.islice(file.events, LOOKED_AT))
    except Invalid:
        return False
    if file.reader.group_chats and len(events) == 1:
        return True
    records = [one.record for one in events if isinstance(one, LineRecord)]
    return any(
        one.format not in PLAIN
        or (one.format == "preference" and one.seen == ("chosen", "rejected"))
        or question_and_answer(chat) is None
        for one in records
        for chat in one.chats
    )


def scores_in(source: Source, name: str) -> list[Score]:
    """The scores that the first records of a file of conversations bring along."""
    events = itertools.islice(open_chats(source, name).events, LOOKED_AT)
    return [score for one in events if isinstance(one, LineRecord) for score in one.record.scores]


def _counted(events: Iterator[Event], limits: Limits) -> Iterator[Event]:
    for count, event in enumerate(events, 1):
        if count > limits.rows:
            check_rows(count, limits)
        yield event


# Values ------------------------------------------------------------------------------------------

Value = tuple[int, Any]  # a line and what stands there: a parsed value, or a Problem


def _parsed(line: int, text: str) -> Value:
    try:
        return line, read_json(text, any_text=True, empty_nan=True)
    except Unreadable as error:
        mend = _("Write one JSON object here.")
        return line, Problem(line, "", displayable(text.strip(), MAX_SHOWN), error.says, mend)


def _line_values(source: Source, encoding: Encoding) -> Iterator[Value]:
    for number, text in enumerate(lines(source, encoding, MAX_LINE), 1):
        if text.strip():
            yield _parsed(number, text)


def _list_values(source: Source, encoding: Encoding) -> Iterator[Value]:
    """Elements of a list; a list of messages is one conversation."""
    texts = elements(source, encoding, MAX_LINE)
    values = (_parsed(number, text) for number, text in enumerate(texts, 1))
    first = next(values, None)
    if first is None:
        raise Invalid(_("The file holds no rows."), fields={"file": _("Choose a file with rows.")})
    if _is_only_message(first[1]):
        yield 1, [value for _line, value in itertools.chain([first], values)]
        return
    yield from itertools.chain([first], values)


def _is_only_message(value: Any) -> bool:
    if not is_message(value):
        return False
    try:
        return recognise_record(value).format in ("prompt",)
    except UnreadableRecord:
        return True


def _whole(source: Source, encoding: Encoding) -> Any:
    """The one document of a file that is no JSON Lines; None where its first line is a record."""
    text = lines(source, encoding, MAX_LINE)
    first = ""
    for line in text:
        first = line
        if line.strip():
            break
    try:
        read_json(first, any_text=True, empty_nan=True)
        return None
    except Unreadable:
        pass
    if source.size > MAX_WHOLE:
        raise Invalid(
            _("The file is one JSON document of more than %(most)s MB.")
            % {"most": MAX_WHOLE // 2**20},
            fields={"file": _("Write it as JSON Lines, a record a line.")},
        )
    rest = first + "".join(text)
    try:
        return read_json(rest, any_text=True, empty_nan=True)
    except Unreadable as error:
        if first.rstrip().endswith("}"):  # JSON Lines with a broken first line
            return None
        raise Invalid(error.message, fields={"file": _("Write JSON, or JSON Lines.")}) from error


def _table_values(events: Iterator[Row | Problem]) -> Iterator[Value]:
    for event in events:
        if isinstance(event, Problem):
            yield event.line or 0, event
        else:
            yield event.line, {name: value for name, value in event.values.items() if value != ""}


# Records -----------------------------------------------------------------------------------------


def _read_all(documents: Iterable[Iterator[Value]], reader: RecordReader) -> Iterator[Event]:
    """Read the records of documents; traces come last, as any document may hold their steps."""
    line = 0
    for line, value in itertools.chain.from_iterable(documents):
        if isinstance(value, Problem):
            yield value
            continue
        try:
            for record in reader.read(value):
                yield _event(line, value, record)
        except UnreadableRecord as error:
            yield _problem(line, value, error)
        yield from _bad_spans(line, reader)
    for record in reader.finish():
        yield _event(line, None, record)


def _event(line: int, value: Any, record: ChatRecord | UnreadableRecord) -> Event:
    if isinstance(record, UnreadableRecord):
        return _problem(line, value, record)
    return LineRecord(line, record)


def _problem(line: int, value: Any, error: UnreadableRecord) -> Problem:
    return Problem(line, "", _shown(value), str(error), _("See the formats in the manual."))


def _bad_spans(line: int, reader: RecordReader) -> Iterator[Problem]:
    bad, reader.bad_spans = reader.bad_spans, []
    for wrong in bad[:20]:
        yield Problem(
            line, "", "", _("A step of a trace cannot be read: %(wrong)s.") % {"wrong": wrong}, ""
        )
    if len(bad) > 20:
        more = _("%(count)s further steps of traces cannot be read.") % {"count": len(bad) - 20}
        yield Problem(line, "", "", more, "")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return displayable(", ".join(map(str, itertools.islice(value, 20))), MAX_SHOWN)
    return displayable(str(value)[:MAX_SHOWN], MAX_SHOWN)


def _archive(source: Source, reader: RecordReader, limits: Limits) -> Iterator[Event]:
    """Read Inspect's log sample by sample, or all JSON documents of another archive."""
    with tempfile.TemporaryFile() as held:
        for piece in source.pieces():
            held.write(piece)
        held.seek(0)
        archive = open_archive(held)
        about = _log_about(archive)
        count = itertools.count(1)
        yield from _read_all(_members(archive, about, limits, count), reader)
        if next(count) == 1:
            raise Invalid(
                _("The archive holds no conversations."),
                fields={"file": _("Choose an Inspect log, or an archive of JSON files.")},
            )


def _members(
    archive: ZipFile, about: dict[str, str] | None, limits: Limits, count: Iterator[int]
) -> Iterator[Iterator[Value]]:
    """Yield the values of each document; ``count`` numbers the documents."""
    for name, content in documents(archive, limits):
        if about is not None and not name.startswith("samples/"):
            continue
        number = next(count)
        if isinstance(content, BadMember):
            wrong = Problem(number, "", displayable(name, MAX_SHOWN), str(content), "")
            yield iter([(number, wrong)])
        elif name.lower().endswith(".jsonl"):
            inner = of_bytes(content)
            yield _line_values(inner, encoding_of(inner))
        else:
            line, value = _parsed(number, content.decode("utf-8", "replace"))
            if about is not None and isinstance(value, dict):
                value = {**about, **value}
            rows = value if isinstance(value, list) and not is_messages(value) else [value]
            yield ((line, row) for row in rows)


def _log_about(archive: ZipFile) -> dict[str, str] | None:
    """Task and model of Inspect's log; None where the archive is none."""
    for name in ("header.json", "_journal/start.json"):
        if name in archive.namelist():
            try:
                content = read_member(archive, archive.getinfo(name))
                head = read_json(content.decode("utf-8", "replace"), any_text=True, empty_nan=True)
            except (BadMember, Unreadable):
                return {}
            return evals.inspect_about(head) if isinstance(head, dict) else {}
    return None
