"""Read the interaction log: summaries, and the text that events produce.

Times are milliseconds since the assignment was opened. Positions and counts of characters are in
UTF-16 code units, as browsers count them. A figure here is evidence for a reader, never a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.core.cache import cache
from django.db import connection
from django.db.models import Max, Sum

from annotation.models import AssignmentItem, EventBatch, EventStream

Event = Mapping[str, Any]
PASTED = frozenset({"insertFromPaste", "insertFromDrop", "insertFromYank", "paste", "drop"})
# What a person does only while the page is before them.
PRESENT = frozenset(
    {
        "keydown",
        "input",
        "click",
        "scroll",
        "paste",
        "copy",
        "cut",
        "drop",
        "open",
        "change",
        "sources",
        "differences",
        "passage",
        "cite",
        "find",
        "zoom",
        "play",
        "reset",
    }
)
ITEM = re.compile(r"^item-([0-9]{1,18})(?![0-9])")  # of an event's target
TURN_MS = 3000  # a page closed and the next one open within this is no absence
IDLE_MS = 300_000  # reading may take so long without a key or a scroll; what goes beyond is idle
SUMMARY_VERSION = 5  # part of the cache's key


@dataclass(frozen=True)
class LogSummary:
    """Summary of one assignment's log; zeros if nothing was recorded."""

    seconds_total: float = 0.0  # from the first event to the last
    seconds_away: float = 0.0  # of these, with the page hidden, unfocused or closed
    seconds_idle: float = 0.0  # of these, before the worker and beyond IDLE_MS without any event
    pasted_chars: int = 0
    typed_chars: int = 0
    outside_chars: int = 0  # of the pasted ones, those from elsewhere
    pastes_passage: int = 0
    pastes_own: int = 0
    pastes_outside: int = 0
    focus_losses: int = 0
    keys: int = 0
    corrections: int = 0
    events: int = 0
    snapshots: int = 0  # states of a text in an imported log, which knows no keys and no pastes

    @property
    def paste_share(self) -> float:
        """Pasted characters of all inserted, 0 to 1; 0 without any."""
        put_in = self.pasted_chars + self.typed_chars
        return self.pasted_chars / put_in if put_in else 0.0

    @property
    def known_paste_share(self) -> float | None:
        """Share of pasted characters; None if the log could not record pastes."""
        return self.paste_share if self.events and not self.snapshots else None

    @property
    def outside_share(self) -> float:
        """Characters pasted from elsewhere of all inserted, 0 to 1."""
        put_in = self.pasted_chars + self.typed_chars
        return self.outside_chars / put_in if put_in else 0.0

    @property
    def seconds_active(self) -> float:
        """Seconds between the first and last event with the page visible."""
        return max(0.0, self.seconds_total - self.seconds_away)

    @property
    def seconds_worked(self) -> float:
        """Seconds with activity: a page left open overnight does not count."""
        return max(0.0, self.seconds_active - self.seconds_idle)

    @property
    def pastes(self) -> int:
        """Number of pastes from any source."""
        return self.pastes_passage + self.pastes_own + self.pastes_outside


EMPTY = LogSummary()


def utf16_length(text: str) -> int:
    """Return the length in UTF-16 code units, as JavaScript counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def replay_text(events: Iterable[Event]) -> str:
    """Return the text after one item's events in their order.

    ``events`` are those of one target. A ``show`` event sets the text that its page began with;
    every ``delta`` [ms, position, deleted, inserted] is then applied at a position in UTF-16 code
    units. Raises ValueError when a delta reaches beyond the text, that is when events are missing.
    """
    last = bytearray()
    for _, text in replay_steps(events):
        last = text
    return last.decode("utf-16-le", "replace")


def replay_steps(events: Iterable[Event]) -> Iterator[tuple[Event, bytearray]]:
    """Yield each event that has a delta, with the text then (UTF-16-LE, reused)."""
    text = bytearray()
    for event in events:
        delta = event.get("delta")
        if not delta:
            continue
        _, position, deleted, inserted = delta
        new = str(inserted).encode("utf-16-le", "surrogatepass")
        if event["method"] == "show":
            text[:] = new
        else:
            start, end = 2 * position, 2 * (position + deleted)
            if end > len(text):
                raise ValueError(
                    f"A delta at {position} deletes {deleted} of a text of {len(text) // 2} units."
                )
            text[start:end] = new
        yield event, text


def event_target(item_id: int) -> str:
    """Return the ``target`` of events in an item's answer field."""
    return f"item-{item_id}"


