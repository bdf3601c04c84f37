"""What every answer passes through: the content security policy and the domain's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

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
