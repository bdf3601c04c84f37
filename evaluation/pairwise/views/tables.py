"""Grades, similarity to the best text, and a published study's tables beside ours. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from crowdqc.errors import Missing
from evaluation.pairwise.selectors import agreement as pair_agreement
from evaluation.pairwise.selectors import tables as pair_tables
from evaluation.pairwise.views import boards
from evaluation.pairwise.views.agreement import opened
from evaluation.pairwise.views.frame import study
from evaluation.published.studies import selectors as pair_published
from evaluation.runs.selectors import lists as reads


@login_required
@require_safe
def grades(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Mean grades by style and origin with tests of two groups, and the grades of each topic."""
    _, task = study(request, project_id, task_id)
    runs, context = opened(request, task, "grades")
    run = runs.core
    if run is None:
        return boards.empty(request, task, runs, context)
    found = pair_tables.grades(
        run,
        context["asked"],
        first=request.GET.get("first", ""),
        second=request.GET.get("second", ""),
        page=request.GET.get("page"),
    )
    if found is None:
        return render(request, "evaluation/pairwise/not_here.html", context)
    similar = pair_tables.overlap(runs, context["asked"])
    told = reads.figures_of(run, "recipe").get("recipe")
    context.update(
        found=found,
        similar=similar,
        waiting=None if similar or runs.checks else pair_agreement.waiting(runs),
        page=found.topic_page,
        filters="evaluation/pairwise/_groups.html",
        recipe=reads.recipe_pairs(run, told),
    )
    return render(request, "evaluation/pairwise/grades.html", context)


@login_required
@require_safe
def published(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Tables as printed, as measured from the database, and by our own run."""
    _, task = study(request, project_id, task_id)
    runs, context = opened(request, task, "agreement")
    found = pair_published.published(task, runs, context["asked"])
    if found is None:
        raise Missing("Nothing published was imported beside this task.")
    context["found"] = found
    return render(request, "evaluation/pairwise/published.html", context)
