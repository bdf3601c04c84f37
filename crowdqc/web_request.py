"""Whether this thread serves a web request: then nothing here may wait for another system.

A host that drips would hold the thread for as long as it likes, and a few of those stop the site.
Calls to other systems are made by jobs; pages show what the jobs wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse

_serving: ContextVar[bool] = ContextVar("serving", default=False)


class WebThreadWaits(RuntimeError):
    """A view tried to call another system: a fault of the code, to be moved into a job."""


class NoOutboundCalls:
    """Middleware: while a request is served, the outbound client refuses to work."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        before = _serving.set(True)
        try:
            return self.get_response(request)
        finally:
            _serving.reset(before)


def forbid_in_web_request(what: str) -> None:
    """Raise WebThreadWaits where this thread serves a web request."""
    if _serving.get():
        raise WebThreadWaits(f"{what} has to be called by a job, not by a web request.")
