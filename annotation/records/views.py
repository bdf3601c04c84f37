"""Pages of the audit log and of errors."""

from __future__ import annotations

import sys

from django.contrib.auth.decorators import login_required
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.access import get_access
from annotation.api.frame.base import PROBLEM, problem_response
from annotation.files.writing import tables as files
from annotation.records.selectors import audit
from annotation.records.selectors.audit_words import FAMILIES
from crowdqc.numbers import parse_whole
from crowdqc.web.language import readers_language

RETRY_AFTER = "15"  # seconds


@login_required
@require_safe
def audit_log(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the audit log, newest first."""
    access = get_access(request, project_id)
    filters = audit.Filters.from_query(request.GET)
    before = request.GET.get("before", "")
    number = parse_whole(before) or 0
    context = {
        "project": access.project,
        "access": access,
        "filters": filters,
        "page": audit.read_page(access.project, filters, number),
        "before": number,
        "families": sorted(FAMILIES.items(), key=lambda one: one[1]),
        "kinds": audit.object_types(access.project),
        "staff": audit.staff_names(access.project),
        "system": audit.SYSTEM,
    }
    return render(request, "annotation/accounts/projects/audit_log.html", context)


@login_required
@require_safe
def audit_log_export(request: HttpRequest, project_id: int) -> StreamingHttpResponse:
    """Stream the entries as CSV."""
    access = get_access(request, project_id)
    rows = audit.export_rows(access.project, audit.Filters.from_query(request.GET))
    lines = files.lines(audit.COLUMNS, rows, "csv")
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="audit-log-{project_id}.csv"'
    return response


def _answer(request: HttpRequest, status: int, code: str, detail: str) -> HttpResponse:
    if request.path.startswith("/api/"):
        body = problem_response({"code": code, "detail": detail}, status)
        return JsonResponse(body, status=status, content_type=PROBLEM)
    if status < 500:
        translation.activate(readers_language(request))
    # No context processors where the server failed: they may be what failed.
    return render(None if status >= 500 else request, f"{status}.html", status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 400, "bad-request", _("The request cannot be read."))


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 403, "not-allowed", _("This is not allowed."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 404, "missing", _("There is nothing here."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Show a server error; a later try helps if the database is down or full."""
    if isinstance(sys.exc_info()[1], (OperationalError, InterfaceError)):
        response = _answer(
            request, 503, "unavailable", _("The database is not available. Try later.")
        )
        response.headers["Retry-After"] = RETRY_AFTER
        return response
    return _answer(request, 500, "server-error", _("The server failed; it was written down."))
