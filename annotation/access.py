"""Fetch and authorise in one step: 404 for outsiders, 403 for a weak role."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from django.db.models import Exists, F, OuterRef, QuerySet
from django.urls import ResolverMatch
from django.utils.translation import gettext as _

from annotation.models import (
    ApiToken,
    Assignment,
    AssignmentItem,
    Item,
    MediaFile,
    Membership,
    OrganisationMember,
    OrganisationRole,
    Panel,
    Project,
    Recording,
    Role,
    Task,
    User,
)
from annotation.models.assignments import AssignmentState
from crowdqc.database.compiled import CompiledQuery, Placeholder
from crowdqc.errors import Conflict, Missing, NotAllowed

STAFF = (Role.REQUESTER, Role.MANAGER)
READERS = (*STAFF, Role.VIEWER)
READING = ("GET", "HEAD")
# What a role in an organisation allows in its projects: nothing that moves money, so that each
# manager stays somebody whom a project's own people let in.
ORGANISATION_ROLES: dict[str, str] = {
    OrganisationRole.OWNER: Role.REQUESTER,
    OrganisationRole.MEMBER: Role.VIEWER,
}
View = TypeVar("View", bound=Callable[..., Any])


def is_installation_owner(user: Any) -> bool:
    """Whether this is an owner of the installation, who may change everything on it."""
    return bool(user.is_authenticated and user.is_superuser)


def get_installation_owner(request: Any) -> User:
    """Return the owner of the installation who asks; nobody else learns of such pages."""
    user = request.user
    if not (isinstance(user, User) and is_installation_owner(user)):
        raise Missing(_("There is no such page."))
    return user


@dataclass(frozen=True)
class Access:
    """A project with the roles of one person."""

    project: Project
    user: User
    roles: frozenset[str]
    worker: Membership | None = None  # as whom they work in it

    @property
    def is_requester(self) -> bool:
        return Role.REQUESTER in self.roles

    @property
    def is_manager(self) -> bool:
        return Role.MANAGER in self.roles

    @property
    def is_viewer(self) -> bool:
        """Whether the person may read the project, and change nothing in it."""
        return Role.VIEWER in self.roles and not self.is_staff

    @property
    def is_staff(self) -> bool:
        return self.is_requester or self.is_manager

    @property
    def is_owner(self) -> bool:
        return self.project.owner_id == self.user.pk

    def require(self, *roles: str) -> None:
        """Raise NotAllowed unless the person holds one of ``roles``."""
        if not self.roles.intersection(roles):
            wanted = " or ".join(str(Role(role).label) for role in roles)
            raise NotAllowed(
                _("This needs the role of %(wanted)s in this project.") % {"wanted": wanted}
            )


def open_to_viewers(view: View) -> View:
    """Let viewers of the project read this page or endpoint, below all other decorators.

    It shows tasks, items, results or exports: nothing of payments, and nothing of how people
    worked. Its other verbs stay closed to them.
    """
    view.is_open_to_viewers = True  # type: ignore[attr-defined]
    return view


def usual_roles(request: Any) -> tuple[str, ...]:
    """Roles that may open a page which names none: staff, and viewers where they may read it."""
    is_open = request.method in READING and is_open_to_viewers(request.resolver_match)
    return READERS if is_open else STAFF


def is_open_to_viewers(match: ResolverMatch | None) -> bool:
    """Whether viewers may read what an address leads to."""
    view = getattr(match.func, "cls", match.func) if match else None
    return bool(getattr(view, "is_open_to_viewers", False))


def token_project_id(request: Any) -> int | None:
    """Return the one project that the request's token is bound to, or None."""
    token = getattr(request, "auth", None)
    return token.project_id if isinstance(token, ApiToken) else None


MEMBERSHIPS = CompiledQuery(
    lambda: Membership.objects.filter(
        project_id=Placeholder("project"), user_id=Placeholder("user"), removed_at__isnull=True
    ).select_related("project")
)
TASK = CompiledQuery(lambda: Task.objects.filter(pk=Placeholder("pk")).select_related("current"))


