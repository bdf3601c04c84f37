"""The address of the site itself, in a module that loads little: it is mostly the first page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from annotation.accounts.projects.forms import FirstProjectForm
from annotation.accounts.projects.selectors import all_roles, landing
from annotation.models import Role


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Redirect a person to their projects or work; show others the landing page."""
    if not request.user.is_authenticated:
        return render(request, "annotation/accounts/landing.html", landing())
    roles = all_roles(request.user)
    staffed = {project_id for project_id, role in roles if role != Role.WORKER}
    if len(staffed) == 1:
        return redirect("project", staffed.pop())
    if staffed:
        return redirect("project_list")
    if roles:
        return redirect("work_home")
    context = {"form": FirstProjectForm()}
    return render(request, "annotation/accounts/projects/nobody_yet.html", context)
