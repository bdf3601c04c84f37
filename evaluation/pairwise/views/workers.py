"""The workers of a study, and one worker with the evidence. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.access import get_worker
from evaluation.pairwise.selectors import worker_page as pair_worker_page
from evaluation.pairwise.selectors import workers as pair_workers
from evaluation.pairwise.views.boards import empty, page
from evaluation.pairwise.views.frame import study
from evaluation.runs.selectors import lists as reads


@login_required
@require_safe
def worker_list(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Competence with its interval and what else is known of each worker."""
    _, task = study(request, project_id, task_id)
    runs, context = page(request, task, "workers")
    if "dimension" not in request.GET:  # people are looked at over all dimensions first
        context.update(dimension="", dimension_label="All together")
    run, dimension = runs.core, context["dimension"]
    if run is None:
        return empty(request, task, runs, context)
    told = reads.figures_of(run, *pair_workers.FIGURES)
    by = request.GET.get("sort", "competence")
    by = by if by in pair_workers.SORTS else "competence"
    ascending = request.GET.get("dir") == "up"
    context.update(
        pair_workers.worker_list(
            task, run, told, dimension, by=by, ascending=ascending, page=request.GET.get("page")
        ),
        sorts=pair_workers.sort_links(
            by,
            ascending=ascending,
            dimension=dimension,
            keep=f"&run={run.number}" if context["keep"] else "",
        ),
        recipe=reads.recipe_pairs(run, told.get("recipe")),
    )
    return render(request, "evaluation/pairwise/workers/workers.html", context)


@login_required
@require_safe
def worker(request: HttpRequest, project_id: int, task_id: int, worker_id: int) -> HttpResponse:
    """One worker: competence by dimension, votes in order, differences from the gold labels."""
    access, task = study(request, project_id, task_id)
    person = get_worker(access, worker_id)
    runs, context = page(request, task, "workers")
    told = reads.figures_of(runs.core, *pair_workers.FIGURES) if runs.core is not None else {}
    context.update(
        one=pair_worker_page.worker_page(task, runs.core, told, person, context["asked"]),
        worker=person,
        picks="",
        recipe=reads.recipe_pairs(runs.core, told.get("recipe")) if runs.core is not None else [],
    )
    return render(request, "evaluation/pairwise/workers/worker.html", context)
