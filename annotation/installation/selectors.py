"""Projects and accounts of the installation with what they use."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Max, OuterRef, QuerySet, Subquery, Sum

from annotation.models import (
    Answer,
    AuditEntry,
    ImportFile,
    MediaFile,
    Membership,
    Project,
    Task,
    User,
)
from annotation.records.actions.audit import VISITOR


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


def _of_project(rows: QuerySet[Any], total: Any, path: str = "project") -> Subquery:
    """A figure over the rows of each project."""
    grouped = rows.filter(**{path: OuterRef("pk")}).order_by().values(path)
    return Subquery(grouped.annotate(total=total).values("total"))


def project_uses() -> list[ProjectUse]:
    """List all projects with their use, the last active first (one query)."""
    rows = Project.objects.annotate(
        members=_of_project(Membership.objects.filter(removed_at__isnull=True), Count("pk")),
        task_count=_of_project(Task.objects.all(), Count("pk")),
        answers=_of_project(
            Answer.objects.filter(worker__isnull=False), Count("pk"), "item__task__project"
        ),
        media=_of_project(MediaFile.objects.all(), Sum("size")),
        uploads=_of_project(ImportFile.objects.filter(stored__isnull=False), Sum("size")),
        active=_of_project(AuditEntry.objects.all(), Max("at")),
        owned_by=F("owner__username"),
    ).order_by(F("active").desc(nulls_last=True), "pk")
    return [
        ProjectUse(
            row.pk,
            row.name,
            row.owned_by,
            row.members or 0,
            row.task_count or 0,
            row.answers or 0,
            (row.media or 0) + (row.uploads or 0),
            row.currency,
            row.active,
        )
        for row in rows
    ]


def account_uses() -> list[AccountUse]:
    """List all accounts that people sign in with, the last used first."""
    from allauth.mfa.models import Authenticator

    factors = set(Authenticator.objects.values_list("user_id", flat=True))
    rows = (
        User.objects.annotate(
            owned=Count("owned_projects", distinct=True),
            belongs=Count("memberships", distinct=True),
        )
        .exclude(username__startswith=VISITOR)
        .order_by(F("last_login").desc(nulls_last=True), "pk")
    )
    return [
        AccountUse(
            row.username,
            row.email,
            row.is_active,
            row.owned,
            row.belongs,
            row.pk in factors,
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
