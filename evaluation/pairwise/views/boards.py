"""The board of systems, live while judgments come in, the win matrix, and exports. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.formats.exports import pairwise
from annotation.models import Task
from crowdqc.errors import Missing
from evaluation.free_text.views.results import send
from evaluation.pairwise.selectors import boards as pair_boards
from evaluation.pairwise.selectors import facts as pair_facts
from evaluation.pairwise.selectors import live as pair_live
from evaluation.pairwise.selectors import runs as pair_runs
from evaluation.pairwise.selectors.runs import Shown
from evaluation.pairwise.views.frame import frame, number_of, study
from evaluation.runs import schedules
from evaluation.runs.selectors import lists as reads


def with_dimension(request: HttpRequest, context: dict[str, Any], *, pooled: bool = True) -> str:
    """The dimension asked for, else the overall one; ``pooled``: all together can be chosen."""
    asked = context["asked"]
    chosen: str = context["dimension"]
    named = "dimension" in request.GET
    if not named or (not chosen and not pooled):
        chosen = pair_boards.default_dimension(asked)
    context.update(
        dimension=chosen,
        dimension_label=next((one.label for one in asked if one.name == chosen), "All together"),
        dimension_chosen=named,
        picks="all" if pooled else "each",
    )
    return chosen


def page(
    request: HttpRequest, task: Task, view: str, *, pooled: bool = True
) -> tuple[Shown, dict[str, Any]]:
    """The frame of a page that shows one dimension of one of several runs."""
    runs, context = frame(request, task, view)
    with_dimension(request, context, pooled=pooled)
    context["run_choices"] = pair_boards.run_choices(task)
    return runs, context


def empty(request: HttpRequest, task: Task, runs: Shown, context: dict[str, Any]) -> HttpResponse:
    """What stands there before the first finished run."""
    first, last = schedules.first_run(task), context["last"]
    sentence, why = pair_live.first_words(first)
    live = pair_live.live(task, runs, context["fresh"], last, 0)
    context.update(first=first, sentence=sentence, why=why, live=live, shown=0)
    return render(request, "evaluation/pairwise/empty.html", context)


@login_required
@require_safe
def board(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Systems by Bradley-Terry on one dimension, one board a connected component."""
    _, task = study(request, project_id, task_id)
    runs, context = page(request, task, "board")
    run, dimension = runs.core, context["dimension"]
    if run is None:
        return empty(request, task, runs, context)
    told = reads.figures_of(run, *pair_boards.FIGURES)
    context.update(pair_boards.board(run, told, context["asked"], dimension))
    context.update(
        live=pair_live.live(task, runs, context["fresh"], context["last"], None),
        shown=run.pk,
        warnings=pair_facts.warnings(runs, told, context["asked"]),
        facts=pair_facts.facts(run, told, dimension, pair_facts.keyed(dimension)),
        recipe=reads.recipe_pairs(run, told.get("recipe")),
    )
    return render(request, "evaluation/pairwise/board.html", context)


@login_required
@require_safe
def live(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The strip of counts and runs alone; it asks for itself while something is to come."""
    _, task = study(request, project_id, task_id)
    shown, pinned = number_of(request, "shown"), number_of(request)
    runs = pair_runs.shown(task)
    last = schedules.last_run(task)
    context = {
        "task": task,
        "live": pair_live.live(task, runs, schedules.fresh(task, last), last, shown),
        "shown": shown,
        "pinned": pinned,
        "dimension": request.GET.get("dimension", ""),
    }
    return render(request, "evaluation/pairwise/_live.html", context)


@login_required
@require_safe
def wins(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Systems against systems: who wins how much of what was decided."""
    _, task = study(request, project_id, task_id)
    runs, context = page(request, task, "wins")
    run = runs.core
    if run is None:
        return empty(request, task, runs, context)
    told = reads.figures_of(run, *pair_boards.FIGURES)
    context.update(pair_boards.win_matrix(told, run, context["dimension"]))
    context["recipe"] = reads.recipe_pairs(run, told.get("recipe"))
    return render(request, "evaluation/pairwise/wins.html", context)


@login_required
@require_safe
def export(request: HttpRequest, project_id: int, task_id: int) -> HttpResponseBase:
    """Rows of a finished run, all with a manifest or one table; with ``what``, the judgments."""
    _, task = study(request, project_id, task_id)
    if "what" in request.GET:
        return _judgments(request, task, request.GET["what"])
    run = pair_runs.shown(task, number_of(request)).core
    if run is None:
        raise Missing("This task has no finished run to export.")
    return send(run, request.GET.get("table", "all"), request.GET.get("format", "csv"))


def _judgments(request: HttpRequest, task: Task, what: str) -> HttpResponseBase:
    """What was collected, in one of the formats of others; Invalid names what is unknown."""
    form, dimension = request.GET.get("format", "csv"), request.GET.get("dimension", "")
    lines = pairwise.get_export(task, what, form).lines(task, form, dimension)
    response = StreamingHttpResponse(lines, content_type=pairwise.MEDIA[form])
    response["Content-Disposition"] = f'attachment; filename="task-{task.pk}-{what}.{form}"'
    return response
