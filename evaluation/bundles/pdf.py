"""A report as PDF. WeasyPrint, and the libraries of the system that it needs, load only here."""

from __future__ import annotations

from crowdqc.errors import Unavailable

MISSING = (
    "Reports as PDF need WeasyPrint and the Pango library on this server (see Installation in the "
    "documentation). Take the report as HTML and print it instead."
)


def check_available() -> None:
    """Raise Unavailable where no PDF can be written."""
    try:
        import weasyprint  # noqa: F401
    except (ImportError, OSError) as problem:  # OSError: its libraries are not there
        raise Unavailable(MISSING) from problem


def to_pdf(html: str) -> bytes:
    """The pages of a report, which has all that it shows within it: nothing is fetched."""
    check_available()
    from weasyprint import HTML
    from weasyprint.urls import URLFetcher

    fetcher = URLFetcher(allowed_protocols=(), fail_on_errors=True)
    return bytes(HTML(string=html, url_fetcher=fetcher).write_pdf())