WORKER = CompiledQuery(
    lambda: Membership.objects.filter(
        project_id=Placeholder("project"),
        user_id=Placeholder("user"),
        role=Role.WORKER,
        removed_at__isnull=True,
    ).select_related("project")
)


def readers_by_organisation() -> QuerySet[Any]:
    """Members of organisations, a row for each ``project`` that they see by it.

    Nobody who works in a project, or worked, sees it that way: a worker stays blind until the
    project's own people give them a role.
    """
    worked = Membership.objects.filter(
        user=OuterRef("user"), project=OuterRef("project"), role=Role.WORKER
    )
    rows = OrganisationMember.objects.annotate(project=F("organisation__projects"))
    return rows.filter(~Exists(worked), project__isnull=False)


def list_organisation_roles(user: Any, project_id: int | None = None) -> list[tuple[int, str]]:
    """Return (project id, role) of each project where an organisation gives the person a role."""
    rows = readers_by_organisation().filter(user_id=user.pk)
    if project_id is not None:
        rows = rows.filter(project=project_id)
    return [(pk, ORGANISATION_ROLES[role]) for pk, role in rows.values_list("project", "role")]


def find_roles(user: Any, project_id: int) -> tuple[list[Membership], frozenset[str]]:
    """Return the person's memberships in a project, and these roles with the organisation's."""
    rows = MEMBERSHIPS.all(project=project_id, user=user.pk)
    roles = {row.role for row in rows}
    if not rows or rows[0].project.organisation_id is not None:
        roles |= {role for _project, role in list_organisation_roles(user, project_id)}
    return rows, frozenset(roles)


def get_access(request: Any, project_id: int, *roles: str) -> Access:
    """Return the project with the person's roles; ``roles`` default to ``usual_roles``.

    It is left on ``request.access``, from which the shell draws the project's tabs.
    """
    user, only = request.user, token_project_id(request)
    rows, held = find_roles(user, project_id)
    if not held or only not in (None, project_id):
        raise Missing(_("There is no such project, or you do not belong to it."))
    project = rows[0].project if rows else Project.objects.get(pk=project_id)
    worker = next((row for row in rows if row.role == Role.WORKER), None)
    access = Access(project, user, held, worker)
    access.require(*(roles or usual_roles(request)))
    if (
        access.project.archived_at is not None
        and request.method not in READING
        and not is_installation_owner(user)
    ):
        raise Conflict(
            _("This project is archived: it can be read and not changed."), code="archived"
        )
    request.access = access
    return access


def get_task(request: Any, project_id: int, task_id: int, *roles: str) -> tuple[Access, Task]:
    """Return a task of a project for people with one of ``roles`` (default: staff)."""
    access = get_access(request, project_id, *roles)
    return access, find_task(access, task_id)


def find_task(access: Access, task_id: int) -> Task:
    """Return the task of this id in the project, or raise Missing."""
    task = access.project.tasks.filter(pk=task_id).select_related("current").first()
    if task is None:
        raise Missing(_("There is no such task in this project."))
    task.project = access.project
    return task


def require_trace_reader(access: Access, task: Task) -> None:
    """Raise NotAllowed where the task's items are traces that only requesters may read."""
    if access.is_requester:
        return
    if task.trace_sources.filter(settings__staff_only_requesters=True).exists():
        raise NotAllowed(_("Only requesters may read traces of this source."))


def get_task_by_id(request: Any, task_id: int, *roles: str) -> tuple[Access, Task]:
    """Return a task by its id alone; outsiders get Missing."""
    missing = Missing(_("There is no such task."))
    task = TASK.first(pk=task_id)
    if task is None:
        raise missing
    try:
        access = get_access(request, task.project_id, *roles)
    except Missing:
        raise missing from None
    task.project = access.project
    return access, task


