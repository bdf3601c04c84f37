"""Projects as their people see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q

from annotation.models import Membership, Project, Role, Task
from annotation.models.tasks import TaskState


@dataclass(frozen=True)
class ProjectRow:
    """A project in the list, with what the person is there."""

    project: Project
    roles: list[str]
    tasks: int
    open_tasks: int
    workers: int
    last_answer: Any

    @property
    def is_staff(self) -> bool:
        return any(role != Role.WORKER for role in self.roles)


def projects_of(user: Any) -> list[ProjectRow]:
    """Every project the person belongs to, newest first; four queries however many there are."""
    roles: dict[int, list[str]] = {}
    for project_id, role in Membership.objects.filter(
        user_id=user.pk, removed_at__isnull=True
    ).values_list("project_id", "role"):
        roles.setdefault(project_id, []).append(role)
    tasks = {
        row["project_id"]: row
        for row in Task.objects.filter(project__in=roles)
        .values("project_id")
        .annotate(
            n=Count("pk", distinct=True),
            open=Count("pk", distinct=True, filter=Q(state=TaskState.OPEN)),
            last=Max("assignments__submitted_at"),
        )
    }
    workers = dict(
        Membership.objects.filter(project__in=roles, role=Role.WORKER, removed_at__isnull=True)
        .values_list("project_id")
        .annotate(n=Count("pk"))
    )
    none: dict[str, Any] = {"n": 0, "open": 0, "last": None}
    return [
        ProjectRow(
            project=project,
            roles=sorted(roles[project.pk]),
            tasks=tasks.get(project.pk, none)["n"],
            open_tasks=tasks.get(project.pk, none)["open"],
            workers=workers.get(project.pk, 0),
            last_answer=tasks.get(project.pk, none)["last"],
        )
        for project in Project.objects.filter(pk__in=roles).order_by("-pk")
    ]


def roles_anywhere(user: Any) -> list[tuple[int, str]]:
    """(project id, role) of each membership that still holds."""
    return list(
        Membership.objects.filter(user_id=user.pk, removed_at__isnull=True).values_list(
            "project_id", "role"
        )
    )
