"""Whole tables of a task as CSV or JSONL, streamed, under pseudonyms."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access import get_task_by_id
from annotation.exports import files, free_text
from crowdqc.errors import Invalid, Missing


class TaskExport(APIView):
    @extend_schema(
        parameters=[
            OpenApiParameter("what", str, "path", enum=list(free_text.COLUMNS)),
            OpenApiParameter("form", str, "path", enum=list(files.FORMATS)),
            OpenApiParameter("uncounted", bool, description="Also answers that do not count"),
        ],
        responses={
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "application/x-ndjson"): OpenApiTypes.STR,
        },
        summary="Download a table of a task",
        description="CSV quotes what a spreadsheet would take for a formula; JSONL is exact.",
    )
    def get(
        self, request: Request, task_id: int, what: str, form: str
    ) -> Response | StreamingHttpResponse:
        _, task = get_task_by_id(request, task_id)
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
