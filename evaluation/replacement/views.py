"""The page that says whether a model may replace a person. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import STAFF, get_task
from annotation.models import Role, Task
from crowdqc.errors import Conflict, Invalid, Missing
from crowdqc.numbers import parse_whole, plural
from evaluation.models import Run
from evaluation.replacement import actions, next_items
from evaluation.replacement import selectors as reads
from evaluation.replacement.selectors import asking, files, judging
from evaluation.replacement.selectors.first_step import first_step
from evaluation.results.images import POLICY
from evaluation.runs.next_actions import page_screen
from evaluation.runs.pages import number_of
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as run_reads
from evaluation.runs.sharing.selectors import menu_of
from evaluation.runs.study_state import read_state


@login_required
@require_safe
def results(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """A verdict a model; ``?model=`` opens one model's people."""
    task, run, context = _frame(request, project_id, task_id, "verdict")
    if run is None:
        requester = context["access"].is_requester
        context["step"] = first_step(task, context["method"], requester=requester)
    else:
        told = run_reads.figures_of(run)
        context.update(
            reads.page(run, told, model=number_of(request, "model")),
            recipe=run_reads.recipe_pairs(run, told.get("recipe")),
        )
        context["screen"] = page_screen(context["study_state"], context["findings"])
        if not context["access"].is_requester:
            context["offer"] = {}
    return render(request, "evaluation/replacement/page.html", context)


def _frame(
    request: HttpRequest, project_id: int, task_id: int, view: str
) -> tuple[Task, Run | None, dict[str, Any]]:
    """The task, its run and what both pages share."""
    access, task = get_task(request, project_id, task_id)
    otherwise = Missing(
        gettext(
            "Models can be tested on free text, labels, judgments of pairs, ratings and checklists."
        )
    )
    method = reads.method_of(task)
    require_fit(task, method, otherwise)
    run = reads.shown_run(task, number_of(request))
    active = run_reads.active_of(task, method)
    context = {
        "task": task,
        "access": access,
        "study_state": read_state(task, run, active=active) if run is not None else None,
        "title": run_reads.title_of(task),
        "run": run,
        "active": active,
        "method": method,
        "view": view,
        "export_charts": files.CHARTS,
        **menu_of(run),
    }
    return task, run, context


@login_required
@require_safe
def judges(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Leanings, calibration, drift and versions of one model, and all models as a panel."""
    _, run, context = _frame(request, project_id, task_id, "judges")
    if run is None:
        raise Missing(gettext("Test the models first; then this page says how they judge."))
    told = run_reads.figures_of(run, *judging.FIGURES)
    context.update(
        judging.page(run, told, number_of(request, "model")),
        recipe=run_reads.recipe_pairs(run, told.get("recipe")),
    )
    return render(request, "evaluation/replacement/judges.html", context)


@login_required
@require_safe
def export(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """One table of a run as CSV (``?table=``), or one chart of its page as SVG (``?chart=``)."""
    task, run, _ = _frame(request, project_id, task_id, "")
    if run is None:
        raise Missing(gettext("Test the models first; then there is something to download."))
    told = run_reads.figures_of(run)
    name = request.GET.get("chart") or request.GET.get("table", "")
    file = f"task-{task.pk}-run-{run.number}-{name}"
    if "chart" in request.GET:
        page = reads.page(run, told, model=number_of(request, "model"))
        drawn = files.chart(run, page, name, run_reads.title_of(task))
        response = HttpResponse(drawn, content_type="image/svg+xml; charset=utf-8")
        response["Content-Security-Policy"] = POLICY
        file += ".svg"
    else:
        content = files.table(run, told, name)
        response = HttpResponse(content, content_type="text/csv; charset=utf-8")
        file += ".csv"
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    return response


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def ask_people(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """What asking people about more items would cost and show; POST draws them and asks."""
    roles = (Role.REQUESTER,) if request.method == "POST" else STAFF
    access, task = get_task(request, project_id, task_id, *roles)
    run = reads.shown_run(task)
    if run is not None and run.method != reads.SLUG:
        raise Missing(next_items.OF_TEXTS)
    if run is None:
        raise Missing(gettext("Test the models first; then people can be asked about more items."))
    given = request.POST if request.method == "POST" else request.GET
    told = run_reads.figures_of(run, "frame", "model", "curve", "combined")
    chosen = asking.chosen_of(
        told,
        round(100 * run.params["epsilon"]),
        model=parse_whole(given.get("model")),
        wanted=parse_whole(given.get("wanted")),
        way=given.get("way", ""),
        # A form that was sent says it by the box; the first look takes it for given.
        trusted="trusted" in given or "way" not in given,
    )
    wrong, status = "", 200
    if request.method == "POST":
        try:
            made = actions.ask_about_items(
                by=access.user, task=task, field=told["frame"]["field"][0], **chosen
            )
        except (Invalid, Conflict) as error:
            wrong, status = asking.in_words(error), error.status
        else:
            asked = gettext(
                "%(items)s will be handed out first. Run the test again once people have answered "
                "them."
            )
            messages.success(request, asked % {"items": plural(len(made.drawn), "item")})
            return redirect("replacement", project_id, task_id)
    context = {
        "task": task,
        "access": access,
        "title": run_reads.title_of(task),
        "wrong": wrong,
        **asking.page(task, run, told, chosen),
    }
    return render(request, "evaluation/replacement/ask.html", context, status=status)
