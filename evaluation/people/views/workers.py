"""The evidence page of one worker, and what a worker sees of their own."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.access import get_access, get_worker, worker_memberships
from annotation.models import Role
from annotation.payouts.actions.proposals import REASONS
from annotation.privacy.selectors.retention import kept_of_workers
from evaluation.payouts.selectors.card import paste_sources
from evaluation.people.selectors.card import worker_card as read
from evaluation.people.selectors.own_card import own_card as read_own


@login_required
@require_safe
def worker_card(request: HttpRequest, project_id: int, membership_id: int) -> HttpResponse:
    """What is known of a worker's answers in this project, and what cannot be concluded."""
    access = get_access(request, project_id)
    worker = get_worker(access, membership_id)
    shown = read(worker, page=request.GET.get("page"), work_page=request.GET.get("works"))
    context = {
        "worker": worker,
        "card": shown,
        "sources": paste_sources(shown.log),
        "reasons": REASONS,
        "kept": kept_of_workers([worker])[worker.pk],
    }
    return render(request, "evaluation/people/workers/worker_card.html", context)


@login_required
@require_safe
@never_cache
def own_card(request: HttpRequest, project_id: int) -> HttpResponse:
    """A worker's own times, payments and panels, and scores where the project shows them."""
    access = get_access(request, project_id, Role.WORKER)
    worker = worker_memberships(access.user).get(project=access.project)
    context = {"worker": worker, "project": worker.project, "card": read_own(worker), "own": True}
    return render(request, "evaluation/people/workers/own_card.html", context)
