"""One template for a page, one fragment of it for htmx, and the header that tells caches."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def page_or_fragment(
    request: HttpRequest,
    page: str,
    fragment: str,
    context: dict[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    """Render ``fragment`` for an htmx request (not a history restore), else the whole ``page``."""
    htmx = request.htmx  # type: ignore[attr-defined]
    partial = bool(htmx) and not htmx.history_restore_request
    response = render(request, fragment if partial else page, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response