def rename_targets(events: Iterable[Event], names: Mapping[int, int]) -> list[dict[str, Any]]:
    """Rename items in events; an item without a number becomes 0.

    Stored events name items by their rows; to workers an item is its place in the assignment.
    """

    def named(found: re.Match[str]) -> str:
        return event_target(names.get(int(found[1]), 0))

    return [
        {**event, "target": ITEM.sub(named, event["target"])}
        if event.get("target", "").startswith("item-")
        else dict(event)
        for event in events
    ]


def item_numbers(assignment_ids: Sequence[int]) -> dict[int, dict[int, int]]:
    """Return by assignment the number of each item, from 1 (one query)."""
    found: dict[int, dict[int, int]] = {pk: {} for pk in assignment_ids}
    rows = AssignmentItem.objects.filter(assignment__in=assignment_ids)
    for assignment, item, position in rows.values_list("assignment", "item", "position"):
        found[assignment][item] = position + 1
    return found


def own_events(assignment_id: int) -> list[dict[str, Any]]:
    """Return all events of an assignment for its worker."""
    numbers = item_numbers([assignment_id])[assignment_id]
    return rename_targets(assignment_events(assignment_id), numbers)


def assignment_events(assignment_id: int) -> list[dict[str, Any]]:
    """Return an assignment's events in time order, with ``stream`` and ``seq``."""
    events = [
        {**event, "stream": stream, "seq": first + number}
        for stream, first, batch in EventBatch.objects.filter(stream__assignment=assignment_id)
        .order_by("stream", "first_seq")
        .values_list("stream_id", "first_seq", "events")
        for number, event in enumerate(batch)
    ]
    return sorted(events, key=lambda event: (event["time"], event["stream"], event["seq"]))


def item_events(events: Sequence[Event], item_id: int) -> list[Event]:
    """Return the events of one item, ready for ``replay_text``.

    Each stream (an opening of the page) tells its text from a ``show`` event on, so streams
    stand one after the other; the one written to last comes last and gives the final text.
    """
    own = [event for event in events if event.get("target") == event_target(item_id)]
    last: dict[int, float] = {}
    for event in own:
        if "delta" in event and event.get("comment") != "sync":
            last[event["stream"]] = max(last.get(event["stream"], -1), event["time"])
    return sorted(
        own, key=lambda event: (last.get(event["stream"], -1), event["stream"], event["seq"])
    )


def is_key_run(event: Event) -> bool:
    """Whether an event is a run of keystrokes with the time of each."""
    return event["method"] == "input" and bool(event.get("ms"))


def log_summaries(assignment_ids: Sequence[int]) -> dict[int, LogSummary]:
    """Return the summary of each assignment, empty without a log.

    Two queries at most, whatever their number: logs only grow, so a summary computed once is
    kept under the count of its events.
    """
    keys = summary_keys(assignment_ids)
    known = cache.get_many(keys.values())
    found = {pk: known[key] for pk, key in keys.items() if key in known}
    missing = sorted(keys.keys() - found.keys())
    if missing:
        new = dict(_computed(missing))
        cache.set_many({keys[pk]: summary for pk, summary in new.items()}, timeout=None)
        found.update(new)
    return {pk: found.get(pk, EMPTY) for pk in assignment_ids}


def summary_keys(assignment_ids: Sequence[int]) -> dict[int, str]:
    """Return the cache keys of these summaries; none without a log."""
    sizes = (
        EventStream.objects.filter(assignment__in=assignment_ids)
        .values("assignment")
        .annotate(size=Sum("next_seq"), opened=Max("opened_at"))
        .values_list("assignment", "size", "opened")
    )
    return {
        pk: f"log-summary:{SUMMARY_VERSION}:{pk}:{size}:{opened.timestamp()}"
        for pk, size, opened in sizes
        if size
    }


def _computed(assignment_ids: Sequence[int]) -> Iterator[tuple[int, LogSummary]]:
    rows = (
        EventBatch.objects.filter(stream__assignment__in=assignment_ids)
        .order_by("stream__assignment", "stream", "first_seq")
        .values_list("stream__assignment_id", "stream_id", "events")
    )
    for pk, batches in groupby(rows.iterator(chunk_size=200), key=lambda row: row[0]):
        streams: dict[int, list[Event]] = {}
        for _, stream, events in batches:
            streams.setdefault(stream, []).extend(events)
        yield pk, summarize_streams(streams.values())


