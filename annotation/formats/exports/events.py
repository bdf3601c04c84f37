"""The interaction log out: everything that was recorded of everybody, under pseudonyms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.files.writing.tables import Table
from annotation.models import EventBatch, Task
from annotation.work.selectors import log

AT_ONCE = 20  # batches of events that are held
HEAD = ("worker", "assignment", "stream", "seq", "item")
# The vocabulary of BigBro, and what we add to it.
EVENT = (
    "method",
    "target",
    "name",
    "time",
    "x",
    "y",
    "screenWidth",
    "screenHeight",
    "comment",
    "length",
    "delta",
    "ms",
)


def table(task: Task, form: str, dimension: str = "") -> Table:
    """An event a row, in the order in which each page recorded them.

    JSONL holds what an event has and nothing else.
    """
    if form == "jsonl":
        return Table((), _events(task))
    return Table((*HEAD, *EVENT), ({**dict.fromkeys(EVENT), **row} for row in _events(task)))


def _events(task: Task) -> Iterator[dict[str, Any]]:
    items = dict(task.items.values_list("pk", "key"))
    named = {log.target_of(pk): key for pk, key in items.items()}
    batches = EventBatch.objects.filter(stream__assignment__task=task).order_by(
        "stream__assignment", "stream", "first_seq"
    )
    for worker, assignment, stream, first, events in batches.values_list(
        "stream__assignment__worker__pseudonym",
        "stream__assignment",
        "stream",
        "first_seq",
        "events",
    ).iterator(AT_ONCE):
        head = {"worker": worker, "assignment": assignment, "stream": stream}
        for number, event in enumerate(events, first):
            item = named.get(event.get("target", ""), "")
            yield {**head, "seq": number, "item": item, **event}
