"""Leaving a worker out of a task's results, whatever its method: a preview first. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import get_task, get_worker
from annotation.models import Exclusion, Membership, Role, Task
from annotation.panels.actions import exclusions
from crowdqc.errors import Conflict, Missing
from evaluation.pairwise.views.forms import ExclusionForm
from evaluation.runs import exclusion_preview
from evaluation.runs.adapters import adapter_of
from evaluation.runs.selectors import lists as reads


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def exclude(request: HttpRequest, project_id: int, task_id: int, worker_id: int) -> HttpResponse:
    """What changes without this worker; with a reason it is done, from the next run on."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    worker = get_worker(access, worker_id)
    known = adapter_of(task)
    if known.exclusion:  # foreseen in more detail there
        return redirect(known.exclusion, project_id, task_id, worker_id)
    form, status = ExclusionForm(request.POST or None), 200
    if request.method == "POST":
        if form.leave_out(request, by=access.user, task=task, worker=worker):
            return redirect(reverse("task", args=[project_id, task_id]) + "#left-out")
        status = 422
    every = list(task.exclusions.filter(worker=worker).select_related("by", "undone_by"))
    part = request.method == "GET" and request.GET.get("part") == "effect"
    context = {
        "access": access,
        "project": access.project,
        "task": task,
        "worker": worker,
        "form": form,
        "title": reads.title_of(task),
        "noun": known.answer_noun,
        "standing": next((one for one in every if one.undone_at is None), None),
        "before": [one for one in every if one.undone_at is not None],
        **(_effect(task, worker) if part else {}),
    }
    name = "_effect.html" if part and bool(request.htmx) else "exclude.html"  # type: ignore[attr-defined]
    response = render(request, f"evaluation/panels/exclusions/{name}", context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _effect(task: Task, worker: Membership) -> dict[str, Any]:
    """The preview, or the reason why there is none."""
    try:
        return {"effect": exclusion_preview.effect(task, worker)}
    except Conflict as conflict:
        return {"no_effect": conflict.message}


@login_required
@require_POST
def undo(request: HttpRequest, project_id: int, task_id: int, exclusion_id: int) -> HttpResponse:
    """Let a worker's answers enter results again, from the next run on."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    found = Exclusion.objects.filter(task=task, pk=exclusion_id).select_related("worker").first()
    if found is None:
        raise Missing("There is no such exclusion in this task.")
    exclusions.undo(by=access.user, exclusion=found)
    messages.success(request, f"{found.worker.pseudonym} is in again from the next run on.")
    if after := adapter_of(task).after_exclusion:
        return redirect(after, project_id, task_id)
    return redirect(reverse("task", args=[project_id, task_id]) + "#left-out")
