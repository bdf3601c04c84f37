"""Endpoints by which an owner deletes a project and fetches the books of one."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.frame.base import read
from annotation.models import Project
from evaluation.deletion import actions
from evaluation.deletion.books import books_response
from evaluation.deletion.progress import describe_deletion
from evaluation.installation.api import OwnerEndpoint, ReasonIn, find_project
from evaluation.models import ProjectDeletion


class ObstacleOut(serializers.Serializer[Any]):
    """What has to end before, and how."""

    code = serializers.CharField()
    text = serializers.CharField()
    way_out = serializers.CharField()


class DeletionOut(serializers.Serializer[Any]):
    """How far the deletion of a project is; a state of null: none was asked for."""

    state = serializers.ChoiceField(ProjectDeletion.State.values, allow_null=True)
    due_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    problem = serializers.CharField(help_text="Why it did not go on; empty: nothing")
    deleted = serializers.IntegerField(help_text="Rows")
    planned = serializers.IntegerField(help_text="Rows")
    obstacles = ObstacleOut(many=True)


class DeletionIn(ReasonIn):
    name = serializers.CharField(help_text="The name of the project")
    at_once = serializers.BooleanField(
        default=False, help_text=f"Not in {actions.DAYS} days but now"
    )


def _answer(project: Project) -> Response:
    page = describe_deletion(project)
    found: ProjectDeletion | None = page["deletion"]
    values = {
        "state": found.state if found else None,
        "due_at": found.due_at if found else None,
        "finished_at": found.finished_at if found else None,
        "problem": found.problem if found else "",
        "deleted": page["done_rows"],
        "planned": page["all_rows"],
        "obstacles": page["obstacles"],
    }
    return Response(DeletionOut(values).data)


class DeletionState(OwnerEndpoint):
    @extend_schema(responses=DeletionOut, summary="What stands in the way, and how far it is")
    def get(self, request: Request, project_id: int) -> Response:
        return _answer(find_project(project_id))

    @extend_schema(request=DeletionIn, responses=DeletionOut, summary="Delete a project")
    def post(self, request: Request, project_id: int) -> Response:
        project = find_project(project_id)
        body = read(DeletionIn, request)
        actions.request_deletion(by=self.owner(), project=project, **body)
        return _answer(project)


class DeletionCancel(OwnerEndpoint):
    @extend_schema(request=ReasonIn, responses=DeletionOut, summary="Keep the project after all")
    def post(self, request: Request, project_id: int) -> Response:
        project = find_project(project_id)
        actions.cancel_deletion(by=self.owner(), project=project, **read(ReasonIn, request))
        return _answer(project)


class BooksFile(OwnerEndpoint):
    @extend_schema(
        responses={(200, "application/zip"): OpenApiTypes.BINARY},
        summary="The books of a project as a ZIP",
    )
    def get(self, request: Request, project_id: int) -> StreamingHttpResponse:
        return books_response(find_project(project_id))
