"""Read a project's people: staff by name, workers by pseudonym, invitations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
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

from annotation import hooks
from annotation.access import Access, list_organisation_roles
from annotation.accounts.demo import offered_accounts
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
    Visit,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.records.installation_state import is_sign_up_open


def list_staff(project: Project) -> list[Membership]:
    """Return requesters and managers, the owner first."""
    rows = list(
        project.memberships.filter(removed_at__isnull=True)
        .exclude(role=Role.WORKER)
        .select_related("user")
        .order_by("pk")
    )
    return sorted(rows, key=lambda row: row.user_id != project.owner_id)


def list_workers(project: Project, *, removed: bool | None = False) -> QuerySet[Membership]:
    """Return workers with submitted assignments, last submit and consent.

    ``removed``: those who were removed instead of those who belong to it; None for both.
    ``file_id`` is what the file calls somebody who came from one, for requesters only.
    """
    last = ConsentText.objects.filter(project=project).order_by("-number").values("pk")[:1]
    agreed = Consent.objects.filter(
        membership=OuterRef("pk"), text__in=last, withdrawn_at__isnull=True
    )
    work = Assignment.objects.filter(worker=OuterRef("pk"), state=AssignmentState.SUBMITTED)
    done = work.order_by().values("worker")
    workers = project.memberships.filter(role=Role.WORKER)
    if removed is not None:
        workers = workers.filter(removed_at__isnull=not removed)
    return workers.order_by("pseudonym").annotate(
        submitted=Coalesce(Subquery(done.annotate(n=Count("pk")).values("n")), 0),
        last_submit=Subquery(done.annotate(at=Max("submitted_at")).values("at")),
        agreed=Exists(agreed),
        file_id=Case(When(user=None, then="external_id"), default=Value("")),
    )


def worker_places(access: Access) -> list[str | Callable[[str], Q]]:
    """Return where a search for workers looks (see ``Listing.search``).

    Requesters also find an id of a file, in part; managers, who pay people on platforms, find
    whoever came with exactly this id of a platform.
    """
    places: list[str | Callable[[str], Q]] = ["pseudonym"]
    if access.is_requester:
        places.append("file_id")
    if access.is_manager:
        visits = Visit.objects.filter(recruitment__task__project=access.project)
        places.append(lambda word: Q(pk__in=visits.filter(participant=word).values("worker")))
    return places


@dataclass(frozen=True)
class InvitationRow:
    """An invitation with its link and state."""

    invitation: Invitation
    token: str
    state: str
    word: str

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def makes_workers(self) -> bool:
        """Whether its link gives only the worker role, so any staff may share it."""
        return self.invitation.role == Role.WORKER

    @property
    def undelivered(self) -> bool:
        """Whether its mail was given up."""
        one = self.invitation
        return bool(one.mail_attempts) and not (one.mail_at or one.mailed_at)


def list_invitations(project: Project, limit: int = 100) -> list[InvitationRow]:
    """Return the newest invitations, open ones first."""
    return invitation_rows(project.invitations.select_related("created_by").order_by("-pk")[:limit])


def invitation_rows(invitations: Iterable[Invitation]) -> list[InvitationRow]:
    """Return these invitations with links and states, open ones first."""
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


def published_types(project: Project) -> list[str]:
    """Return the types of the tasks that the project has published, sorted."""
    tasks = project.tasks.filter(current__isnull=False).order_by("type")
    return list(tasks.values_list("type", flat=True).distinct())


def consent_versions(project: Project) -> list[ConsentText]:
    """Return all consent versions, newest first, with counts of agreements."""
    return list(
        project.consent_texts.select_related("created_by")
        .annotate(agreed=Count("consent", filter=Q(consent__withdrawn_at__isnull=True)))
        .order_by("-number")
    )


@dataclass(frozen=True)
class ProjectRow:
    """A project in the list, with the person's roles."""

    project: Project
    roles: list[str]
    tasks: int
    open_tasks: int
    workers: int
    last_answer: Any

    @property
    def is_staff(self) -> bool:
        return any(role != Role.WORKER for role in self.roles)


def list_projects(user: Any) -> list[ProjectRow]:
    """Return the person's projects, newest first, by five queries."""
    roles: dict[int, set[str]] = {}
    for project_id, role in all_roles(user):
        roles.setdefault(project_id, set()).add(role)
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


def all_roles(user: Any) -> list[tuple[int, str]]:
    """Return (project id, role) of each active membership, and of each by an organisation."""
    own = Membership.objects.filter(user_id=user.pk, removed_at__isnull=True)
    return [*own.values_list("project_id", "role"), *list_organisation_roles(user)]


def landing() -> dict[str, Any]:
    """Return the context of the landing page: its public board, demo accounts, open sign-up."""
    slug = settings.CROWDQC_LANDING_BOARD
    return {
        "board": hooks.public_board(slug) if slug else None,
        "demo": offered_accounts(),
        "sign_up_open": is_sign_up_open(),
    }
