"""The evidence page of one worker."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.access import get_access, get_worker
from annotation.actions.payouts import REASONS
from annotation.selectors.retention import kept_of_workers
from evaluation.selectors.card import CANNOT_SCORE, paste_sources
from evaluation.selectors.worker_card import worker_card as read


@login_required
@require_safe
def worker_card(request: HttpRequest, project_id: int, membership_id: int) -> HttpResponse:
    """What is known of a worker's answers in this project, and what cannot be concluded."""
    access = get_access(request, project_id)
    worker = get_worker(access, membership_id)
    worker.project = access.project
    shown = read(worker, page=request.GET.get("page"), work_page=request.GET.get("works"))
    context = {
        "worker": worker,
        "card": shown,
        "sources": paste_sources(shown.log),
        "cannot_score": CANNOT_SCORE,
        "reasons": REASONS,
        "kept": kept_of_workers([worker])[worker.pk],
    }
    return render(request, "evaluation/workers/worker_card.html", context)
