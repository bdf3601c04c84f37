"""The evidence page of one worker, and what a worker sees of their own."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.access import get_access, get_worker, worker_memberships
from annotation.models import Role
from annotation.payouts.actions.proposals import REASONS
from annotation.privacy.selectors.retention import kept_of_workers
from annotation.recruitment.selectors import platform_ids
from crowdqc.errors import Missing
from evaluation.payouts.selectors.card import paste_sources
from evaluation.payouts.selectors.likeness import likenesses
from evaluation.people.selectors import domains
from evaluation.people.selectors.card import worker_card as read
from evaluation.people.selectors.own_card import own_card as read_own
from evaluation.results.tables import plain_table
from evaluation.runs.selectors.people import names_in_files


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
        "alike": likenesses(access.project).get(worker.pk, []),
        "sources": paste_sources(shown.log),
        "reasons": REASONS,
        "kept": kept_of_workers([worker])[worker.pk],
        "in_file": names_in_files(access, [worker.pk]).get(worker.pk, ""),
        # For those who pay people there and are written to by these ids.
        "platform_ids": platform_ids(worker) if access.is_manager else [],
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


@login_required
@require_safe
def domain_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """The domains of a project, with how many of their tasks were scored."""
    access = get_access(request, project_id)
    rows = domains.domain_list(access.project)
    title = _("Domains with their tasks")
    context = {
        "table": plain_table(title, domains.DOMAINS, rows) if rows else None,
        "without": domains.without_domain(access.project),
        "tasks": access.project.tasks.count(),
    }
    return render(request, "evaluation/people/domains/list.html", context)


@login_required
@require_safe
def domain_board(request: HttpRequest, project_id: int, name: str) -> HttpResponse:
    """One domain: its boards by one measure, and which tasks enter."""
    access = get_access(request, project_id)
    tasks = domains.tasks_of(access.project, name)
    if not tasks:
        raise Missing(_("No task of this project is about that."))
    offered = domains.measures_of(tasks)
    wanted = request.GET.get("of", "")
    measure = next((one for one in offered if one.slug == wanted), offered[0])
    context = {
        "shown": domains.domain_page(access.project, name, measure),
        "segments": [
            {"label": _(one.label), "url": f"?of={one.slug}", "current": one is measure}
            for one in offered
        ],
    }
    return render(request, "evaluation/people/domains/board.html", context)
