"""Points from language models beside the task's own board. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.access import get_task
from crowdqc.errors import Missing
from evaluation.free_text.selectors import point_judges
from evaluation.llm_runs.judging.points import SLUG
from evaluation.pairwise.selectors import runs as pair_runs
from evaluation.runs.adapters import adapter_of
from evaluation.runs.pages import number_of
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as reads


@login_required
@require_safe
def point_judges_page(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """A model's scores from 0 to 100: its boards of systems and workers, and how they agree."""
    _, task = get_task(request, project_id, task_id)
    require_fit(task, SLUG, Missing(gettext("Models give no points to what this task collects.")))
    runs = point_judges.name_models(point_judges.runs_of(task))
    number = number_of(request)
    shown = next((one for one in runs if number in (None, one[0].number)), None)
    if shown is None and number is not None:
        raise Missing(
            gettext("This task has no finished run %(number)s of this kind.") % {"number": number}
        )
    asked = pair_runs.dimensions(task)
    wanted = request.GET.get("dimension", "")
    dimension = wanted if wanted in {one.name for one in asked} else ""
    if asked and "dimension" not in request.GET:
        dimension = asked[-1].name
    context = {
        "task": task,
        "title": reads.title_of(task),
        "offered": runs,
        "asked": asked,
        "dimension": dimension,
        "scored": adapter_of(task).scores_answers,
    }
    if shown is not None:
        found = point_judges.points(*shown, dimension, request.GET.get("page"))
        context.update(found=found, recipe=found["recipe"])
    return render(request, "evaluation/free_text/points.html", context)
