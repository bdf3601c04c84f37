"""What a page says, as a browser reads it: breaks and indents between words are one space."""

from __future__ import annotations

import re

from django.http.response import HttpResponseBase


def html_of(response: HttpResponseBase) -> str:
    """The response's HTML on one line."""
    return " ".join(response.content.decode().split())  # type: ignore[attr-defined]


def findings_in(html: str) -> list[str]:
    """The codes of a page's findings, in the order shown."""
    return re.findall(r'data-finding="([\w-]+)"', html)
