"""Leaving a worker out of a study's results: a preview first, then with a reason. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods

from annotation.access import get_worker
from annotation.models import Role
from crowdqc.errors import Conflict
from evaluation.pairwise.selectors import exclusion as pair_exclusion
from evaluation.pairwise.views.forms import ExclusionForm
from evaluation.pairwise.views.frame import frame, study


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def exclude(request: HttpRequest, project_id: int, task_id: int, worker_id: int) -> HttpResponse:
    """What changes without this worker; with a reason it is done, from the next run on."""
    access, task = study(request, project_id, task_id, Role.REQUESTER)
    worker = get_worker(access, worker_id)
    runs, context = frame(request, task, "agreement")
    context.update(worker=worker, leaving=pair_exclusion.leaving(task, worker, runs.core))
    if request.method == "POST":
        form = ExclusionForm(request.POST)
        if form.leave_out(request, by=access.user, task=task, worker=worker):
            return redirect("pair_agreement", project_id, task_id)
        context["form"] = form
        return render(request, "evaluation/pairwise/workers/exclude.html", context, status=422)
    context["form"] = ExclusionForm()
    part = request.GET.get("part") == "effect"
    if part:
        context.update(_effect(task, worker, runs.core))
    fragment = part and bool(request.htmx)  # type: ignore[attr-defined]
    name = "_effect.html" if fragment else "exclude.html"
    response = render(request, f"evaluation/pairwise/workers/{name}", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _effect(task: Any, worker: Any, core: Any) -> dict[str, Any]:
    """The preview, or the reason why there is none."""
    try:
        return {"effect": pair_exclusion.effect(task, worker, core)}
    except Conflict as conflict:
        return {"no_effect": conflict.message}
