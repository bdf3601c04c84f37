"""Files made in the background: ask for one, see how far it is, fetch it. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, find_task, get_access
from annotation.formats.actions import export_files as actions
from annotation.formats.exports.makers import TABLES
from annotation.formats.exports.tools.frames import OVERALL
from annotation.formats.selectors import files as reads
from annotation.models import Task
from crowdqc.errors import Conflict, Invalid, Missing
from crowdqc.numbers import parse_whole
from crowdqc.web.htmx import page_or_fragment

MEDIA = {
    "zip": "application/zip",
    "csv": "text/csv; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "pdf": "application/pdf",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
}


def _context(request: HttpRequest, access: Access, task: Task | None) -> dict[str, Any]:
    rows = reads.rows(access.project)
    answers = reads.size_of(task) if task else 0
    scales = reads.scales_of(task) if task else []
    wanted = request.GET.get("scale", OVERALL)
    scale = next((one for one in scales if one.name == wanted), scales[0] if scales else None)
    return {
        "rows": rows,
        "kept_days": actions.KEPT.days,
        "active": sum(row.active for row in rows),
        "tasks": [
            {"pk": pk, "title": title, "current": task is not None and pk == task.pk}
            for pk, title in reads.titles_of(access.project).items()
        ],
        "task": task,
        "answers": answers,
        "large": reads.LARGE,
        "forms": TABLES,
        "scales": scales,
        "scale": scale,
        "choices": reads.choices_of(task, scale, at_once=answers <= reads.LARGE) if task else [],
    }


def _task(access: Access, raw: str) -> Task | None:
    """The task of this id, if it is one of the project's."""
    if not raw:
        return None
    return find_task(access, parse_whole(raw) or 0)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def files_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """Page of the project's files and possible exports; a POST starts one."""
    access = get_access(request, project_id)
    if request.method != "POST":
        task = _task(access, request.GET.get("task", ""))
        return render(
            request, "annotation/formats/files/list.html", _context(request, access, task)
        )
    task = _task(access, request.POST.get("task", ""))
    what, _dot, form = request.POST.get("file", "").rpartition(".")
    params = {
        name: value for name in ("dimension", "query") if (value := request.POST.get(name, ""))
    }
    try:
        actions.request_export(
            by=access.user,
            project=access.project,
            task=task,
            what=what,
            form=form,
            params=params,
        )
    except (Invalid, Conflict) as error:
        context = {**_context(request, access, task), "refused": error}
        return render(request, "annotation/formats/files/list.html", context, status=error.status)
    return redirect("files_list", project_id)


@login_required
@require_safe
def files_now(request: HttpRequest, project_id: int) -> HttpResponse:
    """Fragment with the list of files; it reloads itself while a file is being written."""
    access = get_access(request, project_id)
    context = _context(request, access, None)
    return page_or_fragment(
        request,
        "annotation/formats/files/list.html",
        "annotation/formats/files/_rows.html",
        context,
    )


@login_required
@require_safe
def files_download(request: HttpRequest, project_id: int, file_id: int) -> StreamingHttpResponse:
    """A finished file, streamed from its pieces."""
    file = reads.get_file(get_access(request, project_id).project, file_id)
    kind = file.name.rpartition(".")[2]
    response = StreamingHttpResponse(
        actions.content(file), content_type=MEDIA.get(kind, "application/octet-stream")
    )
    response["Content-Disposition"] = f'attachment; filename="{file.name}"'
    response["Content-Length"] = str(file.size)
    response["ETag"] = f'"{file.sha256}"'
    return response


@login_required
@require_safe
def files_manifest(request: HttpRequest, project_id: int, file_id: int) -> HttpResponse:
    """Download the manifest of a finished file: its tables, columns and recipe."""
    file = reads.get_file(get_access(request, project_id).project, file_id)
    if file.state != "done":
        raise Missing(_("This file is not written yet."))
    response = JsonResponse(file.manifest, json_dumps_params={"indent": 2, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="{file.name}.manifest.json"'
    return response


@login_required
@require_POST
def files_remove(request: HttpRequest, project_id: int, file_id: int) -> HttpResponse:
    """Delete a file before its days are over."""
    access = get_access(request, project_id)
    actions.remove_file(by=access.user, file=reads.get_file(access.project, file_id))
    return redirect("files_list", project_id)
