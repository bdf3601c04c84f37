"""What the headers of every answer must say; other tests ask it of all pages they open."""

from __future__ import annotations

from typing import Any

from django.conf import settings

WANTED = {
    "Content-Security-Policy": ("script-src 'self'", "object-src 'none'", "frame-ancestors 'none'"),
    "Permissions-Policy": ("camera=()", "geolocation=()", "microphone=()"),
    "Cross-Origin-Opener-Policy": ("same-origin",),
    "Cross-Origin-Resource-Policy": ("same-origin",),
    "Referrer-Policy": ("same-origin",),
    "X-Content-Type-Options": ("nosniff",),
    "X-Frame-Options": ("DENY",),
}


def lacks(response: Any) -> list[str]:
    """What is missing in the headers of an answer."""
    found = []
    for name, parts in WANTED.items():
        said = response.headers.get(name, "")
        found += [f"{name} lacks {part}" for part in parts if part not in said]
    policy = response.headers.get("Content-Security-Policy", "")
    found += [f"{name} in the policy" for name in ("unsafe-", "*", "http:") if name in policy]
    stored = response.headers.get("Cache-Control", "")
    signed_in = settings.SESSION_COOKIE_NAME in response.wsgi_request.COOKIES
    if signed_in and "no-store" not in stored:
        found.append(f"a signed-in page may be stored: {stored!r}")
    if response.cookies and "no-store" not in stored:
        found.append(f"an answer with a cookie may be stored: {stored!r}")
    if "public" in stored and "Cookie" in response.headers.get("Vary", ""):
        found.append("an answer for everybody varies by cookie")
    return found
