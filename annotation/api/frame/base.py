"""What every endpoint of the API shares: reading a body, pages by cursor, limits at the entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from django.core.exceptions import RequestDataTooBig
from django.db.models import QuerySet
from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers
from rest_framework.exceptions import APIException, NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, exception_handler

from annotation.api.frame.endpoint import Endpoint
from crowdqc.errors import DomainError, Invalid, Missing, TooLarge, storage_refusal
from crowdqc.numbers import parse_whole
from crowdqc.web.middleware import PROBLEM, problem, problem_response


def refusal_response(exc: Exception, context: dict[str, Any]) -> Response | None:
    """Convert an exception to the API's error response; None if it is no refusal."""
    if isinstance(exc, RequestDataTooBig):
        exc = TooLarge("The body is too large. Send it in parts.")
    exc = storage_refusal(exc) or exc
    if isinstance(exc, DomainError):
        response = Response(
            problem_response(problem(exc), exc.status), status=exc.status, content_type=PROBLEM
        )
        if exc.code == "key-in-work":
            response["Retry-After"] = "1"
        return response
    response = exception_handler(exc, context)
    if response is not None:
        known = exc if isinstance(exc, APIException) else None
        code = (known.default_code if known else "not_found").replace("_", "-")
        detail = known.detail if known else response.data.get("detail", "")
        body: dict[str, Any] = {"code": code, "detail": str(detail)}
        if not isinstance(detail, str):
            body["detail"], body["fields"] = "The request cannot be taken.", flatten_errors(detail)
        response.data, response.content_type = problem_response(body, response.status_code), PROBLEM
    return response


class Body(serializers.Serializer[Any]):
    """A request's body; a field that it does not know is refused, since it may be a slip."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(set(data) - set(self.fields))
            if unknown:
                known = f"Unknown; there are: {', '.join(self.fields)}."
                raise serializers.ValidationError({name: known for name in unknown})
        return super().to_internal_value(data)


def flatten_errors(detail: Any, path: str = "") -> dict[str, str]:
    """Flatten errors of nested fields to ``a.b`` -> sentence."""
    if isinstance(detail, dict):
        found: dict[str, str] = {}
        for name, inner in detail.items():
            plain = "" if name == "non_field_errors" else str(name)
            found |= flatten_errors(inner, f"{path}.{plain}".strip("."))
        return found
    if isinstance(detail, list) and any(isinstance(inner, dict | list) for inner in detail):
        found = {}
        for number, inner in enumerate(detail):
            found |= flatten_errors(inner, f"{path}.{number}".strip(".")) if inner else {}
        return found
    words = detail if isinstance(detail, list) else [detail]
    return {path or "body": " ".join(str(word) for word in words)}


def read(form: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """Validate the request's body and return it; Invalid names every wrong field."""
    try:
        return dict(shape_of(form).run_validation(request.data))
    except serializers.ValidationError as error:
        fields = flatten_errors(error.detail)
        name, wrong = next(iter(fields.items()))
        raise Invalid(f"{name}: {wrong}", fields=fields) from error


_shapes: dict[type[serializers.Serializer[Any]], serializers.Serializer[Any]] = {}


def shape_of(form: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """Return the cached serializer of this class, for validating and rendering.

    Making one copies every field, which takes longer than all that is done with it. It holds no
    data: ``run_validation`` and ``to_representation`` are given theirs.
    """
    return _shapes.get(form) or _shapes.setdefault(form, form())


def serialize_row(form: type[serializers.Serializer[Any]], row: Any) -> dict[str, Any]:
    """Serialize a row with this serializer."""
    found: dict[str, Any] = shape_of(form).to_representation(row)
    return found


class BadRow(serializers.Serializer[Any]):
    line = serializers.IntegerField(allow_null=True, help_text="The row's place, from 1")
    column = serializers.CharField()
    value = serializers.CharField()
    wrong = serializers.CharField()
    mend = serializers.CharField()


class Problem(serializers.Serializer[Any]):
    """Every refusal, as RFC 9457 has it, with a code of ours."""

    type = serializers.CharField()
    title = serializers.CharField(help_text="The status in words")
    status = serializers.IntegerField()
    code = serializers.CharField()
    detail = serializers.CharField(help_text="A sentence for a person")
    fields = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="Field -> what is wrong"
    )
    rows = BadRow(many=True, required=False)


