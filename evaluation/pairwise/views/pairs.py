"""The pairs and the workers of a study, and one of each. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.access import get_worker, open_to_viewers
from annotation.task_types.pairwise import page as judging
from evaluation.pairwise.selectors import pages as pair_pages
from evaluation.pairwise.selectors import worker_page as pair_worker_page
from evaluation.pairwise.selectors import workers as pair_workers
from evaluation.pairwise.selectors.names import is_generated_id
from evaluation.pairwise.views.boards import empty_page, page
from evaluation.pairwise.views.frame import study
from evaluation.runs.next_actions import page_screen
from evaluation.runs.results import votes_used
from evaluation.runs.selectors import lists as reads


@login_required
@require_safe
@open_to_viewers
def pair_list(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Gold labels of one dimension, the least certain first."""
    _, task = study(request, project_id, task_id)
    runs, context = page(request, task, "pairs", pooled=False)
    if runs.core is None:
        return empty_page(request, task, runs, context)
    chosen = pair_pages.filters(request.GET)
    context.update(
        pair_pages.pair_list(
            task,
            runs,
            context["dimension"],
            chosen,
            page=request.GET.get("page"),
            keep=context["keep"],
        ),
        filters="evaluation/pairwise/pairs/_pair_filters.html",
        recipe=reads.recipe_pairs(runs.core),
        tally=votes_used.tally_of(
            reads.figures_of(runs.core, votes_used.FIGURE), "labels", context["dimension"]
        ),
    )
    context["screen"] = page_screen(
        context["study_state"], [*context["findings"], context["low_workers"]]
    )
    return render(request, "evaluation/pairwise/pairs/list.html", context)


@login_required
@require_safe
@open_to_viewers
def pair(request: HttpRequest, project_id: int, task_id: int, item_id: int) -> HttpResponse:
    """Page of a pair: both texts, labels, every vote, and models' answers."""
    _, task = study(request, project_id, task_id)
    item = pair_pages.get_pair(task, item_id)
    runs, context = page(request, task, "pairs", pooled=False)
    sources = judging.sources_of(item.group.passage)
    known = {one.number for one in sources if one.number is not None}
    context.update(
        pair=pair_pages.pair_page(task, runs, item, context["asked"], keep=context["keep"]),
        item=item,
        topic="" if is_generated_id(item.group.key) else item.group.key,
        texts=judging.texts(item, flipped=False, known=known),
        sources=sources,
        picks="",
    )
    return render(request, "evaluation/pairwise/pairs/pair.html", context)


@login_required
@require_safe
@open_to_viewers
def worker_list(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Competence with its interval and what else is known of each worker."""
    access, task = study(request, project_id, task_id)
    runs, context = page(request, task, "workers")
    if len(context["asked"]) == 1:  # one competence for all of them may be the only one
        context["dimension"] = ""
    elif "dimension" not in request.GET:  # people are looked at over all dimensions first
        context.update(dimension="", dimension_label=gettext("All together"))
    run, dimension = runs.core, context["dimension"]
    if run is None:
        return empty_page(request, task, runs, context)
    told = reads.figures_of(run, *pair_workers.FIGURES)
    by = request.GET.get("sort", "competence")
    by = by if by in pair_workers.SORTS else "competence"
    ascending = request.GET.get("dir") == "up"
    context.update(
        pair_workers.worker_list(
            access, run, told, dimension, by=by, ascending=ascending, page=request.GET.get("page")
        ),
        sorts=pair_workers.sort_links(
            by,
            ascending=ascending,
            dimension=dimension,
            keep=f"&run={run.number}" if context["keep"] else "",
        ),
        recipe=reads.recipe_pairs(run, told.get("recipe")),
    )
    context["screen"] = page_screen(context["study_state"], context["findings"])
    return render(request, "evaluation/pairwise/workers/workers.html", context)


@login_required
@require_safe
@open_to_viewers
def worker(request: HttpRequest, project_id: int, task_id: int, worker_id: int) -> HttpResponse:
    """Page of a worker: competence by dimension, votes, and differences from the gold labels."""
    access, task = study(request, project_id, task_id)
    person = get_worker(access, worker_id)
    runs, context = page(request, task, "workers")
    told = reads.figures_of(runs.core, *pair_workers.FIGURES) if runs.core is not None else {}
    one = pair_worker_page.worker_page(
        task, runs.core, told, person, context["asked"], keep=context["keep"]
    )
    context.update(
        one=one,
        screen=one["screen"],
        worker=person,
        picks="",
        recipe=reads.recipe_pairs(runs.core, told.get("recipe")) if runs.core is not None else [],
    )
    return render(request, "evaluation/pairwise/workers/worker.html", context)
