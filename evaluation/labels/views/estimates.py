"""The results of a plug-in's run. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.access import get_access
from crowdqc.errors import Missing
from crowdqc.plugins import is_outside
from evaluation.labels.selectors.estimates import stored_estimates
from evaluation.models import RunState
from evaluation.runs.selectors import lists as reads


@login_required
@require_safe
def run_estimates(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """Labels and workers as a plug-in's method estimated them, whether it is installed or not."""
    access = get_access(request, project_id)
    run = reads.get_run(access.project, number)
    if run.state != RunState.DONE or not is_outside(run.method):
        raise Missing(_("There is no finished run of a plug-in with this number."))
    context = {
        "run": run,
        "title": reads.title_of(run.task),
        "live": reads.live_run(run),
        "estimates": stored_estimates(run),
    }
    return render(request, "evaluation/labels/estimates.html", context)