def summarize_streams(streams: Iterable[Sequence[Event]]) -> LogSummary:
    """Summarise an assignment's streams, each in sequence."""
    streams = list(streams)
    counts = dict.fromkeys(
        ("typed", "pasted", "elsewhere", "passage", "own", "outside", "keys", "back", "snapshots"),
        0,
    )
    for events in streams:
        _count_input(events, counts)
    merged = sorted(
        (
            (event["time"], number, place, event)
            for number, events in enumerate(streams)
            for place, event in enumerate(events)
        ),
        key=lambda row: row[:3],
    )
    away, starts, idle = _absences([event for *_, event in merged])
    return LogSummary(
        seconds_total=(max(map(_end, merged)) - merged[0][0]) / 1000 if merged else 0.0,
        seconds_away=away,
        seconds_idle=idle,
        pasted_chars=counts["pasted"],
        typed_chars=counts["typed"],
        outside_chars=counts["elsewhere"],
        pastes_passage=counts["passage"],
        pastes_own=counts["own"],
        pastes_outside=counts["outside"],
        focus_losses=len(starts),
        keys=counts["keys"],
        corrections=counts["back"],
        events=len(merged),
        snapshots=counts["snapshots"],
    )


def _end(row: tuple[float, int, int, Event]) -> float:
    return row[0] + sum(row[3].get("ms", ()))  # the time of a run is that of its first key


def _count_input(events: Sequence[Event], counts: dict[str, int]) -> None:
    """Add one stream's keys, pastes and characters."""
    before: Event = {}
    for event in events:
        method = event["method"]
        if method == "keydown":
            pressed = event.get("length", 1)
            counts["keys"] += pressed
            counts["back"] += pressed if event.get("name") == "correction" else 0
        elif method == "paste" or (method == "drop" and event.get("comment")):
            source = event.get("comment", "outside")
            counts[source if source in ("passage", "own") else "outside"] += 1
        elif method == "input" and event.get("delta") and event.get("comment") != "sync":
            counts["keys"] += event.get("keys", 0)
            counts["back"] += event["delta"][2] if is_key_run(event) else 0
            size = utf16_length(event["delta"][3])
            after_paste = before.get("method") in ("paste", "drop") and not event.get("name")
            kind = "pasted" if event.get("name") in PASTED or after_paste else "typed"
            counts["snapshots"] += event.get("name") == "snapshot"
            if event.get("name") not in ("cite", "snapshot"):  # neither typed nor pasted
                counts[kind] += size
                known = (event.get("comment") or before.get("comment")) in ("passage", "own")
                counts["elsewhere"] += size if kind == "pasted" and not known else 0
        before = event


def absence_starts(events: Sequence[Event]) -> set[int]:
    """Return the places of the events with which absences begin, each counted once.

    ``events`` are those of an assignment in time order. Nothing of a turn to the next page.
    """
    _, starts, _ = _absences(events)
    return set(starts)


def _absences(events: Sequence[Event]) -> tuple[float, list[int], float]:
    """Return seconds away, where absences begin, and seconds idle."""
    since: float | None = None
    starts: list[int] = []
    total, idle = 0.0, 0.0
    last = events[0]["time"] if events else 0
    for place, event in enumerate(events):
        if since is None:
            idle += max(0.0, event["time"] - last - IDLE_MS)
        last = max(last, event["time"] + sum(event.get("ms", ())))
        method, word = event["method"], event.get("name") or event.get("comment")
        window = event.get("target") == "window"
        leaves = (method == "visibilitychange" and word == "hidden") or (
            method == "blur" and window
        )
        returns = (
            (method == "visibilitychange" and word == "visible")
            or (method == "focus" and window)
            or method in PRESENT
        )
        if leaves and since is None:
            since = event["time"]
            starts.append(place)
        elif returns and since is not None:
            gone, since = event["time"] - since, None
            if method == "open" and gone < TURN_MS:
                starts.pop()  # from one page of the assignment to the next
            else:
                total += gone
    if since is not None:
        gone = events[-1]["time"] - since
        if gone < TURN_MS:
            starts.pop()  # the page was closed, or submitted, and the log ends
        else:
            total += gone
    return total / 1000, starts, idle / 1000


def counts_by_method(assignment_ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """Count each assignment's stored events by method (one query)."""
    found: dict[int, dict[str, int]] = {pk: {} for pk in assignment_ids}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT s.assignment_id, e ->> 'method', count(*) FROM annotation_eventbatch b "
            "JOIN annotation_eventstream s ON s.id = b.stream_id, "
            "jsonb_array_elements(b.events) e WHERE s.assignment_id = ANY(%s) GROUP BY 1, 2 "
            "ORDER BY 3 DESC",
            [list(assignment_ids)],
        )
        for pk, method, number in cursor.fetchall():
            found[pk][method] = number
    return found
