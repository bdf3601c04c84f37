"""Projects and accounts of the installation with what they use."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from allauth.mfa.models import Authenticator
from django.db.models import Count, Exists, F, Max, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation.models import (
    Answer,
    Assignment,
    AuditEntry,
    ImportFile,
    LedgerEntry,
    MediaFile,
    Membership,
    Project,
    Task,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.models.payouts import PAID_OUT
from annotation.models.tasks import TaskState
from annotation.records.actions.audit import VISITOR

ZERO = Decimal("0.00")


@dataclass(frozen=True)
class ProjectUse:
    """A project with what it holds; ``bytes`` of files."""

    id: int
    name: str
    owner: str
    members: int
    tasks: int
    answers: int
    bytes: int
    currency: str
    last_activity: dt.datetime | None


@dataclass(frozen=True)
class AccountUse:
    """An account with what it belongs to."""

    username: str
    email: str
    is_active: bool
    owned: int
    memberships: int
    has_second_factor: bool
    last_sign_in: dt.datetime | None


def _of_project(rows: QuerySet[Any], total: Any, path: str = "project", zero: Any = 0) -> Any:
    """A figure over the rows of each project; ``zero`` where there are none."""
    grouped = rows.filter(**{path: OuterRef("pk")}).order_by().values(path)
    found = Subquery(grouped.annotate(total=total).values("total"))
    return found if zero is None else Coalesce(found, zero)


def projects_with_use() -> QuerySet[Any]:
    """Return all projects, annotated with what they hold and when they were used last."""
    tasks = Task.objects.all()
    return Project.objects.select_related("owner").annotate(
        members=_of_project(
            Membership.objects.filter(removed_at__isnull=True), Count("user", distinct=True)
        ),
        task_count=_of_project(tasks, Count("pk")),
        open_tasks=_of_project(tasks.filter(state=TaskState.OPEN), Count("pk")),
        paused_tasks=_of_project(tasks.filter(state=TaskState.PAUSED), Count("pk")),
        answers=_of_project(
            Answer.objects.filter(worker__isnull=False), Count("pk"), "item__task__project"
        ),
        bytes=_of_project(MediaFile.objects.all(), Sum("size"))
        + _of_project(ImportFile.objects.filter(stored__isnull=False), Sum("size")),
        paid=_of_project(LedgerEntry.objects.all(), PAID_OUT, zero=ZERO),
        active=_of_project(AuditEntry.objects.all(), Max("at"), zero=None),
    )


def project_uses() -> list[ProjectUse]:
    """List all projects with their use, the last active first (one query)."""
    rows = projects_with_use().order_by(F("active").desc(nulls_last=True), "pk")
    return [
        ProjectUse(
            row.pk,
            row.name,
            row.owner.username,
            row.members,
            row.task_count,
            row.answers,
            row.bytes,
            row.currency,
            row.active,
        )
        for row in rows
    ]


def accounts_with_use() -> QuerySet[Any]:
    """Return all accounts that people sign in with, annotated with what they belong to."""
    own = {"user": OuterRef("pk")}
    memberships = Membership.objects.filter(removed_at__isnull=True, **own)
    work = Assignment.objects.filter(
        worker__user=OuterRef("pk"), state=AssignmentState.SUBMITTED
    ).order_by()
    return User.objects.exclude(username__startswith=VISITOR).annotate(
        owned=_number(Project.objects.filter(owner=OuterRef("pk"), deleted_at=None), "owner"),
        belongs=_number(memberships, "user", Count("project", distinct=True)),
        submitted=_number(work, "worker__user"),
        has_factor=Exists(Authenticator.objects.filter(**own)),
    )


def _number(rows: QuerySet[Any], path: str, total: Any = None) -> Coalesce:
    """Count the rows of each account."""
    grouped = rows.order_by().values(path).annotate(total=total or Count("pk"))
    return Coalesce(Subquery(grouped.values("total")), 0)


def account_uses() -> list[AccountUse]:
    """List all accounts that people sign in with, the last used first."""
    rows = accounts_with_use().order_by(F("last_login").desc(nulls_last=True), "pk")
    return [
        AccountUse(
            row.username,
            row.email,
            row.is_active,
            row.owned,
            row.belongs,
            row.has_factor,
            row.last_login,
        )
        for row in rows
    ]


def audit_rows(since: dt.datetime | None, project: Project | None) -> Iterator[dict[str, Any]]:
    """Yield the audit log from the oldest on: of a project, or of the whole installation."""
    rows = AuditEntry.objects.order_by("pk")
    if since is not None:
        rows = rows.filter(at__gte=since)
    if project is not None:
        rows = rows.filter(project=project)
    for row in rows.select_related("actor").iterator(chunk_size=2_000):
        yield {
            "id": row.pk,
            "at": row.at.isoformat(),
            "actor": row.actor.username if row.actor else None,
            "project": row.project_id,
            "action": row.action,
            "object": row.object_type,
            "object_id": row.object_id,
            "detail": row.detail,
        }
