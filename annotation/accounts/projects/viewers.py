"""Pages as viewers get them: what they may not open is text, no link."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve

from annotation.access import Access, is_open_to_viewers

LINK = re.compile(r"<a\b(?P<names>[^>]*)>(?P<text>.*?)</a>", re.DOTALL)
HREF = re.compile(r'\bhref="(?P<path>/[^"?#]*)')
BUTTON = re.compile(r'\bclass="[^"]*\bbutton\b')


class ViewerLinks:
    """Turn links of a viewer's page that would be refused into text; such buttons are left out.

    So each template is written once, for whoever may do everything.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        access: Access | None = getattr(request, "access", None)
        is_page = not response.streaming and response.headers.get("Content-Type", "").startswith(
            "text/html"
        )
        if access is not None and access.is_viewer and is_page:
            inside = f"/projects/{access.project.pk}/"
            page = response.content.decode(response.charset)
            response.content = LINK.sub(lambda link: _link_or_text(link, inside), page)
        return response


def _link_or_text(link: re.Match[str], inside: str) -> str:
    target = HREF.search(link["names"])
    if target is None or not target["path"].startswith(inside) or _opens(target["path"]):
        return link[0]
    return "" if BUTTON.search(link["names"]) else f"<span>{link['text']}</span>"


def _opens(path: str) -> bool:
    try:
        return is_open_to_viewers(resolve(path))
    except Resolver404:
        return False
