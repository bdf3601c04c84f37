"""Pages of traces under review. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import get_access
from annotation.chats.page import view_chat
from annotation.lists.pages import list_page
from annotation.traces.actions.seen import log_views
from annotation.traces.actions.settle import read_spans
from annotation.traces.selectors import find_trace_of, still_reviews
from annotation.traces.settings import read_settings
from annotation.traces.tree import build_chat
from crowdqc.errors import Missing, NotAllowed
from evaluation.results.findings import arrange
from evaluation.runs.pages import number_of
from evaluation.runs.selectors.recipes import recipe_pairs
from evaluation.runs.sharing.selectors import menu_of
from evaluation.traces import results
from evaluation.traces.listing import row_of, trace_listing
from evaluation.traces.selectors import week_chart, week_findings


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def trace_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """How many traces fail, and the queue of those that wait for reviews."""
    access = get_access(request, project_id)
    if request.htmx:  # type: ignore[attr-defined]
        return list_page(request, access, trace_listing(access), "evaluation/traces/list.html", {})
    number, task_id = number_of(request), number_of(request, "task")
    result = results.read_result(access.project, number=number, task_id=task_id)
    found, run = result.estimates, result.run
    if number is not None and run is None:
        raise Missing(_("There is no such finished run on traces."))
    context = {
        "result": result,
        "queues": results.queue_links(result),
        "screen": arrange(results.findings_of(result, access.project)),
        "figures": results.key_figures(result) if result.size else [],
        **menu_of(run),
    }
    if found is not None and run is not None:
        context |= {
            "rate": found.rate.estimate,
            "chart": week_chart(found),
            "weeks": week_findings(found),
            "recipe": recipe_pairs(run, result.figures["recipe"]),
        }
    return list_page(request, access, trace_listing(access), "evaluation/traces/list.html", context)


@login_required
@require_safe
def trace(request: HttpRequest, project_id: int, trace_id: int) -> HttpResponse:
    """One trace: its steps and its conversation; scores and reviews unless one has to review it."""
    access = get_access(request, project_id)
    found = find_trace_of(access, trace_id)
    settings = read_settings(found.source.settings)
    if settings.staff_only_requesters and not access.is_requester:
        raise NotAllowed(_("Only requesters may read traces of this source."))
    spans, _totals = read_spans(found)
    hidden = found.pk in still_reviews(access, [found])
    chat = build_chat(spans, hide_system=settings.hide_system, hide_judges=hidden)
    row = row_of(found, hidden=hidden) if found.item_id else None
    if not hidden:
        log_views(by=access.user, traces=[found.pk])
    context = {
        "trace": found,
        "chat": view_chat(chat, hides_system=settings.hide_system, facts=True),
        "row": row,
        "hidden": hidden,
    }
    return render(request, "evaluation/traces/trace.html", context)
