"""Calls to models: the list and one call. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.access import get_access
from evaluation.llm.selectors import calls as reads

PER_PAGE = 50


@login_required
@require_safe
def calls(request: HttpRequest, project_id: int) -> HttpResponse:
    """Every call of the project, filtered by run, model, prompt and state, with totals."""
    access = get_access(request, project_id)
    filters = reads.Filters.of(request.GET)
    found = reads.calls(access.project, filters)
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    currency = access.project.currency
    context = {
        "view": "calls",
        "page": page,
        "filters": filters,
        "rows": reads.rows_of(list(page.object_list), currency),
        "totals": reads.totals(access.project, filters, currency),
        "choices": reads.choices(access.project),
    }
    return render(request, "evaluation/llm/calls.html", context)


@login_required
@require_safe
def call(request: HttpRequest, project_id: int, call_id: int) -> HttpResponse:
    """One call: what was sent, what came, what it cost and who used it."""
    access = get_access(request, project_id)
    found = reads.get_call(access.project, call_id)
    context = {"view": "calls", "found": reads.call_page(found, access.project.currency)}
    return render(request, "evaluation/llm/call.html", context)
