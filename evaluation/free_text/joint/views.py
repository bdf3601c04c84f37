"""The page of runs in which language models vote. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.access import get_task
from crowdqc.errors import Missing
from evaluation.free_text.joint import selectors as reads
from evaluation.free_text.joint.run import SLUG
from evaluation.runs.next_actions import page_screen
from evaluation.runs.pages import method_frame, number_of
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as run_reads


@login_required
@require_safe
def results(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """People and language models on one board, all of whom vote."""
    access, task = get_task(request, project_id, task_id)
    require_fit(task, SLUG, Missing(gettext("Only answers in free text are scored by AQER.")))
    run = reads.shown_run(task, number_of(request))
    context = method_frame(task, run, view="joint", method=SLUG)
    if run is not None:
        told = run_reads.figures_of(run)
        context.update(reads.page(access, run, told, request.GET.get("page")))
        place = context["place"]
        context["screen"] = page_screen(
            context["study_state"], [place.finding()], settled=not place.unknown
        )
        context["recipe"] = run_reads.recipe_pairs(run, told.get("recipe"))
    return render(request, "evaluation/free_text/joint.html", context)
