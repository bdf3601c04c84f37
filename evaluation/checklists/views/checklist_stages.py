"""One stage of a checklist: edited by a person, or made by a model. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.access import Access
from annotation.accounts.projects.forms import add_errors
from annotation.models import Role
from crowdqc.errors import Conflict, DomainError, Missing
from crowdqc.numbers import parse_whole
from evaluation.checklists.making import actions, editing, pipeline, stages
from evaluation.checklists.making.forms import StageAskForm
from evaluation.checklists.making.runs import MADE_BY_MODELS, STAGE
from evaluation.checklists.selectors import forms as checklist_forms
from evaluation.checklists.selectors import lists as reads
from evaluation.checklists.views.checklists import get_checklist
from evaluation.llm_runs import start as ask_start
from evaluation.llm_runs.selectors import llm_tasks
from evaluation.models import Checklist
from evaluation.runs import engine as writes
from evaluation.runs.selectors import lists as runs


def _frame(access: Access, checklist: Checklist, kind: str) -> dict[str, Any]:
    return {
        "access": access,
        "checklist": checklist,
        "task": checklist.task,
        "kind": kind,
        "title": runs.title_of(checklist.task),
        "label": str(reads.LABELS[kind]),
        "what": _(reads.ABOUT[kind]),
        "about": pipeline.subject_of(checklist.item),
        "has_model": reads.has_model(access.project),
    }


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, project_id: int, checklist_id: int, kind: str) -> HttpResponse:
    """A stage as a form; what is saved is its newest row."""
    access, checklist = get_checklist(request, project_id, checklist_id, Role.REQUESTER)
    if kind not in stages.ORDER:
        raise Missing(_("A checklist has no such stage."))
    found = pipeline.stage_states(checklist)
    context, status = _frame(access, checklist, kind), 200
    newest = found[kind].row
    asked = str(request.POST.get("row") or request.GET.get("row") or "")
    found, context["older"] = pipeline.at_row(found, checklist, kind, asked)
    try:
        pipeline.needed(found, kind)
        entries = editing.draft(kind, found)
    except Conflict as conflict:
        return _closed(request, context, conflict)
    if request.method == "POST":
        try:
            entries = editing.read(kind, request.POST, found)
            seen = str(request.POST.get("seen", ""))
            actions.save_stage(
                by=access.user,
                checklist=checklist,
                kind=kind,
                entries=entries,
                seen=parse_whole(seen),
            )
        except DomainError as error:
            context["problem"], context["fields"] = error.message, error.fields
            status = error.status
        else:
            return _saved(request, project_id, checklist, kind)
    context["form"] = checklist_forms.form(kind, entries, found)
    context["seen"] = newest.number if newest is not None else 0
    context["rows"] = reads.earlier(checklist, kind)
    return render(request, "evaluation/checklists/stage.html", context, status=status)


def _saved(request: HttpRequest, project_id: int, checklist: Checklist, kind: str) -> HttpResponse:
    messages.success(request, _("%(label)s: saved.") % {"label": str(reads.LABELS[kind])})
    if request.POST.get("do", editing.SAVE) == editing.SAVE:
        return redirect("checklist", project_id, checklist.pk)
    return redirect("checklist_stage", project_id, checklist.pk, kind)


def _closed(request: HttpRequest, context: dict[str, Any], conflict: Conflict) -> HttpResponse:
    """The stage before it is not there, so there is nothing to edit."""
    context["closed"] = conflict.message
    status = conflict.status if request.method == "POST" else 200
    return render(request, "evaluation/checklists/stage.html", context, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def ask_stage(request: HttpRequest, project_id: int, checklist_id: int, kind: str) -> HttpResponse:
    """Let a model make a stage: what would be asked and what it costs, then the run."""
    access, checklist = get_checklist(request, project_id, checklist_id, Role.REQUESTER)
    if kind not in MADE_BY_MODELS:
        raise Missing(_("A model cannot make this stage."))
    posted = request.method == "POST"
    form = StageAskForm(request.POST if posted else None, task=checklist.task, kind=kind)
    context, status = {**_frame(access, checklist, kind), "form": form}, 200
    raw: dict[str, Any] = {"checklist": checklist.pk, "stage": kind}
    first = {"model": form.models[0].pk, "temperature": 0.0} if form.models else {}
    if posted and not form.is_valid():
        context["wrong"], status = (
            [_("Choose a model, a prompt and a temperature from 0 to 2.")],
            422,
        )
    elif form.models:
        raw.update(form.params() if posted else first)
        try:
            ready = ask_start.prepare(task=checklist.task, method=STAGE, raw=raw)
            context["shown"] = llm_tasks.preview_in_words(checklist.task, ready)
            if posted and not request.headers.get("HX-Request"):
                _refuse(ready, agreed="agreed" in request.POST)
                writes.start(
                    by=access.user,
                    task=checklist.task,
                    method=STAGE,
                    params=ready.params,
                    lane=f"{checklist.pk}/{kind}",
                )
                return redirect("checklist", project_id, checklist.pk)
        except DomainError as error:
            status = error.status if posted else 200
            context["wrong"] = [error.message]
            if posted:
                add_errors(form, error)
    if request.headers.get("HX-Request"):
        return render(request, "evaluation/checklists/_preview.html", context)
    return render(request, "evaluation/checklists/ask.html", context, status=status)


def _refuse(ready: ask_start.Prepared, *, agreed: bool) -> None:
    """Raise Conflict where something keeps the run, or the soft budget needs a word."""
    if ready.preview.problems:
        raise Conflict(ready.preview.problems[0])
    if ready.over_soft and not agreed:
        raise Conflict(_("This run may pass the soft budget of the endpoint; agree to it first."))
