"""Leaderboards over the tasks of a domain. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.access import get_access
from crowdqc.errors import Missing
from evaluation.people.selectors import domains


@login_required
@require_safe
def domain_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """The domains of a project, with how many of their tasks were scored."""
    access = get_access(request, project_id)
    context = {
        "rows": domains.domain_list(access.project),
        "without": domains.without_domain(access.project),
        "tasks": access.project.tasks.count(),
    }
    return render(request, "evaluation/people/domains/list.html", context)


@login_required
@require_safe
def domain_board(request: HttpRequest, project_id: int, name: str) -> HttpResponse:
    """One domain: its boards by one measure, and which tasks enter."""
    access = get_access(request, project_id)
    tasks = domains.tasks_of(access.project, name)
    if not tasks:
        raise Missing("No task of this project is about that.")
    offered = domains.measures_of(tasks)
    wanted = request.GET.get("of", "")
    measure = next((one for one in offered if one.slug == wanted), offered[0])
    context = {
        "shown": domains.domain_page(access.project, name, measure),
        "segments": [
            {"label": one.label, "url": f"?of={one.slug}", "current": one is measure}
            for one in offered
        ],
    }
    return render(request, "evaluation/people/domains/board.html", context)
