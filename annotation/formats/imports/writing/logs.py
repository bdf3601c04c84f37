"""Writing logs: how responses came about, as snapshots of the text or as changes of it (JSONL).

Pure. A line is a snapshot, ``response, topic, style, timestamp (ms), text``; the snapshots of a
response stand in the order in which they were taken, also where they have the same time, and lines
of several responses may alternate. Or it is a whole log as our export writes it, ``response,
topic, style, started_at, deltas``. ``worker`` may name the writer; else each response has one of
its own. Snapshots become changes as they are read, so that a large file is never held.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.formats.imports.published.files import Record, Source
from annotation.task_types.writing.deltas import Delta, apply, diff_texts
from crowdqc.numbers import count

NEEDED = ("response", "topic", "style")
SNAPSHOT, CHANGES = ("timestamp", "text"), ("started_at", "deltas")
MAX_NAME = 120  # characters of a response's or a worker's id
MAX_TEXT, MAX_SNAPSHOT = 20_000, 100_000  # characters of a response, of a text on its way
FIRST, LAST = 631_152_000_000, 4_102_444_800_000  # 1990 to 2100, in ms since 1970
MAX_RUN_MS = 60_000
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
Clean = Callable[[str], str]


@dataclass(slots=True)
class WritingLog:
    """How one response came about; ``deltas`` begin with the first text and end with ``text``.

    A delta is [ms, position, deleted, inserted] with a list of ms between keystrokes after it where
    a run was recorded; ms count from ``started``, which is in ms since 1970.
    """

    response: str
    topic: str
    style: str
    worker: str
    line: int  # where it was first seen
    started: int
    ended: int
    text: str = ""
    deltas: list[Delta] = field(default_factory=list)
    snapshots: int = 0
    characters: int = 0  # of all its snapshots


def to_datetime(ms: int) -> dt.datetime:
    """A time in ms since 1970 as a moment."""
    return dt.datetime.fromtimestamp(ms / 1000, dt.UTC)


class LogReader:
    """Takes the rows of a source in, one after another; what is wrong with them it notes there."""

    def __init__(self, source: Source, clean: Clean) -> None:
        self.source, self.clean = source, clean
        self.logs: dict[str, WritingLog] = {}

    def take(self, row: Record, topics: Collection[str] = (), styles: Collection[str] = ()) -> None:
        """Add one line of a log file; ``topics`` and ``styles`` are those allowed (empty: any)."""
        whole = row.get("deltas") is not None
        for name in CHANGES if whole else SNAPSHOT:
            if row.get(name) is None:
                self.source.add_error(name, "", _("This is missing."), _("Write it on every line."))
                return
        if whole:
            self._changes(row, topics, styles)
        else:
            self._snapshot(row, topics, styles)

    def _snapshot(self, row: Record, topics: Collection[str], styles: Collection[str]) -> None:
        time, text = row["timestamp"], row["text"]
        if not _time(time):
            self.source.add_error(
                "timestamp", time, _("This is no time in ms since 1970."), _("Mend it.")
            )
            return
        if not isinstance(text, str) or len(text) > MAX_SNAPSHOT:
            wrong = _("This is no text of at most %(max_snapshot)s characters.") % {
                "max_snapshot": count(MAX_SNAPSHOT)
            }
            self.source.add_error("text", text, wrong, _("Mend it, or leave the response out."))
            return
        text = self.clean(text)
        log = self.logs.get(str(row["response"]))
        if log is None:
            log = self._begun(row, int(time), topics, styles)
            log.deltas.append([0, 0, 0, text])
        elif not self._is_consistent(log, row) or self._earlier(log, time):
            return
        else:
            change = diff_texts(log.text, text)
            if change is not None:
                log.deltas.append([int(time) - log.started, *change])
        log.text, log.ended = text, int(time)
        log.snapshots, log.characters = log.snapshots + 1, log.characters + len(text)

    def _begun(
        self, row: Record, started: int, topics: Collection[str], styles: Collection[str]
    ) -> WritingLog:
        name, writer = str(row["response"]), str(row.get("worker") or row["response"])
        if topics:
            self.source.known(row, "topic", topics, "topic")
        if styles:
            self.source.known(row, "style", styles, "style")
        for column, value in (("response", name), ("worker", writer)):
            if not value.strip() or len(value) > MAX_NAME:
                wrong = _("An id has 1 to %(max_name)s characters.") % {"max_name": MAX_NAME}
                self.source.add_error(column, value, wrong, _("Shorten it."))
        log = WritingLog(
            name, str(row["topic"]), str(row["style"]), writer, self.source.line, started, started
        )
        self.logs[name] = log
        return log

    def _is_consistent(self, log: WritingLog, row: Record) -> bool:
        """Whether a further line names the topic and style that the first one named."""
        for column, first in (("topic", log.topic), ("style", log.style)):
            if str(row[column]) != first:
                wrong = _("The response began on line %(line)s with %(first)s.") % {
                    "line": count(log.line),
                    "first": first,
                }
                self.source.add_error(
                    column, row[column], wrong, _("A response has one topic and style.")
                )
                return False
        return True

    def _earlier(self, log: WritingLog, time: int) -> bool:
        if time >= log.ended:
            return False
        wrong = gettext_noop("This is before the snapshot that stands above it.")
        self.source.add_error(
            "timestamp", time, wrong, _("Sort the lines of each response by time.")
        )
        return True

    def _changes(self, row: Record, topics: Collection[str], styles: Collection[str]) -> None:
        name, started = str(row["response"]), _started(row["started_at"])
        if started is None:
            wrong = gettext_noop("This is no time.")
            self.source.add_error(
                "started_at", row["started_at"], wrong, "As 2025-03-31T14:05:00Z."
            )
            return
        if name in self.logs:
            wrong = _("This response stands on line %(line)s already.") % {
                "line": count(self.logs[name].line)
            }
            self.source.add_error("response", name, wrong, _("Keep one line of each response."))
            return
        rows = row["deltas"] if isinstance(row["deltas"], list) else [None]
        text, last = "", 0
        for place, delta in enumerate(rows, 1):
            try:
                _check(delta, last)
                text = apply(text, delta[:4])
            except ValueError as error:
                self.source.add_error(
                    "deltas", f"{place}", str(error), _("Take the file as exported.")
                )
                return
            last = delta[0]
        log = self._begun(row, started, topics, styles)
        # The first change is the text that the page began with.
        begins = bool(rows) and len(rows[0]) == 4 and rows[0][1:3] == [0, 0]
        log.deltas = rows if begins else [[0, 0, 0, ""], *rows]
        log.text, log.ended = text, started + last


def _time(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and FIRST <= value <= LAST


def _started(value: Any) -> int | None:
    try:
        at = dt.datetime.fromisoformat(str(value))
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=dt.UTC)
    ms = round(at.timestamp() * 1000)
    return ms if _time(ms) else None


def _check(delta: Any, last: int) -> None:
    """ValueError where this is no delta, or one that lies before the last."""
    well = (
        isinstance(delta, list)
        and len(delta) in (4, 5)
        and all(type(value) is int and value >= 0 for value in delta[:3])
        and isinstance(delta[3], str)
        and len(delta[3]) <= MAX_SNAPSHOT
    )
    if not well:
        raise ValueError("This is not [ms, position, deleted, inserted].")
    if "\x00" in delta[3] or LONE_SURROGATE.search(delta[3]):
        raise ValueError("Holds a character that no text can hold.")
    if delta[0] < last:
        raise ValueError("This change is before the one that stands above it.")
    if len(delta) == 5 and not _run(delta[4], delta[2], delta[3]):
        raise ValueError("A run has one interval in ms for each unit typed or deleted.")


def _run(times: Any, deleted: int, inserted: str) -> bool:
    units = len(inserted.encode("utf-16-le", "surrogatepass")) // 2
    return (
        isinstance(times, list)
        and 0 < len(times) == max(deleted, units)
        and min(deleted, units) == 0
        and all(type(ms) is int and 0 <= ms < MAX_RUN_MS for ms in times)
    )


def read_logs(
    source: Source,
    *,
    clean: Clean,
    topics: Collection[str] = (),
    styles: Collection[str] = (),
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Sequence[WritingLog]:
    """All logs of a file in the order in which they begin.

    ``clean`` makes a text one that can be stored, before changes are taken. Raises Invalid naming
    each bad line and its column.
    """
    reader = LogReader(source, clean)
    for row in source.stream(advance):
        reader.take(row, topics, styles)
    for log in reader.logs.values():
        if not log.text.strip() or len(log.text) > MAX_TEXT:
            source.line, shown = log.line, log.text[:60]
            wrong = _("What it ends with is no text of 1 to %(max_text)s characters.") % {
                "max_text": count(MAX_TEXT)
            }
            source.add_error("text", shown, wrong, _("Leave the response out."))
    source.refuse()
    return list(reader.logs.values())
