"""Results of a task: boards of workers and of systems, convergence, export. HTTP only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.access import get_access, get_item, get_task
from annotation.models import Task
from crowdqc.errors import Missing
from crowdqc.numbers import parse_whole
from evaluation.free_text.run import AQER
from evaluation.free_text.selectors import boards as board_pages
from evaluation.free_text.selectors import disagreement, run_facts, warnings
from evaluation.free_text.selectors import questions as question_reads
from evaluation.free_text.selectors.boards import state_words
from evaluation.free_text.selectors.leaderboard import names_of
from evaluation.models import Run
from evaluation.overview import results as overview_results
from evaluation.results.boards import SORTS
from evaluation.runs import schedules
from evaluation.runs.exports import scores as exports
from evaluation.runs.official.standing import run_standing
from evaluation.runs.results import votes_used
from evaluation.runs.run_types import fits, require_fit, type_of
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors import more_work, next_steps
from evaluation.runs.selectors import words as run_words
from evaluation.runs.sharing.selectors import menu_of


def number_of(request: HttpRequest, name: str = "run") -> int | None:
    """A whole number of the query string; Missing where it is something else."""
    raw = request.GET.get(name, "")
    if not raw:
        return None
    number = parse_whole(raw, high=10**9)
    if number is None:
        raise Missing(gettext("%(name)s is not a number.") % {"name": name})
    return number


def run_frame(task: Task, run: Run | None, *, noun: str = "answer") -> dict[str, Any]:
    """What every page of results says of its run: whether it counts, and what is new since."""
    standing, active = run_standing(run), reads.active_of(task)
    last = schedules.last_run(task, standing.official_run if standing else None)
    since = schedules.count_new_answers(task, last)
    words = reads.start_words(since, first=last is None, noun=noun)
    out = more_work.still_out(task) if run is not None else None
    return {
        "task": task,
        "title": reads.title_of(task),
        "run": run,
        "standing": standing,
        "chooses": run is not None and type_of(run.method).chooses,
        "active": active,
        "last": last,
        "fresh": since,
        **menu_of(run),
        "start_words": words,
        "first_step": next_steps.of_run(
            run, active=active, fresh=since, standing=standing, again=words
        ),
        "still_out": out,
        "wait": more_work.worth_waiting(out),
    }


def view_links(
    task: Task, address: str, labels: Iterable[tuple[str, str]], view: str, keep: str
) -> list[dict[str, Any]]:
    """The switch between the sections of one address, of which ``view`` is shown."""
    page = reverse(address, args=[task.project_id, task.pk])
    return [
        {
            "slug": slug,
            "label": label,
            "current": slug == view,
            "url": f"{page}?view={slug}{keep}",
        }
        for slug, label in labels
    ]


def kept_run(request: HttpRequest, run: Run | None, mark: str = "&") -> str:
    """The run that was asked for by number, for the links of its page; else nothing."""
    return f"{mark}run={run.number}" if run is not None and request.GET.get("run") else ""


def frame(request: HttpRequest, task: Task, view: str) -> tuple[Run | None, dict[str, Any]]:
    """What the pages of a task's results share: the run shown, others, what is new since.

    Missing for a task of pairs or ratings, whose results stand on pages of their own.
    """
    require_fit(task, AQER, Missing(gettext("The results of this task stand on other pages.")))
    run = reads.shown_run(task, number_of(request))
    return run, {
        **run_frame(task, run),
        "view": view,
        "runs": reads.finished_runs(task),
        "keep": kept_run(request, run, "?"),
        "tables": tuple(exports.TABLES),
    }


def method_frame(task: Task, run: Run | None, *, view: str, method: str) -> dict[str, Any]:
    """What the page of another method on a task's texts says of its run."""
    return {
        "task": task,
        "title": reads.title_of(task),
        "run": run,
        "view": view,
        "keep": "",
        "runs": [],
        "active": reads.active_of(task, method),
        "method": method,
    }


@login_required
@require_safe
def results(request: HttpRequest, project_id: int) -> HttpResponse:
    """The tasks with results; the one task's results where there is one only."""
    access = get_access(request, project_id)
    rows = overview_results.tasks(access.project)
    if len(rows) == 1:
        return redirect("task_results", project_id, rows[0].task.pk)
    return render(request, "evaluation/free_text/tasks.html", {"rows": rows})


