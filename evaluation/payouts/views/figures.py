"""Key figures of a task: people, usable answers, time and cost. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.access import get_task
from evaluation.payouts.selectors.figures import (
    COLUMNS,
    figure_lines,
    figure_table,
    key_figures,
)
from evaluation.results.files import csv_of, records


@login_required
@require_safe
def task_figures(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The figures as a table, or with ``format=csv`` as a file."""
    _, task = get_task(request, project_id, task_id)
    found = key_figures(task)
    lines = figure_lines(found, task) if found else []
    if request.GET.get("format") == "csv":
        response = HttpResponse(csv_of(COLUMNS, records(COLUMNS, lines)), content_type="text/csv")
        response["Content-Disposition"] = f'attachment; filename="task-{task.pk}-figures.csv"'
        return response
    context = {"task": task, "found": found, "table": figure_table(lines) if found else None}
    return render(request, "evaluation/payouts/figures.html", context)
