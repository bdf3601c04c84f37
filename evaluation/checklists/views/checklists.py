"""Attributes of a think-aloud, and checklists made from them. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_access, get_task
from annotation.accounts.projects.forms import add_errors
from annotation.models import Candidate, Role, Task
from crowdqc.errors import DomainError, Missing
from crowdqc.numbers import parse_whole
from evaluation.checklists.making import actions, pipeline
from evaluation.checklists.making.diversity import SLUG
from evaluation.checklists.making.forms import ChecklistForm, TaskForm, WhoseForm
from evaluation.checklists.making.runs import dimensions
from evaluation.checklists.selectors import attributes as checklists_attributes
from evaluation.checklists.selectors import lists as reads
from evaluation.checklists.selectors.comparison import diversity_charts
from evaluation.models import Checklist
from evaluation.runs.official.standing import run_standing
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as runs


def get_think_aloud_task(
    request: HttpRequest, project_id: int, task_id: int, *roles: str
) -> tuple[Access, Task]:
    """A think-aloud task of the project; Missing for another type."""
    access, task = get_task(request, project_id, task_id, *roles)
    require_fit(task, SLUG, Missing(_("This task does not ask anybody to think aloud.")))
    return access, task


def get_checklist(
    request: HttpRequest, project_id: int, checklist_id: int, *roles: str
) -> tuple[Access, Checklist]:
    """Return access and a checklist of the project."""
    access = get_access(request, project_id, *roles)
    return access, pipeline.get_checklist(access.project.pk, checklist_id)


@login_required
@require_safe
def attributes(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Page of attributes: their diversity by condition, and the checklists made of them."""
    access, task = get_think_aloud_task(request, project_id, task_id)
    number = request.GET.get("run", "")
    told = checklists_attributes.page(task, parse_whole(number))
    context = {
        "task": task,
        "title": runs.title_of(task),
        "access": access,
        "told": told,
        "standing": run_standing(told.run),
        "checklists": reads.of_task(task),
        "charts": diversity_charts(task),
        "has_model": reads.has_model(access.project),
    }
    return render(request, "evaluation/checklists/attributes.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """A new checklist for a dimension of the task."""
    access, task = get_think_aloud_task(request, project_id, task_id, Role.REQUESTER)
    try:
        items = dimensions(task)
    except DomainError as error:
        context = {"task": task, "title": runs.title_of(task), "problem": error.message}
        return render(request, "evaluation/checklists/new.html", context)
    form = ChecklistForm(request.POST or None, task=task, items=items)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            chosen = next(item for item in items if item.pk == form.cleaned_data["item"])
            try:
                made = actions.create(
                    by=access.user,
                    task=task,
                    item=chosen,
                    name=form.cleaned_data["name"],
                    whose=form.cleaned_data["whose"],
                )
            except DomainError as error:
                add_errors(form, error)
                status = error.status
            else:
                return redirect("checklist", project_id, made.pk)
    context = {"task": task, "title": runs.title_of(task), "form": form}
    return render(request, "evaluation/checklists/new.html", context, status=status)


def _page(access: Access, checklist: Checklist) -> dict[str, Any]:
    found = pipeline.authors(pipeline.attributes_of(checklist.task, checklist.item))
    return {
        "access": access,
        "checklist": checklist,
        "task": checklist.task,
        "title": runs.title_of(checklist.task),
        "page": reads.page(checklist),
        "about": pipeline.subject_of(checklist.item),
        "whose": WhoseForm(authors=found),
        "has_model": reads.has_model(access.project),
    }


@login_required
@require_safe
def checklist(request: HttpRequest, project_id: int, checklist_id: int) -> HttpResponse:
    """Page of a checklist with all its stages."""
    access, found = get_checklist(request, project_id, checklist_id)
    return render(request, "evaluation/checklists/checklist.html", _page(access, found))


@login_required
@require_safe
def stages_fragment(request: HttpRequest, project_id: int, checklist_id: int) -> HttpResponse:
    """Fragment of the stages; it reloads itself while a model works on one."""
    access, found = get_checklist(request, project_id, checklist_id)
    context = _page(access, found)
    response = render(request, "evaluation/checklists/_stages.html", context)
    if not context["page"].active:
        response["HX-Refresh"] = "true"  # the header and the rail have changed as well
    return response


@login_required
@require_POST
def take_attributes(request: HttpRequest, project_id: int, checklist_id: int) -> HttpResponse:
    """Take the attributes that there are now into the first stage."""
    access, found = get_checklist(request, project_id, checklist_id, Role.REQUESTER)
    row = actions.take_attributes(
        by=access.user, checklist=found, whose=str(request.POST.get("whose", ""))
    )
    messages.success(
        request, _("%(data)s attributes stand in the checklist now.") % {"data": len(row.data)}
    )
    return redirect("checklist", project_id, checklist_id)


@login_required
@require_POST
def freeze(request: HttpRequest, project_id: int, checklist_id: int) -> HttpResponse:
    """Freeze the validated questions as a version."""
    access, found = get_checklist(request, project_id, checklist_id, Role.REQUESTER)
    version = actions.freeze(by=access.user, checklist=found)
    messages.success(
        request,
        _("Version %(number)s is frozen; nothing changes it any more.")
        % {"number": version.number},
    )
    return redirect("checklist_version", project_id, checklist_id, version.number)


def _version_page(
    request: HttpRequest,
    access: Access,
    found: Checklist,
    number: int,
    *,
    form: Any = None,
    status: int = 200,
) -> HttpResponse:
    version = reads.get_version(found, number)
    title = _("%(name)s, version %(number)s") % {"name": found.name, "number": version.number}
    context = {
        "access": access,
        "checklist": found,
        "task": found.task,
        "version": version,
        "title": runs.title_of(found.task),
        "parts": reads.by_component(version),
        "tasks": reads.tasks_of(version),
        "form": form or TaskForm(topics=reads.topics(access.project), initial={"title": title}),
    }
    return render(request, "evaluation/checklists/version.html", context, status=status)


@login_required
@require_safe
def version(request: HttpRequest, project_id: int, checklist_id: int, number: int) -> HttpResponse:
    """Page of a frozen version: its questions with their attributes."""
    access, found = get_checklist(request, project_id, checklist_id)
    return _version_page(request, access, found, number)


@login_required
@require_POST
def make_task(
    request: HttpRequest, project_id: int, checklist_id: int, number: int
) -> HttpResponse:
    """A task in which people answer the version."""
    access, found = get_checklist(request, project_id, checklist_id, Role.REQUESTER)
    frozen = reads.get_version(found, number)
    form = TaskForm(request.POST, topics=reads.topics(access.project))
    if not form.is_valid():
        return _version_page(request, access, found, number, form=form, status=422)
    chosen = Candidate.objects.filter(
        project=access.project, topic__in=form.cleaned_data.get("topics") or []
    ).order_by("pk")
    percent = form.cleaned_data.get("percent") or 100
    try:
        made = actions.make_task(
            by=access.user,
            version=frozen,
            title=form.cleaned_data["title"],
            texts=actions.sample_texts(frozen, list(chosen), percent),
            key=form.cleaned_data["key"],
        )
    except DomainError as error:
        add_errors(form, error)
        return _version_page(request, access, found, number, form=form, status=error.status)
    messages.success(
        request, _("The task is a draft. Choose its texts and rules, then publish it.")
    )
    return redirect("task_build", project_id, made.pk)
