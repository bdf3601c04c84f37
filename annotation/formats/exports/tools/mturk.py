"""Assignments out under the names that requesters of MTurk's marketplace know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Case, CharField, Exists, OuterRef, Q, Value, When

from annotation.files.writing.tables import Table
from annotation.models import Assignment, PayoutBatch, PayoutLine, Rejection, Task
from annotation.models.assignments import AssignmentState

CHUNK = 2000
COLUMNS = (
    "AssignmentId",
    "WorkerId",
    "HITId",
    "AssignmentStatus",
    "AcceptTime",
    "SubmitTime",
)
SUBMITTED, APPROVED, REJECTED = "Submitted", "Approved", "Rejected"


def table(task: Task, form: str, dimension: str = "") -> Table:
    """What was submitted, an assignment a row; workers by pseudonym, the task as the HIT.

    Approved is what an approved proposal pays or an appeal won, Rejected what was refused and
    not overturned, Submitted all else.
    """
    return Table(COLUMNS, _rows(task))


def _rows(task: Task) -> Iterator[dict[str, Any]]:
    approved = PayoutLine.objects.filter(
        assignment=OuterRef("pk"),
        live=True,
        decision=PayoutLine.Decision.APPROVE,
        batch__state=PayoutBatch.State.APPROVED,
    )
    refused = Rejection.objects.filter(assignment=OuterRef("pk"))
    overturned = Q(outcome=Rejection.Outcome.OVERTURNED)
    status = Case(
        When(Exists(refused.exclude(overturned)), then=Value(REJECTED)),
        When(Exists(refused.filter(overturned)), then=Value(APPROVED)),
        When(Exists(approved), then=Value(APPROVED)),
        default=Value(SUBMITTED),
        output_field=CharField(),
    )
    found = Assignment.objects.filter(task=task, state=AssignmentState.SUBMITTED).order_by("pk")
    for pk, worker, said, accepted, submitted in (
        found.annotate(status=status)
        .values_list("pk", "worker__pseudonym", "status", "leased_at", "submitted_at")
        .iterator(CHUNK)
    ):
        yield {
            "AssignmentId": str(pk),
            "WorkerId": worker,
            "HITId": str(task.pk),
            "AssignmentStatus": said,
            "AcceptTime": accepted.isoformat(),
            "SubmitTime": submitted.isoformat() if submitted else "",
        }
