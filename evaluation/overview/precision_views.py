"""The expected width of intervals, as a fragment that the builder loads after its page."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.access import get_task
from evaluation.runs.adapters import precision


@login_required
@require_safe
def task_precision(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """How exact a task's results will be; ``line``: short, for the line of costs."""
    access, task = get_task(request, project_id, task_id)
    context = {"access": access, "found": precision(task), "line": "line" in request.GET}
    return render(request, "evaluation/overview/precision.html", context)
