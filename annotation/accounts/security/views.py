"""Pages of the security log, for a project and the installation."""

from __future__ import annotations

import time

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.access import get_access, get_installation_owner
from annotation.accounts.security.log import all_events, project_events
from annotation.accounts.security.middleware import STASH, STASH_SECONDS
from annotation.models import Role, SecurityEvent

PAGE = 100


@never_cache
@login_required
@require_safe
def project_security(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show changes of roles, budgets and rules to managers and the owner."""
    access = get_access(request, project_id)
    if not access.is_owner:
        access.require(Role.MANAGER)
    context = {"events": project_events(access.project), "project": access.project}
    return render(request, "annotation/accounts/project_security.html", context)


@never_cache
@login_required
@require_safe
def installation_security(request: HttpRequest) -> HttpResponse:
    """Show every event to owners of the installation; others get 404."""
    get_installation_owner(request)
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


@never_cache
@login_required
@require_safe
def stepup_resume(request: HttpRequest, waiting: str) -> HttpResponse:
    """Show the waiting form, which a script or the person sends again.

    It is taken out of the session with this, so it is sent once. The action looks at the
    confirmation again, so nothing rests on who opens this page.
    """
    kept = request.session.get(STASH)
    if not kept or kept["key"] != waiting:
        messages.info(request, _("Nothing is waiting to be sent. Fill in the form again."))
        return redirect("home")
    del request.session[STASH]
    if time.time() - kept["at"] > STASH_SECONDS:
        messages.info(request, _("That took too long. Please check the form and send it again."))
        return redirect(kept["back"])
    form = QueryDict(kept["form"])
    fields = [
        (name, value)
        for name, values in form.lists()
        if name != "csrfmiddlewaretoken"
        for value in values
    ]
    context = {"path": kept["path"], "fields": fields, "back": kept["back"]}
    return render(request, "annotation/accounts/stepup_resume.html", context)
