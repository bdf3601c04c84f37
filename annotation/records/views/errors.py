"""Plain pages for requests that lead nowhere; programs are told in the API's shape."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from annotation.api.frame.base import PROBLEM, told


def _answer(request: HttpRequest, status: int, code: str, detail: str) -> HttpResponse:
    if request.path.startswith("/api/"):
        body = told({"code": code, "detail": detail}, status)
        return JsonResponse(body, status=status, content_type=PROBLEM)
    # No context processors where the server failed: they may be what failed.
    return render(None if status == 500 else request, f"{status}.html", status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 400, "bad-request", "The request cannot be read.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 403, "not-allowed", "This is not allowed.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 404, "missing", "There is nothing here.")


def server_error(request: HttpRequest) -> HttpResponse:
    return _answer(request, 500, "server-error", "The server failed; it was written down.")
