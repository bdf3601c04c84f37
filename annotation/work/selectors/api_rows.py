"""Read rows for the API by a fixed number of queries per page."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Case, Q, QuerySet, Value, When
from django.utils.translation import gettext as _

from annotation.access import (
    current_and_past_work,
    find_worker,
    list_organisation_roles,
    worker_memberships,
)
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


def list_projects(user: Any, only: int | None = None) -> QuerySet[Project]:
    """Return the person's projects (or one), each with ``roles_here``
    and ``role_by_organisation``."""
    theirs = Q(memberships__user_id=user.pk, memberships__removed_at__isnull=True)
    more = list_organisation_roles(user, only)
    rows = Project.objects.filter(theirs | Q(pk__in=[pk for pk, _role in more]))
    rows = rows if only is None else rows.filter(pk=only)
    return rows.annotate(
        roles_here=ArrayAgg("memberships__role", filter=theirs, default=[]),
        role_by_organisation=Case(
            *(When(pk=pk, then=Value(role)) for pk, role in more), default=Value("")
        ),
    )


def list_tasks(project: Project) -> QuerySet[Task]:
    """Return a project's tasks with their versions."""
    return project.tasks.select_related("current").prefetch_related("versions")


def list_items(task: Task) -> QuerySet[Item]:
    """Return all items of a task, of every version."""
    return task.items.select_related("group", "first", "second")


def list_answers(task: Task, *, author: str = "") -> QuerySet[Answer]:
    """Return a task's answers by ``author``: worker, system or both."""
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


def get_answer(answer_id: int) -> Answer | None:
    """Return one answer with its row's relations and project."""
    rows = Answer.objects.filter(pk=answer_id)
    return (
        rows.select_related("item__task", "version", "worker", "system")
        .prefetch_related("texts", "choices")
        .first()
    )


def list_assignments(task: Task) -> QuerySet[Assignment]:
    """Return a task's assignments, each with its ``decision``."""
    return with_decision(task.assignments.select_related("worker", "version"))


def get_worker_membership(project: Project, user: Any) -> Membership:
    """Return the person's worker membership, or raise Missing."""
    member = find_worker(user, project.pk)
    if member is None:
        raise Missing(_("You do not work in this project."))
    return member


def list_own_assignments(user: Any, only: int | None = None) -> QuerySet[Assignment]:
    """Return the person's own assignments, of all projects or one."""
    members = worker_memberships(user)
    members = members if only is None else members.filter(project=only)
    rows = Assignment.objects.filter(worker__in=members)
    return with_decision(rows.select_related("version", "task"))


def _members(user: Any, only: int | None) -> QuerySet[Membership]:
    members = current_and_past_work(user)
    return members if only is None else members.filter(project=only)


def list_own_bookings(user: Any, only: int | None = None) -> QuerySet[LedgerEntry]:
    """Return ledger entries for the person's work."""
    return LedgerEntry.objects.filter(worker__in=_members(user, only))


def list_own_rejections(user: Any, only: int | None = None) -> QuerySet[Rejection]:
    """Return rejections of the person's work, each with its task."""
    rows = Rejection.objects.filter(assignment__worker__in=_members(user, only))
    return rows.select_related("assignment__task")


def list_own_consents(user: Any, only: int | None = None) -> QuerySet[Consent]:
    """Return all agreements of the person."""
    rows = Consent.objects.filter(membership__in=_members(user, only))
    return rows.select_related("membership", "text").prefetch_related("agreed_texts")


def list_own_rounds(user: Any, only: int | None = None) -> QuerySet[Qualification]:
    """Return results of the person's qualification rounds."""
    rows = Qualification.objects.filter(assignment__worker__in=_members(user, only))
    return rows.select_related("assignment")
