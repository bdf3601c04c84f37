"""Spans that came in are masked and stored, with three statements a request."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from annotation.models import Trace, TraceSource, TraceSpan
from annotation.traces.masks import Masker
from annotation.traces.settings import SourceSettings, read_settings
from annotation.traces.spans import CleanSpan, ReceivedSpan, clean_span
from crowdqc import limits

MAX_TRACE_SPANS = 10_000  # of one trace, with those that came twice
SEEN_EVERY = dt.timedelta(seconds=30)
BATCH = 1000
KILOBYTES_64 = 64 * 1024


@dataclass(frozen=True)
class Received:
    """What became of the spans of a request; ``message`` says why some were rejected."""

    stored: int
    rejected: int
    message: str = ""


def masker_of(settings: SourceSettings) -> Masker:
    """The masks of a source."""
    return Masker(settings.masks, settings.own_masks, settings.phone_countries)


def receive(*, source: TraceSource, spans: Sequence[ReceivedSpan], rejected: int = 0) -> Received:
    """Mask and store spans of a source; what was stored before stays as it came first.

    ``rejected`` could not be read. Raises LimitExceeded where the source sends too many a minute.
    """
    settings = read_settings(source.settings)
    count_rows(source, len(spans))
    masker = masker_of(settings)
    clean: dict[tuple[str, str], CleanSpan] = {}
    sent = Counter[str]()
    nameless = 0
    for span in spans:
        try:
            made = clean_span(span, masker)
        except ValueError:
            nameless += 1
            continue
        sent[made.trace_id] += 1
        clean.setdefault((made.trace_id, made.span_id), made)
    over = _store(source, list(clean.values()), sent)
    reasons = [
        f"{number} {why}"
        for number, why in (
            (rejected, "could not be read"),
            (nameless, "without valid ids"),
            (over, f"beyond {MAX_TRACE_SPANS:,} spans of one trace"),
        )
        if number
    ]
    total = rejected + nameless + over
    if total:
        TraceSource.objects.filter(pk=source.pk).update(rejected=F("rejected") + total)
    return Received(len(clean) - over, total, "; ".join(reasons))


def count_rows(source: TraceSource, number: int, kind: str = "trace-source") -> None:
    """Count spans or scores of a minute; LimitExceeded where a source sends too many.

    A request is counted by how many there are in it; each ``kind`` is counted on its own.
    """
    _count(source, -(-number // 100), kind)


def count_bytes(source: TraceSource, size: int) -> None:
    """Count a body before it is read, by its size; LimitExceeded as of too many spans."""
    _count(source, -(-size // KILOBYTES_64), "trace-bytes")


def _count(source: TraceSource, units: int, kind: str) -> None:
    most = max(1, read_settings(source.settings).spans_per_minute // 100)
    limit = limits.Limit(kind, most, limits.MINUTE)
    what = "This source sends too many spans a minute."
    limits.require_try(limit, source.pk, what, min(most, max(1, units)))


@transaction.atomic
def _store(source: TraceSource, spans: Sequence[CleanSpan], sent: Counter[str]) -> int:
    """Store them; how many are beyond the limit of their trace."""
    now = timezone.now()
    if source.last_seen_at is None or source.last_seen_at < now - SEEN_EVERY:
        TraceSource.objects.filter(pk=source.pk).update(last_seen_at=now)
    if not spans:
        return 0
    known = touch_traces(source.pk, sent)
    room = {
        name: MAX_TRACE_SPANS - (received - sent[name]) for name, (_, received) in known.items()
    }
    rows, over = [], 0
    for span in spans:
        if room[span.trace_id] <= 0:
            over += 1
            continue
        room[span.trace_id] -= 1
        rows.append(
            TraceSpan(
                trace_id=known[span.trace_id][0],
                span_id=span.span_id,
                parent_id=span.parent_id,
                name=span.name,
                kind=span.kind,
                start_ns=span.start_ns,
                end_ns=span.end_ns,
                is_error=span.is_error,
                message=span.message,
                attributes=span.attributes,
                events=span.events,
                dropped=min(span.dropped, 2**31 - 1),
                masked=span.masked,
                size=min(span.size, 2**31 - 1),
            )
        )
    TraceSpan.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)
    return over


def touch_traces(source_id: int, sent: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Insert traces, or note that more came: id and spans received, by trace id."""
    names = sorted(sent)  # in one order, so that two requests do not wait for each other
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotation_trace"
            " (source_id, trace_id, first_seen_at, last_seen_at, received)"
            " SELECT %s, name, now(), now(), number FROM unnest(%s::text[], %s::int[])"
            " AS sent(name, number)"
            " ON CONFLICT (source_id, trace_id) DO UPDATE SET last_seen_at = now(), is_due = true,"
            " received = LEAST(annotation_trace.received::bigint + EXCLUDED.received, 2147483647)"
            " RETURNING trace_id, id, received",
            [source_id, names, [sent[name] for name in names]],
        )
        return {name: (pk, received) for name, pk, received in cursor.fetchall()}


def find_trace(source: TraceSource, trace_id: str) -> Trace | None:
    """The trace of this id that the source has sent."""
    return Trace.objects.filter(source=source, trace_id=trace_id).first()
