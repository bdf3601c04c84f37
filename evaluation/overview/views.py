"""The project's first page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.access import get_access, get_task, open_to_viewers
from annotation.authoring.selectors.forecast import forecast_of
from annotation.authoring.selectors.tasks import task_row
from annotation.gallery.templates import gallery
from annotation.models import Role
from annotation.models.tasks import TaskState
from crowdqc.errors import Missing
from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.params import Param
from evaluation.overview import selectors as overview
from evaluation.overview.search import search
from evaluation.overview.started import started
from evaluation.overview.todo import todos
from evaluation.runs.adapters import adapter_of, precision
from evaluation.runs.forms import field_of
from evaluation.runs.pages import number_of
from evaluation.runs.planning.plans import find_plan, planner_of
from evaluation.runs.planning.price import PAY, UNITS
from evaluation.runs.selectors import lists

HIDDEN = (
    "start_hidden"  # in the session: projects whose first steps the person does not want to see
)


@login_required
@require_safe
@open_to_viewers
def project(request: HttpRequest, project_id: int) -> HttpResponse:
    """Where the project stands, and what the next thing to do is."""
    access = get_access(request, project_id)
    if access.is_viewer:  # the page is of cost and of what waits for somebody
        return redirect("results", project_id)
    found = overview.facts(access)
    show = request.GET.get("show", "")
    start = started(found) if access.is_requester else None
    if start and (start.complete or project_id in request.session.get(HIDDEN, [])):
        start = None
    team = overview.team_size(access.project) if start else None
    context = {
        "found": found,
        "rows": overview.filter_rows(found, show),
        "show": show,
        "shows": [(name, _(label)) for name, label in overview.SHOWS],
        "start": start,
        **({**gallery(access.project), "team": team} if start else {}),
        "state": overview.state(found),
        "figures": overview.figures(found) if found.rows else [],
        "todos": todos(found),
        "chart": overview.cost_chart(found),
        "first_waiting": next(iter(found.waiting), None),
        "waiting_tasks": len(found.waiting),
    }
    return render(request, "evaluation/overview/overview.html", context)


@login_required
@require_safe
def project_search(request: HttpRequest, project_id: int) -> HttpResponse:
    """Tasks, items, people and runs of the project that hold the words."""
    access = get_access(request, project_id)
    asked = request.GET.get("q", "")
    context = {"asked": asked, "found": search(access, asked)}
    return render(request, "evaluation/overview/search.html", context)


@login_required
@require_POST
def project_start_hide(request: HttpRequest, project_id: int) -> HttpResponse:
    """Hide the first steps of a project, for this person until they sign out."""
    get_access(request, project_id, Role.REQUESTER)
    hidden = {*request.session.get(HIDDEN, []), project_id}
    request.session[HIDDEN] = sorted(hidden)
    return redirect("project", project_id)


@login_required
@require_safe
def task_precision(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Show how precise a task's results will be; ``line`` shows a short form."""
    access, task = get_task(request, project_id, task_id)
    context = {"access": access, "found": precision(task), "line": "line" in request.GET}
    return render(request, "evaluation/overview/precision.html", context)


class PlanForm(forms.Form):
    """What a planned study should reach, and with whom."""

    def __init__(self, *args: Any, options: Sequence[Param], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for one in options:
            self.fields[one.name] = field_of(one)


@login_required
@require_safe
def task_plan(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Show by simulation how many votes per item a task needs."""
    access, task = get_task(request, project_id, task_id)
    planner = planner_of(task)
    if planner is None:
        raise Missing(_("There is no plan for tasks of this type."))
    run = lists.shown_run(task, number_of(request))
    options = planner.options(task, run)
    units = {**planner.units, **UNITS, PAY: task.project.currency}
    asked = any(one.name in request.GET for one in options)
    values = {one.name: one.default for one in options}
    # An address may name some of them: numbers that came later have their usual value.
    written = PlanForm(options=options).fields
    usual = {
        name: str(written[name].prepare_value(value))
        for name, value in values.items()
        if value is not None and not isinstance(value, bool)
    }
    form = PlanForm({**usual, **request.GET.dict()} if asked else None, options=options)
    context: dict[str, Any] = {
        "access": access,
        "task": task,
        "title": lists.title_of(task),
        "run": run,
        "results": reverse(adapter_of(task).results, args=[project_id, task_id]),
        "planner": planner,
        "form": form,
        "start": planner.start(task, run, usual),
        "forecast": forecast_of(task_row(task)) if task.state == TaskState.OPEN else None,
        "fields": [(form[one.name], units.get(one.name, "")) for one in options],
        "why": "",
    }
    if not asked or form.is_valid():
        try:
            plan = find_plan(planner, task, run, form.cleaned_data if asked else values)
            context.update(plan=plan, waiting=plan is None)
        except BadParameter as problem:
            context["why"] = _("This cannot be simulated: %(problem)s.") % {"problem": problem}
    return render(request, "evaluation/overview/plan.html", context)
