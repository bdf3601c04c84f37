"""The pairs of a study, and one pair with all its votes. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.task_types.pairwise import page as judging
from evaluation.pairwise.selectors import pages as pair_pages
from evaluation.pairwise.views.boards import empty, page
from evaluation.pairwise.views.frame import study
from evaluation.runs.results import votes_used
from evaluation.runs.selectors import lists as reads


@login_required
@require_safe
def pair_list(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Gold labels of one dimension, the least certain first."""
    _, task = study(request, project_id, task_id)
    runs, context = page(request, task, "pairs", pooled=False)
    if runs.core is None:
        return empty(request, task, runs, context)
    chosen = pair_pages.filters(request.GET)
    context.update(
        pair_pages.pair_list(
            task, runs, context["dimension"], chosen, page=request.GET.get("page")
        ),
        filters="evaluation/pairwise/pairs/_pair_filters.html",
        recipe=reads.recipe_pairs(runs.core),
        tally=votes_used.tally_of(
            reads.figures_of(runs.core, votes_used.FIGURE), "labels", context["dimension"]
        ),
    )
    return render(request, "evaluation/pairwise/pairs/list.html", context)


@login_required
@require_safe
def pair(request: HttpRequest, project_id: int, task_id: int, item_id: int) -> HttpResponse:
    """Both texts side by side, labels, every vote, and what models said."""
    _, task = study(request, project_id, task_id)
    item = pair_pages.get_pair(task, item_id)
    runs, context = page(request, task, "pairs", pooled=False)
    sources = judging.sources_of(item.group.passage)
    known = {one.number for one in sources if one.number is not None}
    context.update(
        pair=pair_pages.pair_page(task, runs, item, context["asked"]),
        item=item,
        texts=judging.texts(item, flipped=False, known=known),
        sources=sources,
        picks="",
    )
    return render(request, "evaluation/pairwise/pairs/pair.html", context)
