"""Pages of the security log: a project's, and the whole installation's. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.access import get_access
from annotation.accounts.security.log import all_events, project_events
from annotation.models import Role, SecurityEvent
from crowdqc.errors import Missing

PAGE = 100


@never_cache
@login_required
@require_safe
def project_security(request: HttpRequest, project_id: int) -> HttpResponse:
    """Changes of roles, budgets and rules, for the project's managers and its owner."""
    access = get_access(request, project_id)
    if not access.is_owner:
        access.require(Role.MANAGER)
    context = {"events": project_events(access.project), "project": access.project}
    return render(request, "annotation/accounts/project_security.html", context)


@never_cache
@login_required
@require_safe
def installation_security(request: HttpRequest) -> HttpResponse:
    """Every event, for the people who run the installation; nobody else learns of the page."""
    if not (request.user.is_staff or request.user.is_superuser):
        raise Missing("There is no such page.")
    kind = request.GET.get("kind", "")
    rows = all_events()
    if kind in SecurityEvent.Kind.values:
        rows = rows.filter(kind=kind)
    context = {
        "page": Paginator(rows, PAGE).get_page(request.GET.get("page")),
        "kinds": SecurityEvent.Kind.choices,
        "kind": kind,
    }
    return render(request, "annotation/accounts/installation_security.html", context)
