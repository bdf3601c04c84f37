"""What every answer passes through: security headers and the domain's errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.translation import gettext as _

from crowdqc.errors import DomainError, Missing, NotAllowed, storage_refusal
from crowdqc.numbers import LARGEST
from crowdqc.web.language import readers_language

PROBLEM = "application/problem+json"
WORTH_KEEPING = 40  # characters that nobody likes to write again
SECRET_NAMES = ("password", "secret", "token", "key", "code", "csrf")
# Codes whose status says enough, without the message.
PLAIN_REFUSALS = frozenset({NotAllowed.code, Missing.code})
GetResponse = Callable[[HttpRequest], HttpResponse]
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)


# Features of a browser that no page uses; what is not named keeps the browser's default.
UNUSED_FEATURES = (
    "accelerometer",
    "ambient-light-sensor",
    "autoplay",
    "bluetooth",
    "browsing-topics",
    "camera",
    "display-capture",
    "encrypted-media",
    "gamepad",
    "geolocation",
    "gyroscope",
    "hid",
    "idle-detection",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "serial",
    "usb",
    "screen-wake-lock",
    "xr-spatial-tracking",
)


def permissions_policy(*used: str) -> str:
    """Return the Permissions-Policy header: every feature is forbidden except those ``used``."""
    return ", ".join(f"{name}={'(self)' if name in used else '()'}" for name in UNUSED_FEATURES)


HEADERS = {
    "Content-Security-Policy": POLICY,
    "Permissions-Policy": permissions_policy(),
    "Cross-Origin-Resource-Policy": "same-origin",
}


class SecurityHeaders:
    """Middleware: set the Content-Security-Policy and forbid caching of pages for one person.

    Django's SecurityMiddleware sets the others. A view that sets one of these keeps its own.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if response.cookies:  # whatever a view said: a shared cache would give them to others
            response.headers["Cache-Control"] = "no-store, private"
        # By what the request carries, so that no view has to think of it.
        elif (
            settings.SESSION_COOKIE_NAME in request.COOKIES or "HTTP_AUTHORIZATION" in request.META
        ):
            response.headers.setdefault("Cache-Control", "no-store, private")
        return response


def problem(error: DomainError) -> dict[str, Any]:
    """Return an error as the JSON body that scripts and the API read."""
    body: dict[str, Any] = {"code": error.code, "detail": error.message}
    if error.fields:
        body["fields"] = error.fields
    if error.rows:
        body["rows"] = error.rows
    return body


def problem_response(body: dict[str, Any], status: int) -> dict[str, Any]:
    """A problem as RFC 9457 has it; what we add stands beside."""
    return {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, **body}


def refuse(request: HttpRequest, error: DomainError, written: Sequence[str] = ()) -> HttpResponse:
    """Answer with an error as a page, a fragment or JSON, as the client accepts."""
    if request.path.startswith(("/api/", "/otel/")):
        body = problem_response(problem(error), error.status)
        return JsonResponse(body, status=error.status, content_type=PROBLEM)
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse(problem(error), status=error.status)
    if request.method in ("GET", "HEAD") and error.code in PLAIN_REFUSALS:
        spoken = readers_language(request)
        if spoken != translation.get_language():  # of an English page; its message is English
            translation.activate(spoken)
            return render(request, f"{error.status}.html", status=error.status)
    template = "_includes/shell/refusal.html" if request.htmx else "refusal.html"  # type: ignore[attr-defined]
    context = {"error": error, "written": written}
    return render(request, template, context, status=error.status)


def written_texts(request: HttpRequest) -> list[str]:
    """Longer texts of the refused form: the page they were written on is stored nowhere."""
    if request.content_type != "application/x-www-form-urlencoded":
        return []
    return [
        text
        for name, texts in request.POST.lists()
        if not any(part in name for part in SECRET_NAMES)
        for text in texts
        if len(text) >= WORTH_KEEPING
    ]


class DomainErrors:
    """A refused request becomes a page, a fragment or JSON with the right 4xx."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # No text of ours holds a NUL, and the database takes none to compare with.
        if "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            return refuse(request, Missing(_("There is no such address.")))
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        """Answer 404 if a number in the address is too large for any row."""
        if any(isinstance(value, int) and value > LARGEST for value in kwargs.values()):
            return refuse(request, Missing(_("There is no such address.")))
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        found = error if isinstance(error, DomainError) else storage_refusal(error)
        return refuse(request, found, written_texts(request)) if found is not None else None
