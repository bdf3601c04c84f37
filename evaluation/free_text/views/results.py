"""Results of a task: boards of workers and of systems, convergence, export. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.access import get_access, get_item, get_task, open_to_viewers
from annotation.models import Task
from crowdqc.errors import Missing
from evaluation.free_text.run import AQER
from evaluation.free_text.selectors import boards as board_pages
from evaluation.free_text.selectors import disagreement, findings, movement, run_facts
from evaluation.free_text.selectors import questions as question_reads
from evaluation.free_text.selectors.boards import state_words
from evaluation.free_text.selectors.leaderboard import names_of
from evaluation.models import Run
from evaluation.overview import results as overview_results
from evaluation.results.boards import SORTS
from evaluation.results.findings import arrange
from evaluation.runs import schedules
from evaluation.runs.next_actions import page_screen
from evaluation.runs.pages import export_menu, kept_run, number_of, run_frame, send
from evaluation.runs.results import votes_used
from evaluation.runs.run_types import fits, require_fit
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors import words as run_words


def frame(request: HttpRequest, task: Task, view: str) -> tuple[Run | None, dict[str, Any]]:
    """Return the run to show and the context that all pages of results share.

    Missing for a task of pairs or ratings, whose results stand on pages of their own.
    """
    require_fit(task, AQER, Missing(gettext("The results of this task stand on other pages.")))
    run = reads.shown_run(task, number_of(request))
    return run, {
        **run_frame(task, run),
        "view": view,
        "runs": reads.finished_runs(task),
        "keep": kept_run(request, run, "?"),
        **export_menu(run),
    }


@login_required
@require_safe
@open_to_viewers
def results(request: HttpRequest, project_id: int) -> HttpResponse:
    """The tasks with results; the one task's results where there is one only."""
    access = get_access(request, project_id)
    rows = overview_results.tasks(access.project)
    if len(rows) == 1:
        return redirect("task_results", project_id, rows[0].task.pk)
    return render(request, "evaluation/free_text/tasks.html", {"rows": rows})


def empty_page(request: HttpRequest, task: Task, context: dict[str, Any]) -> HttpResponse:
    """Show the page of results before the first finished run."""
    first = schedules.first_run(task)
    sentence, why = reads.first_run_words(first.enough, first.others, first.missing)
    sentence = reads.waiting_words(task, first.missing) or sentence
    context.update(first=first, sentence=sentence, why=why)
    if context["last"] is not None:
        context["last_live"] = reads.live_run(context["last"])
    return render(request, "evaluation/free_text/empty.html", context)


@login_required
@require_safe
@open_to_viewers
def workers(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Page of the workers' leaderboard; redirects for pairs and ratings."""
    access, task = get_task(request, project_id, task_id)
    if not fits(task, AQER):
        query = request.META.get("QUERY_STRING", "")
        return redirect(run_words.results_page(task) + (f"?{query}" if query else ""))
    run, context = frame(request, task, "workers")
    if run is None:
        return empty_page(request, task, context)
    told = reads.figures_of(run)
    by = request.GET.get("sort", "score")
    by = by if by in SORTS else "score"
    ascending = request.GET.get("dir") == "up"
    context.update(
        board_pages.workers(
            access,
            run,
            told,
            by=by,
            ascending=ascending,
            page=request.GET.get("page"),
            keep=kept_run(request, run),
        )
    )
    context.update(run_facts.rail(run, told), tally=votes_used.tally_of(told))
    context["screen"] = run_facts.workers_screen(
        run,
        run_facts.first_place(context["rows"], "worker"),
        told,
        context["names"],
        context["study_state"],
        chooses=context["chooses"] and context["standing"].is_official,
    )
    return render(request, "evaluation/free_text/workers.html", context)


@login_required
@require_safe
@open_to_viewers
def systems(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The language models' leaderboard, beside what workers reach."""
    _, task = get_task(request, project_id, task_id)
    run, context = frame(request, task, "systems")
    if run is None:
        return empty_page(request, task, context)
    told = reads.figures_of(run)
    context.update(board_pages.systems(run, told), tally=votes_used.tally_of(told))
    context["recipe"] = reads.recipe_pairs(run, told.get("recipe"))
    place = run_facts.first_place(context["rows"], "model")
    context["screen"] = page_screen(context["study_state"], [place.finding()], settled=place.sure)
    return render(request, "evaluation/free_text/systems.html", context)


@login_required
@require_safe
@open_to_viewers
def convergence(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Page on how the weights converged, and whose ranks iterating reversed."""
    _, task = get_task(request, project_id, task_id)
    run, context = frame(request, task, "convergence")
    if run is None:
        return empty_page(request, task, context)
    told = reads.figures_of(run)
    context.update(run_facts.convergence(run, told))
    return render(request, "evaluation/free_text/convergence.html", context)


@login_required
@require_safe
@open_to_viewers
def export(request: HttpRequest, project_id: int, task_id: int) -> HttpResponseBase:
    """Scores of a finished run: one table as CSV or JSONL, or all of them with a manifest."""
    _, task = get_task(request, project_id, task_id)
    return send(request, reads.shown_run(task, number_of(request)))


@login_required
@require_safe
@open_to_viewers
def question_list(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Every question with its agreement, best answer and honest "I don't know"s."""
    _, task = get_task(request, project_id, task_id)
    run, context = frame(request, task, "questions")
    if run is None:
        return empty_page(request, task, context)
    sort, group = request.GET.get("sort", "order"), number_of(request, "text")
    sort = sort if sort in question_reads.SORTS else "order"
    told = reads.figures_of(run, "components", "recipe", "camps", "clusters")
    numbers, least = question_reads.numbers_and_least(run)
    page = question_reads.page_of(
        question_reads.scores(run, sort=sort, group=group), request.GET.get("page")
    )
    names = names_of(run, told)
    context.update(
        disagreement=disagreement.overview(run, told, names, context["keep"]),
        screen=arrange(
            [
                *disagreement.questions_findings(run, told.get("camps", []), least),
                *findings.duplicate_answers(run, told, numbers),
            ]
        ),
        page=page,
        table=question_reads.table(
            run, page, numbers, sort=sort, group=group, keep=context["keep"]
        ),
        sort=sort,
        groups=question_reads.groups_of(task),
        group=group,
        state_words=state_words(run),
        recipe=reads.recipe_pairs(run, told.get("recipe")),
    )
    return render(request, "evaluation/free_text/questions.html", context)


@login_required
@require_safe
@open_to_viewers
def question(request: HttpRequest, project_id: int, task_id: int, item_id: int) -> HttpResponse:
    """Page of a question: its answers by score, the best one, and camps."""
    _, task, item = get_item(request, project_id, task_id, item_id)
    run, context = frame(request, task, "questions")
    if run is None:
        return empty_page(request, task, context)
    told = reads.figures_of(run, "clusters", "recipe", "camps")
    if request.GET.get("path"):
        context["path"] = movement.path_part(run, item, told)
    context.update(
        question=question_reads.question(run, item, told),
        recipe=reads.recipe_pairs(run, told.get("recipe")),
    )
    return render(request, "evaluation/free_text/question.html", context)
