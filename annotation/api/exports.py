"""Whole tables of a task as CSV or JSONL, streamed, under pseudonyms."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_task_by_id
from annotation.api.frame.endpoint import Endpoint
from annotation.files.writing import tables as files
from annotation.formats.exports import free_text, pairwise
from annotation.models import Task
from crowdqc.errors import Invalid, Missing


class TaskExport(Endpoint):
    @extend_schema(
        parameters=[
            OpenApiParameter(
                "what", str, "path", enum=[*free_text.COLUMNS, *pairwise.PAIR_EXPORTS]
            ),
            OpenApiParameter("form", str, "path", enum=list(pairwise.MEDIA)),
            OpenApiParameter("uncounted", bool, description="Also answers that do not count"),
            OpenApiParameter("dimension", str, description="Of judgments: on which dimension"),
        ],
        responses={
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "application/x-ndjson"): OpenApiTypes.STR,
        },
        summary="Download a table of a task",
        description="CSV quotes what a spreadsheet would take for a formula; JSONL is exact. "
        "Judgments and ratings have exports of their own: arena battles, crowd-kit frames, "
        "reliability matrices.",
    )
    def get(
        self, request: Request, task_id: int, what: str, form: str
    ) -> Response | StreamingHttpResponse:
        _, task = get_task_by_id(request, task_id)
        if what not in free_text.COLUMNS and what in pairwise.exports_of(task):
            return _judgments(task, what, form, request.query_params.get("dimension", ""))
        try:
            free_text.check(what)
            files.check_format(form)
        except Invalid as error:
            raise Missing(error.message, fields=error.fields) from error
        rows = free_text.rows(task, what, uncounted=request.query_params.get("uncounted") == "true")
        response = StreamingHttpResponse(
            files.lines(free_text.COLUMNS[what], rows, form), content_type=files.FORMATS[form]
        )
        name = f"task-{task.pk}-{what}.{form}"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response


def _judgments(task: Task, what: str, form: str, dimension: str) -> StreamingHttpResponse:
    """An export of judgments; what there is not is Missing, a wrong dimension Invalid."""
    try:
        export = pairwise.get_export(task, what, form)
    except Invalid as error:
        raise Missing(error.message, fields=error.fields) from error
    response = StreamingHttpResponse(
        export.lines(task, form, dimension), content_type=pairwise.MEDIA[form]
    )
    name = f"task-{task.pk}-{what}.{form}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
