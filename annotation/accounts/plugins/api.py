"""The plug-ins of a project over the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_access
from annotation.accounts.plugins.actions import disable_plugin, enable_plugin
from annotation.accounts.plugins.selectors import plugin_rows
from annotation.api.frame.base import Body, read
from annotation.api.frame.endpoint import Endpoint
from annotation.models import Role


class PluginIn(Body):
    name = serializers.CharField()
    enabled = serializers.BooleanField()


class PluginOut(serializers.Serializer[Any]):
    """A plug-in of this installation; ``title`` is empty where it is no longer loaded."""

    name = serializers.CharField()
    title = serializers.CharField(allow_blank=True)
    package = serializers.CharField(allow_blank=True)
    methods = serializers.ListField(child=serializers.CharField())
    text_rules = serializers.ListField(child=serializers.CharField())
    row_formats = serializers.ListField(child=serializers.CharField())
    templates = serializers.ListField(child=serializers.CharField())
    enabled = serializers.BooleanField(source="is_enabled")


class ProjectPlugins(Endpoint):
    @extend_schema(responses=PluginOut(many=True), summary="Plug-ins, and which a project uses")
    def get(self, request: Request, project_id: int) -> Response:
        project = get_access(request, project_id).project
        return Response(PluginOut(plugin_rows(project), many=True).data)

    @extend_schema(
        request=PluginIn,
        responses={200: PluginOut(many=True)},
        summary="Enable or disable a plug-in in a project",
    )
    def post(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id, Role.REQUESTER)
        body = read(PluginIn, request)
        change = enable_plugin if body["enabled"] else disable_plugin
        change(by=access.user, project=access.project, name=body["name"])
        return self.get(request, project_id)
