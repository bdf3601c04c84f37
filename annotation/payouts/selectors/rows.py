"""Payments and statements as rows, for programs."""

from __future__ import annotations

from django.db.models import QuerySet

from annotation.models import Payment, Project, Recruitment, Statement, Task
from crowdqc.errors import Invalid, Missing


def payments_of(project: Project, state: str = "") -> QuerySet[Payment]:
    """A project's payments with what a row names; ``state`` "" means all."""
    if state and state not in Payment.State.values:
        raise Invalid("There is no such state.", fields={"state": ", ".join(Payment.State.values)})
    rows = Payment.objects.filter(assignment__task__project=project)
    rows = rows.filter(state=state) if state else rows
    return rows.select_related("worker", "line__batch", "recruitment")


def statements_of(task: Task) -> QuerySet[Statement]:
    """What was held against a task's books."""
    return Statement.objects.filter(task=task)


def way_of(task: Task, recruitment_id: int) -> Recruitment:
    """One way into the task, or Missing."""
    found = Recruitment.objects.filter(task=task, pk=recruitment_id).first()
    if found is None:
        raise Missing("It is not a way into this task.")
    return found
