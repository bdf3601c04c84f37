"""Traces that are quiet are settled: their figures computed, drawn or not, and old ones deleted."""

from __future__ import annotations

import datetime as dt
import logging

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q, Sum
from django.utils import timezone

from annotation.models import Trace, TraceSource, TraceSpan
from annotation.traces import drawing
from annotation.traces.actions.queue import add_to_queue, source_secret
from annotation.traces.actions.scores import pick_score
from annotation.traces.figures import MOST_SCORES, figures_of
from annotation.traces.settings import SourceSettings, read_settings
from annotation.traces.tree import StoredSpan, build_chat, moment_of

logger = logging.getLogger(__name__)
AT_ONCE = 500  # traces of one turn of the job
DAY = dt.timedelta(days=1)
LIKE_A_SPAN = 10_000  # spans of one trace that are read
State = Trace.State


def settle_due(*, at_once: int = AT_ONCE) -> int:
    """Settle traces without a new span for their source's idle time; how many.

    One that cannot be settled waits until more of it comes, and stops no other.
    """
    done = 0
    sources = TraceSource.objects.filter(ended_at=None).select_related("project", "task__current")
    for source in sources:
        settings = read_settings(source.settings)
        quiet = timezone.now() - dt.timedelta(seconds=settings.idle_seconds)
        due = Trace.objects.filter(source=source, is_due=True, last_seen_at__lte=quiet)
        for pk in list(due.order_by("last_seen_at", "pk").values_list("pk", flat=True)[:at_once]):
            try:
                done += _settle(pk, source, settings)
            except (OperationalError, InterfaceError):  # the database is away, for all traces
                raise
            except Exception as error:
                logger.error("trace %s could not be settled: %s", pk, type(error).__name__)
                Trace.objects.filter(pk=pk).update(is_due=False)
    return done


@transaction.atomic
def _settle(pk: int, source: TraceSource, settings: SourceSettings) -> bool:
    rows = Trace.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
    trace = rows.filter(pk=pk, is_due=True).first()
    if trace is None:
        return False
    trace.source = source
    spans, totals = read_spans(trace)
    chat = build_chat(spans, hide_system=settings.hide_system)
    found = figures_of(spans, chat)
    was_settled = trace.state != State.RECEIVING and trace.spans_kept > 0
    trace.late = totals.spans - trace.spans_kept + trace.late if was_settled else 0
    trace.digest, trace.title, trace.service = found.digest, found.title, found.service
    trace.started_at = moment_of(found.start_ns)
    trace.seconds, trace.turns, trace.errors = found.seconds, found.turns, found.errors
    trace.spans_kept, trace.size = totals.spans, min(totals.size, 2**31 - 1)
    trace.dropped, trace.masked = totals.dropped, totals.masked
    trace.scores = dict(list({**trace.scores, **found.scores}.items())[-MOST_SCORES:])
    trace.score = pick_score(trace.scores, settings.judge)
    trace.feedback = trace.feedback if found.feedback is None else found.feedback
    trace.state = State.SETTLED if trace.state == State.RECEIVING else trace.state
    trace.settled_at, trace.is_due = timezone.now(), False
    if trace.inclusion is None and spans and source.task_id:
        draw_trace(trace, spans, settings)
    trace.save()
    return True


class _Totals:
    """Sums over the spans of a trace."""

    def __init__(self) -> None:
        self.spans = self.size = self.dropped = 0
        self.masked: dict[str, int] = {}

    def add(self, row: TraceSpan) -> None:
        self.spans += 1
        self.size += row.size
        self.dropped += row.dropped
        for name, number in row.masked.items():
            self.masked[name] = self.masked.get(name, 0) + number


def read_spans(trace: Trace) -> tuple[list[StoredSpan], _Totals]:
    """The stored spans of a trace in the order of their ids, and sums over them."""
    totals, spans = _Totals(), []
    for row in TraceSpan.objects.filter(trace=trace).order_by("span_id")[:LIKE_A_SPAN]:
        totals.add(row)
        spans.append(
            StoredSpan(
                id=row.span_id,
                parent=row.parent_id,
                name=row.name,
                kind=row.kind,
                start_ns=row.start_ns,
                end_ns=row.end_ns,
                is_error=row.is_error,
                message=row.message,
                attributes=row.attributes,
                events=row.events,
                dropped=row.dropped,
            )
        )
    return spans, totals


def draw_trace(trace: Trace, spans: list[StoredSpan], settings: SourceSettings) -> None:
    """Decide once whether a trace is reviewed, and add it to the queue; the caller saves it."""
    source = trace.source
    facts = drawing.Facts(
        trace.errors,
        trace.score,
        trace.feedback,
        drawing.attribute_values(spans, settings.rules),
    )
    base = drawing.base_inclusion(settings.rules, facts)
    recent = Trace.objects.filter(source=source, settled_at__gt=timezone.now() - DAY)
    expected = recent.aggregate(n=Sum("base_inclusion"))["n"] or 0.0
    factor = drawing.day_factor(expected + base, settings.budget)
    if (
        settings.budget
        and recent.filter(item__isnull=False).count() >= drawing.OVER * settings.budget
    ):
        factor = 0.0
    found = drawing.draw(
        settings.rules, facts, secret=source_secret(source), name=trace.trace_id, factor=factor
    )
    trace.base_inclusion, trace.inclusion = found.base, found.inclusion
    trace.stratum = found.stratum
    if found.rule:
        trace.drawn_by, trace.state = found.rule, State.QUEUED
        add_to_queue(trace=trace, spans=spans, settings=settings, facts=facts)


def delete_expired(*, at_once: int = 2000) -> int:
    """Delete the spans of traces whose days are over, and traces nobody drew; how many traces."""
    done = 0
    for source in TraceSource.objects.all():
        days = read_settings(source.settings).retention_days
        old = Q(last_seen_at__lt=timezone.now() - dt.timedelta(days=days))
        gone = Trace.objects.filter(old, source=source, item=None)[:at_once]
        done += len(gone)
        Trace.objects.filter(pk__in=[one.pk for one in gone]).delete()
        drawn = Trace.objects.filter(old, source=source, spans__isnull=False).distinct()
        for trace in drawn[:at_once]:  # what people judged stays with its item
            TraceSpan.objects.filter(trace=trace).delete()
            done += 1
    return done
