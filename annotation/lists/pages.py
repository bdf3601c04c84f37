"""A page that is a list, or holds one: what it shows, saved views, bulk actions. HTTP only."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Protocol

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation.lists import actions
from annotation.lists.definition import Bulk, Listing
from annotation.lists.selectors import chosen_rows, show
from annotation.lists.state import State
from annotation.models import Project, User
from crowdqc.errors import Invalid
from crowdqc.numbers import count, parse_whole, plural
from crowdqc.web.htmx import page_or_fragment

NAMED = 12  # rows named on the page that asks again
RESULTS = "_includes/lists/results.html"


class Reader(Protocol):
    """Who reads a list: an ``Access`` to a project, or an owner of the installation."""

    @property
    def user(self) -> User: ...

    @property
    def project(self) -> Project | None:
        """Where views of the list are saved; None: nowhere."""

    @property
    def is_staff(self) -> bool:
        """Whether the person may act on rows."""


def list_page(
    request: HttpRequest, access: Reader, listing: Listing, template: str, context: dict[str, Any]
) -> HttpResponse:
    """Show a page with a list, or only its table while searching.

    POST saves views or acts on rows.
    """
    if request.method == "POST":
        return _post(request, access, listing)
    if not access.is_staff:
        listing = replace(listing, bulk=())
    shown = show(listing, request.GET, access.project, access.user)
    response = page_or_fragment(request, template, RESULTS, {**context, "list": shown})
    if request.htmx:  # type: ignore[attr-defined]
        response["HX-Push-Url"] = _address(request, shown.query)
    return response


def _address(request: HttpRequest, query: str) -> str:
    return f"{request.path}?{query}" if query else request.path


def _post(request: HttpRequest, access: Reader, listing: Listing) -> HttpResponse:
    state = State.of(listing, request.GET)
    here = _address(request, state.query(listing))
    what, project = request.POST.get("do", ""), access.project
    if what == "save_view" and project is not None:
        view = actions.save_view(
            by=access.user,
            project=project,
            list=listing.slug,
            name=request.POST.get("name", ""),
            query=state.query(listing),
        )
        messages.success(request, _("Saved the view “%(name)s”.") % {"name": view.name})
        return redirect(here)
    if what == "delete_view" and project is not None:
        view_id = parse_whole(request.POST.get("view", ""))
        actions.delete_view(by=access.user, project=project, view_id=view_id)
        messages.success(request, _("Deleted the saved view."))
        return redirect(here)
    bulk = next((one for one in listing.bulk if one.slug == what), None)
    if bulk is None:
        raise Invalid(
            _("There is no such action here."), fields={"do": _("Choose one of the buttons.")}
        )
    return _act(request, listing, bulk, here)


def _act(request: HttpRequest, listing: Listing, bulk: Bulk, here: str) -> HttpResponse:
    """Ask again with what would happen, then do it and say what was left out and why."""
    try:
        rows = chosen_rows(listing, request.GET, request.POST)
    except Invalid as error:
        messages.warning(request, f"{error.message} {' '.join(error.fields.values())}")
        return redirect(here)
    left = dict(bulk.why_not(rows))
    going = [row for row in rows if row.pk not in left]
    confirmed = bool(request.POST.get("confirmed"))
    form = bulk.form(request.POST if confirmed else None) if bulk.form else forms.Form({})
    if not confirmed or not form.is_valid():
        context = {
            "listing": listing,
            "bulk": bulk,
            "form": form if bulk.form else None,
            "here": here,
            "going": going,
            "names": [listing.name_of(row) for row in going[:NAMED]],
            "more": max(0, len(going) - NAMED),
            "skipped": _skipped(listing, rows, left),
            "picked": ",".join(str(row.pk) for row in rows),
            "effects": list(bulk.effect(going)) if going else [],
            "carried": list(bulk.carry(going).items()) if going else [],
        }
        status = 422 if confirmed else 200
        return render(request, "annotation/lists/confirm.html", context, status=status)
    if bulk.leads_to is not None and going:
        return redirect(bulk.leads_to(going, form.cleaned_data))
    sent = {name: request.POST[name] for name in request.POST if name.startswith("seen_")}
    if going:
        left |= bulk.act(going, {**form.cleaned_data, **({"sent": sent} if sent else {})})
    done = len(rows) - len(left)
    told = _("%(done)s %(rows)s.") % {
        "done": bulk.done,
        "rows": plural(done, *listing.nouns.split(",")),
    }
    reasons = "; ".join(
        _("%(number)s skipped: %(reason)s") % {"number": count(n), "reason": reason.rstrip(".")}
        for reason, n in Counter(left.values()).items()
    )
    tell = messages.success if done else messages.error
    tell(request, f"{told} {reasons[:400]}." if left else told)
    return redirect(here)


def _skipped(
    listing: Listing, rows: list[Any], left: dict[int, str]
) -> list[tuple[str, int, list[tuple[str, str]]]]:
    """Reasons, how many rows each holds for, and names and addresses of the first."""
    by_reason: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        if row.pk in left:
            named = (listing.name_of(row), listing.url_of(row))
            by_reason.setdefault(left[row.pk], []).append(named)
    return [(reason, len(named), named[:NAMED]) for reason, named in by_reason.items()]
