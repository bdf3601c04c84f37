"""The results of labels about turns and tool calls. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.access import get_task, open_to_viewers
from annotation.models import Task
from annotation.work.snapshots.turns import turn_fields
from crowdqc.errors import Missing
from evaluation.results.files import csv_of
from evaluation.runs.next_actions import page_screen
from evaluation.runs.pages import method_frame, number_of, send_csv
from evaluation.runs.selectors import lists as run_reads
from evaluation.runs.sharing.selectors import menu_of
from evaluation.turns import selectors as reads
from evaluation.turns.columns import UNITS
from evaluation.turns.run import FIGURES, SLUG


def _task(request: HttpRequest, project_id: int, task_id: int) -> Task:
    _access, task = get_task(request, project_id, task_id)
    if not turn_fields(task.current):
        raise Missing(_("This task asks nothing about turns."))
    return task


@open_to_viewers
@login_required
@require_safe
def results(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """How many turns are wrong, where conversations go wrong first, and who labels turns well."""
    task = _task(request, project_id, task_id)
    run = reads.shown_run(task, number_of(request))
    context = method_frame(task, run, view="turns", method=SLUG)
    if run is not None:
        figures = run_reads.figures_of(run, *FIGURES, "recipe")
        context.update(
            tables=reads.tables_of(run, figures),
            summary=figures["summary"],
            **menu_of(run),
            recipe=run_reads.recipe_pairs(run, figures.get("recipe")),
            screen=page_screen(
                context["study_state"],
                [reads.verdict_of(figures), *reads.warnings_of(task, figures)],
            ),
        )
    return render(request, "evaluation/turns/results.html", context)


@open_to_viewers
@login_required
@require_safe
def export(request: HttpRequest, project_id: int, task_id: int) -> HttpResponseBase:
    """The label of every turn as CSV."""
    task = _task(request, project_id, task_id)
    run = reads.shown_run(task, number_of(request))
    if run is None:
        raise Missing(_("This task has no finished run to export."))
    rows = reads.unit_rows(run_reads.figures_of(run, "units"))
    return send_csv(run, "turns", csv_of(UNITS, rows))
