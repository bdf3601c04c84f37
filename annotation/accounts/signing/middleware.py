"""Session limits and remembered devices."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse

from crowdqc import limits

BEGAN, SEEN = "signed_in_at", "seen_at"
EVERY = 300  # seconds after which a session that is used is noted as used
DAY = 86_400


def begin_session(sender: Any, request: HttpRequest, **kwargs: Any) -> None:
    """Record in a session when its person signed in."""
    request.session[BEGAN] = request.session[SEEN] = int(time.time())


class SessionLimits:
    """End sessions some days after their last use and after their start.

    Both times stand in the session itself, so that neither a cookie that was copied nor a clock
    in a browser makes it longer. They are written every few minutes only.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.session.session_key and request.user.is_authenticated:
            self._enforce_limits(request)
        response = self.get_response(request)
        names = getattr(request, "device_names", None)
        if names:
            mailed = getattr(request, "device_mailed", False)
            limits.remember_device(request, response, names, mailed=mailed)
        return response

    def _enforce_limits(self, request: HttpRequest) -> None:
        now, session = int(time.time()), request.session
        began, seen = session.setdefault(BEGAN, now), session.get(SEEN, 0)
        idle = seen and now - seen > settings.CROWDQC_SESSION_IDLE_DAYS * DAY
        if idle or now - began > settings.CROWDQC_SESSION_DAYS * DAY:
            UserSession.objects.filter(session_key=session.session_key).delete()
            logout(request)
        elif now - seen > EVERY:
            session[SEEN] = now
            UserSession.objects.create_from_request(request)
