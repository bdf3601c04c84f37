"""The interaction log: consented, sequential, append-only and bounded.

Texts and positions are in UTF-16 code units, as browsers count them.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.translation import gettext

from annotation.accounts.projects.actions import consent_for_work
from annotation.models import Assignment, EventStream, User
from annotation.models.assignments import AssignmentState
from annotation.work.selectors.log import rename_targets
from crowdqc.database.compiled import CompiledQuery, Placeholder, run_statement
from crowdqc.errors import Conflict, Invalid, LimitExceeded, NotAllowed

# "open" begins a page, "show" a question on it (its delta is the text found there).
PAGE_METHODS = ("open", "focus", "blur", "visibilitychange", "scroll", "resize", "click")
TEXT_METHODS = ("show", "keydown", "input", "paste", "copy", "cut", "drop")
# Choosing: a choice made (the line's field; the side as shown, the point, or the option's place),
# milliseconds that the page or one response was before the worker, a response on screen for the
# first time, sources and marks of differences shown or not.
JUDGING_METHODS = ("change", "dwell", "view", "sources", "differences")
# Everything that was entered for an item was cleared at once.
RESET_METHODS = ("reset",)
# Writing with sources: a passage unfolded or folded, cited, or looked for among the passages.
WRITING_METHODS = ("passage", "cite", "find")
# A stretch of a text marked (thinking aloud, labels), or a mark taken out.
THINKING_METHODS = ("mark",)
# An image enlarged (percent of the size at which it fits), a recording played, stopped, at its end.
MEDIA_METHODS = ("zoom", "play")
METHODS = frozenset(
    (
        *PAGE_METHODS,
        *TEXT_METHODS,
        *JUDGING_METHODS,
        *WRITING_METHODS,
        *THINKING_METHODS,
        *MEDIA_METHODS,
        *RESET_METHODS,
        "offline",
        "online",
    )
)
_MS = r"[0-9]{1,7}"
WORDS = {  # method: what its name and its comment may be
    "change": (
        r"(?:[cdlr]-|entry\.|exit\.)[a-z][a-z0-9_]{0,39}",
        r"left|neutral|right|yes|no|-?[0-9]{1,3}",
    ),
    "mark": (r"set|remove", r"(?:[0-9]{1,6}-[0-9]{1,6})?"),
    "dwell": (r"page|left|right|passage-[0-9]{1,3}", _MS),
    "view": (r"left|right", r""),
    "passage": (r"open|close", r"[0-9]{1,3}"),
    "cite": (r"[0-9]{1,3}", r""),
    "find": (r"", r"hits"),
    "sources": (r"open|close", r"([0-9]{1,3})?"),
    "differences": (r"on|off", r""),
    "reset": (r"", r""),
    "zoom": (r"", r"[0-9]{3}"),
    "play": (r"play|pause|ended", _MS),
}
KEY_CLASSES = frozenset(
    ["letter", "digit", "space", "correction", "navigation", "punctuation", "enter", "other"]
)
MAX_BATCH = 1000  # events
MAX_RUN, MAX_RUN_MS = 200, 60_000  # keystrokes in one event, ms between two of them
MAX_BATCH_BYTES = 512 * 1024
MAX_ASSIGNMENT_BYTES = 20 * 1024 * 1024
MAX_STREAMS = 200
# Nobody types faster than this for long; a script that does is refused until time catches up.
RATE = 200  # events a second and stream, on average since it was opened
BURST = 10_000  # events
# The last events of a page may arrive after its submit; what comes later was not work.
GRACE = dt.timedelta(minutes=10)
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


LOG = "SELECT log_erased_at FROM annotation_assignment WHERE id = %s FOR NO KEY UPDATE"
STREAMS = "SELECT count(*) FROM annotation_eventstream WHERE assignment_id = %s"
OPEN = """
INSERT INTO annotation_eventstream
    (assignment_id, key, opened_at, offset_ms, next_seq, stored_bytes)
