"""The project's first page."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.access import get_access, get_task
from evaluation.overview import selectors as overview
from evaluation.overview.todo import todos
from evaluation.runs.adapters import precision


@login_required
@require_safe
def project(request: HttpRequest, project_id: int) -> HttpResponse:
    """Where the project stands, and what the next thing to do is."""
    access = get_access(request, project_id)
    found = overview.facts(access)
    show = request.GET.get("show", "")
    context = {
        "found": found,
        "rows": overview.filter_rows(found, show),
        "show": show,
        "shows": overview.SHOWS,
        "state": overview.state(found),
        "figures": overview.figures(found) if found.rows else [],
        "todos": todos(found),
        "chart": overview.cost_chart(found),
        "first_waiting": next(iter(found.waiting), None),
    }
    return render(request, "evaluation/overview/overview.html", context)


@login_required
@require_safe
def task_precision(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """How exact a task's results will be; ``line``: short, for the line of costs."""
    access, task = get_task(request, project_id, task_id)
    context = {"access": access, "found": precision(task), "line": "line" in request.GET}
    return render(request, "evaluation/overview/precision.html", context)
