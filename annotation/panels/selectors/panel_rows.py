"""Panels and qualification rounds as rows, for programs."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Count, Q, QuerySet

from annotation.models import Assignment, Membership, Panel, Project, Role, Task
from annotation.models.assignments import AssignmentState
from crowdqc.errors import Missing


def panels_of(project: Project) -> QuerySet[Panel]:
    """A project's panels, each with how many are on it now."""
    return project.panels.annotate(now=Count("members", filter=Q(members__until__isnull=True)))


def workers_of(project: Project, ids: Collection[int]) -> list[Membership]:
    """These workers of the project; Missing where one is none of its."""
    found = list(project.memberships.filter(pk__in=ids, role=Role.WORKER, removed_at=None))
    if len(found) < len(set(ids)):
        raise Missing("There is no such worker in this project.")
    return found


def rounds_of(task: Task) -> QuerySet[Assignment]:
    """Submitted rounds of a qualification task, each with what was said of it."""
    rows = Assignment.objects.filter(task=task, state=AssignmentState.SUBMITTED)
    return rows.select_related("worker", "qualification")
