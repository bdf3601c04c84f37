"""The way back to the page that a form was sent from."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme


def is_ours(request: HttpRequest, url: str) -> bool:
    """Whether an address leads to this site, by the scheme of the request or a safer one."""
    return url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )


def redirect_back(request: HttpRequest, otherwise: str) -> HttpResponseRedirect:
    """Redirect to the form's ``next`` if it is a page of this site, else to ``otherwise``."""
    to = request.POST.get("next", "")
    # What was sent is never looked up as the name of an address.
    ours = to.startswith("/") and is_ours(request, to)
    return HttpResponseRedirect(to if ours else resolve_url(otherwise))
