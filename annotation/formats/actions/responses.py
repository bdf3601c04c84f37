"""Responses of writing tasks from elsewhere: topics, what was written and how, in bulk, once.

A response is there already where its writer has the same text under the same item, but for space
around it; one that came without a log is given the log that comes later.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.named.actions import systems_by_name, workers_named
from annotation.authoring.actions.tasks import move, publish
from annotation.authoring.actions.writing_topics import add_topics
from annotation.formats.actions.answers import BATCH, lock_version, take_slots
from annotation.formats.actions.judgments import Added, Advance
from annotation.formats.imports.writing.logs import WritingLog, to_datetime
from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    EventBatch,
    EventStream,
    Item,
    Task,
    TaskVersion,
    TextValue,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.records.actions.audit import record
from annotation.records.actions.bulk import refresh_plans
from annotation.task_types import Values
from annotation.task_types.writing.citations import Marker, parse
from annotation.task_types.writing.deltas import Delta
from annotation.task_types.writing.type import citation_spans
from annotation.work.actions.answers import write_values
from annotation.work.actions.events import MAX_BATCH, MAX_BATCH_BYTES
from annotation.work.selectors.log import event_target
from crowdqc.errors import Conflict, Invalid

IMPORTED = "responses.import"
TEXT = "answer"
STORED_AT_ONCE = 100  # batches of events
SNAPSHOT, RUN = "snapshot", "run"


class ResponseRow(NamedTuple):
    """A response of a person (``worker``, their id) or of a system, under an item's key.

    ``answers`` are the points chosen before and after, ``said`` what was answered in words, both
    by field.
    """

    item: str
    text: str
    worker: str = ""
    system: tuple[str, str] = ("", "")  # name, prompt strategy
    answers: Mapping[str, int] = {}
    said: Mapping[str, str] = {}
    log: WritingLog | None = None
    at: dt.datetime | None = None
    uncounted: str = ""
    replicate: int = 0


@dataclass
class ImportedTask:
    """A task, and what became of each part."""

    task: Task
    added: dict[str, Added] = field(default_factory=dict)
    unknown_numbers: int = 0  # citations that name no passage


@dataclass
class _Place:
    """Where responses go: the version they are stored under, its items by key."""

    task: Task
    version: TaskVersion
    items: dict[str, Item]

    def item(self, key: str) -> Item:
        """Return the item with this key; raise Invalid if the task has none."""
        try:
            return self.items[key]
        except KeyError:
            raise Invalid(
                _("The task asks for no %(key)s.") % {"key": key}, fields={"style": _("Unknown.")}
            ) from None


def _place(task: Task) -> _Place:
    version = lock_version(task)
    items = task.items.in_version(version.number)
    return _Place(task, version, {item.key: item for item in items})


@transaction.atomic
def publish_topics(
    *, by: User, task: Task, topics: Sequence[Mapping[str, Any]], name: str = ""
) -> Added:
    """Add topics (``topic``, ``query``, ``passages``) and publish them, where they are new.

    A task that nobody was asked yet is closed at once: who wants more responses opens it. Raises
    Conflict where the task has a draft of other changes.
    """
    number = task.versions.latest("number").number
    there = set(task.groups.in_version(number).values_list("key", flat=True))
    fresh = [row for row in topics if row["topic"] not in there]
    first = task.current_id is None
    if not fresh and not first:
        return Added(0, len(topics))
    if not first and task.versions.filter(published_at__isnull=True).exists():
        raise Conflict(_("The task has a draft of changes; publish it or throw it away first."))
    closed = first or task.state == "closed"
    if task.state == "closed":
        move(by=by, task=task, to="reopen")
    add_topics(by=by, task=task, rows=fresh, name=name)
    publish(by=by, task=task)
    if closed:
        move(by=by, task=task, to="close")
    task.refresh_from_db()
    return Added(len(fresh), len(topics) - len(fresh))


def values_of(written: ResponseRow, item: Item, version: TaskVersion) -> tuple[Values, int]:
    """Return the values to store for a response, and how many citations name no passage.

    Such a mark stays in the text, and points at nothing.
    """
    settings = {**version.settings, **item.settings}
    first, there = settings["first_number"], settings.get("passages", 0)
    marks, unknown = [], 0
    for mark in parse(written.text):
        good = tuple(n for n in mark.numbers if first <= n < first + there)
        unknown += len(mark.numbers) - len(good)
        if good:
            marks.append(Marker(mark.start, mark.end, good))
    values = Values(
        texts=[(TEXT, 0, written.text), *((name, 0, text) for name, text in written.said.items())],
        choices=[(name, str(value), value) for name, value in written.answers.items()],
        spans=citation_spans(marks, first),
    )
    return values, unknown


@transaction.atomic
def add_responses(
    *,
    task: Task,
    rows: Sequence[ResponseRow],
    advance: Advance = lambda done: None,
) -> tuple[Added, int]:
    """Store responses of people, each an assignment of its own: submitted, without pay, settled.

    Those that count take slots, and the redundancy grows where they are more than it asks for.
    ``advance`` is told how many are stored. Returns what is new, and citations of no passage.
    """
    place = _place(task)
    workers = workers_named(task.project, {row.worker for row in rows})
    authors = {name: worker.pk for name, worker in workers.items()}
    there = _stored_responses(task)
    new: list[ResponseRow] = []
    late: list[tuple[ResponseRow, int]] = []  # responses that are there without the log
    for row in rows:
        same = (authors[row.worker], place.item(row.item).pk, row.text.strip())
        if not there.get(same):
            new.append(row)
            continue
        assignment, logged = there[same].pop()
        if row.log is not None and not logged and assignment is not None:
            late.append((row, assignment))
    take_slots(Counter(place.item(row.item).pk for row in new if not row.uncounted))
    unknown = 0
    for first in range(0, len(new), STORED_AT_ONCE):
        unknown += _store(new[first : first + STORED_AT_ONCE], place, authors)
        advance(min(first + STORED_AT_ONCE, len(new)))
    _add_logs(late, place)
    return Added(len(new) + len(late), len(rows) - len(new) - len(late)), unknown


def _stored_responses(
    task: Task,
) -> dict[tuple[int | None, int, str], list[tuple[int | None, bool]]]:
    """Map (worker, item, text) to assignments, each with whether it has a log."""
    texts = TextValue.objects.filter(field=TEXT, index=0, answer__item__task=task)
    logged = set(
        EventStream.objects.filter(assignment__task=task, next_seq__gt=0).values_list(
            "assignment_id", flat=True
        )
    )
    found: dict[tuple[int | None, int, str], list[tuple[int | None, bool]]] = {}
    rows = texts.filter(answer__worker__isnull=False).values_list(
        "answer__worker_id",
        "answer__item_id",
        "text",
        "answer__assignment_id",
        "answer__assignment__source",
        "answer__assignment__log_erased_at",
    )
    for worker, item, text, assignment, source, erased in rows.order_by("answer_id"):
        # What was written here has a log of its own, or none; what was erased stays so.
        has_log = assignment in logged or source != "import" or erased is not None
        found.setdefault((worker, item, text.strip()), []).append((assignment, has_log))
    return found


def _store(rows: Sequence[ResponseRow], place: _Place, authors: Mapping[str, int]) -> int:
    now = timezone.now()
    assignments = Assignment.objects.bulk_create(
        [_assignment(row, place, authors[row.worker], now) for row in rows], batch_size=BATCH
    )
    AssignmentItem.objects.bulk_create(
        AssignmentItem(
            assignment=one, item=place.item(row.item), position=0, holds=not row.uncounted
        )
        for one, row in zip(assignments, rows, strict=True)
    )
    answers = Answer.objects.bulk_create(
        Answer(
            version=place.version,
            item=place.item(row.item),
            assignment=one,
            worker_id=one.worker_id,
            order_shown=0,
            answered_at=one.submitted_at or now,
            counts=not row.uncounted,
            uncounted_reason=row.uncounted[:200],
        )
        for one, row in zip(assignments, rows, strict=True)
    )
    unknown = _write(answers, rows, place)
    refresh_plans(len(rows))
    _add_logs([(row, one.pk) for one, row in zip(assignments, rows, strict=True) if row.log], place)
    return unknown


def _write(answers: Iterable[Answer], rows: Iterable[ResponseRow], place: _Place) -> int:
    """Store the values of answers; returns how many citations name no passage."""
    told = [values_of(row, place.item(row.item), place.version) for row in rows]
    write_values(zip(answers, (values for values, _ in told), strict=True))
    return sum(unknown for _, unknown in told)


def _assignment(row: ResponseRow, place: _Place, worker: int, now: dt.datetime) -> Assignment:
    begun = to_datetime(row.log.started) if row.log else None
    ended = (to_datetime(row.log.ended) if row.log else row.at) or now
    return Assignment(
        task=place.task,
        version=place.version,
        worker_id=worker,
        source="import",
        pay=0,
        state=AssignmentState.SUBMITTED,
        leased_at=begun or ended,
        opened_at=begun,
        submitted_at=ended,
        expires_at=ended,
        settled_at=now,
    )


# Logs -----------------------------------------------------------------------------------------


def events_of(deltas: Iterable[Delta], target: str) -> Iterator[dict[str, Any]]:
    """Convert a writing log to events: the first text is shown, then each change.

    Which keys were pressed and what was pasted is not known, and no event says so.
    """
    for place, delta in enumerate(deltas):
        event = {"method": "input" if place else "show", "time": delta[0], "target": target}
        if len(delta) > 4:
            yield {**event, "name": RUN, "delta": delta[:4], "ms": delta[4]}
        elif place:
            yield {**event, "name": SNAPSHOT, "delta": delta}
        else:
            yield {**event, "delta": delta}


def _batches(events: Iterable[dict[str, Any]]) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """Events by batches as the page would send them, with their bytes as JSON."""
    batch: list[dict[str, Any]] = []
    size = 0
    for event in events:
        own = len(json.dumps(event, ensure_ascii=False).encode()) + 2
        if batch and (len(batch) == MAX_BATCH or size + own > MAX_BATCH_BYTES):
            yield batch, size
            batch, size = [], 0
        batch.append(event)
        size += own
    if batch:
        yield batch, size


def _add_logs(rows: Sequence[tuple[ResponseRow, int]], place: _Place) -> None:
    """Store one stream for each log whose assignment has none."""
    streams, batches = [], []
    for row, assignment in rows:
        assert row.log is not None  # noqa: S101 (rows with logs alone are handed over)
        stream = EventStream(assignment_id=assignment, key=uuid.uuid4())
        for events, size in _batches(
            events_of(row.log.deltas, event_target(place.item(row.item).pk))
        ):
            last = stream.next_seq + len(events) - 1
            batches.append(
                EventBatch(stream=stream, first_seq=stream.next_seq, last_seq=last, events=events)
            )
            stream.next_seq, stream.stored_bytes = last + 1, stream.stored_bytes + size
        streams.append(stream)
    EventStream.objects.bulk_create(streams, batch_size=BATCH)
    EventBatch.objects.bulk_create(batches, batch_size=STORED_AT_ONCE)


def stored_bytes(task: Task) -> tuple[int, int, int]:
    """Return the size of a task's logs in the database: (bytes, batches, events)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(pg_column_size(b.events)), 0), count(*), "
            "coalesce(sum(b.last_seq - b.first_seq + 1), 0) FROM annotation_eventbatch b "
            "JOIN annotation_eventstream s ON s.id = b.stream_id "
            "JOIN annotation_assignment a ON a.id = s.assignment_id WHERE a.task_id = %s",
            [task.pk],
        )
        size, batches, events = cursor.fetchone()
    return int(size), int(batches), int(events)


