"""A report as PDF. WeasyPrint, and the libraries of the system that it needs, load only here."""

from __future__ import annotations

import re
from importlib.util import find_spec

from django.utils.translation import gettext, gettext_noop

from crowdqc.errors import Unavailable

MISSING = gettext_noop(
    "Reports as PDF need WeasyPrint and the Pango library on this server (see "
    "Installation in the documentation). Take the report as HTML and print it instead."
)

DRAWINGS = re.compile(r"<style data-drawings>.*?</style>", re.DOTALL)
DRAWING = re.compile(r"<svg[^>]*>")


def check_available() -> None:
    """Raise Unavailable where WeasyPrint is not installed. Asked by pages, so nothing is loaded."""
    if find_spec("weasyprint") is None:
        raise Unavailable(gettext(MISSING))


def to_pdf(html: str) -> bytes:
    """The pages of a report, which has all that it shows within it: nothing is fetched."""
    check_available()
    try:
        from weasyprint import HTML
        from weasyprint.urls import URLFetcher
    except OSError as problem:  # the libraries of the system are not there
        raise Unavailable(gettext(MISSING)) from problem

    fetcher = URLFetcher(allowed_protocols=(), fail_on_errors=True)
    return bytes(HTML(string=style_drawings(html), url_fetcher=fetcher).write_pdf())


def style_drawings(html: str) -> str:
    """Copy the report's styles of drawings into each of them.

    WeasyPrint styles a drawing by what stands within it alone, never by the page's styles.
    """
    styles = DRAWINGS.search(html)
    if styles is None:
        return html
    return DRAWING.sub(lambda drawing: f"{drawing[0]}{styles[0]}", html)
