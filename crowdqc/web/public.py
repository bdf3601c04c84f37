"""Answers that are the same for everybody.

``StripSession`` takes sessions and tokens from requests to addresses whose answer is the same for
everybody, so that no session is read, none is begun, and shared caches may keep the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

GetResponse = Callable[[HttpRequest], HttpResponse]
# Addresses whose answer is the same for everybody.
SAME_FOR_ALL = re.compile(r"/(healthz$|readyz$|docs/|words/|boards/|shared/|api/schema/)")


class StripSession:
    """Drop sessions and tokens where they must not change the response."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if SAME_FOR_ALL.match(request.path_info):
            request.COOKIES.pop(settings.SESSION_COOKIE_NAME, None)
            request.META.pop("HTTP_AUTHORIZATION", None)
        return self.get_response(request)
