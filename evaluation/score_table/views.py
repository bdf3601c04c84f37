"""Score a table: drop it, see how it is read, score it. HTTP only."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import get_access
from annotation.files.reading import limits
from annotation.files.reading.sources import of_upload
from annotation.formats.uploads import actions as uploads
from annotation.formats.uploads.selectors import bad_rows
from annotation.models import ImportFile, Project, Role, User
from crowdqc.errors import Conflict, DomainError, Invalid, Missing
from crowdqc.files.cells import csv_lines
from crowdqc.web.htmx import page_or_fragment
from evaluation.score_table import actions, selectors

EXAMPLE = Path(__file__).with_name("example.csv")
PAGE, PART = "evaluation/score_table/table.html", "evaluation/score_table/_table.html"


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest) -> HttpResponse:
    """Drop a table, or try the example; scoring it makes a project."""
    return _start(request, None)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def start_in(request: HttpRequest, project_id: int) -> HttpResponse:
    """The same for a table that becomes a task of this project."""
    return _start(request, get_access(request, project_id, Role.REQUESTER).project)


def _start(request: HttpRequest, project: Project | None) -> HttpResponse:
    user, error = cast(User, request.user), None
    if request.method == "POST":
        try:
            file = _kept(request, user, project)
        except (Invalid, Conflict) as refused:
            error = refused
        else:
            return redirect("score_table_file", file.pk)
    context = {
        "project": project,
        "error": error,
        "most": limits.current().size // 2**20,
        "files": selectors.tables_of(user),
        "days": selectors.deleted_after_days(),
    }
    return render(
        request, "evaluation/score_table/start.html", context, status=error.status if error else 200
    )


def _kept(request: HttpRequest, user: User, project: Project | None) -> ImportFile:
    kind = selectors.KIND
    if "example" in request.POST:
        name, content = "example-labels.csv", EXAMPLE.read_bytes()
        return uploads.keep_table(by=user, project=project, kind=kind, name=name, content=content)
    upload = request.FILES.get("file")
    if upload is None:
        raise Invalid("No file was chosen.", fields={"file": "Choose a file."})
    return uploads.keep_table(
        by=user, project=project, kind=kind, name=upload.name or "", content=of_upload(upload)
    )


@login_required
@require_safe
def example(request: HttpRequest) -> HttpResponse:
    """The example file."""
    response = HttpResponse(EXAMPLE.read_bytes(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="example-labels.csv"'
    return response


def _own(request: HttpRequest, file_id: int) -> ImportFile:
    """One's own table; of a project only while one is a requester there."""
    file = selectors.own_table(cast(User, request.user), file_id)
    if file is None:
        raise Missing("There is no such table.")
    if file.project_id:
        get_access(request, file.project_id, Role.REQUESTER)
    return file


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def table(request: HttpRequest, file_id: int) -> HttpResponse:
    """How a table is read; say what a column is (htmx), score it, or delete it."""
    file, user = _own(request, file_id), cast(User, request.user)
    if file.task is not None:
        return redirect("task_results", file.task.project_id, file.task.pk)
    error: DomainError | None = None
    wanted = request.POST.get("do", "columns") if request.method == "POST" else ""
    if wanted == "delete":
        back = ("score_table_in", file.project_id) if file.project_id else ("score_table",)
        uploads.remove_upload(by=user, file=file)
        messages.success(request, "The table was deleted.")
        return redirect(*back)
    try:
        if wanted == "score":
            run = actions.score_table(by=user, file=file)
            return redirect("run", run.project_id, run.number)
        if wanted:
            uploads.map_columns(by=user, file=file, mapping=_mapping(request))
            file = _own(request, file_id)
    except (Invalid, Conflict) as refused:
        error = refused
    context = {"file": file, "project": file.project, "error": error, **selectors.frame(file)}
    context["days"] = selectors.deleted_after_days()
    return page_or_fragment(request, PAGE, PART, context, status=error.status if error else 200)


def _mapping(request: HttpRequest) -> dict[str, str]:
    """Field -> column from one select a column, named ``column:NAME``."""
    return {
        field: name.removeprefix("column:")
        for name, field in request.POST.items()
        if name.startswith("column:") and isinstance(field, str) and field
    }


@login_required
@require_safe
def left_out(request: HttpRequest, file_id: int) -> HttpResponseBase:
    """The rows that are left out, with line and reason, as CSV."""
    file = _own(request, file_id)
    if file.state != ImportFile.State.READY:
        raise Missing("The rows of this table are not here: it is not checked, or was scored.")
    lines = csv_lines(bad_rows(file))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="left-out-{file.pk}.csv"'
    return response
