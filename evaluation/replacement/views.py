"""The page that says whether a model may replace a person. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.access import get_task
from crowdqc.errors import Missing
from evaluation.free_text.views.results import number_of
from evaluation.replacement import selectors as reads
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as run_reads


@login_required
@require_safe
def results(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """A verdict a model; ``?epsilon=`` in hundredths, ``?model=`` opens one model's people."""
    _, task = get_task(request, project_id, task_id)
    otherwise = Missing(
        "Models can be tested on free text, labels, judgments of pairs, ratings and checklists."
    )
    method = reads.method_of(task)
    require_fit(task, method, otherwise)
    run = reads.shown_run(task, number_of(request))
    context: dict[str, Any] = {
        "task": task,
        "title": run_reads.title_of(task),
        "run": run,
        "active": run_reads.active_of(task, method),
        "method": method,
    }
    if run is not None:
        told = run_reads.figures_of(run)
        epsilon, model = number_of(request, "epsilon"), number_of(request, "model")
        context.update(
            reads.page(run, told, epsilon=epsilon, model=model),
            recipe=run_reads.recipe_pairs(run, told.get("recipe")),
        )
    return render(request, "evaluation/replacement/page.html", context)
