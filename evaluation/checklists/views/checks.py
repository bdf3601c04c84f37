"""Results of a checklist task, and human scores from a file. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from annotation.access import Access, get_task, open_to_viewers
from annotation.files.reading.limits import AT_ONCE, check_size
from annotation.models import Role, Task
from crowdqc import numbers
from crowdqc.errors import Invalid, Missing
from evaluation.checklists.filled import text_scores
from evaluation.checklists.filled.run import SLUG
from evaluation.checklists.selectors import checks as reads
from evaluation.checklists.selectors import verdicts
from evaluation.models import Run
from evaluation.runs.next_actions import page_screen
from evaluation.runs.pages import kept_run, number_of, run_frame, view_links
from evaluation.runs.results import look_alikes
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as run_reads


def _task(request: HttpRequest, project_id: int, task_id: int, *roles: str) -> tuple[Access, Task]:
    access, task = get_task(request, project_id, task_id, *roles)
    require_fit(task, SLUG, Missing(gettext("This task has no checklist.")))
    return access, task


def _beside(request: HttpRequest, task: Task) -> int | None:
    """The run asked for, where it scored texts by other means: it shows beside the newest."""
    number = number_of(request)
    if number is None:
        return None
    runs = task.runs.filter(number=number, method__in=text_scores.SCORING).exclude(method=SLUG)
    return number if runs.exists() else None


def _frame(request: HttpRequest, task: Task, view: str) -> tuple[Run | None, dict[str, Any]]:
    number = None if _beside(request, task) else number_of(request)
    run = run_reads.shown_run(task, number)
    keep = kept_run(request, run)
    return run, {
        **run_frame(task, run, noun="filled checklist"),
        "view": view,
        "views": view_links(
            task,
            "checklist_results",
            [(slug, gettext(label)) for slug, label in reads.VIEWS.items()],
            view,
            keep,
        ),
        "keep": keep,
        "page_url": reverse("checklist_results", args=[task.project_id, task.pk]),
        "study": reads.study(task),
    }


@login_required
@require_safe
@open_to_viewers
def results(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Show a section (``?view=``) of the newest finished run, or of the run asked for."""
    _, task = _task(request, project_id, task_id)
    return _page(request, task)


def _page(request: HttpRequest, task: Task, status: int = 200, **more: Any) -> HttpResponse:
    view = request.GET.get("view", "scores")
    if view not in reads.VIEWS:
        raise Missing(gettext("The results have no such section."))
    run, context = _frame(request, task, view)
    told = run_reads.figures_of(run) if run is not None else {}
    context["recipe"] = run_reads.recipe_pairs(run, told.get("recipe")) if run is not None else []
    context["told"] = told
    if view == "scores":
        setting = request.GET.get("setting", "articles")
        if setting not in reads.SETTINGS:
            raise Missing(gettext("There is no such setting."))
        context.update(
            setting=setting,
            settings={
                name: (kind, gettext(label)) for name, (kind, label) in reads.SETTINGS.items()
            },
            boards=reads.boards(task, run, setting),
            example=reads.example_score(told),
        )
        context["lacks_rho"] = any(board.lacks_rho for board in context["boards"])
        findings = verdicts.follows(task, context["boards"])
        beside = _beside(request, task)
        findings += verdicts.scored_without_people(task, beside, context["boards"])
        context["screen"] = page_screen(context["study_state"], findings)
        if run is not None:
            people = {
                one["pk"]: one["name"] for one in told["answerers"] if one["kind"] == "person"
            }
            context["look_alikes"] = look_alikes.listed(run, told, people, url=look_alikes.card_url)
    elif run is not None and view == "questions":
        context.update(_questions(request, told))
    elif run is not None and view == "texts":
        context.update(reads.texts(run, told, request.GET.get("page")))
    elif run is not None:
        context["compared"] = reads.conditions(told)
        human = bool(told.get("about", {}).get("human"))
        findings = verdicts.against_others(context["compared"]["rows"], human=human)
        context["screen"] = page_screen(context["study_state"], findings)
    context.update(more)
    return render(request, f"evaluation/checklists/filled/{view}.html", context, status=status)


def _questions(request: HttpRequest, told: dict[str, Any]) -> dict[str, Any]:
    testers = reads.testers(told)
    wanted = number_of(request, "by")
    chosen = next((row for row in testers if row["component"] == wanted), None)
    if wanted is not None and chosen is None:
        raise Missing(gettext("Nobody of this number answered."))
    chosen = chosen or (testers[0] if testers else None)
    by = chosen["component"] if chosen else -1
    return {"testers": testers, "by": chosen, "found": reads.questions(told, by)}


@login_required
@require_POST
def scores(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Take in human scores of the texts from a file."""
    access, task = _task(request, project_id, task_id, Role.REQUESTER)
    given = request.FILES.get("file")
    name = request.POST.get("name", "")
    try:
        if given is None:
            raise Invalid(
                gettext("No file was chosen."),
                fields={"file": gettext("Choose a CSV or JSONL file.")},
            )
        check_size(given.size or 0, AT_ONCE)
        run, new, count = text_scores.import_human(
            by=access.user,
            task=task,
            content=given.read(),
            file=given.name or "scores",
            name=name,
        )
    except Invalid as problem:
        return _page(request, task, problem.status, problem=problem, given_name=name)
    words = gettext("%(count)s human scores are kept as run %(number)s.") % {
        "count": numbers.count(count),
        "number": run.number,
    }
    messages.success(
        request,
        words
        if new
        else gettext("These scores are there already: run %(number)s.") % {"number": run.number},
    )
    return redirect("checklist_results", project_id, task_id)