def get_item(
    request: Any, project_id: int, task_id: int, item_id: int, *roles: str
) -> tuple[Access, Task, Item]:
    """Return an item of a task, under the same rules."""
    access, task = get_task(request, project_id, task_id, *roles)
    item = task.items.filter(pk=item_id).select_related("group").first()
    if item is None:
        raise Missing(_("There is no such question in this task."))
    return access, task, item


AROUND = ("task__project", "version", "worker")


@cache
def _own_with(around: tuple[str, ...]) -> CompiledQuery[Assignment]:
    return CompiledQuery(
        lambda: Assignment.objects.filter(
            pk=Placeholder("pk"),
            worker__user_id=Placeholder("user"),
            worker__removed_at__isnull=True,
        ).select_related(*around)
    )


def get_own_assignment(
    request: Any, assignment_id: int, around: tuple[str, ...] = AROUND
) -> Assignment:
    """Return an assignment of the person's own; others raise Missing.

    ``around`` is what is fetched with it: less where a page asks every few seconds.
    """
    assignment = _own_with(around).first(pk=assignment_id, user=request.user.pk)
    if assignment is None or token_project_id(request) not in (None, assignment.worker.project_id):
        raise Missing(_("There is no such assignment among yours."))
    return assignment


def get_media(request: Any, project_id: int, sha256: str) -> MediaFile:
    """Return an item's file for staff and for workers who hold or answered it.

    Everybody else cannot tell it from none. Returned items are held no longer.
    """
    missing = Missing(_("There is no such file."))
    file = MediaFile.objects.filter(project_id=project_id, sha256=sha256).first()
    if file is None or token_project_id(request) not in (None, project_id):
        raise missing
    if find_roles(request.user, project_id)[1].intersection(READERS):
        return file
    held = AssignmentItem.objects.filter(
        item__media=file,
        assignment__worker__user_id=request.user.pk,
        assignment__worker__removed_at__isnull=True,
    ).exclude(assignment__state=AssignmentState.RETURNED)
    if not held.exists():
        raise missing
    return file


def get_recording(request: Any, project_id: int, recording_id: int) -> Recording:
    """Return a recording for staff and for its speaker.

    Everybody else cannot tell it from none.
    """
    missing = Missing(_("There is no such recording."))
    found = (
        Recording.objects.select_related("entry__assignment__worker")
        .filter(pk=recording_id, entry__assignment__task__project=project_id)
        .first()
    )
    if found is None or token_project_id(request) not in (None, project_id):
        raise missing
    if found.entry.assignment.worker.user_id == request.user.pk:
        return found
    if not find_roles(request.user, project_id)[1].intersection(STAFF):
        raise missing
    return found


def get_worker(access: Access, membership_id: int) -> Membership:
    """Return a worker of the project, for its staff."""
    worker = Membership.objects.filter(
        pk=membership_id, project=access.project, role=Role.WORKER
    ).first()
    if worker is None:
        raise Missing(_("There is no such worker in this project."))
    worker.project = access.project
    return worker


def get_panel(request: Any, project_id: int, panel_id: int, *roles: str) -> tuple[Access, Panel]:
    """Return a panel of a project, under the same rules."""
    access = get_access(request, project_id, *roles)
    panel = access.project.panels.filter(pk=panel_id).first()
    if panel is None:
        raise Missing(_("There is no such panel in this project."))
    panel.project = access.project
    return access, panel


def current_and_past_work(user: Any) -> QuerySet[Membership]:
    """Return memberships of current and past work, whose rights outlast removal."""
    return Membership.objects.filter(user_id=user.pk, role=Role.WORKER).select_related("project")


def find_worker(user: Any, project_id: int) -> Membership | None:
    """Return the person's worker membership in a project, or None."""
    return WORKER.first(project=project_id, user=user.pk)


def worker_memberships(user: Any) -> QuerySet[Membership]:
    """Return the person's active worker memberships."""
    return Membership.objects.filter(
        user_id=user.pk, role=Role.WORKER, removed_at__isnull=True
    ).select_related("project")
