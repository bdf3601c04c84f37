"""How often somebody may try a name and password: a name's tries count over pages and API."""

from __future__ import annotations

import hashlib
from typing import Any

from django.core.cache import caches
from django.http import HttpRequest
from rest_framework.throttling import SimpleRateThrottle

from crowdqc.errors import TooMuch


class Counted(SimpleRateThrottle):
    """Counted for all web processes together."""

    cache = caches["shared"]


class PerAddress(Counted):
    """Attempts to sign in from one address."""

    rate = "30/min"
    scope = "token-address"

    def get_cache_key(self, request: Any, view: Any) -> str:
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}


class PagesPerAddress(PerAddress):
    """The same over the pages, where a whole room may sign in by hand beside its scripts."""

    scope = "page-address"


class PerName(Counted):
    """Attempts to sign in under one name, from wherever."""

    rate = "10/min"
    scope = "token-name"

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self.name = name  # as a page's form has it; None: to be read from the API's body

    def get_cache_key(self, request: Any, view: Any) -> str | None:
        name: Any = self.name
        if name is None:
            name = request.data.get("username") if isinstance(request.data, dict) else None
        if not isinstance(name, str):
            return None
        # Hashed: any text may be sent, and a cache's key takes few characters.
        digest = hashlib.sha256(name.strip().casefold().encode("utf-8", "surrogatepass"))
        return self.cache_format % {"scope": self.scope, "ident": digest.hexdigest()[:32]}


def hold_back(request: HttpRequest, *, name: str) -> None:
    """Raise TooMuch where this address or this name was tried too often in the last minute."""
    if not PagesPerAddress().allow_request(request, None):
        raise TooMuch("Too many tries from this address. Wait a minute, then try again.")
    if not PerName(name).allow_request(request, None):
        raise TooMuch("Too many tries under this name. Wait a minute, then try again.")
