"""What every answer passes through: the content security policy and the domain's errors."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from .errors import DomainError, Missing

PROBLEM = "application/problem+json"
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


def told(body: dict[str, Any], status: int) -> dict[str, Any]:
    """A problem as RFC 9457 has it; what we add stands beside."""
    return {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, **body}


class DomainErrors:
    """A refused request becomes a page, a fragment or JSON with the right 4xx."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # No text of ours holds a NUL, and the database takes none to compare with.
        if "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            return self._told(request, Missing("There is no such address."))
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return self._told(request, error) if isinstance(error, DomainError) else None

    def _told(self, request: HttpRequest, error: DomainError) -> HttpResponse:
        if request.path.startswith("/api/"):
            body = told(problem(error), error.status)
            return JsonResponse(body, status=error.status, content_type=PROBLEM)
        if "application/json" in request.headers.get("Accept", ""):
            return JsonResponse(problem(error), status=error.status)
        template = "_includes/refusal.html" if request.htmx else "refusal.html"  # type: ignore[attr-defined]
        return render(request, template, {"error": error}, status=error.status)
