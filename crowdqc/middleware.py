"""What every answer passes through: the content security policy and the domain's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from rest_framework.exceptions import APIException
from rest_framework.response import Response
from rest_framework.views import exception_handler

from .errors import DomainError

GetResponse = Callable[[HttpRequest], HttpResponse]
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)


class ContentSecurityPolicy:
    """No inline script, no inline style, nothing from elsewhere."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response


def problem(error: DomainError) -> dict[str, Any]:
    """An error as the body that scripts and the API read."""
    body: dict[str, Any] = {"code": error.code, "detail": error.message}
    if error.fields:
        body["fields"] = error.fields
    if error.rows:
        body["rows"] = error.rows
    return body


class DomainErrors:
    """A refused request becomes a page, a fragment or JSON with the right 4xx."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, DomainError):
            return None
        if "application/json" in request.headers.get("Accept", ""):
            return JsonResponse(problem(error), status=error.status)
        template = "_includes/refusal.html" if request.htmx else "refusal.html"  # type: ignore[attr-defined]
        return render(request, template, {"error": error}, status=error.status)


def api_exception_handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """The API's refusals in one shape, those of the domain included."""
    if isinstance(exc, DomainError):
        return Response(problem(exc), status=exc.status)
    response = exception_handler(exc, context)
    if response is not None and isinstance(exc, APIException):
        detail = exc.detail if isinstance(exc.detail, str) else "The request cannot be taken."
        body: dict[str, Any] = {"code": exc.default_code, "detail": str(detail)}
        if not isinstance(exc.detail, str):
            body["fields"] = exc.detail
        response.data = body
    return response
