"""What the history of a text consists of, and when page and passages were before the writer.

The first are the words in which ``process`` tells it, the second is read from a log's other events.
Rows are (time, event) in the order of time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.methods.writing.origins import Segment


@dataclass(frozen=True)
class Change:
    """One change of the text: at ``position``, ``deleted`` units give way to ``inserted``.

    Applied in their order, from the empty text, changes give ``Process.text``. ``ms`` are the
    intervals of a run of keys (ms[0] = 0; key i put in or took away unit i). ``parts`` says what of
    ``inserted`` came from where (relative to its beginning; none: all was typed); ``source`` and
    ``passage`` what most of it did. "shown" is the text that an opening of the page began with, as
    a change of the text before it (often none at all); "sync" what came from another tab; "jump"
    much at once, without a paste and without a key for each character.
    """

    time: int
    position: int
    deleted: int
    inserted: str
    kind: str
    source: str = ""
    passage: int = 0
    ms: tuple[int, ...] = ()
    parts: tuple[Segment, ...] = ()


@dataclass(frozen=True)
class Opening:
    """A passage opened and closed (or left open until the page was)."""

    passage: int
    start: int
    end: int


@dataclass(frozen=True)
class View:
    """``ms`` milliseconds of ``[start, end)`` with a passage in view."""

    passage: int
    start: int
    end: int
    ms: int


@dataclass(frozen=True)
class Key:
    """A key that put in or took away text; ``gap`` ms after the key before, None after a break."""

    time: int
    gap: int | None
    correction: bool
    repeat: bool = False  # the same character as before: a key held down, perhaps


@dataclass(frozen=True)
class Process:
    """A text's history. ``recorded`` holds which of keys, pastes, visibility and passages the log
    has; ``snapshots`` says that it was made of texts saved now and then. ``start`` is the time of
    the first event since the assignment was opened; every other time counts from it. ``absences``
    are [start, end) with the page hidden, unfocused or closed; ``pauses`` a minute or more in which
    nothing was done, the page being there. ``dwell`` is milliseconds in view of each passage.
    """

    changes: tuple[Change, ...]
    text: str
    segments: tuple[Segment, ...] = ()
    absences: tuple[tuple[int, int], ...] = ()
    pauses: tuple[tuple[int, int], ...] = ()
    openings: tuple[Opening, ...] = ()
    views: tuple[View, ...] = ()
    dwell: Mapping[int, int] = field(default_factory=dict)
    keys: tuple[Key, ...] = ()
    length: int = 0
    start: int = 0
    recorded: frozenset[str] = frozenset()
    snapshots: bool = False

    def origins(self) -> tuple[Segment, ...]:
        """Segments of the final text with their sources, in order."""
        return self.segments


Row = tuple[int, Mapping[str, Any]]
PAUSE_MS = 60_000
TURN_MS = 3000  # a page closed and the next one open within this is no absence
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
        "cite",
        "passage",
        "find",
    }
)
_PASSAGE = re.compile(r"passage-(\d{1,3})")


def _end(time: int, event: Mapping[str, Any]) -> int:
    """Return when an event was over: a run of keys lasts."""
    return time + int(sum(event.get("ms", ())))


def end_of(rows: Iterable[Row]) -> int:
    """Return when the last event ended (ms); 0 without events."""
    return max((_end(*row) for row in rows), default=0)


def absence_spans(rows: Sequence[Row]) -> tuple[tuple[int, int], ...]:
    """[start, end) with the page hidden, its window unfocused, or closed."""
    found: list[tuple[int, int]] = []
    since: int | None = None
    for time, event in rows:
        method, word = event["method"], event.get("name") or event.get("comment")
        window = event.get("target") == "window"
        leaves = (method == "visibilitychange" and word == "hidden") or (
            method == "blur" and window
        )
        returns = (
            (method == "visibilitychange" and word == "visible")
            or (method == "focus" and window)
            or (method in PRESENT and event.get("comment") != "sync")
        )
        if leaves and since is None:
            since = time
        elif returns and since is not None:
            turned = method == "open" and time - since < TURN_MS
            if time > since and not turned:
                found.append((since, time))
            since = None
    last = end_of(rows)
    if since is not None and last > since:
        found.append((since, last))
    return tuple(found)


def pauses(rows: Sequence[Row], away: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """[start, end) of a minute or more in which nobody did anything, the page being there.

    What the page tells by itself, such as time in view, is nothing done.
    """
    done = {(time, _end(time, event)) for time, event in rows if event["method"] != "dwell"}
    points = sorted(done | set(away))
    found = []
    reached = points[0][1] if points else 0
    for start, end in points:
        if start - reached >= PAUSE_MS:
            found.append((reached, start))
        reached = max(reached, end)
    return tuple(found)


def rank_of(word: Any, first_number: int) -> int:
    """Convert a passage's number on its page to its rank; 0 if it is no number."""
    text = str(word)
    known = text.isdecimal() and len(text) <= 3
    return max(0, int(text) - first_number + 1) if known else 0


def openings(rows: Sequence[Row], first_number: int = 1) -> tuple[Opening, ...]:
    """Passages as they were opened and closed, by when they were opened."""
    last: dict[Any, int] = {}
    for time, event in rows:
        last[event.get("stream", 0)] = time
    open_since: dict[tuple[Any, int], int] = {}
    found = []
    for time, event in rows:
        number = rank_of(event.get("comment"), first_number)
        if event["method"] != "passage" or not number:
            continue
        key = (event.get("stream", 0), number)
        if event.get("name") == "open":
            open_since.setdefault(key, time)
        elif key in open_since:
            found.append(Opening(number, open_since.pop(key), time))
    found += [Opening(key[1], since, last[key[0]]) for key, since in open_since.items()]
    return tuple(sorted(found, key=lambda opening: (opening.start, opening.passage)))


def views(rows: Sequence[Row], first_number: int = 1) -> tuple[View, ...]:
    """Return which passages were in view, with the times from their events."""
    told: dict[tuple[Any, int], int] = {}
    began: dict[Any, int] = {}
    found = []
    for time, event in rows:
        stream = event.get("stream", 0)
        began.setdefault(stream, time)
        match = _PASSAGE.fullmatch(str(event.get("name", "")))
        number = rank_of(match[1], first_number) if match else 0
        if event["method"] != "dwell" or not number:
            continue
        key, ms = (stream, number), int(event.get("comment") or 0)
        since = told.get(key, began[stream])
        told[key] = time
        if ms:
            found.append(View(key[1], min(since, max(0, time - ms)), time, ms))
    return tuple(found)


def dwell(seen: Iterable[View]) -> dict[int, int]:
    """Milliseconds in view of each passage, over all openings of the page."""
    total: dict[int, int] = {}
    for view in seen:
        total[view.passage] = total.get(view.passage, 0) + view.ms
    return dict(sorted(total.items()))
