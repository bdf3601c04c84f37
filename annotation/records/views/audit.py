"""The audit log of a project: pages, and a file of the same. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.access import get_access
from annotation.files.writing import tables as files
from annotation.records.selectors import audit
from annotation.records.selectors.audit_words import FAMILIES
from crowdqc.numbers import whole


@login_required
@require_safe
def audit_log(request: HttpRequest, project_id: int) -> HttpResponse:
    """Audit log, the newest first."""
    access = get_access(request, project_id)
    filters = audit.Filters.of(request.GET)
    before = request.GET.get("before", "")
    number = whole(before) or 0
    context = {
        "project": access.project,
        "access": access,
        "filters": filters,
        "page": audit.page(access.project, filters, number),
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
    """The same entries as CSV, streamed."""
    access = get_access(request, project_id)
    rows = audit.rows(access.project, audit.Filters.of(request.GET))
    lines = files.lines(audit.COLUMNS, rows, "csv")
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="audit-log-{project_id}.csv"'
    return response
