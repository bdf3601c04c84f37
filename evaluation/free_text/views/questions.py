"""Questions of a task's results: the list, and one with all its answers. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.access import get_item, get_task
from evaluation.free_text.selectors import questions as reads
from evaluation.free_text.selectors.boards import state_words
from evaluation.free_text.views.results import empty, frame, number_of
from evaluation.runs.selectors import lists as run_reads


@login_required
@require_safe
def question_list(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Every question with its agreement, best answer and honest "I don't know"s."""
    _, task = get_task(request, project_id, task_id)
    run, context = frame(request, task, "questions")
    if run is None:
        return empty(request, task, context)
    sort, group = request.GET.get("sort", "order"), number_of(request, "text")
    sort = sort if sort in reads.SORTS else "order"
    told = run_reads.figures_of(run, "components", "recipe")
    context.update(
        page=reads.page_of(reads.scores(run, sort=sort, group=group), request.GET.get("page")),
        sort=sort,
        groups=reads.groups_of(task),
        group=group,
        state_words=state_words(run, told),
        recipe=run_reads.recipe_pairs(run, told.get("recipe")),
    )
    return render(request, "evaluation/free_text/questions.html", context)


@login_required
@require_safe
def question(request: HttpRequest, project_id: int, task_id: int, item_id: int) -> HttpResponse:
    """One question: its answers by score, the best one, and where people disagree."""
    _, task, item = get_item(request, project_id, task_id, item_id)
    run, context = frame(request, task, "questions")
    if run is None:
        return empty(request, task, context)
    told = run_reads.figures_of(run, "clusters", "recipe")
    context.update(
        question=reads.question(run, item, told),
        recipe=run_reads.recipe_pairs(run, told.get("recipe")),
    )
    return render(request, "evaluation/free_text/question.html", context)
