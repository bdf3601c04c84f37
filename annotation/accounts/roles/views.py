"""Pages to confirm and decline granted roles."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.access import Access, get_access
from annotation.accounts.roles import actions
from annotation.models import RoleGrant
from crowdqc.errors import Missing


def get_grant(access: Access, grant_id: int) -> RoleGrant:
    """Return a granted role of the project, or raise Missing."""
    found = access.project.role_grants.filter(pk=grant_id).first()
    if found is None:
        raise Missing(_("There is no such role in this project."))
    found.project = access.project
    return found


def _redirect_to_roles(project_id: int) -> HttpResponse:
    return redirect(reverse("people", args=[project_id]) + "#roles")


@login_required
@require_POST
def role_confirm(request: HttpRequest, project_id: int, grant_id: int) -> HttpResponse:
    """Confirm that the person is distinct from the giver."""
    access = get_access(request, project_id)
    actions.confirm_role(by=access.user, grant=get_grant(access, grant_id))
    messages.success(request, _("Role confirmed."))
    return _redirect_to_roles(project_id)


@login_required
@require_POST
def role_decline(request: HttpRequest, project_id: int, grant_id: int) -> HttpResponse:
    """Refuse a role that awaits confirmation."""
    access = get_access(request, project_id)
    actions.decline_role(by=access.user, grant=get_grant(access, grant_id))
    messages.success(request, _("Role declined. The person was told."))
    return _redirect_to_roles(project_id)
