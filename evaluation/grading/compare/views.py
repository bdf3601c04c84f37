"""The page on which every method stands beside AQER. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.access import get_task
from crowdqc.errors import Missing
from evaluation.grading.compare import selectors as reads
from evaluation.grading.compare.run import SLUG
from evaluation.runs.pages import method_frame, number_of
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as run_reads


@login_required
@require_safe
def results(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Boards of the workers by every method; ``?board=`` names the one shown beside AQER."""
    _, task = get_task(request, project_id, task_id)
    require_fit(
        task, SLUG, Missing(gettext("Only answers in free text are scored by these methods."))
    )
    run = reads.shown_run(task, number_of(request))
    context = method_frame(task, run, view="compare", method=SLUG)
    context["graded"] = task.gradings.exists()
    if run is not None:
        told = run_reads.figures_of(run)
        chosen = request.GET.get("board", "")
        context.update(
            reads.page(run, told, chosen=chosen, number=request.GET.get("page")),
            recipe=run_reads.recipe_pairs(run, told.get("recipe")),
        )
    return render(request, "evaluation/grading/compare.html", context)
