"""Ways into a task: adding, changing, and what became of who came. HTTP only."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_task
from annotation.accounts.projects.forms import add_errors
from annotation.accounts.roles.selectors import can_give_roles
from annotation.accounts.security.stepup import require_recent
from annotation.models import Recruitment, Role, User
from annotation.payouts.actions import payments
from annotation.records.actions import locks
from annotation.recruitment import selectors
from annotation.recruitment.actions import ways_in as actions
from annotation.recruitment.forms import FORMS, LetInForm, LinksForm, RecruitmentForm
from annotation.recruitment.platforms.entry_params import OUTCOMES
from annotation.work.actions import visits
from crowdqc.errors import DomainError, Invalid, Missing
from crowdqc.files.cells import csv_lines
from crowdqc.outbound.addresses import site_of

BOTH = ["GET", "HEAD", "POST"]


@login_required
@require_safe
def recruitment_list(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The task's ways in."""
    access, task = get_task(request, project_id, task_id)
    context = {
        "task": task,
        "version": task.current,
        "rows": selectors.of_task(task),
        "kinds": Recruitment.Kind.choices,
        "may": access.is_requester,
    }
    return render(request, "annotation/recruitment/ways_in/list.html", context)


@login_required
@require_http_methods(BOTH)
def recruitment_new(request: HttpRequest, project_id: int, task_id: int, kind: str) -> HttpResponse:
    """A new way into the task."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    if kind not in FORMS:
        raise Missing(_("There is no such kind of recruitment."))
    if task.current is None:
        messages.warning(request, _("Publish the task first: people would find nothing here."))
        return redirect("recruitment_list", project_id, task_id)
    _confirm_before_secrets(request, task, kind)
    start = {"name": task.current.title[:80], "entry": "bound", "audience": site_of(request)}
    form = FORMS[kind](request.POST or None, initial=start)
    if request.method == "POST" and form.is_valid():
        try:
            made = actions.add(by=access.user, task=task, kind=kind, fields=form.cleaned_data)
        except DomainError as error:
            add_errors(form, error)
        else:
            messages.success(request, _("Added. Copy its address and paste it where people start."))
            return redirect("recruitment", project_id, task_id, made.pk)
    return _form(request, task, form, None)


def _confirm_before_secrets(request: HttpRequest, task: Any, kind: str) -> None:
    """Ask who they are before the form is filled in: one with secrets is not kept over it."""
    by = cast(User, request.user)
    asks = kind == Recruitment.Kind.PROLIFIC and can_give_roles(task.project, by)
    if request.method == "GET" and asks:
        require_recent(by, _("change how payments are sent"))


def _form(
    request: HttpRequest, task: Any, form: RecruitmentForm, row: Recruitment | None
) -> HttpResponse:
    context = {
        "task": task,
        "version": task.current,
        "form": form,
        "row": row,
        "prolific": form.kind == Recruitment.Kind.PROLIFIC,
    }
    status = 422 if form.errors else 200
    return render(request, "annotation/recruitment/ways_in/form.html", context, status=status)


@login_required
@require_safe
def recruitment(
    request: HttpRequest, project_id: int, task_id: int, recruitment_id: int
) -> HttpResponse:
    """Page of one recruitment: its address, codes, visits and platform events."""
    access, task = get_task(request, project_id, task_id)
    row = selectors.get_recruitment(task, recruitment_id)
    return _page(request, access, row)


def _page(
    request: HttpRequest, access: Any, row: Recruitment, *, links: Any = None, let_in: Any = None
) -> HttpResponse:
    failed = bool(links and links.errors) or bool(let_in and let_in.errors)
    hook = reverse("platform_hook", args=[row.pk])
    context = {
        "task": row.task,
        "version": row.task.current,
        "row": row,
        "may": access.is_requester,
        "address": site_of(request) + selectors.entry_path(row),
        "hook": site_of(request) + hook,
        "prolific": row.kind == Recruitment.Kind.PROLIFIC,
        "has_api": payments.has_api(row),
        "signed": row.entry == Recruitment.Entry.SIGNED,
        "counts": selectors.counts(row),
        "codes": [(label, row.codes.get(name, "")) for name, label in OUTCOMES.items()],
        "events": selectors.last_events(row),
        "links": links or LinksForm(),
        "let_in": let_in or LetInForm(),
    }
    status = 422 if failed else 200
    return render(
        request, "annotation/recruitment/ways_in/recruitment.html", context, status=status
    )


@login_required
@require_http_methods(BOTH)
def recruitment_edit(
    request: HttpRequest, project_id: int, task_id: int, recruitment_id: int
) -> HttpResponse:
    """Change a way in; an empty secret keeps the one that is there."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    row = selectors.get_recruitment(task, recruitment_id)
    _confirm_before_secrets(request, task, row.kind)
    made = FORMS[row.kind]
    if request.method != "POST":
        return _form(request, task, made.of(row), row)
    with locks.lock_row(row):
        form = made.of(row, request.POST)
        if form.is_valid():
            try:
                actions.change(by=access.user, recruitment=row, fields=form.cleaned_data)
            except DomainError as error:
                add_errors(form, error)
    if form.errors:
        return _form(request, task, form, row)
    messages.success(request, _("It is changed."))
    return redirect("recruitment", project_id, task_id, row.pk)


@login_required
@require_POST
def recruitment_links(
    request: HttpRequest, project_id: int, task_id: int, recruitment_id: int
) -> HttpResponse:
    """Signed links as CSV: one a person."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    row = selectors.get_recruitment(task, recruitment_id)
    form = LinksForm(request.POST)
    if not form.is_valid():
        return _page(request, access, row, links=form)
    try:
        made = actions.links(by=access.user, recruitment=row, **form.cleaned_data)
    except Invalid as error:
        add_errors(form, error)
        return _page(request, access, row, links=form)
    site = site_of(request)
    links = [(name, site + selectors.signed_path(row, link)) for name, link in made]
    lines = csv_lines([("participant", "link"), *links])
    response = HttpResponse("".join(lines), content_type="text/csv")
    response["Content-Disposition"] = 'attachment; filename="links.csv"'
    return response


@login_required
@require_POST
def recruitment_let_in(
    request: HttpRequest, project_id: int, task_id: int, recruitment_id: int
) -> HttpResponse:
    """Let somebody in from another browser."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    row = selectors.get_recruitment(task, recruitment_id)
    form = LetInForm(request.POST)
    if form.is_valid():
        try:
            visits.release_visit(by=access.user, recruitment=row, **form.cleaned_data)
        except Invalid as error:
            add_errors(form, error)
        else:
            messages.success(request, _("The next browser that comes with this id is let in."))
            return redirect("recruitment", project_id, task_id, row.pk)
    return _page(request, access, row, let_in=form)
