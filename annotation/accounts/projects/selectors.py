"""The people of a project: its staff by name, its workers by pseudonym, its open invitations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import (
    Case,
    Count,
    Exists,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.projects.actions import invitation_token
from annotation.models import (
    Assignment,
    Consent,
    ConsentText,
    Invitation,
    Membership,
    Project,
    Role,
    Task,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState


def staff_of(project: Project) -> list[Membership]:
    """Requesters and managers, the owner first."""
    rows = list(
        project.memberships.filter(removed_at__isnull=True)
        .exclude(role=Role.WORKER)
        .select_related("user")
        .order_by("pk")
    )
    return sorted(rows, key=lambda row: row.user_id != project.owner_id)


def workers_of(project: Project) -> QuerySet[Membership]:
    """Workers with their submitted assignments, last submit, and whether they agreed.

    ``file_id`` is what the file calls somebody who came from one, for requesters only.
    """
    last = ConsentText.objects.filter(project=project).order_by("-number").values("pk")[:1]
    agreed = Consent.objects.filter(
        membership=OuterRef("pk"), text__in=last, withdrawn_at__isnull=True
    )
    work = Assignment.objects.filter(worker=OuterRef("pk"), state=AssignmentState.SUBMITTED)
    done = work.order_by().values("worker")
    workers = project.memberships.filter(role=Role.WORKER, removed_at__isnull=True)
    return workers.order_by("pseudonym").annotate(
        submitted=Coalesce(Subquery(done.annotate(n=Count("pk")).values("n")), 0),
        last_submit=Subquery(done.annotate(at=Max("submitted_at")).values("at")),
        agreed=Exists(agreed),
        file_id=Case(When(user=None, then="external_id"), default=Value("")),
    )


@dataclass(frozen=True)
class InvitationRow:
    """An invitation with its link and what became of it."""

    invitation: Invitation
    token: str
    state: str
    word: str

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def makes_workers(self) -> bool:
        """Whether its link gives no role over others, so that any of the staff may pass it on."""
        return self.invitation.role == Role.WORKER

    @property
    def undelivered(self) -> bool:
        """Whether its mail was given up."""
        one = self.invitation
        return bool(one.mail_attempts) and not (one.mail_at or one.mailed_at)


def invitations_of(project: Project, limit: int = 100) -> list[InvitationRow]:
    """The newest invitations, open ones first."""
    return rows_of(project.invitations.select_related("created_by").order_by("-pk")[:limit])


def rows_of(invitations: Iterable[Invitation]) -> list[InvitationRow]:
    """These invitations with their links and states, open ones first."""
    now = timezone.now()
    rows = []
    for invitation in invitations:
        if invitation.revoked_at:
            state, word = "closed", _("Taken back")
        elif invitation.uses >= invitation.max_uses:
            state, word = "done", _("Used up")
        elif invitation.expires_at <= now:
            state, word = "closed", _("Expired")
        else:
            state, word = "open", _("Open")
        rows.append(InvitationRow(invitation, invitation_token(invitation), state, word))
    return sorted(rows, key=lambda row: not row.is_open)


def consent_versions(project: Project) -> list[ConsentText]:
    """All versions of the consent text, newest first, each with how many agreed to it."""
    return list(
        project.consent_texts.select_related("created_by")
        .annotate(agreed=Count("consent", filter=Q(consent__withdrawn_at__isnull=True)))
        .order_by("-number")
    )


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
