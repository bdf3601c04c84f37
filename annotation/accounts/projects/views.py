"""Finding one's way, projects as a whole, and joining by a link."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from annotation.accounts.projects import actions as people
from annotation.accounts.projects.forms import ProjectForm, add_errors
from annotation.accounts.projects.project_selectors import projects_of, roles_anywhere
from annotation.accounts.roles.actions import waiting
from annotation.accounts.roles.selectors import reason_cannot_accept
from annotation.models import Invitation, Membership, Role, RoleGrant, User
from crowdqc.errors import Conflict, DomainError, Invalid


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Where the person's work is: their only project, the list, or the worker's page."""
    roles = roles_anywhere(request.user)
    staffed = {project_id for project_id, role in roles if role != Role.WORKER}
    if len(staffed) == 1:
        return redirect("project", staffed.pop())
    if staffed:
        return redirect("project_list")
    if roles:
        return redirect("work_home")
    return render(request, "annotation/accounts/projects/nobody_yet.html")


@login_required
@require_safe
def project_list(request: HttpRequest) -> HttpResponse:
    rows = projects_of(request.user)
    return render(request, "annotation/accounts/projects/project_list.html", {"rows": rows})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: HttpRequest) -> HttpResponse:
    form = ProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            project = people.create_project(by=cast(User, request.user), **form.cleaned_data)
        except Invalid as error:
            add_errors(form, error)
        else:
            return redirect("task_list", project.pk)
    status = 422 if form.errors else 200
    return render(
        request, "annotation/accounts/projects/project_new.html", {"form": form}, status=status
    )


def _membership(user: Any, invitation: Invitation) -> Membership | None:
    if not user.is_authenticated:
        return None
    return Membership.objects.filter(
        project=invitation.project, user=user, role=invitation.role, removed_at__isnull=True
    ).first()


def _waiting(user: Any, invitation: Invitation) -> RoleGrant | None:
    if not user.is_authenticated:
        return None
    return waiting(invitation.project, user, invitation.role)


def _waits(request: HttpRequest, grant: RoleGrant) -> HttpResponse:
    context = {"grant": grant, "project": grant.project}
    return render(request, "annotation/accounts/projects/join_waiting.html", context)


def _inside(member: Membership) -> HttpResponse:
    if member.role == Role.WORKER:
        return redirect("work_consent", member.project_id)
    return redirect("project", member.project_id)


def _closed(request: HttpRequest, error: DomainError) -> HttpResponse:
    context = {"error": error, "gone": error.status != 404}
    return render(
        request, "annotation/accounts/projects/join_closed.html", context, status=error.status
    )


@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """An invitation: what one is asked to join, and joining it."""
    try:
        if request.method == "POST":
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            joined = people.accept_invitation(by=request.user, token=token)
            return _inside(joined) if joined else redirect("join", token)
        invitation = people.read_invitation(token)
        if member := _membership(request.user, invitation):
            return _inside(member)
        if grant := _waiting(request.user, invitation):
            return _waits(request, grant)
        if invitation.uses >= invitation.max_uses:
            raise Conflict("This invitation has been used up. Ask for a new link.")
    except DomainError as error:
        return _closed(request, error)
    context: dict[str, Any] = {
        "invitation": invitation,
        "project": invitation.project,
        "is_worker": invitation.role == Role.WORKER,
        "consent": people.current_consent_text(invitation.project),
    }
    if request.user.is_authenticated:
        context["why_not"] = reason_cannot_accept(invitation, request.user)
    return render(request, "annotation/accounts/projects/join.html", context)
