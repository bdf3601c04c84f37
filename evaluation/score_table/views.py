"""Score a table: drop it, see how it is read, score it. HTTP only."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import get_access
from annotation.files.reading import limits
from annotation.formats.forms import (
    announced,
    bad_rows_file,
    chosen_columns,
    chosen_reading,
    typed_address,
    uploaded,
    where_to_send,
)
from annotation.formats.uploads import actions as uploads
from annotation.models import ImportFile, Project, Role, User
from annotation.privacy.actions.erasure import KEPT_DAYS
from crowdqc.errors import Conflict, DomainError, Invalid, LimitExceeded, Missing
from crowdqc.numbers import parse_whole
from crowdqc.web.htmx import page_or_fragment
from evaluation.models import RunState
from evaluation.score_table import selectors
from evaluation.score_table.actions.scoring import title_of
from evaluation.score_table.kinds import KINDS

EXAMPLES = Path(__file__).with_name("examples")
EXAMPLE = EXAMPLES / "labels.csv"
PAGE, PART = "evaluation/score_table/table.html", "evaluation/score_table/_table.html"


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest) -> HttpResponse:
    """Drop a table, or try the example; scoring it makes a project."""
    return _start(request, None)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def start_in(request: HttpRequest, project_id: int) -> HttpResponse:
    """Start with a table that becomes a task of this project."""
    return _start(request, get_access(request, project_id, Role.REQUESTER).project)


def _start(request: HttpRequest, project: Project | None) -> HttpResponse:
    user, error = cast(User, request.user), None
    if request.method == "POST":
        try:
            if coming := announced(request):
                file = uploads.begin_upload(by=user, project=project, **coming._asdict())
                return where_to_send(file, reverse("score_table_file", args=[file.pk]))
            file = _store_table(request, user, project)
        except (Invalid, Conflict, LimitExceeded) as refused:
            error = refused
        else:
            return redirect("score_table_file", file.pk)
    context = {
        "project": project,
        "error": error,
        "most": limits.current().size // 2**20,
        "files": selectors.tables_of(user),
        "days": KEPT_DAYS,
        "kinds": KINDS.values(),
    }
    return render(
        request, "evaluation/score_table/start.html", context, status=error.status if error else 200
    )


def _store_table(request: HttpRequest, user: User, project: Project | None) -> ImportFile:
    if "example" in request.POST:
        name, content = "example-labels.csv", EXAMPLE.read_bytes()
        return uploads.keep_table(by=user, project=project, name=name, content=content)
    if address := typed_address(request):
        return uploads.keep_address(by=user, project=project, address=address)
    name, source = uploaded(request)
    return uploads.keep_table(by=user, project=project, name=name, content=source)


@login_required
@require_safe
def example(request: HttpRequest, name: str) -> HttpResponse:
    """The example file of a kind."""
    if name not in {kind.example for kind in KINDS.values() if kind.example}:
        raise Missing(_("There is no such example."))
    content = (EXAMPLES / f"{name}.csv").read_bytes()
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="example-{name}.csv"'
    return response


def _own(request: HttpRequest, file_id: int) -> ImportFile:
    """Return one's own table; of a project only while one is a requester there."""
    file = selectors.own_table(cast(User, request.user), file_id)
    if file is None:
        raise Missing(_("There is no such table."))
    if file.project_id:
        get_access(request, file.project_id, Role.REQUESTER)
    return file


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def table(request: HttpRequest, file_id: int) -> HttpResponse:
    """Page of an uploaded table: change how it is read, score it, or delete it."""
    file, user = _own(request, file_id), cast(User, request.user)
    if file.task is not None and (where := _results_of(file)):
        if request.htmx:  # type: ignore[attr-defined]
            return HttpResponse(headers={"HX-Redirect": where})
        return redirect(where)
    if file.task is not None:
        return page_or_fragment(request, PAGE, PART, {"file": file, **selectors.scoring(file)})
    error: DomainError | None = None
    wanted = request.POST.get("do", "columns") if request.method == "POST" else ""
    if wanted == "delete":
        back = ("score_table_in", file.project_id) if file.project_id else ("score_table",)
        uploads.remove_upload(by=user, file=file)
        messages.success(request, _("The table was deleted."))
        return redirect(*back)
    try:
        _change(request, user, file, wanted)
    except (Invalid, Conflict, LimitExceeded) as refused:
        error = refused
    if wanted and not error:
        if not request.htmx:  # type: ignore[attr-defined]
            return redirect("score_table_file", file_id)
        file = _own(request, file_id)
    context = {"file": file, "project": file.project, "error": error, **selectors.frame(file)}
    context |= {
        "days": KEPT_DAYS,
        "projects": selectors.projects_of(user),
        "new_project": title_of(file.name),
    }
    return page_or_fragment(request, PAGE, PART, context, status=error.status if error else 200)


def _change(request: HttpRequest, user: User, file: ImportFile, wanted: str) -> None:
    """Do what a form of the page asks for."""
    said = {name: str(request.POST.get(name, "")) for name in ("kind", "column", "value", "use")}
    if wanted == "score":
        _choose_project(request, user, file)
        uploads.request_import(by=user, file=file, leave_out_bad=True)
    elif wanted == "kind":
        uploads.set_kind(by=user, file=file, kind=said["kind"])
    elif wanted == "reading":
        uploads.set_reading(by=user, file=file, **chosen_reading(request))
    elif wanted == "fix":
        del said["kind"]
        uploads.fix_value(by=user, file=file, **said)
    elif wanted:
        uploads.map_columns(by=user, file=file, mapping=chosen_columns(request))


def _choose_project(request: HttpRequest, user: User, file: ImportFile) -> None:
    """Save the table to the project that the form names: one of the person's, or a new one."""
    chosen = parse_whole(request.POST.get("project"), low=1)
    if "project" in request.POST and chosen != file.project_id:
        project = get_access(request, chosen, Role.REQUESTER).project if chosen else None
        uploads.set_project(by=user, file=file, project=project)


def _results_of(file: ImportFile) -> str:
    """Where a scored table leads: its results, or a run that has none; "" until it is over."""
    assert file.task is not None  # noqa: S101 (its caller saw to that)
    run = file.task.runs.order_by("number").first()
    if run is None or run.state == RunState.DONE:
        return reverse("task_results", args=[file.task.project_id, file.task.pk])
    if run.state in (RunState.QUEUED, RunState.RUNNING):
        return ""
    return reverse("run", args=[run.project_id, run.number])


@login_required
@require_safe
def rejected_rows(request: HttpRequest, file_id: int) -> HttpResponseBase:
    """The rows that are left out, with line and reason, as CSV."""
    return bad_rows_file(_own(request, file_id))
