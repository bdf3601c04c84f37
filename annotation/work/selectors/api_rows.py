"""Reads for the API, each page a fixed number of queries."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotation.access import work_ever, worker_in, worker_memberships
from annotation.models import (
    Answer,
    Assignment,
    Consent,
    Item,
    LedgerEntry,
    Membership,
    Project,
    Qualification,
    Rejection,
    Task,
)
from annotation.models.decisions import with_decision
from crowdqc.errors import Missing


def projects_of(user: Any, only: int | None = None) -> QuerySet[Project]:
    """Projects the person belongs to (or the one of them), each with ``roles_here``."""
    theirs = Q(memberships__user_id=user.pk, memberships__removed_at__isnull=True)
    rows = (
        Project.objects.filter(theirs) if only is None else Project.objects.filter(theirs, pk=only)
    )
    return rows.annotate(roles_here=ArrayAgg("memberships__role", filter=theirs))


def tasks_of(project: Project) -> QuerySet[Task]:
    """A project's tasks with their versions."""
    return project.tasks.select_related("current").prefetch_related("versions")


def items_of(task: Task) -> QuerySet[Item]:
    """All items of a task, of every version."""
    return task.items.select_related("group", "first", "second")


def answers_of(task: Task, *, author: str = "") -> QuerySet[Answer]:
    """A task's answers with what their rows show; ``author`` is worker, system or both."""
    rows = (
        Answer.objects.filter(item__task=task)
        .select_related("item", "version", "worker", "system")
        .prefetch_related("texts", "choices")
    )
    if author == "worker":
        return rows.filter(worker__isnull=False)
    if author == "system":
        return rows.filter(system__isnull=False)
    return rows


def answer(answer_id: int) -> Answer | None:
    """One answer with what its row shows and its task's project."""
    rows = Answer.objects.filter(pk=answer_id)
    return (
        rows.select_related("item__task", "version", "worker", "system")
        .prefetch_related("texts", "choices")
        .first()
    )


def assignments_of(task: Task) -> QuerySet[Assignment]:
    """A task's assignments, each with its ``decision``."""
    return with_decision(task.assignments.select_related("worker", "version"))


def worker_of(project: Project, user: Any) -> Membership:
    """The person's own working membership of a project; Missing where they do not work in it."""
    member = worker_in(user, project.pk)
    if member is None:
        raise Missing(_("You do not work in this project."))
    return member


def own_assignments(user: Any, only: int | None = None) -> QuerySet[Assignment]:
    """The person's own assignments in all their projects, or in one."""
    members = worker_memberships(user)
    members = members if only is None else members.filter(project=only)
    rows = Assignment.objects.filter(worker__in=members)
    return with_decision(rows.select_related("version", "task"))


def _members(user: Any, only: int | None) -> QuerySet[Membership]:
    members = work_ever(user)
    return members if only is None else members.filter(project=only)


def ledger(user: Any, only: int | None = None) -> QuerySet[LedgerEntry]:
    """What was booked for their work."""
    return LedgerEntry.objects.filter(worker__in=_members(user, only))


def rejections(user: Any, only: int | None = None) -> QuerySet[Rejection]:
    """Rejections of their work, each with its task."""
    rows = Rejection.objects.filter(assignment__worker__in=_members(user, only))
    return rows.select_related("assignment__task")


def consents(user: Any, only: int | None = None) -> QuerySet[Consent]:
    """Every agreement they gave."""
    rows = Consent.objects.filter(membership__in=_members(user, only))
    return rows.select_related("membership", "text")


def rounds(user: Any, only: int | None = None) -> QuerySet[Qualification]:
    """What was said of their qualification rounds."""
    rows = Qualification.objects.filter(assignment__worker__in=_members(user, only))
    return rows.select_related("assignment")
