"""What a page says, as a browser reads it: breaks and indents between words are one space."""

from __future__ import annotations

from django.http.response import HttpResponseBase


def html_of(response: HttpResponseBase) -> str:
    """The response's HTML on one line."""
    return " ".join(response.content.decode().split())  # type: ignore[attr-defined]