# Systems --------------------------------------------------------------------------------------


@transaction.atomic
def add_system_responses(*, task: Task, rows: Sequence[ResponseRow]) -> tuple[Added, int]:
    """Store responses of systems; one writes to an item once a replicate."""
    place, now = _place(task), timezone.now()
    names = [{"system": row.system[0], "prompt_strategy": row.system[1]} for row in rows]
    systems = systems_by_name(task.project, names)
    there = Answer.objects.filter(item__task=task, system__isnull=False)
    known = set(there.values_list("system_id", "item_id", "replicate"))
    new = [
        row
        for row in rows
        if (systems[row.system].pk, place.item(row.item).pk, row.replicate) not in known
    ]
    answers = Answer.objects.bulk_create(
        [
            Answer(
                version=place.version,
                item=place.item(row.item),
                system=systems[row.system],
                replicate=row.replicate,
                answered_at=row.at or now,
                counts=not row.uncounted,
                uncounted_reason=row.uncounted[:200],
            )
            for row in new
        ],
        batch_size=BATCH,
    )
    return Added(len(new), len(rows) - len(new)), _write(answers, new, place)


@transaction.atomic
def import_responses(
    *, by: User, task: Task, rows: Sequence[Mapping[str, Any]], name: str = ""
) -> int:
    """Add checked rows (see ``formats.imports.writing.responses``); returns how many are new."""
    written = [_written(row) for row in rows]
    people = [row for row in written if row.worker]
    systems = [row for row in written if not row.worker]
    new = add_responses(task=task, rows=people)[0].new if people else 0
    new += add_system_responses(task=task, rows=systems)[0].new if systems else 0
    record(by=by, project=task.project, action=IMPORTED, on=task, file=name, new=new)
    return new


def _written(row: Mapping[str, Any]) -> ResponseRow:
    return ResponseRow(
        row["item"],
        row["text"],
        row["worker"],
        (row["system"], row["prompt_strategy"]),
        at=row["at"],
        uncounted=row["uncounted"],
        replicate=row["replicate"],
    )


@transaction.atomic
def import_logs(
    *,
    by: User,
    task: Task,
    logs: Sequence[WritingLog],
    name: str = "",
    advance: Advance = lambda done: None,
) -> tuple[Added, int]:
    """Add what these logs end with, as responses, and the logs; what is new, and odd citations."""
    rows = [ResponseRow(f"{one.topic}-{one.style}", one.text, one.worker, log=one) for one in logs]
    added, odd = add_responses(task=task, rows=rows, advance=advance)
    record(by=by, project=task.project, action=IMPORTED, on=task, file=name, new=added.new)
    return added, odd
