"""What a link or a public board shows, in every form, and how a board's forms are kept."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from typing import Any

from django.core.cache import cache
from django.http import HttpRequest, QueryDict
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.files.stored.selectors import content
from crowdqc.errors import Missing
from evaluation.models import Run, RunShare
from evaluation.results.files import csv_of, records, stored
from evaluation.results.images import image
from evaluation.runs.run_types import SharedPage, shared_page_of
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors.recipes import method_title
from evaluation.runs.sharing.selectors import NOTHING, bundle_of

KINDS = {
    "html": "text/html; charset=utf-8",
    "svg": "image/svg+xml; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "zip": "application/zip",
}
TABLES = ("csv", "json")  # offered only where the requester said so
COLUMNS = stored(
    *("dimension", "name", "detail", "component", "estimate", "low", "high", "n"),
    *("best", "worst", "group"),
)
KEPT = 600  # seconds
BUNDLE = "zip"
MOST_KEPT = 4 * 1024 * 1024  # bytes of a bundle that is held in memory
_ONE = threading.Lock()  # a crowd that comes at once has a board rendered once a process


def html_of(share: RunShare, context: dict[str, Any], query: QueryDict | None = None) -> str:
    """The page, without the context of a request: no session, no navigation, no token of a form.

    ``query`` is kept by its links to other pages; a page that is kept for others has none.
    """
    request = HttpRequest()
    if query is not None:
        request.GET = query
    return render_to_string(_shared_page(share.run).template, {"request": request, **context})


def context_of(share: RunShare, page: Any, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the context shared by all formats of a shared run.

    ``page``: of its board; ``query`` names a page of the items, where the link lists them.
    """
    run = share.run
    title = reads.title_of(run.task)
    offered = share.slug != "" and bundle_of(share) is not None
    own = _shared_page(run)
    items = own.items(run, query) if own.items and share.lists_items else None
    return {
        "share": share,
        "run": run,
        "title": title,
        "bundle": offered,
        "items": items,
        **own.context(run, page),
    }


def cached_form(share: RunShare, form: str, page: int) -> tuple[bytes, str]:
    """Return a public board in one format with its ETag, from the cache if possible.

    The key names all that can change what is shown. Whether the board is still public is asked of
    the database before, so that what is kept is shown to nobody once it is withdrawn.
    """
    if form == BUNDLE:
        return _kept_bundle(share)
    if form not in KINDS or (form in TABLES and not share.files):
        raise Missing(_(NOTHING))
    of = (
        *(share.pk, share.run_id, share.newer, share.run.task.current_id),  # type: ignore[attr-defined]
        *(share.bundled, bool(share.run.spoiled)),  # type: ignore[attr-defined]
    )
    key = f"board:{':'.join(map(str, of))}"
    # A page beyond the last one is the last one, so that nobody fills the cache with its copies.
    at = min(page, cache.get(f"{key}:pages", page)) if form == "html" else 1
    found: tuple[bytes, str] | None = cache.get(f"{key}:{form}:{at}")
    if found is None:
        with _ONE:
            found = cache.get(f"{key}:{form}:{at}")
            if found is None:
                context = context_of(share, at, {})
                body = _rendered(share, form, context).encode()
                found = (body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
                pages = context["page"].paginator.num_pages if "page" in context else 1
                cache.set(f"{key}:pages", pages, KEPT)
                cache.set(f"{key}:{form}:{min(at, pages)}", found, KEPT)
    return found


def _kept_bundle(share: RunShare) -> tuple[bytes, str]:
    """A board's bundle and its ETag; a small one stands in this process' cache too."""
    row = bundle_of(share)
    if row is None:
        raise Missing(_(NOTHING))
    key = f"board:bundle:{share.pk}:{row.sha256}"
    body: bytes | None = cache.get(key)
    if body is None:
        with _ONE:
            body = cache.get(key)
            if body is None:
                body = content(row.stored) if row.stored else b""
                if len(body) <= MOST_KEPT:
                    cache.set(key, body, KEPT)
    return body, f'"{row.sha256[:32]}"'


def _verdict(told: dict[str, Any]) -> str:
    verdict = told["screen"].verdict
    return verdict.text if verdict else ""


def _rendered(share: RunShare, form: str, told: dict[str, Any]) -> str:
    if form == "html":
        return html_of(share, told)
    run, sentence = share.run, _verdict(told)
    if form == "svg":
        # With its year, as an image is looked at for longer than a page.
        day = f"{timezone.localtime(run.finished_at):%-d %b %Y}"
        made = _("Run %(run)s, %(day)s. %(method)s.") % {
            "run": run.number,
            "day": day,
            "method": method_title(run),
        }
        notes = [sentence, f"{made} {told['basis']}"]
        return image(told["tables"], title=told["title"], notes=notes, measure=told["measure"])
    rows = records(COLUMNS, told["rows"])
    if form == "csv":
        return csv_of(COLUMNS, rows)
    return json.dumps(
        {
            **{"title": told["title"], "verdict": sentence, "run": run.number},
            **{"finished_at": run.finished_at.isoformat() if run.finished_at else None},
            **{"measure": told["measure"], "data": told["basis"], "recipe": dict(told["recipe"])},
            "rows": rows,
        },
        ensure_ascii=False,
        indent=1,
    )


def _shared_page(run: Run) -> SharedPage:
    page = shared_page_of(run.method)
    if page is None:
        raise Missing(_(NOTHING))
    return page
