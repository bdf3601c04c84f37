"""Language models as judges. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evaluation.pairwise.selectors import judges as pair_judges
from evaluation.pairwise.views import boards
from evaluation.pairwise.views.agreement import opened
from evaluation.pairwise.views.frame import study

IMPORT_KIND = "judgments"  # what the import page calls votes of models (and people)


@login_required
@require_safe
def judges(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """How far models' labels agree with themselves, with gold, and with people."""
    _, task = study(request, project_id, task_id)
    runs, context = opened(request, task, "judges")
    if runs.core is None:
        return boards.empty(request, task, runs, context)
    dimension = boards.with_dimension(request, context)
    found = pair_judges.judges(runs.core, runs.published, context["asked"], dimension)
    context["newer"] = pair_judges.newer(task, runs.core)
    context.update(found=found, recipe=found.recipe if found else None, import_kind=IMPORT_KIND)
    return render(request, "evaluation/pairwise/workers/judges.html", context)
