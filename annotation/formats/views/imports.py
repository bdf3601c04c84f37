"""Importing a file: choose it, see how it is read, import all of it or all but its bad rows."""

from __future__ import annotations

from typing import cast
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_access, get_task
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.examples import count_examples
from annotation.files.reading import limits
from annotation.formats.forms import (
    Announced,
    announced,
    bad_rows_file,
    chosen_columns,
    chosen_reading,
    typed_address,
    uploaded,
    where_to_send,
)
from annotation.formats.registry import (
    Format,
    file_uses,
    format_for,
    kinds_of,
    recognise_upload,
)
from annotation.formats.uploads import actions, selectors
from annotation.models import ImportFile, Role, Task, User
from annotation.task_types.labels.content import FILES
from crowdqc.errors import Conflict, DomainError, Invalid, LimitExceeded, Missing
from crowdqc.numbers import parse_whole
from crowdqc.web.htmx import page_or_fragment


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_import(request: HttpRequest, project_id: int, task_id: int, kind: str) -> HttpResponse:
    """Choose a file of a kind that the task takes: questions, answers, texts, judgments."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    kinds = kinds_of(task)
    if kind not in kinds:
        raise Missing(
            _("The task takes no such file. It takes %(kinds)s.") % {"kinds": ", ".join(kinds)}
        )
    error = None
    if request.method == "POST":
        try:
            if coming := announced(request):
                return _begin(request, access.user, task, kind, coming)
            file = _store_file(request, access.user, task, kind)
        except (Invalid, LimitExceeded) as refused:
            error = refused
        else:
            return redirect("task_import_file", project_id, task_id, file.pk)
    most, one = limits.current(), format_for(task, kind)
    content = task.version_or_draft().settings.get("content", "")
    context = {
        "access": access,
        "project": task.project,
        "task": task,
        "title": task.version_or_draft().title,
        "content": content,
        "takes_files": one.names_files and content in FILES,
        "kind": kind,
        "format": one,
        "error": error,
        "blocked": one.of_answers and task.current is None,
        "most": most.size // 2**20,
        "most_rows": most.rows,
        "files": selectors.uploads_of(task, kind),
    }
    return render(
        request, "annotation/authoring/imports/import.html", context, status=422 if error else 200
    )


def _store_file(request: HttpRequest, user: User, task: Task, kind: str) -> ImportFile:
    """Keep the file of a form, or have the one at its address fetched."""
    if address := typed_address(request):
        return actions.keep_address(
            by=user, project=task.project, task=task, kind=kind, address=address
        )
    name, content = uploaded(request)
    kind = recognise_upload(kinds_of(task), kind, name, content)
    return actions.keep_file(by=user, task=task, kind=kind, name=name, content=content)


def _begin(
    request: HttpRequest, user: User, task: Task, kind: str, coming: Announced
) -> HttpResponse:
    """Begin a file that the page sends in parts."""
    file = actions.begin_upload(
        by=user, project=task.project, task=task, kind=kind, **coming._asdict()
    )
    page = reverse("task_import_file", args=[task.project_id, task.pk, file.pk])
    return where_to_send(file, page)


@login_required
@require_POST
def upload_part(request: HttpRequest, file_id: int) -> JsonResponse:
    """Take the next bytes of a file that a page sends in parts; they are the body."""
    user = cast(User, request.user)
    file = ImportFile.objects.filter(pk=file_id, uploaded_by=user).first()
    if file is None:
        raise Missing(_("There is no such file."))
    if file.project_id:
        get_access(request, file.project_id, Role.REQUESTER)
    offset = parse_whole(request.GET.get("offset", ""), 0, 2**53)
    if offset is None:
        raise Invalid(_("The place of the part is not known."), fields={"offset": "0"})
    if offset <= file.done:
        file = actions.add_part(file=file, offset=offset, content=request.body)
    arriving = file.state == ImportFile.State.UPLOADING
    return JsonResponse({"received": file.done if arriving else file.size})


def _title(task: Task) -> str:
    return task.version_or_draft().title


def _file(task: Task, file_id: int) -> ImportFile:
    file = task.import_files.filter(pk=file_id).first()
    if file is None:
        raise Missing(_("There is no such file in this task."))
    file.task = task
    return file


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_import_file(
    request: HttpRequest, project_id: int, task_id: int, file_id: int
) -> HttpResponse:
    """Page of an uploaded file: its columns, first rows and bad rows; imports it."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    file = _file(task, file_id)
    error: DomainError | None = None
    wanted = request.POST.get("do", "") if request.method == "POST" else None
    if wanted == "delete":
        actions.remove_upload(by=access.user, file=file)
        messages.success(request, _("The upload was deleted."))
        return redirect("task_import", project_id, task_id, file.kind)
    if wanted == "import":
        try:
            actions.request_import(
                by=access.user, file=file, leave_out_bad=request.POST.get("leave_out") == "1"
            )
        except Invalid as refused:
            error = refused
        else:
            return redirect("task_import_file", project_id, task_id, file_id)
    elif wanted is not None:
        try:
            _read_otherwise(request, access.user, file, wanted)
        except (Invalid, Conflict) as refused:
            error = refused
        if not error and not request.htmx:  # type: ignore[attr-defined]
            return redirect("task_import_file", project_id, task_id, file_id)
        task = Task.objects.select_related("project").get(pk=task.pk)
        file = _file(task, file_id)
    one = format_for(task, file.kind)
    view = selectors.view_of(file, one)
    if request.htmx and file.imported_at and not wanted and view.took_every_row:  # type: ignore[attr-defined]
        return _go_to_builder(request, task, one, view.sentence)
    context = {
        "access": access,
        "project": task.project,
        "task": task,
        "title": _title(task),
        "examples": count_examples(task, task.versions.latest("number"))["examples"],
        "file": file,
        "kind": file.kind,
        "format": one,
        "error": error,
        "view": view,
        "uses": file_uses(task, file.kind) if view.columns else [],
        "use": f"{task.type}.{file.kind}",
    }
    return page_or_fragment(
        request,
        "annotation/authoring/imports/import_file.html",
        "annotation/authoring/imports/_import_file.html",
        context,
        status=422 if error else 200,
    )


