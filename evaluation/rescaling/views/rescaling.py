"""Ratings rescaled by their explanations: results, imported scores, runs on them. HTTP only."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import get_task
from annotation.accounts.projects.forms import add_errors
from annotation.files.reading.limits import AT_ONCE, check_size
from annotation.models import Role, Task
from crowdqc.errors import DomainError, Missing
from crowdqc.numbers import count
from evaluation.models import LanguageModel, Run
from evaluation.published.studies import rescaling_import
from evaluation.rescaling import run as rescaling
from evaluation.rescaling.forms import ImportedForm, ScoresForm
from evaluation.rescaling.selectors import boards as reads
from evaluation.rescaling.selectors import pairs as rescaling_pairs
from evaluation.rescaling.selectors import scorer as rescaling_scorer
from evaluation.rescaling.selectors import use as rescaling_use
from evaluation.rescaling.training import training_lines
from evaluation.runs import engine as runs
from evaluation.runs.engine import ACTIVE
from evaluation.runs.next_actions import page_screen
from evaluation.runs.pages import kept_run, number_of, view_links
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors.lists import title_of
from evaluation.runs.study_state import read_state


def study(request: HttpRequest, project_id: int, task_id: int, *roles: str) -> tuple[Any, Task]:
    """A rating task, for people who hold one of ``roles`` (default: staff)."""
    access, task = get_task(request, project_id, task_id, *roles)
    require_fit(task, rescaling.SLUG, Missing(gettext("This task does not ask for ratings.")))
    return access, task


def _run(request: HttpRequest, task: Task) -> Run | None:
    number = number_of(request)
    rows = reads.finished(task)
    run = rows.first() if number is None else rows.filter(number=number).first()
    if run is None and number is not None:
        raise Missing(
            gettext("This task has no finished rescaling run %(number)s.") % {"number": number}
        )
    return run


@login_required
@require_safe
def results(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Show a section (``?view=``) of the newest rescaling run, or of the run asked for."""
    _, task = study(request, project_id, task_id)
    view = request.GET.get("view", "overview")
    if view not in reads.VIEWS:
        raise Missing(gettext("The results have no such section."))
    run = _run(request, task)
    context = _frame(task, run, view, kept_run(request, run))
    if run is None:
        return render(request, "evaluation/rescaling/empty.html", context)
    told = reads.figures_and_names(run, view)
    context.update(
        _section(request, task, told, view),
        told=told,
        sentence=reads.sentence(told),
        screen=page_screen(context["study_state"], reads.agreement_findings(told)),
        recipe=reads.recipe(told),
        calls=told.figures["recipe"]["calls"],
        variant=reads.variant_of(told.figures["recipe"]["calls"]),
        told_words=reads.told_words(told.figures["recipe"]["calls"]),
    )
    return render(request, f"evaluation/rescaling/{view}.html", context)


@login_required
@require_safe
def tuning_file(request: HttpRequest, project_id: int, task_id: int) -> StreamingHttpResponse:
    """Scored explanations of a rescaling run as examples to tune a language model on."""
    _, task = study(request, project_id, task_id, Role.REQUESTER)
    run = _run(request, task)
    if run is None:
        raise Missing(gettext("No explanation was scored yet."))
    response = StreamingHttpResponse(training_lines(run), content_type="application/jsonl")
    response["Content-Disposition"] = f'attachment; filename="tuning-run-{run.number}.jsonl"'
    return response


def _frame(task: Task, run: Run | None, view: str, keep: str) -> dict[str, Any]:
    labels = [(slug, gettext(label)) for slug, (label, _) in reads.VIEWS.items()]
    usable = LanguageModel.objects.usable(task.project_id, LanguageModel.Use.CHAT)
    active = task.runs.filter(method=rescaling.SLUG, state__in=ACTIVE).first()
    return {
        "task": task,
        "study_state": read_state(task, run, active=active) if run is not None else None,
        "title": title_of(task),
        "view": view,
        "run": run,
        "keep": keep,
        "views": view_links(task, "rescaling", labels, view, keep),
        "run_choices": list(reads.finished(task)[: reads.SHOWN_RUNS]),
        "active": active,
        "has_model": usable.exists(),
        "imports": reads.importable(task),
    }


def _section(
    request: HttpRequest, task: Task, told: reads.NamedFigures, view: str
) -> dict[str, Any]:
    page, wanted = request.GET.get("page"), request.GET.dict()
    if view == "scale":
        return rescaling_use.scale(told, page)
    if view == "pairs":
        return rescaling_pairs.pairs(told, wanted, page)
    if view == "moved":
        return rescaling_use.moved_items(told, task, wanted, page)
    if view == "scorer":
        return rescaling_scorer.scorer(task)
    if view == "variants":
        return reads.variants(told, task)
    return reads.ensembles(told) if view == "ensemble" else reads.overview(told)


def _form_page(
    request: HttpRequest, task: Task, form: forms.Form, name: str, status: int, **more: Any
) -> HttpResponse:
    context = {"task": task, "title": title_of(task), "form": form, **more}
    return render(request, f"evaluation/rescaling/{name}.html", context, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def scores(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Take in scores that a model gave elsewhere."""
    access, task = study(request, project_id, task_id, Role.REQUESTER)
    if request.method != "POST":
        return _form_page(request, task, ScoresForm(task=task), "scores", 200)
    form = ScoresForm(request.POST, request.FILES, task=task)
    if not form.is_valid():
        return _form_page(request, task, form, "scores", 422)
    given = form.cleaned_data
    try:
        check_size(given["file"].size or 0, AT_ONCE)
        held, new = rescaling_import.import_file(
            by=access.user,
            task=task,
            name=given["file"].name,
            content=given["file"].read(),
            model=given["model_name"],
            prompt=given["prompt"],
            scale=given["scale"],
        )
    except DomainError as error:
        add_errors(form, error)
        return _form_page(request, task, form, "scores", error.status, rows=error.rows)
    said = (
        gettext("%(scores)s scores are taken in. Rescale from them now.")
        if new
        else gettext("%(scores)s scores were there already. Rescale from them now.")
    )
    messages.success(request, said % {"scores": count(held.params["calls"])})
    return redirect("rescaling_run", project_id, task_id)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def run_imported(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Start a run on imported scores; no endpoint is needed."""
    access, task = study(request, project_id, task_id)
    if request.method != "POST":
        return _form_page(request, task, ImportedForm(task=task), "run", 200)
    form = ImportedForm(request.POST, task=task)
    if not form.is_valid():
        return _form_page(request, task, form, "run", 422)
    params = form.params()
    try:
        started = runs.start(
            by=access.user,
            task=task,
            method=rescaling.SLUG,
            params=params,
            lane=f"import/{params['imported']}",
        )
    except DomainError as error:
        add_errors(form, error)
        return _form_page(request, task, form, "run", error.status)
    return redirect("run", project_id, started.number)
