"""Endpoints of files that are written in the background."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import (
    STAFF,
    find_task,
    get_access,
    get_task_by_id,
    open_to_viewers,
    require_trace_reader,
)
from annotation.api.frame.base import Body, Listing, Newest, read
from annotation.api.frame.endpoint import Endpoint
from annotation.files.writing import tables as files
from annotation.formats.actions import export_files as actions
from annotation.formats.exports import free_text, pairwise
from annotation.formats.selectors import files as reads
from annotation.models import ExportFile, Task
from crowdqc.errors import Invalid, Missing


class FileIn(Body):
    what = serializers.CharField(help_text="As the export is called; `all` for every table")
    form = serializers.CharField(help_text="csv, jsonl, parquet ...")
    task = serializers.IntegerField(required=False, help_text="Left out: the whole project")
    params = serializers.DictField(required=False, help_text="As dimension")


class FileOut(serializers.ModelSerializer[ExportFile]):
    params = serializers.DictField()
    manifest = serializers.SerializerMethodField(
        help_text="What a finished file holds, and what it takes to get it again"
    )

    class Meta:
        model = ExportFile
        fields = (
            "id",
            "task",
            "what",
            "form",
            "params",
            "state",
            "name",
            "rows",
            "size",
            "sha256",
            "error",
            "created_at",
            "done_at",
            "expires_at",
            "manifest",
        )

    @extend_schema_field(serializers.DictField())
    def get_manifest(self, file: ExportFile) -> Any:
        return file.manifest


class Files(Listing):
    pagination_class = Newest

    @extend_schema(responses=FileOut(many=True), summary="Files made in the background")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        return self.page(access.project.export_files.all(), FileOut)

    @extend_schema(
        request=FileIn,
        responses={202: FileOut},
        summary="Ask for a file",
        description="It is written in the background; `state` says how far it is. The same one "
        "in work is given back. Tables that are small come at once from `tasks/{id}/export/`.",
    )
    def post(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        body = read(FileIn, request)
        task = find_task(access, body["task"]) if "task" in body else None
        file = actions.request_export(
            by=access.user,
            project=access.project,
            task=task,
            what=body["what"],
            form=body["form"],
            params=body.get("params"),
        )
        return Response(FileOut(file).data, status=status.HTTP_202_ACCEPTED)


class OneFile(Endpoint):
    @extend_schema(responses=FileOut, summary="One file, and how far it is")
    def get(self, request: Request, project_id: int, file_id: int) -> Response:
        access = get_access(request, project_id)
        return Response(FileOut(reads.get_file(access.project, file_id)).data)

    @extend_schema(responses={204: None}, summary="Delete a file before its days are over")
    def delete(self, request: Request, project_id: int, file_id: int) -> Response:
        access = get_access(request, project_id)
        actions.remove_file(by=access.user, file=reads.get_file(access.project, file_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class FileContent(Endpoint):
    @extend_schema(
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
        summary="Download a finished file",
    )
    def get(self, request: Request, project_id: int, file_id: int) -> StreamingHttpResponse:
        file = reads.get_file(get_access(request, project_id).project, file_id)
        response = StreamingHttpResponse(
            actions.content(file), content_type="application/octet-stream"
        )
        response["Content-Disposition"] = f'attachment; filename="{file.name}"'
        response["Content-Length"] = str(file.size)
        return response


@open_to_viewers
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
        access, task = get_task_by_id(request, task_id)
        require_trace_reader(access, task)
        if what not in free_text.COLUMNS and what in pairwise.exports_of(task):
            if pairwise.PAIR_EXPORTS[what].is_of_work:
                access.require(*STAFF)
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
