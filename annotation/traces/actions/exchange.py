"""Sources that are read by a job, and scores of people sent back to them.

Spans are read by windows of time, page by page: how far is stored after each page, and windows
overlap, as spans come late; the first of a span stays. A score is claimed in a transaction of its
own and sent after it, under an identity that makes a second sending change nothing. Its comment is
kept until it has arrived.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings as django_settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from annotation.chats.storage import chat_of
from annotation.chats.units import split_unit, turn_of
from annotation.models import Answer, Trace, TraceScore, TraceSource
from annotation.notifications.actions.webhook_delivery import wait_after
from annotation.records.actions.audit import record
from annotation.traces.actions.receive import receive
from annotation.traces.actions.scores import receive_scores
from annotation.traces.actions.sources import PURPOSE
from annotation.traces.settings import read_settings
from annotation.traces.sources.base import OTHER_FORM, Connector, OutgoingScore, SourceError, Window
from annotation.traces.sources.langfuse import Langfuse
from annotation.traces.sources.langsmith import LangSmith
from annotation.traces.sources.phoenix import Phoenix
from crowdqc.errors import DomainError
from crowdqc.sealing.sealed import unseal

logger = logging.getLogger(__name__)
EVERY = dt.timedelta(minutes=1)
OVERLAP = dt.timedelta(minutes=10)
FIRST = dt.timedelta(days=7)  # of a new source
LONGEST = dt.timedelta(days=1)  # of one window
SECONDS = 40.0  # of one turn of the job
LEASE = dt.timedelta(minutes=2)
MAX_TRIES = 10
Kind, State = TraceSource.Kind, TraceScore.State
CONNECTORS: dict[str, Callable[[str, str, str], Connector]] = {
    Kind.PHOENIX: Phoenix,
    Kind.LANGFUSE: Langfuse,
    Kind.LANGSMITH: LangSmith,
}


@contextmanager
def connect(source: TraceSource) -> Iterator[Connector]:
    """The client of a source that is read; DomainError where its key cannot be opened."""
    key = ""
    if source.key_sealed:
        key = unseal(bytes(source.key_sealed), PURPOSE, "The key of this source")
    connector = CONNECTORS[source.kind](source.api_url, source.api_project, key)
    try:
        yield connector
    finally:
        connector.caller.close()


# -- reading -------------------------------------------------------------------------------------


def _due_sources() -> QuerySet[TraceSource]:
    rows = TraceSource.objects.filter(kind__in=CONNECTORS, ended_at=None)
    return rows.filter(Q(next_at=None) | Q(next_at__lte=timezone.now()))


def is_due() -> bool:
    """Whether a source is to be read, or a score to be sent."""
    return _due_sources().exists() or _due_scores().exists() or bool(_unsent())


def read_due() -> int:
    """Read sources that are due, for some time at most; how many spans came."""
    began, spans = time.monotonic(), 0
    for source in list(_due_sources().order_by("next_at", "pk")):
        while time.monotonic() - began < SECONDS:
            came, more = read_page(source)
            spans += came
            if not more:
                break
    return spans


def read_page(source: TraceSource) -> tuple[int, bool]:
    """Read one page of a source: how many spans it had, and whether there is more."""
    window = _window(source)
    try:
        with connect(source) as tool:
            page = tool.read(window)
        received = receive(source=source, spans=page.spans, rejected=page.rejected)
        receive_scores(source=source, rows=page.scores)
    except (SourceError, DomainError) as error:
        _note(source, error=str(error)[:300], next_at=timezone.now() + 5 * EVERY)
        return 0, False
    except (OperationalError, InterfaceError):  # the database is away, for all sources
        raise
    except Exception as error:
        logger.error("source %s could not be read: %s", source.pk, type(error).__name__)
        _note(source, error=OTHER_FORM, next_at=timezone.now() + 5 * EVERY)
        return 0, False
    more = bool(page.cursor)
    at_end = not more and window.end >= timezone.now() - EVERY
    cursor = {
        "start": (window.start if more else window.end - OVERLAP).isoformat(),
        "end": window.end.isoformat() if more else "",
        "cursor": page.cursor,
    }
    _note(source, cursor=cursor, error="", next_at=timezone.now() + EVERY * at_end)
    return received.stored, not at_end


def _note(source: TraceSource, **changes: object) -> None:
    TraceSource.objects.filter(pk=source.pk).update(**changes)
    for name, value in changes.items():
        setattr(source, name, value)


def _window(source: TraceSource) -> Window:
    now, kept = timezone.now(), source.cursor
    start = dt.datetime.fromisoformat(kept["start"]) if kept.get("start") else now - FIRST
    if kept.get("cursor") and kept.get("end"):
        return Window(start, dt.datetime.fromisoformat(kept["end"]), kept["cursor"])
    return Window(start, min(now, start + LONGEST))


# -- sending back --------------------------------------------------------------------------------


def _unsent() -> list[int]:
    """Ids of traces whose reviews are all in, and of which no score was made yet."""
    rows = Trace.objects.filter(
        source__sends_scores=True, source__kind__in=CONNECTORS, source__ended_at=None,
        item__isnull=False, outgoing=None, item__held__gte=F("item__redundancy"),
    ).annotate(
        given=Count("item__answers", filter=Q(item__answers__counts=True,
                                              item__answers__worker__isnull=False))
    )  # fmt: skip
    return list(rows.filter(given__gte=F("item__redundancy")).values_list("pk", flat=True)[:200])


def make_scores() -> int:
    """Make scores of the reviews of finished traces, for their sources; how many."""
    made = 0
    for pk in _unsent():
        try:
            made += _make(pk)
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            logger.error("no scores of trace %s: %s", pk, type(error).__name__)
    return made


@transaction.atomic
def _make(pk: int) -> int:
    rows = Trace.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
    trace = (
        rows.select_related("source__project", "item__chat").filter(pk=pk, outgoing=None).first()
    )
    if trace is None or trace.item is None:
        return 0
    settings = read_settings(trace.source.settings)
    spans = _spans_by_turn(trace)
    answers = Answer.objects.filter(item=trace.item, counts=True, worker__isnull=False)
    scores = []
    for answer in answers.prefetch_related("choices", "texts"):
        notes = [one.text for one in answer.texts.all() if one.text]
        for choice in answer.choices.all():
            name, unit = split_unit(choice.field)
            outcome = name == settings.outcome and not unit
            value = None
            if outcome and choice.code != "unsure":
                value = 0.0 if choice.code in settings.failing else 1.0
            elif choice.ordinal is not None and choice.code == str(choice.ordinal):
                value = float(choice.ordinal)
            scores.append(
                TraceScore(
                    trace=trace,
                    span_id=spans.get(turn_of(unit), "") if unit else "",
                    name=f"crowdqc {name}"[:80],
                    identity=identity_of(trace.source, answer.worker_id or 0),
                    label=choice.code[:80],
                    value=value,
                    comment="\n\n".join(notes)[:4000] if outcome else "",
                    next_at=timezone.now(),
                )
            )
    TraceScore.objects.bulk_create(scores, ignore_conflicts=True)
    record(
        by=None, project=trace.source.project, action="traces.send", on=trace.source,
        scores=len(scores),
    )  # fmt: skip
    return len(scores)


def _spans_by_turn(trace: Trace) -> dict[int, str]:
    """The span that made each turn."""
    if trace.item is None or trace.item.chat is None:
        return {}
    spans = chat_of(trace.item.chat).spans
    return {one.turn: one.id for one in reversed(spans) if one.turn is not None}


def identity_of(source: TraceSource, worker_id: int) -> str:
    """A name for a reviewer at a source that nobody there, or at another one, can link."""
    key = f"{django_settings.SECRET_KEY}/trace reviewers".encode()
    digest = hmac.new(key, f"{source.pk}/{worker_id}".encode(), hashlib.sha256).hexdigest()
    return f"crowdqc-{digest[:16]}"


def _due_scores() -> QuerySet[TraceScore]:
    return TraceScore.objects.filter(
        state=State.WAITING, next_at__lte=timezone.now(), trace__source__ended_at=None
    )


def send_due() -> int:
    """Make and send scores that are due, for some time at most; how many arrived."""
    make_scores()
    began, done = time.monotonic(), 0
    failing: set[int] = set()
    while time.monotonic() - began < SECONDS:
        row = _claim(failing)
        if row is None:
            break
        if _send(row):
            done += 1
        else:
            failing.add(row.trace.source_id)
    return done


@transaction.atomic
def _claim(failing: Iterable[int]) -> TraceScore | None:
    rows = _due_scores().select_for_update(skip_locked=True, of=("self",))
    row = (
        rows.select_related("trace__source")
        .exclude(trace__source__in=failing)
        .order_by("next_at", "pk")
        .first()
    )
    if row is not None:
        row.attempts, row.next_at = row.attempts + 1, timezone.now() + LEASE
        row.save(update_fields=["attempts", "next_at"])
    return row


def _send(row: TraceScore) -> bool:
    """Send a score and note what came of it; whether it arrived."""
    trace = row.trace
    try:
        with connect(trace.source) as tool:
            tool.send(_outgoing(row))
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        known = isinstance(error, SourceError | DomainError)
        if not known:
            logger.error("score %s was not sent: %s", row.pk, type(error).__name__)
        final = getattr(error, "final", False) or row.attempts >= MAX_TRIES
        TraceScore.objects.filter(pk=row.pk).update(
            state=State.FAILED if final else State.WAITING,
            error=str(error)[:300] if known else OTHER_FORM,
            next_at=timezone.now() + wait_after(row.attempts),
        )
        return False
    TraceScore.objects.filter(pk=row.pk).update(
        state=State.DONE, error="", comment="", done_at=timezone.now()
    )
    return True


def _outgoing(row: TraceScore) -> OutgoingScore:
    """A score as it is sent; its key is the same at every try."""
    named = f"{row.trace.trace_id}/{row.span_id}/{row.name}/{row.identity}"
    return OutgoingScore(
        key=hashlib.sha256(named.encode()).hexdigest()[:32],
        trace_id=row.trace.trace_id,
        span_id=row.span_id,
        name=row.name,
        identity=row.identity,
        label=row.label,
        value=row.value,
        comment=row.comment,
    )


@dataclass(frozen=True)
class Exchanged:
    """Spans that were read, and scores that were sent, in one turn of the job."""

    spans: int
    scores: int


def exchange_due() -> Exchanged:
    """Read what is due from sources, and send scores back, also where reading ends early."""
    try:
        spans = read_due()
    finally:
        scores = send_due()
    return Exchanged(spans, scores)
