"""Results of a writing task: what was written, how, and what the logs show. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.access import Access, get_task, open_to_viewers
from annotation.models import Task
from annotation.pairs.selectors import chain_of
from crowdqc.errors import Missing
from evaluation.runs import schedules
from evaluation.runs.next_actions import page_screen
from evaluation.runs.pages import export_menu, kept_run, number_of, run_frame, send, view_links
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as reads
from evaluation.writing.run import SLUG
from evaluation.writing.selectors import facts as writing
from evaluation.writing.selectors import figures as writing_figures
from evaluation.writing.selectors import lists as writing_lists
from evaluation.writing.selectors.facts import VIEWS, NamedFigures

FIGURES = {
    "overview": writing_figures.overview,
    "passages": writing_figures.passages,
    "reuse": writing_figures.reuse,
    "citations": writing_figures.citations,
    "readability": writing_figures.readability,
}
LISTS = {"signals": writing_lists.signals, "responses": writing_lists.responses}


@login_required
@require_safe
@open_to_viewers
def results(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Show a section (``?view=``) of the newest finished run, or of the run asked for."""
    access, task = _study(request, project_id, task_id)
    view = request.GET.get("view", "overview")
    if view not in VIEWS:
        raise Missing(gettext("The results have no such section."))
    run, context = _frame(request, task, view)
    if run is None:
        return _empty(request, task, context)
    told = writing.figures_of(task, run, view)
    context.update(_section(request, task, told, view))
    if view == "overview" and access.is_requester:
        context["chain"] = chain_of(task)
    context.update(
        sentence=writing.sentence(run),
        screen=page_screen(
            context["study_state"], writing.length_findings(told) if view in FIGURES else []
        ),
        level=told.level,
        recipe=reads.recipe_pairs(run, told.figures.get("recipe")),
    )
    return render(request, f"evaluation/writing/{view}.html", context)


@login_required
@require_safe
@open_to_viewers
def export(request: HttpRequest, project_id: int, task_id: int) -> HttpResponseBase:
    """Download figures of a finished run and its results on every response."""
    _, task = _study(request, project_id, task_id)
    return send(request, reads.shown_run(task, number_of(request)))


def _study(request: HttpRequest, project_id: int, task_id: int) -> tuple[Access, Task]:
    access, task = get_task(request, project_id, task_id)
    require_fit(task, SLUG, Missing(gettext("This task does not ask for responses with sources.")))
    return access, task


def _frame(request: HttpRequest, task: Task, view: str) -> tuple[Any, dict[str, Any]]:
    run = reads.shown_run(task, number_of(request))
    keep = kept_run(request, run)
    labels = [(slug, gettext(label)) for slug, (label, _) in VIEWS.items()]
    return run, {
        **run_frame(task, run, noun="response"),
        "view": view,
        "views": view_links(task, "writing_results", labels, view, keep),
        "run_choices": reads.finished_runs(task),
        "keep": keep,
        **export_menu(run),
    }


def _section(request: HttpRequest, task: Task, told: NamedFigures, view: str) -> dict[str, Any]:
    if view in FIGURES:
        return {**FIGURES[view](told), "few": told.too_few_topics}
    if view == "forms":
        return writing_lists.questionnaires(task, told)
    wanted = writing_lists.parse_filter(request.GET.dict())
    return LISTS[view](task, told, wanted, request.GET.get("page"))


def _empty(request: HttpRequest, task: Task, context: dict[str, Any]) -> HttpResponse:
    """Show what stands there before the first finished run."""
    first = schedules.first_run(task)
    context.update(first=first, sentence=writing.first_sentence(first))
    return render(request, "evaluation/writing/empty.html", context)
