"""How often one network may ask without a sign-in.

``AnonymousLimit`` counts requests that nobody has signed in for. It counts in memory, a process for
itself: a refusal must cost less than an answer, and works without the database. Wrong tokens of the
API count as such requests, and beyond the limit no token is looked up but those that were right in
this process before.
"""

from __future__ import annotations

import hashlib
import math
import re
import threading
import time
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _

from crowdqc import limits
from crowdqc.errors import LimitExceeded
from crowdqc.web.middleware import PROBLEM, problem, problem_response

GetResponse = Callable[[HttpRequest], HttpResponse]
# Addresses without a limit: probes, which touch nothing.
UNLIMITED = frozenset({"/healthz"})
MINUTE = 60
MOST_NETWORKS = 20_000  # about 4 MB of counters
MOST_TOKENS = 20_000  # that were right, as far as a process knows


class Counter:
    """Requests of each network within a minute, which begins with its first one."""

    def __init__(self, most_networks: int = MOST_NETWORKS) -> None:
        self._windows: dict[str, tuple[float, int]] = {}  # end of the minute, requests in it
        self._most = most_networks
        self._lock = threading.Lock()

    def count(self, network: str, most: int) -> int:
        """Count a request; seconds to wait where it is one too many, else 0."""
        now = time.monotonic()
        with self._lock:
            ends, number = self._windows.get(network, (0.0, 0))
            if ends <= now:
                self._windows.pop(network, None)  # so that the oldest windows stand first
                self._make_room(now)
                ends, number = now + MINUTE, 0
            self._windows[network] = ends, min(number + 1, most + 1)
        return math.ceil(ends - now) if number >= most else 0

    def wait(self, network: str, most: int) -> int:
        """Return the seconds until a network may send requests again.

        0 if it may now. Counts nothing.
        """
        now = time.monotonic()
        with self._lock:
            ends, number = self._windows.get(network, (0.0, 0))
        return max(0, math.ceil(ends - now)) if number >= most else 0

    def _make_room(self, now: float) -> None:
        """Forget windows that have ended; where all are open, the oldest."""
        while self._windows:
            oldest = next(iter(self._windows))
            if len(self._windows) < self._most and self._windows[oldest][0] > now:
                break
            del self._windows[oldest]

    def clear(self) -> None:
        """Forget all counts."""
        with self._lock:
            self._windows.clear()


class RightTokens:
    """Tokens that opened something in this process: others' guesses do not shut these out.

    It lets a request through to where its token is looked up, and opens nothing itself. Digests
    are kept, the latest ones.
    """

    def __init__(self, most: int = MOST_TOKENS) -> None:
        self._known: dict[bytes, None] = {}
        self._most = most
        self._lock = threading.Lock()

    def note(self, header: str, *, right: bool) -> None:
        """Know this header's token from now on, or no longer."""
        digest = _digest(header)
        with self._lock:
            if not right:
                self._known.pop(digest, None)
            elif digest not in self._known:
                if len(self._known) >= self._most:
                    del self._known[next(iter(self._known))]
                self._known[digest] = None

    def __contains__(self, header: str) -> bool:
        return _digest(header) in self._known

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._known.clear()


def _digest(header: str) -> bytes:
    return hashlib.sha256(header.encode("utf-8", "surrogatepass")).digest()


anonymous = Counter()
right_tokens = RightTokens()


class AnonymousLimit:
    """Refuse requests beyond the limit of their network, unless somebody has signed in."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info in UNLIMITED or _is_signed_in(request):
            return self.get_response(request)
        if not _has_token(request):
            wait = _count(request)
            return _refusal(request, wait) if wait else self.get_response(request)
        header = request.META["HTTP_AUTHORIZATION"]
        # Asked before the token is looked up.
        if header not in right_tokens and (wait := _wait(request)):
            return _refusal(request, wait)
        response = self.get_response(request)
        right = hasattr(request, "rate")
        # A right token has a limit of its own, and a fault of ours says nothing of it.
        if not right and response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return response
        right_tokens.note(header, right=right)
        if right:
            return response
        wait = _count(request)
        return _refusal(request, wait) if wait else response


def _is_signed_in(request: HttpRequest) -> bool:
    """Without a cookie the session is not even looked at, so that the answer does not vary."""
    return settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated


def _has_token(request: HttpRequest) -> bool:
    """Whether an endpoint of the API, or one for traces, will look at a token; pages do not."""
    given = request.META.get("HTTP_AUTHORIZATION", "")
    if re.match("/otel/|/api/public/", request.path_info):
        return given[:7].lower() == "bearer " or given[:6].lower() == "basic "
    return re.match("/api/.", request.path_info) is not None and given[:6].lower() == "token "


def _count(request: HttpRequest) -> int:
    """Count a request; seconds to wait where it is one too many, else 0."""
    most = settings.CROWDQC_ANONYMOUS_REQUESTS
    return anonymous.count(limits.client_network(request), most) if most else 0


def _wait(request: HttpRequest) -> int:
    """Seconds until the network's requests are within the limit again; 0 where they are."""
    most = settings.CROWDQC_ANONYMOUS_REQUESTS
    return anonymous.wait(limits.client_network(request), most) if most else 0


def _refusal(request: HttpRequest, wait: int) -> HttpResponse:
    """A refusal that costs nothing: no template, no query."""
    mend = _("Wait a minute, then try again.")
    error = LimitExceeded(f"{limits.NETWORK} {mend}")
    response = HttpResponse(f"{error.message}\n", content_type="text/plain; charset=utf-8")
    if request.path_info.startswith("/api/"):
        body = problem_response(problem(error), error.status)
        response = JsonResponse(body, content_type=PROBLEM)
    response.status_code = error.status
    response["Retry-After"] = str(wait)
    response._has_been_logged = True  # type: ignore[attr-defined]  # the proxy has a line of each
    return response
