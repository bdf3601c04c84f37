"""Endpoint of the audit log: who did what in a project."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_access
from annotation.api.frame.base import Listing, Newest
from annotation.records.selectors import audit
from annotation.records.selectors.audit_words import FAMILIES

FILTERS = [
    OpenApiParameter("person", str, description="Staff by name, workers by pseudonym"),
    OpenApiParameter("family", str, enum=sorted(FAMILIES), description="What it is about"),
    OpenApiParameter("object", str, description="The kind of thing, as `task`"),
    OpenApiParameter("id", int, description="The thing's id"),
    OpenApiParameter("since", OpenApiTypes.DATE),
    OpenApiParameter("until", OpenApiTypes.DATE),
]


class AuditOut(serializers.Serializer[Any]):
    """One entry; none is ever changed or taken away."""

    id = serializers.IntegerField(source="entry.pk")
    at = serializers.DateTimeField(source="entry.at")
    who = serializers.CharField()
    action = serializers.CharField(source="entry.action")
    said = serializers.CharField(help_text="The same in words")
    object = serializers.CharField(source="entry.object_type")
    object_id = serializers.IntegerField(source="entry.object_id", allow_null=True)
    rest = serializers.CharField(help_text="What else was kept of it")


class Audit(Listing):
    pagination_class = Newest

    @extend_schema(
        responses=AuditOut(many=True), parameters=FILTERS, summary="Audit log, newest first"
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = get_access(request, project_id).project
        rows = audit.entries(project, audit.Filters.of(request.query_params))
        return self.page(rows, AuditOut, of=lambda found: audit.lines(project, found))