def empty_page(request: HttpRequest, task: Task, context: dict[str, Any]) -> HttpResponse:
    """What stands there before the first finished run."""
    first = schedules.first_run(task)
    sentence, why = reads.first_run_words(first.enough, first.others, first.missing)
    context.update(first=first, sentence=sentence, why=why)
    if context["last"] is not None:
        context["last_live"] = reads.live_run(context["last"])
    return render(request, "evaluation/free_text/empty.html", context)


@login_required
@require_safe
def workers(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The workers' leaderboard; pairs and ratings have pages of their own."""
    _, task = get_task(request, project_id, task_id)
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
            run,
            told,
            by=by,
            ascending=ascending,
            page=request.GET.get("page"),
            keep=kept_run(request, run),
        )
    )
    context.update(run_facts.rail(run, told, context["names"]), tally=votes_used.tally_of(told))
    place = run_facts.first_place(told, context["rows"], "workers")
    chooses = context["chooses"] and context["standing"].is_official
    # What comes first takes the place of everything that would be asked for here.
    context["verdict"] = (
        place
        if context["first_step"]
        else run_facts.after_workers(run, place, told, context["warnings"], chooses=chooses)
    )
    return render(request, "evaluation/free_text/workers.html", context)


@login_required
@require_safe
def systems(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The language models' leaderboard, beside what workers reach."""
    _, task = get_task(request, project_id, task_id)
    run, context = frame(request, task, "systems")
    if run is None:
        return empty_page(request, task, context)
    told = reads.figures_of(run)
    context.update(board_pages.systems(run, told), tally=votes_used.tally_of(told))
    context["recipe"] = reads.recipe_pairs(run, told.get("recipe"))
    place = run_facts.first_place(told, context["rows"], "models")
    context["verdict"] = place.then(next_steps.of_place(place, task))
    return render(request, "evaluation/free_text/systems.html", context)


@login_required
@require_safe
def convergence(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """How the weights settled, and whose order the iterating turned round."""
    _, task = get_task(request, project_id, task_id)
    run, context = frame(request, task, "convergence")
    if run is None:
        return empty_page(request, task, context)
    told = reads.figures_of(run)
    context.update(run_facts.convergence(run, told))
    return render(request, "evaluation/free_text/convergence.html", context)


@login_required
@require_safe
def export(request: HttpRequest, project_id: int, task_id: int) -> HttpResponseBase:
    """Scores of a finished run: one table as CSV or JSONL, or all of them with a manifest."""
    _, task = get_task(request, project_id, task_id)
    return send(request, reads.shown_run(task, number_of(request)))


def send(request: HttpRequest, run: Run | None) -> HttpResponseBase:
    """A table of a finished run as a file, or all of them in one.

    Missing where there is no run; Invalid names a table or format that is not known.
    """
    if run is None:
        raise Missing(gettext("This task has no finished run to export."))
    table, form = request.GET.get("table", "all"), request.GET.get("format", "csv")
    name = f"task-{run.task_id}-run-{run.number}-{table}"
    if table == "all":
        response = HttpResponse(exports.archive(run, form), content_type="application/zip")
        response["Content-Disposition"] = f'attachment; filename="{name}-{form}.zip"'
        return response
    exports.check(run, table, form)
    lines: Iterator[str] = exports.lines(run, table, form)
    streamed = StreamingHttpResponse(lines, content_type=exports.FORMATS[form])
    streamed["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return streamed


def send_csv(run: Run, name: str, content: str) -> HttpResponse:
    """Figures of a run that a page draws, as a table of their own."""
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    file = f"task-{run.task_id}-run-{run.number}-{name}.csv"
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    return response


@login_required
@require_safe
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
        verdict=disagreement.what_now(run, told.get("camps", []), least),
        warnings=warnings.of_questions(run, told, names, numbers),
        page=page,
        rows=[(numbers[row.item_id], row) for row in page.object_list],
        sort=sort,
        groups=question_reads.groups_of(task),
        group=group,
        state_words=state_words(run),
        recipe=reads.recipe_pairs(run, told.get("recipe")),
    )
    return render(request, "evaluation/free_text/questions.html", context)


@login_required
@require_safe
def question(request: HttpRequest, project_id: int, task_id: int, item_id: int) -> HttpResponse:
    """One question: its answers by score, the best one, and where people disagree."""
    _, task, item = get_item(request, project_id, task_id, item_id)
    run, context = frame(request, task, "questions")
    if run is None:
        return empty_page(request, task, context)
    told = reads.figures_of(run, "clusters", "recipe", "camps")
    context.update(
        question=question_reads.question(run, item, told),
        recipe=reads.recipe_pairs(run, told.get("recipe")),
    )
    return render(request, "evaluation/free_text/question.html", context)
