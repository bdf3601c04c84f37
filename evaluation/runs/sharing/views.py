"""Sharing a run's results by links and public boards, and what these open. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_access
from annotation.models import Role
from crowdqc import limits
from crowdqc.errors import Invalid, Missing
from crowdqc.numbers import parse_whole
from crowdqc.web.htmx import page_or_fragment
from evaluation.results.images import POLICY
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors.exclusions import exclusion_finding
from evaluation.runs.sharing import actions, pages, selectors

MOST_PAGES = 1000
SECONDS = 60  # that a browser or a proxy may show its copy of a board


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def run_share(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """The links and boards of a run, and making one: a link's address is in this answer alone."""
    access = get_access(request, project_id)
    run = reads.get_run(access.project, number)
    link, status, wrong = "", 200, ""
    if request.method == "POST":
        access.require(Role.REQUESTER)
        status = 201
        if "slug" in request.POST:
            slug, files = request.POST["slug"].strip().lower(), "files" in request.POST
            try:
                asked = {"files": files, "bundle": "bundle" in request.POST}
                actions.publish(by=access.user, run=run, slug=slug, **asked)
            except Invalid as error:
                wrong, status = error.message, error.status
        else:
            items = "items" in request.POST
            _, secret = actions.share(by=access.user, run=run, items=items)
            link = request.build_absolute_uri(reverse("shared_results", args=[secret]))
    menu = selectors.menu_of(run)
    if menu["shares"] is None:
        raise Missing(gettext("This run has no results that can be shared by a link."))
    context = {
        "access": access,
        "task": run.task,
        "title": reads.title_of(run.task),
        "run": run,
        "link": link,
        "wrong": wrong,
        "slug": request.POST.get("slug", "") if wrong else "",
        "stale": exclusion_finding(run),
        **menu,
    }
    return page_or_fragment(
        request,
        "evaluation/runs/sharing/links.html",
        "evaluation/runs/sharing/_links.html",
        context,
        status=status,
    )


@login_required
@require_POST
def run_move_board(
    request: HttpRequest, project_id: int, number: int, share_id: int
) -> HttpResponse:
    """Let a public board of the task show this run."""
    access = get_access(request, project_id)
    run = reads.get_run(access.project, number)
    access.require(Role.REQUESTER)
    actions.move_board(by=access.user, run=run, share_id=share_id)
    return redirect("run_share", project_id, number)


@login_required
@require_POST
def run_stop_sharing(
    request: HttpRequest, project_id: int, number: int, share_id: int
) -> HttpResponse:
    """Stop sharing by one link."""
    access = get_access(request, project_id)
    run = reads.get_run(access.project, number)
    actions.stop_sharing(by=access.user, run=run, share_id=share_id)
    return redirect("run_share", project_id, number)


@never_cache
@require_safe
def shared_results(request: HttpRequest, secret: str) -> HttpResponse:
    """Page of a shared link, the same for everybody."""
    limits.require_try(
        limits.SHARED, limits.client_network(request), "Too many requests from this address."
    )
    share = selectors.get_shared(secret)
    context = pages.context_of(share, request.GET.get("page"), request.GET)
    response = HttpResponse(pages.html_of(share, context, request.GET))
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response


@require_safe
def public_board(request: HttpRequest, slug: str, form: str = "html") -> HttpResponseBase:
    """A public board as a page, an image or a table; two queries where it is kept."""
    limits.require_try(
        limits.SHARED, limits.client_network(request), "Too many requests from this address."
    )
    share = selectors.get_board(slug)
    page = parse_whole(request.GET.get("page", ""), 1, MOST_PAGES) or 1
    body, etag = pages.cached_form(share, form, page)
    response = HttpResponse(body, content_type=pages.KINDS[form])
    response["ETag"] = etag
    response["Cache-Control"] = f"public, max-age={SECONDS}"
    if form != "html":
        # A page elsewhere may embed or read it; opened by itself it can do nothing.
        response["Cross-Origin-Resource-Policy"] = "cross-origin"
        response["Access-Control-Allow-Origin"] = "*"
        response["Content-Security-Policy"] = POLICY
    if form in (*pages.TABLES, pages.BUNDLE):
        response["Content-Disposition"] = f'attachment; filename="{slug}.{form}"'
    return get_conditional_response(request, etag=etag, response=response) or response