VALUES (%s, %s, %s, %s, 0, 0) ON CONFLICT (key) DO NOTHING
"""
KNOWN = CompiledQuery(lambda: EventStream.objects.filter(key=Placeholder("key")))


@transaction.atomic
def open_stream(*, by: User, assignment: Assignment, key: UUID) -> EventStream:
    """Open a stream for one page view; the same key returns the same stream."""
    _writable(by, assignment)
    known = KNOWN.first(key=key)
    if known is None:
        # Locked, so that an erasure of the log sees this stream or is seen here.
        if run_statement(LOG, [assignment.pk])[0][0]:
            raise Conflict(
                gettext("The log of this assignment was erased; nothing more is recorded.")
            )
        if run_statement(STREAMS, [assignment.pk])[0][0] >= MAX_STREAMS:
            raise LimitExceeded(
                gettext("This assignment was opened too often to be recorded further.")
            )
        begun = assignment.opened_at or assignment.leased_at
        offset = (timezone.now() - begun).total_seconds() * 1000
        run_statement(OPEN, [assignment.pk, key, timezone.now(), max(0, int(offset))])
        known = KNOWN.all(key=key)[0]  # or what another request opened meanwhile
    if known.assignment_id != assignment.pk:
        raise Conflict(gettext("This key belongs to another assignment."))
    return known


def _own(by: User, assignment: Assignment) -> None:
    if assignment.worker.user_id != by.pk:
        raise NotAllowed(gettext("This is somebody else's assignment."))


def clean_event(raw: Any, number: int) -> dict[str, Any]:
    """Return one event by formats.md; Invalid names its number and field."""
    if not isinstance(raw, dict) or raw.get("method") not in METHODS:
        raise Invalid(
            gettext("Event %(number)s has no known method.") % {"number": number},
            fields={f"events.{number}.method": gettext("Unknown.")},
        )
    event: dict[str, Any] = {"method": raw["method"]}
    time = raw.get("time")
    if not isinstance(time, int | float) or isinstance(time, bool) or not 0 <= time < 1e11:
        raise Invalid(
            gettext("Event %(number)s has no time.") % {"number": number},
            fields={f"events.{number}.time": gettext("Milliseconds since the assignment opened.")},
        )
    event["time"] = int(time)
    for name in ("target", "name", "comment"):
        if raw.get(name) not in (None, ""):
            event[name] = _clean_text(str(raw[name]))[:500]
    for name in ("x", "y", "screenWidth", "screenHeight", "length"):
        value = raw.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9:
            event[name] = int(value)
    if event["method"] == "keydown" and event.get("name") not in KEY_CLASSES:
        raise Invalid(
            gettext("Event %(number)s names a key; only its class is taken.") % {"number": number},
            fields={f"events.{number}.name": ", ".join(sorted(KEY_CLASSES))},
        )
    if event["method"] in WORDS:
        _check_vocabulary(event, number)
    if "delta" in raw:
        event["delta"] = _clean_delta(raw["delta"], number)
    if "ms" in raw:
        event |= _clean_key_times(raw, event, number)
    return event


def _check_vocabulary(event: dict[str, Any], number: int) -> None:
    """Require words of the vocabulary where they are summed up later."""
    for field, pattern in zip(("name", "comment"), WORDS[event["method"]], strict=True):
        if not re.fullmatch(pattern, event.get(field, "")):
            raise Invalid(
                gettext("Event %(number)s is no %(event)s that the log knows.")
                % {"number": number, "event": event["method"]},
                fields={
                    f"events.{number}.{field}": gettext("Must match %(value)s.")
                    % {"value": pattern or "nothing"}
                },
            )


def _clean_delta(raw: Any, number: int) -> list[Any]:
    """Return [ms, position, deleted, inserted] by formats.md."""
    well = (
        isinstance(raw, list)
        and len(raw) == 4
        and all(isinstance(v, int) and not isinstance(v, bool) and v >= 0 for v in raw[:3])
        and isinstance(raw[3], str)
    )
    if not well:
        raise Invalid(
            gettext("Event %(number)s has a broken delta.") % {"number": number},
            fields={f"events.{number}.delta": gettext("[ms, position, deleted, inserted]")},
        )
    return [raw[0], raw[1], raw[2], _clean_text(raw[3])]


def _clean_key_times(raw: dict[str, Any], event: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the intervals of a run of keystrokes, one per unit."""
    times, keys = raw["ms"], raw.get("keys", 0)
    _, _, deleted, inserted = event.get("delta") or (0, 0, 0, "")
    units = len(inserted.encode("utf-16-le")) // 2
    well = (
        event["method"] == "input"
        and isinstance(times, list)
        and len(times) == max(deleted, units)
        and min(deleted, units) == 0
        and 0 < len(times) <= MAX_RUN
        and all(type(ms) is int and 0 <= ms < MAX_RUN_MS for ms in times)
        and type(keys) is int
        and 0 <= keys < 10 * MAX_RUN
    )
    if not well:
        raise Invalid(
            gettext("Event %(number)s is no run of keystrokes.") % {"number": number},
            fields={
                f"events.{number}.ms": gettext("One interval in ms for each unit typed or deleted.")
            },
        )
    return {"ms": times, "keys": keys}


def _clean_text(raw: str) -> str:
    """Replace units that JSON in PostgreSQL cannot hold."""
    return LONE_SURROGATE.sub("\ufffd", raw).replace("\x00", "\ufffd")


def _in_rate(stream: EventStream, fresh: int) -> None:
    age = max(0.0, (timezone.now() - stream.opened_at).total_seconds())
    if stream.next_seq + fresh > BURST + RATE * age:
        raise LimitExceeded(
            gettext("More events came than a person makes; they are taken later."), code="rate"
        )


