"""How a text came to be, read from its log: changes, sources, absences, and what was read when.

Pure. Times are milliseconds since the first event of the text's pages; positions and lengths are
UTF-16 code units, as in the log. What happened is told, never judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluation.methods.writing import presence
from evaluation.methods.writing.origins import Sources
from evaluation.methods.writing.presence import Change, Key, Process
from evaluation.methods.writing.texts import Texts

Event = Mapping[str, Any]
BREAK_MS = 1500  # between two keys: longer is a pause, no rhythm


def read(
    events: Iterable[Event],
    passages: Sequence[str] | Sources,
    *,
    target: str = "",
    first_number: int = 1,
) -> Process:
    """Build the history of a text from its events.

    ``events`` are those of an item in the order of ``item_events``; or all of its assignment with
    ``target`` naming the item: only then are the events of window and passages here, of which those
    count that belong to an opening of its page. ``passages`` are the texts in rank order (as
    ``Sources`` with what else was on the page). The page numbered them from ``first_number``; a
    process numbers them from 1, their rank. ``replay_text`` gives the final text. Raises
    ValueError where a delta reaches beyond the text, that is when events are missing.
    """
    rows = _in_time(events, target)
    if not rows:
        return Process((), "")
    start = rows[0][0]
    rows = [(time - start, event) for time, event in rows]
    sources = passages if isinstance(passages, Sources) else Sources(passages)
    texts = Texts(sources, first_number)
    own = [(time, event) for time, event in rows if event.get("delta") or _is_of(event, target)]
    _follow(texts, own)
    text, segments = texts.finish()
    recorded, snapshots = _recorded(rows)
    absences = presence.absence_spans(rows)
    views = presence.views(rows, first_number)
    return Process(
        changes=tuple(texts.changes),
        text=text,
        segments=segments,
        absences=absences,
        pauses=presence.pauses(rows, absences),
        openings=presence.openings(rows, first_number),
        views=views,
        dwell=presence.dwell(views),
        keys=() if snapshots else tuple(_keys(texts.changes)),
        length=presence.end_of(rows),
        start=start,
        recorded=recorded,
        snapshots=snapshots,
    )


def _is_of(event: Event, target: str) -> bool:
    return not target or event.get("target") == target


def _in_time(events: Iterable[Event], target: str) -> list[tuple[int, Event]]:
    """Events of the item's streams in the order of time; within a stream, time never goes back.

    Other items' texts on a page of this one are left out.
    """
    listed = list(events)
    streams = {event.get("stream", 0) for event in listed if _is_of(event, target)}
    latest: dict[Any, int] = {}
    rows = []
    for event in listed:
        stream = event.get("stream", 0)
        other = event.get("delta") and not _is_of(event, target)
        if stream not in streams or other:
            continue
        latest[stream] = max(latest.get(stream, 0), int(event["time"]))
        rows.append((latest[stream], event))
    return sorted(rows, key=lambda row: row[0])


def _follow(texts: Texts, rows: Sequence[tuple[int, Event]]) -> None:
    """Feed the text's events, each write knowing which stream is written to next."""
    following: list[Any] = []
    coming = None
    for _, event in reversed(rows):
        following.append(coming)
        if event.get("delta") and event.get("comment") != "sync":
            coming = event.get("stream", 0)
    for (time, event), after in zip(rows, reversed(following), strict=True):
        texts.take(time, event, leads=after in (None, event.get("stream", 0)))


def _recorded(rows: Sequence[tuple[int, Event]]) -> tuple[frozenset[str], bool]:
    """Return what the log has, and whether it was made of snapshots."""
    events = [event for _, event in rows]
    if any(event.get("name") == "snapshot" for event in events):
        return frozenset(), True
    found = set()
    methods = {event["method"] for event in events}
    if "open" in methods or "keydown" in methods or any("ms" in event for event in events):
        found |= {"keys", "pastes"}
    if "open" in methods or "visibilitychange" in methods:
        found.add("visibility")
    if methods & {"passage", "dwell", "find"}:
        found.add("passages")
    return frozenset(found), not found and methods <= {"show"}


def _keys(changes: Iterable[Change]) -> Iterable[Key]:
    """Yield each key that changed the text: the keys of runs, else one for each change by hand."""
    last: int | None = None
    place = 0  # where the next key of the same rhythm would write
    character = ""
    for change in changes:
        if change.kind not in ("typed", "deleted"):
            last = None
            continue
        time, typed = change.time, change.inserted
        if change.ms:
            for k, gap in enumerate(change.ms):
                time += gap
                near = last is not None and k == 0 and time - last <= BREAK_MS
                now = typed[k : k + 1]
                known = gap if k else time - last if near and last is not None else None
                yield Key(time, known, not typed, bool(now) and now == character)
                last, character = time, now
        else:
            near = last is not None and time - last <= BREAK_MS and change.position == place
            known = time - last if near and last is not None else None
            yield Key(time, known, change.deleted > 0, bool(typed) and typed == character)
            last, character = time, typed
        place = change.position + len(typed)
