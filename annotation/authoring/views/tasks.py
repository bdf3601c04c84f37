"""A project's tasks: the list, a new one, and the page of one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import hooks
from annotation.access import get_access, get_task, open_to_viewers
from annotation.accounts.projects.forms import TaskForm, add_errors
from annotation.authoring.actions import tasks as actions
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.planned import of_planned
from annotation.authoring.selectors.tasks import (
    TaskRow,
    domains_of,
    task_row,
    versions_of,
)
from annotation.authoring.views.builder.parts import builder_of
from annotation.authoring.views.lists import task_listing
from annotation.formats.exports.pairwise import exports_of
from annotation.formats.registry import formats_listed
from annotation.gallery.templates import gallery
from annotation.lists.pages import list_page
from annotation.models import Role
from annotation.models.tasks import TaskState
from annotation.pairs.actions import derived_tasks as chain
from annotation.pairs.selectors import chain_of
from annotation.panels.selectors import count_left_out, list_excluded_workers
from annotation.payouts.selectors.next_steps import next_steps
from annotation.payouts.selectors.proposals import waiting_by_task
from annotation.task_types import TYPES
from crowdqc import numbers
from crowdqc.errors import Invalid, LimitExceeded


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@open_to_viewers
def task_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """The tasks of a project, each with its next step."""
    access = get_access(request, project_id)
    tasks = access.project.tasks
    waiting = waiting_by_task(access.project)
    context = {
        "tasks": tasks.count(),
        "open": tasks.filter(state=TaskState.OPEN).count(),
        "waiting": sum(row["n"] for row in waiting.values()),
    }
    template = "annotation/authoring/task_list.html"
    return list_page(request, access, task_listing(access), template, context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_new(request: HttpRequest, project_id: int) -> HttpResponse:
    access = get_access(request, project_id, Role.REQUESTER)
    types = {slug: (str(one.label), str(one.sentence)) for slug, one in TYPES.items()}
    form = TaskForm(request.POST or None, types=types, initial={"type": next(iter(types))})
    if request.method == "POST" and form.is_valid():
        try:
            task = actions.create_task(by=access.user, project=access.project, **form.cleaned_data)
        except (Invalid, LimitExceeded) as error:
            add_errors(form, error)
        else:
            return redirect("task_build", project_id, task.pk)
    context = {"access": access, "project": access.project, "form": form, **gallery(access.project)}
    status = 422 if form.errors else 200
    return render(request, "annotation/authoring/task_new.html", context, status=status)


def _sentence(row: TaskRow) -> str:
    """The state of a task in one line, with its numbers."""
    task = row.task
    if task.state == TaskState.DRAFT:
        if row.type.has_styles:  # its items are what is wanted
            asked = numbers.plural(row.planned, row.noun)
            return gettext("%(items)s asked for, nothing published yet.") % {"items": asked}
        asked = numbers.plural(row.questions, row.noun)
        return gettext("%(items)s, nothing published yet.") % {"items": asked}
    said = [_collected_words(row)]
    if task.state == TaskState.PAUSED:
        said.append(gettext("Nothing is handed out; what is in progress may be finished."))
    elif task.state == TaskState.CLOSED:
        said.append(gettext("No new assignments are given out."))
    if task.state == TaskState.OPEN and row.complete:
        said.append(gettext("Every slot is filled."))
    elif row.leased:
        work = {"assignments": numbers.plural(row.leased, "assignment")}
        said.append(gettext("%(assignments)s in progress.") % work)
    return " ".join(said)


def _collected_words(row: TaskRow) -> str:
    """How many answers there are of those planned; an import may bring more."""
    answers = numbers.plural(row.answers, row.answer_noun)
    if row.answers <= row.planned:
        answers = numbers.plural(row.planned, row.answer_noun)
        done = numbers.count(row.answers)
        return gettext("%(done)s of %(answers)s collected.") % {"done": done, "answers": answers}
    if row.is_imported:
        return gettext("%(answers)s imported.") % {"answers": answers}
    values = {
        "answers": answers,
        "planned": numbers.count(row.planned),
        "pending": numbers.count(row.pending),
    }
    if row.pending:
        words = gettext("%(answers)s collected, %(planned)s planned, %(pending)s outstanding.")
        return words % values
    return gettext("%(answers)s collected, %(planned)s planned.") % values


def _cost_words(row: TaskRow, currency: str) -> str:
    words = gettext("%(most)s at most, once all is done")
    if row.progress.money.fee_percent:
        words = gettext("%(most)s at most with the platform’s fee, once all is done")
    return words % {"most": numbers.money(row.cost_limit, currency)}


@login_required
@require_safe
@open_to_viewers
def task(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """State, progress, versions, and the one next thing to do."""
    access, task = get_task(request, project_id, task_id)
    row, currency = task_row(task), access.project.currency
    exports = exports_of(task).items() if task.current else ()
    figures: list[dict[str, Any]] = [
        {
            "label": numbers.several(row.answer_noun).capitalize(),
            "value": numbers.count(row.answers),
            "of": "" if row.is_imported else of_planned(row.answers, row.planned),
            "done": row.filled,
            "total": row.planned,
        },
        {
            "label": gettext("Assignments submitted"),
            "value": numbers.count(row.submitted),
            "of": row.progress.of_needed,
        },
        {
            "label": gettext("Awaiting review"),
            "value": numbers.count(row.waiting),
            "note": gettext("submitted, in no proposal yet"),
        },
        {
            "label": gettext("Paid so far"),
            "value": numbers.money(row.paid_out, currency),
            "of": gettext("of %(approved)s approved")
            % {"approved": numbers.money(row.approved, currency)},
            "note": _cost_words(row, currency),
        },
    ]
    context = {
        "access": access,
        "project": access.project,
        "task": task,
        "row": row,
        "version": row.version,
        "next": next_steps(access, [row]).get(task.pk) if access.is_staff else None,
        "figures": figures if access.is_staff else figures[:2],  # a viewer sees no money
        "sentence": _sentence(row),
        "verdict": hooks.task_verdict(task),
        "outlook": hooks.task_outlook(access, row) if access.is_staff else None,
        "versions": versions_of(task),
        "topics": task.groups.in_version(row.version.number).count(),
        "chain": chain_of(task) if row.type.has_styles and task.current else None,
        "cost": Build(task).cost(),
        "moves": _moves(task.state) if access.is_requester else [],
        "builder": builder_of(task, row.version),
        "imports": formats_listed(task, row.version.settings),
        "exports": [(k, one) for k, one in exports if access.is_staff or not one.is_of_work],
        "panels": access.project.panels.all(),
        **list_excluded_workers(task),
        "rejected": count_left_out(task),
        "domains": domains_of(access.project),
    }
    return render(request, "annotation/authoring/task.html", context)


MOVES = {  # the open state first: what may be done, what it is called, what happens
    "pause": (
        gettext_lazy("Pause"),
        gettext_lazy("Pause the task"),
        gettext_lazy("Nothing more is handed out until you resume. Work in hand may be finished."),
    ),
    "close": (
        gettext_lazy("Close"),
        gettext_lazy("Close the task"),
        gettext_lazy("Nothing more is handed out. Work in hand may be finished and is paid."),
    ),
    "resume": (
        gettext_lazy("Resume"),
        gettext_lazy("Resume the task"),
        gettext_lazy("Assignments are handed out again."),
    ),
    "reopen": (
        gettext_lazy("Reopen"),
        gettext_lazy("Reopen the task"),
        gettext_lazy("Assignments are handed out again."),
    ),
}


def _moves(state: str) -> list[dict[str, Any]]:
    return [
        {"slug": slug, "open": MOVES[slug][0], "do": MOVES[slug][1], "sentence": MOVES[slug][2]}
        for slug, (sources, _) in actions.MOVES.items()
        if state in sources
    ]


@login_required
@require_POST
def task_judge(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Create a task in which the responses of this one are judged, and go to its texts."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    type = request.POST.get("type", "pairwise")
    judged = chain.judge_responses(by=access.user, task=task, type=type)
    if judged.begun:
        texts = numbers.plural(judged.new, "new text")
        messages.success(
            request,
            gettext("A task that judges these responses is begun: %(texts)s.") % {"texts": texts},
        )
    elif judged.new:
        texts = numbers.plural(judged.new, "new text")
        messages.success(
            request,
            gettext("%(texts)s came to the task that judges these responses.") % {"texts": texts},
        )
    else:
        messages.info(request, gettext("Nothing new: every response that counts is here already."))
    return redirect(reverse("task_build", args=[project_id, judged.task.pk]) + "?part=texts")


@login_required
@require_POST
def task_move(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Pause, resume, close or reopen."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    task = actions.move(by=access.user, task=task, to=request.POST.get("to", ""))
    messages.success(
        request, gettext("The task is %(state)s.") % {"state": task.get_state_display().lower()}
    )
    return redirect("task", project_id, task_id)


@login_required
@require_POST
def task_pace(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save the assignments per day that a task is planned with."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    typed = request.POST.get("per_day", "").strip()
    try:
        actions.plan_pace(
            by=access.user, task=task, per_day=numbers.parse_whole(typed) or 0 if typed else None
        )
    except Invalid as error:
        messages.error(request, error.message)
    return redirect("task", project_id, task_id)


@login_required
@require_POST
def task_domain(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save the domain that a task belongs to."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    try:
        task = actions.set_domain(by=access.user, task=task, domain=request.POST.get("domain", ""))
    except Invalid as error:
        messages.error(request, error.message)
    else:
        said = gettext("It is in no domain now.")
        if task.domain:
            said = gettext("The task is about “%(domain)s”.") % {"domain": task.domain}
        messages.success(request, said)
    return redirect("task", project_id, task_id)
