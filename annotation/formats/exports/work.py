"""How people worked, out: their assignments as MTurk has them, and all that was recorded of them.

People appear under their pseudonyms alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.files.writing.tables import Table
from annotation.models import Assignment, EventBatch, Task
from annotation.models.assignments import AssignmentState
from annotation.models.decisions import Decision, with_decision
from annotation.work.selectors import log

CHUNK = 2000
ASSIGNMENTS = (
    *("AssignmentId", "WorkerId", "HITId"),
    *("AssignmentStatus", "AcceptTime", "SubmitTime"),
)
SUBMITTED = "Submitted"
STATUS = {
    Decision.APPROVED: "Approved",
    Decision.PAID: "Approved",
    Decision.REJECTED: "Rejected",
}
AT_ONCE = 20  # batches of events that are held
HEAD = ("worker", "assignment", "stream", "seq", "item_id")
# The vocabulary of BigBro, and what we add to it.
EVENT = (
    *("method", "target", "name", "time", "x", "y", "screenWidth", "screenHeight"),
    *("comment", "length", "delta", "ms"),
)


def assignment_table(task: Task, form: str, dimension: str = "") -> Table:
    """Return the submitted assignments, a row each; workers by pseudonym, the task as the HIT.

    Approved is what the books owe or paid, Rejected what was refused and not overturned, Submitted
    all else: work whose rejection was overturned too, until a proposal that pays it is approved.
    """
    return Table(ASSIGNMENTS, _assignments(task))


def _assignments(task: Task) -> Iterator[dict[str, Any]]:
    found = Assignment.objects.filter(task=task, state=AssignmentState.SUBMITTED).order_by("pk")
    for pk, worker, decision, accepted, submitted in (
        with_decision(found)
        .values_list("pk", "worker__pseudonym", "decision", "leased_at", "submitted_at")
        .iterator(CHUNK)
    ):
        yield {
            "AssignmentId": str(pk),
            "WorkerId": worker,
            "HITId": str(task.pk),
            "AssignmentStatus": STATUS.get(decision, SUBMITTED),
            "AcceptTime": accepted.isoformat(),
            "SubmitTime": submitted.isoformat() if submitted else "",
        }


def event_table(task: Task, form: str, dimension: str = "") -> Table:
    """An event a row, in the order in which each page recorded them.

    JSONL holds what an event has and nothing else.
    """
    if form == "jsonl":
        return Table((), _events(task))
    return Table((*HEAD, *EVENT), ({**dict.fromkeys(EVENT), **row} for row in _events(task)))


def _events(task: Task) -> Iterator[dict[str, Any]]:
    items = dict(task.items.values_list("pk", "key"))
    named = {log.event_target(pk): key for pk, key in items.items()}
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
            yield {**head, "seq": number, "item_id": item, **event}
