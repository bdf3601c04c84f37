"""A run's tables, its bundle and its report, as files. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.access import get_access, open_to_viewers
from annotation.formats.actions.export_files import request_export
from crowdqc.errors import Missing
from evaluation.models import RunState
from evaluation.runs.pages import send
from evaluation.runs.selectors import lists as reads


@login_required
@require_safe
@open_to_viewers
def run_export(request: HttpRequest, project_id: int, number: int) -> HttpResponseBase:
    """Rows of a finished run of any method: one table, or all of them with a manifest."""
    access = get_access(request, project_id)
    run = reads.get_run(access.project, number)
    if run.state != RunState.DONE:
        raise Missing(_("This run has not finished, so there is nothing to export."))
    return send(request, run)


@login_required
@require_POST
def run_bundle(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """Ask for the run's bundle, and go where it will stand."""
    return _request_file(request, project_id, number, "bundle", "zip")


@login_required
@require_POST
def run_report(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """Ask for the run's report, and go where it will stand."""
    return _request_file(request, project_id, number, "report", request.POST.get("form", "html"))


def _request_file(
    request: HttpRequest, project_id: int, number: int, what: str, form: str
) -> HttpResponse:
    access = get_access(request, project_id)
    run = reads.get_run(access.project, number)
    request_export(
        by=access.user,
        project=access.project,
        task=run.task,
        what=what,
        form=form,
        params={"run": run.number},
    )
    return redirect("files_list", project_id)