HEADERS = {
    "Idempotency-Key": "Any text used once: sent again, the same request has the same reply",
    "If-Match": "The ETag you read: refused (412) where it was changed meanwhile",
    "If-None-Match": "The ETag you have: 304 where it is the same still",
}


def header(name: str, *, required: bool = False) -> dict[str, Any]:
    """A header that an endpoint takes."""
    schema = {"type": "string", "minLength": 1, "maxLength": 120}
    return {
        "in": "header",
        "name": name,
        "required": required,
        "schema": schema,
        "description": HEADERS[name],
    }


class Schema(AutoSchema):
    """Every endpoint may refuse, always in the one shape, and names the scope it needs."""

    def get_description(self) -> str:
        return ""  # but for what ``extend_schema`` says: docstrings are for readers of the code

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        """The operation with its scope and with the headers it takes."""
        found = super().get_operation(*args, **kwargs)
        if not found or not isinstance(self.view, Endpoint) or not found.get("security"):
            return found
        scope = self.view.reads if self.method == "GET" else self.view.writes
        if scope:
            said = f"Needs the scope `{scope}`."
            found["description"] = f"{found.get('description', '')} {said}".strip()
            found["x-scope"] = scope
        taken = []
        if self.method == "POST":
            taken.append(header("Idempotency-Key", required=self.view.needs_key))
        if self.method != "GET" and type(self.view).current is not Endpoint.current:
            taken.append(header("If-Match"))
        if self.method == "GET" and "application/json" in str(found["responses"].get("200")):
            taken.append(header("If-None-Match"))
            found["responses"]["304"] = {"description": "As you have it"}
        if taken:
            found["parameters"] = [*found.get("parameters", []), *taken]
        return found

    def _get_response_bodies(self, direction: Literal["request", "response"] = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        return {**bodies, "default": self._get_response_for_code(Problem, "default", [PROBLEM])}


class ById(CursorPagination):
    """Rows in the order they were made, 100 a page; the next page's address is in ``next``."""

    ordering = "id"
    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = 1000

    def decode_cursor(self, request: Request) -> Any:
        """The cursor; one that names no id is refused as one that cannot be read."""
        cursor = super().decode_cursor(request)
        place = cursor.position if cursor else None
        if place is not None and parse_whole(place) is None:
            raise NotFound(self.invalid_cursor_message)
        return cursor


class Newest(ById):
    """The same, the newest first."""

    ordering = "-id"


class Listing(Endpoint):
    """An endpoint that lists rows page by page (the schema reads ``pagination_class``)."""

    pagination_class: ClassVar[type[CursorPagination]] = ById

    def page(
        self,
        rows: QuerySet[Any],
        serializer: type[serializers.BaseSerializer[Any]],
        of: Callable[[list[Any]], list[Any]] | None = None,
    ) -> Response:
        """Return one page of rows, serialised; ``of`` converts the rows of the page first."""
        pages = self.pagination_class()
        page = pages.paginate_queryset(rows, self.request, view=self) or []
        return pages.get_paginated_response(serializer(of(page) if of else page, many=True).data)


class Unknown(APIView):
    """Every other address under /api/: refused in the API's own shape."""

    permission_classes: ClassVar[list[Any]] = []
    schema = None  # not part of the schema

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        hint = "" if request.path.endswith("/") else " Addresses of the API end with a slash."
        raise Missing(f"There is no {request.path} here.{hint}")


class SignedIn(APIView):
    """Answer 204 to signed-in users and tokens; the proxy asks before it takes a large upload."""

    permission_classes: ClassVar[list[Any]] = [IsAuthenticated]
    schema = None  # not part of the schema

    def get(self, request: Request) -> Response:
        return Response(status=204)
