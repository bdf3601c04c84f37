"""The plug-ins of a project: what each adds, enabled or not. HTTP only."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.access import get_access
from annotation.accounts.plugins.actions import disable_plugin, enable_plugin
from annotation.accounts.plugins.selectors import plugin_rows
from annotation.models import Role


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def project_plugins(request: HttpRequest, project_id: int) -> HttpResponse:
    """List the plug-ins of a project, and enable or disable one."""
    if request.method == "POST":
        access = get_access(request, project_id, Role.REQUESTER)
        name = request.POST.get("name", "")
        change = enable_plugin if request.POST.get("enable") else disable_plugin
        change(by=access.user, project=access.project, name=name)
        messages.success(request, _("The settings are saved."))
        return redirect("project_settings_plugins", project_id)
    access = get_access(request, project_id)
    context = {
        "access": access,
        "project": access.project,
        "plugins": plugin_rows(access.project),
    }
    return render(request, "annotation/accounts/projects/project_plugins.html", context)