def _read_otherwise(request: HttpRequest, user: User, file: ImportFile, wanted: str) -> None:
    """Read the file as a form of its page says: its first line and encoding, or its columns."""
    if wanted == "reading":
        actions.set_reading(by=user, file=file, **chosen_reading(request))
    elif wanted == "use":
        actions.set_use(by=user, file=file, use=str(request.POST.get("use", "")))
    else:
        actions.map_columns(by=user, file=file, mapping=chosen_columns(request))


def _go_to_builder(request: HttpRequest, task: Task, one: Format, said: str) -> HttpResponse:
    """Leave the page of an import that took every row, for what the draft lacks or its rows."""
    messages.success(request, said)
    to = reverse("task", args=[task.project_id, task.pk])
    if one.seen_in is not None:
        lacks = Build(task).missing() if one.replaces_examples else []
        part = lacks[0].part if lacks else "" if one.replaces_examples else one.seen_in
        place = {"part": part, "question": lacks[0].question if lacks else ""}
        query = urlencode({name: value for name, value in place.items() if value})
        to = reverse("task_build", args=[task.project_id, task.pk]) + (query and f"?{query}")
    return HttpResponse(headers={"HX-Redirect": to})


@login_required
@require_safe
def task_import_bad_rows(
    request: HttpRequest, project_id: int, task_id: int, file_id: int
) -> StreamingHttpResponse:
    """The bad rows with their reasons, as CSV."""
    _, task = get_task(request, project_id, task_id, Role.REQUESTER)
    return bad_rows_file(_file(task, file_id))
