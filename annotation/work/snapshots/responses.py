"""Responses of writing tasks as evaluation freezes them: headers, texts, sources, forms, logs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Count, Sum

from annotation.models import (
    Answer,
    ChoiceValue,
    EventBatch,
    EventStream,
    Item,
    ItemGroup,
    Task,
    TextValue,
)

CHUNK = 5000
TEXT = "answer"
HEADER = (
    "pk",
    "item_id",
    "worker_id",
    "system_id",
    "replicate",
    "assignment_id",
    "answered_at",
    "version__settings__first_number",
)
FORMS = ("entry", "exit")


class Header(NamedTuple):
    """Who wrote what, in which assignment, and the number by which the first passage is cited."""

    answer_id: int
    item_id: int
    worker_id: int | None
    system_id: int | None
    replicate: int
    assignment_id: int | None
    answered_at: Any
    first_number: int | None


@dataclass(frozen=True)
class TopicItem:
    """An item: a topic in a style, and its query."""

    item_id: int
    key: str
    since: int
    style: str
    topic_id: int
    query: str


@dataclass(frozen=True)
class Topic:
    """A topic and its ranked passages."""

    topic_id: int
    key: str
    title: str
    passages: tuple[str, ...]
    titles: tuple[str, ...]


@dataclass(frozen=True)
class LogSize:
    """How much of a log is kept: what tells whether it is still the same."""

    streams: int
    events: int
    bytes: int


def headers(answer_ids: Collection[int]) -> list[Header]:
    """Return the headers (author, item, assignment) of these answers."""
    return [
        Header(*row)
        for chunk in _chunks(answer_ids)
        for row in Answer.objects.filter(pk__in=chunk).values_list(*HEADER)
    ]


def texts(answer_ids: Collection[int]) -> dict[int, str]:
    """Return the response text of each answer, by id."""
    found: dict[int, str] = {}
    for chunk in _chunks(answer_ids):
        rows = TextValue.objects.filter(answer__in=chunk, field=TEXT, index=0)
        found.update(rows.values_list("answer_id", "text"))
    return found


def items_by_id(task: Task) -> dict[int, TopicItem]:
    """Every item that the task ever had, by id."""
    rows = Item.objects.filter(task=task).values_list(
        "pk", "key", "since", "settings", "group_id", "question"
    )
    return {
        pk: TopicItem(pk, key, since, str(settings.get("style", "")), group, question)
        for pk, key, since, settings, group, question in rows
    }


def topics(topic_ids: Collection[int]) -> dict[int, Topic]:
    """Topics with their passages, by id."""
    rows = ItemGroup.objects.filter(pk__in=topic_ids).values_list("pk", "key", "title", "passages")
    return {
        pk: Topic(
            pk,
            key,
            title,
            tuple(str(one.get("text", "")) for one in passages),
            tuple(str(one.get("title", "")) for one in passages),
        )
        for pk, key, title, passages in rows
    }


def forms(answer_ids: Collection[int]) -> dict[int, dict[str, int]]:
    """The points chosen in the forms, by answer and field (``entry.knowledge``)."""
    found: dict[int, dict[str, int]] = {}
    for chunk in _chunks(answer_ids):
        rows = ChoiceValue.objects.filter(answer__in=chunk, ordinal__isnull=False)
        for pk, field, value in rows.values_list("answer_id", "field", "ordinal"):
            if field.partition(".")[0] in FORMS and value is not None:
                found.setdefault(pk, {})[field] = value
    return found


def log_sizes(assignment_ids: Collection[int]) -> dict[int, LogSize]:
    """Return the size of each assignment's log; assignments without a log are missing."""
    found: dict[int, LogSize] = {}
    for chunk in _chunks(assignment_ids):
        rows = (
            EventStream.objects.filter(assignment__in=chunk)
            .values("assignment")
            .annotate(n=Count("pk"), events=Sum("next_seq"), size=Sum("stored_bytes"))
            .values_list("assignment", "n", "events", "size")
        )
        found.update((pk, LogSize(n, events, size)) for pk, n, events, size in rows if events)
    return found


def logs(assignment_ids: Collection[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the events of a few assignments, by assignment (one query).

    For a few assignments at a time: an hour of writing is some thousand events.
    """
    found: dict[int, list[dict[str, Any]]] = {pk: [] for pk in assignment_ids}
    rows = (
        EventBatch.objects.filter(stream__assignment__in=assignment_ids)
        .order_by("stream", "first_seq")
        .values_list("stream__assignment_id", "stream_id", "first_seq", "events")
    )
    for pk, stream, first, batch in rows:
        found[pk].extend(
            {**event, "stream": stream, "seq": first + n} for n, event in enumerate(batch)
        )
    for events in found.values():
        events.sort(key=lambda event: (event["time"], event["stream"], event["seq"]))
    return found


def _chunks(ids: Collection[int]) -> Iterator[Sequence[int]]:
    listed = list(ids)
    for start in range(0, len(listed), CHUNK):
        yield listed[start : start + CHUNK]
