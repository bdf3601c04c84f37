"""Whether this thread serves a web request: then nothing here may wait for another system.

A host that drips would hold the thread for as long as it likes, and a few of those stop the site.
Calls to other systems are made by jobs; pages show what the jobs wrote.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse

_serving: ContextVar[bool] = ContextVar("serving", default=False)
_one = threading.Semaphore(1)
QUEUE_SECONDS = 1.0  # for which a second thread waits for the first


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


@contextmanager
def one_may_wait() -> Iterator[None]:
    """Let this thread call another system in a web request, one thread of the process at a time.

    For the identity provider alone, whose answer decides what the browser is sent: however slow it
    is, all other threads go on. Raises TimeoutError where another thread waits already.
    """
    if not _one.acquire(timeout=QUEUE_SECONDS):
        raise TimeoutError("Somebody else waits for the provider already.")
    before = _serving.set(False)
    try:
        yield
    finally:
        _serving.reset(before)
        _one.release()


def is_web_request() -> bool:
    """Return whether this thread serves a web request."""
    return _serving.get()


def forbid_in_web_request(what: str) -> None:
    """Raise WebThreadWaits where this thread serves a web request."""
    if _serving.get():
        raise WebThreadWaits(f"{what} has to be called by a job, not by a web request.")