# A stream, locked, and how much all streams of its assignment hold.
IN_ALL = RawSQL(
    "(SELECT sum(a.stored_bytes) FROM annotation_eventstream a"
    " WHERE a.assignment_id = annotation_eventstream.assignment_id)",
    (),
)
# And the rows of the assignment's items in their order.
ITEMS = RawSQL(
    "(SELECT array_agg(e.item_id ORDER BY e.position) FROM annotation_assignmentitem e"
    " WHERE e.assignment_id = annotation_eventstream.assignment_id)",
    (),
)
STREAM = CompiledQuery(
    lambda: (
        EventStream.objects.filter(key=Placeholder("key"))
        .annotate(stored_in_all=IN_ALL, items=ITEMS)
        .select_for_update(no_key=True)
    )
)
ADD = """
WITH batch AS (
    INSERT INTO annotation_eventbatch (stream_id, first_seq, last_seq, events, received_at)
    VALUES (%(stream)s, %(first)s, %(last)s, %(events)s::jsonb, %(now)s))
UPDATE annotation_eventstream SET next_seq = %(last)s + 1, stored_bytes = %(stored)s
WHERE id = %(stream)s
"""


@transaction.atomic
def append_events(
    *,
    by: User,
    assignment: Assignment,
    stream_key: UUID,
    first_seq: int,
    events: Sequence[Any],
    public: bool = False,
) -> int:
    """Store a batch; return the next expected number, which acknowledges the rest.

    ``public``: targets name items as their worker's pages and programs do, by their numbers; what
    is stored names their rows.

    A batch sent again, wholly or in part, adds only what is new. A gap raises Conflict with
    ``fields["next"]``, so that the page sends what is missing.
    """
    if not isinstance(first_seq, int) or isinstance(first_seq, bool) or first_seq < 0:
        raise Invalid(
            gettext("first_seq is wrong."), fields={"first_seq": gettext("A whole number from 0.")}
        )
    if not isinstance(events, list | tuple):
        raise Invalid(
            gettext("events is not a list."), fields={"events": gettext("A list of events.")}
        )
    if len(events) > MAX_BATCH:
        raise Invalid(
            gettext("The batch is too long."),
            fields={"events": gettext("%(max_batch)s at most.") % {"max_batch": MAX_BATCH}},
        )
    clean = [clean_event(event, number) for number, event in enumerate(events)]
    size = len(json.dumps(clean, ensure_ascii=False).encode())
    if size > MAX_BATCH_BYTES:
        raise LimitExceeded(gettext("The batch is too large; send smaller ones."))
    stream = STREAM.first(key=stream_key)
    if stream is None or stream.assignment_id != assignment.pk:
        raise Invalid(
            gettext("There is no such stream."),
            fields={"stream": gettext("Open one first.")},
            code="no-stream",
        )
    _writable(by, assignment)
    if first_seq > stream.next_seq:
        raise Conflict(
            gettext("Events from %(next_seq)s are missing.") % {"next_seq": stream.next_seq},
            fields={"next": str(stream.next_seq)},
        )
    fresh = clean[stream.next_seq - first_seq :]
    if public and assignment.seed is not None:
        items: list[int] = stream.items or []  # type: ignore[attr-defined]
        fresh = rename_targets(fresh, dict(enumerate(items, 1)))
    if not fresh:
        return stream.next_seq
    _in_rate(stream, len(fresh))
    if stream.stored_in_all + size > MAX_ASSIGNMENT_BYTES:  # type: ignore[attr-defined]
        raise LimitExceeded(gettext("The log of this assignment is full."), code="log-full")
    last = stream.next_seq + len(fresh) - 1
    batch = {
        "stream": stream.pk,
        "first": stream.next_seq,
        "last": last,
        "events": json.dumps(fresh),
        "now": timezone.now(),
        "stored": stream.stored_bytes + size,
    }
    run_statement(ADD, batch)
    return last + 1


def _writable(by: User, assignment: Assignment) -> None:
    _own(by, assignment)
    if assignment.state == AssignmentState.RETURNED:
        raise Conflict(gettext("The assignment was returned; nothing more is recorded."))
    if _is_closed(assignment):
        raise Conflict(
            gettext("The assignment was submitted; nothing more is recorded."), code="log-closed"
        )
    if consent_for_work(assignment) is None:
        raise NotAllowed(gettext("Nothing is recorded without your agreement."), code="no-consent")


def _is_closed(assignment: Assignment) -> bool:
    """Whether the log is closed: decided, or submitted before the grace period."""
    if assignment.state != AssignmentState.SUBMITTED or assignment.submitted_at is None:
        return False
    # A quiz is settled by its own submit.
    decided = assignment.settled_at is not None and assignment.quiz is None
    return decided or timezone.now() - assignment.submitted_at > GRACE
