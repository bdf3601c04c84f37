"""Pages of a project's people and invitations, and removal."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms import ChoiceField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import Access, get_access
from annotation.accounts.actions.invitation_mail import invite_by_mail
from annotation.accounts.organisations.selectors import list_readers
from annotation.accounts.projects import actions
from annotation.accounts.projects import selectors as members
from annotation.accounts.projects.forms import InvitationForm, add_errors
from annotation.accounts.projects.list_views import worker_list
from annotation.accounts.roles.selectors import open_grants
from annotation.conversations.selectors import count_waiting
from annotation.lists.pages import list_page
from annotation.lists.selectors import show
from annotation.models import Invitation, Role
from crowdqc.errors import Invalid, LimitExceeded, Missing
from crowdqc.numbers import plural

PEOPLE = "annotation/accounts/projects/people.html"


def can_give_roles(access: Access) -> bool:
    """Whether the person may give and end roles that move money."""
    return access.is_owner or access.is_manager


def invitation_form(access: Access, sent: Any = None, role: str = "") -> InvitationForm:
    """Return the form with the roles that this person may invite to; ``role`` is chosen first."""
    form = InvitationForm(sent, initial={"role": role} if role in Role.values else None)
    if not can_give_roles(access):
        choice = form.fields["role"]
        assert isinstance(choice, ChoiceField)  # noqa: S101
        choice.choices = [(Role.WORKER.value, Role.WORKER.label.capitalize())]
    return form


def _context(request: HttpRequest, access: Access, form: InvitationForm) -> dict[str, Any]:
    invitations = members.list_invitations(access.project)
    staff = members.list_staff(access.project)
    for member in staff:
        own, owner = member.user_id == access.user.pk, member.user_id == access.project.owner_id
        of_owner = owner and (not own or member.role == Role.REQUESTER)
        member.may_end = not of_owner and (own or can_give_roles(access))  # type: ignore[attr-defined]
    root = request.build_absolute_uri("/").rstrip("/")
    return {
        "access": access,
        "project": access.project,
        "staff": staff,
        "readers": list_readers(access.project),
        "people_with_roles": len({member.user_id for member in staff}),
        "grants": open_grants(access.project, access.user),
        "gives_roles": can_give_roles(access),
        "workers": members.list_workers(access.project).exclude(user=None).count(),
        "imported": members.list_workers(access.project).filter(user=None).count(),
        "has_workers": members.list_workers(access.project, removed=None).exists(),
        "invitations": invitations,
        "open_invitations": sum(row.is_open for row in invitations),
        "form": form,
        "root": root,
        "waiting": count_waiting(access.project),
    }


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest, project_id: int) -> HttpResponse:
    """List workers, invitations and staff."""
    access = get_access(request, project_id)
    listing = worker_list(access, request.GET)
    search = request.method != "POST" and request.htmx  # type: ignore[attr-defined]
    form = invitation_form(access, role=request.GET.get("invite", ""))
    more = {} if search else _context(request, access, form)
    return list_page(request, access, listing, PEOPLE, more)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def invitation_new(request: HttpRequest, project_id: int) -> HttpResponse:
    """Create an invitation; a GET leads back to the people."""
    if request.method != "POST":
        get_access(request, project_id)
        return redirect(reverse("people", args=[project_id]) + "#invite")
    access = get_access(request, project_id)
    form = invitation_form(access, request.POST)
    if form.is_valid():
        try:
            told, first = _create_invitations(access, dict(form.cleaned_data))
        except (Invalid, LimitExceeded) as error:
            add_errors(form, error)
        else:
            messages.success(request, told)
            return redirect(reverse("people", args=[project_id]) + f"#invitation-{first.pk}")
    context = _context(request, access, form)
    context["list"] = show(
        worker_list(access, request.GET), request.GET, access.project, access.user
    )
    return render(request, PEOPLE, context, status=422)


def _create_invitations(access: Access, asked: dict[str, Any]) -> tuple[str, Invitation]:
    """Create one invitation, or one per address; return a message and the first."""
    by, project = access.user, access.project
    if not asked["emails"].strip():
        del asked["emails"]
        made = actions.invite(by=by, project=project, **asked)
        return _("The invitation is open. Copy its link below."), made
    del asked["max_uses"]
    mailed = invite_by_mail(by=by, project=project, **asked)
    return _("%(invitations)s on the way.") % {
        "invitations": plural(len(mailed), "invitation is", "invitations are")
    }, mailed[0]


@login_required
@require_POST
def invitation_revoke(request: HttpRequest, project_id: int, invitation_id: int) -> HttpResponse:
    access = get_access(request, project_id)
    invitation = access.project.invitations.filter(pk=invitation_id).first()
    if invitation is None:
        raise Missing(_("There is no such invitation in this project."))
    invitation.project = access.project
    actions.revoke_invitation(by=access.user, invitation=invitation)
    messages.success(request, _("Invitation revoked. Whoever joined by it stays."))
    return redirect("people", project_id)


@login_required
@require_POST
def people_remove(request: HttpRequest, project_id: int, membership_id: int) -> HttpResponse:
    access = get_access(request, project_id)
    member = access.project.memberships.filter(pk=membership_id, removed_at__isnull=True).first()
    if member is None:
        raise Missing(_("Nobody like this belongs to the project."))
    member.project = access.project
    actions.remove_member(by=access.user, member=member)
    messages.success(request, _("Removed. Answers, log and money stay as they are."))
    if member.user_id == access.user.pk and access.roles == {member.role}:
        return redirect("home")
    return redirect("people", project_id)
