"""Models on one task: what they can be asked, what it would cost, and starting it. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_task
from annotation.accounts.projects.forms import add_errors
from annotation.formats.registry import formats_listed
from annotation.models import Task
from crowdqc.errors import DomainError
from crowdqc.web.htmx import page_or_fragment
from evaluation.llm_runs import start as ask_start
from evaluation.llm_runs.forms import AskForm, form_of
from evaluation.llm_runs.selectors import llm_tasks
from evaluation.methods.replacement.method import METHOD as REPLACEMENT
from evaluation.models import LanguageModel
from evaluation.runs.model_answers import model_answers
from evaluation.runs.run_types import fits
from evaluation.runs.selectors import lists as run_reads


def _around(task: Task, *uses: str) -> dict[str, Any]:
    return {
        "task": task,
        "title": run_reads.title_of(task),
        "usable": LanguageModel.objects.usable(task.project_id).filter(use__in=uses).exists(),
    }


@login_required
@require_safe
def task_models(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """What models can be asked about this task, and what they were asked."""
    access, task = get_task(request, project_id, task_id)
    ways = llm_tasks.ways(task)
    settings = task.version_or_draft().settings
    context = {
        **_around(task, "chat", *(way.asking.use for way in ways)),
        "live": llm_tasks.live_runs(task),
        "answered": model_answers(task),
        "can_test": fits(task, REPLACEMENT.slug),
        "ways": ways,
        "access": access,
        "imports": [one for one in formats_listed(task, settings) if one.of_answers],
        "without": llm_tasks.options_without_model(task),
    }
    return render(request, "evaluation/llm/task.html", context)


@login_required
@require_safe
def task_models_live(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The runs alone; they ask for themselves again while one of them is in work."""
    _, task = get_task(request, project_id, task_id)
    context = {"task": task, "live": llm_tasks.live_runs(task)}
    if not getattr(request, "htmx", False):
        return redirect("task_models", project_id, task_id)
    return page_or_fragment(
        request, "evaluation/llm/_live.html", "evaluation/llm/_live.html", context
    )


def _form(task: Task, method: str, *args: Any, **kwargs: Any) -> AskForm:
    return form_of(method)(*args, task=task, **kwargs)


def _page(
    request: HttpRequest, task: Task, method: str, form: AskForm, status: int = 200
) -> HttpResponse:
    way = ask_start.find_run_spec(task, method)
    context = {
        **_around(task, way.use),
        "way": way,
        "method": method,
        "form": form,
        "without": llm_tasks.options_without_model(task),
        "by_ids": llm_tasks.shows_ids_only(task),
        "test_needs": llm_tasks.items_for_test(task, way),
    }
    if status != 200:  # of the options alone: what was refused stands above the form
        fresh = _form(task, method, request.POST)
        context.update(_previewed(task, method, fresh, agreed="agreed" in request.POST))
    return render(request, "evaluation/llm/ask.html", context, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_ask(request: HttpRequest, project_id: int, task_id: int, method: str) -> HttpResponse:
    """The options of one way of asking, and its start."""
    access, task = get_task(request, project_id, task_id)
    ask_start.find_run_spec(task, method)
    if request.method != "POST":
        initial = llm_tasks.initial_options(task, method, request.GET.get("run", ""))
        return _page(request, task, method, _form(task, method, initial=initial))
    form = _form(task, method, request.POST)
    if form.is_valid():
        try:
            run = ask_start.start(
                by=access.user,
                task=task,
                method=method,
                raw=form.params(),
                agreed="agreed" in request.POST,
            )
        except DomainError as error:
            add_errors(form, error)
            return _page(request, task, method, form, error.status)
        return redirect("run", project_id, run.number)
    return _page(request, task, method, form, 422)


def _previewed(task: Task, method: str, form: AskForm, *, agreed: bool) -> dict[str, Any]:
    """Return what these options would ask and cost, or what keeps them from it."""
    if not form.is_valid():
        found = [
            (form.fields[name].label or name.replace("_", " "), errors[0])
            for name, errors in form.errors.as_data().items()
            if name in form.fields
        ]
        return {
            "missing": [label for label, error in found if error.code == "required"],
            "wrong": [
                f"{label}: {error.messages[0]}"
                for label, error in found
                if error.code != "required"
            ],
        }
    try:
        ready = ask_start.prepare(task=task, method=method, raw=form.params())
    except DomainError as error:
        return {"wrong": [error.message]}
    return {"shown": llm_tasks.preview_in_words(task, ready), "agreed": agreed}


@login_required
@require_POST
def task_ask_preview(
    request: HttpRequest, project_id: int, task_id: int, method: str
) -> HttpResponse:
    """What the options in the form would ask and cost; asks nothing and writes nothing."""
    _, task = get_task(request, project_id, task_id)
    ask_start.find_run_spec(task, method)
    form = _form(task, method, request.POST)
    context = {"task": task, "method": method}
    context.update(_previewed(task, method, form, agreed="agreed" in request.POST))
    return render(request, "evaluation/llm/_preview.html", context)
