"""Results of a rating task. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.access import get_task
from annotation.task_types import get_type
from crowdqc.errors import Missing
from evaluation.pairwise.run import RATED
from evaluation.pairwise.selectors import runs as pair_runs
from evaluation.rescaling.selectors import rating_boards
from evaluation.runs import schedules
from evaluation.runs.official.standing import standing
from evaluation.runs.results import votes_used
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as reads


@login_required
@require_safe
def ratings(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Agreement, the mean of every source, and how workers use the scale."""
    _, task = get_task(request, project_id, task_id)
    require_fit(task, RATED, Missing("This task does not ask for ratings."))
    run, last = rating_boards.shown_run(task), schedules.last_run(task)
    noun = get_type(task.type).noun_in(task.current.settings if task.current else {})
    since, asked = schedules.fresh(task, last), pair_runs.dimensions(task)
    context = {
        "task": task,
        "title": reads.title_of(task),
        "nouns": f"{noun},{noun}s",
        "run": run,
        "standing": standing(run),
        "active": reads.active_of(task),
        "last": last,
        "fresh": since,
        "start_words": reads.start_words(since, first=last is None),
    }
    if run is None:
        first = schedules.first_run(task)
        sentence, _ = reads.first_run_words(first.enough, first.others, first.missing, "rating")
        why = (
            "Agreement and means need at least 3 workers with 5 ratings each; the first run "
            "starts automatically then."
        )
        context.update(first=first, sentence=sentence, why=why)
        return render(request, "evaluation/pairwise/ratings.html", context)
    wanted = request.GET.get("dimension", "")
    chosen = next((one for one in asked if one.name == wanted), asked[0] if asked else None)
    told = reads.figures_of(run, "recipe", votes_used.FIGURE)
    context.update(
        boards=rating_boards.boards(run, asked),
        workers=rating_boards.workers(run, chosen.name) if chosen else [],
        chosen=chosen,
        asked=asked,
        recipe=reads.recipe_pairs(run, told.get("recipe")),
        tally=votes_used.tally_of(told),
    )
    return render(request, "evaluation/pairwise/ratings.html", context)
