"""Panels: the list, one of them, choosing for it by a run, and what is watched. HTTP only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_access, get_panel, get_task, get_worker
from annotation.models import Exclusion, Membership, Panel, PanelMember, Role, Task
from annotation.panels.actions import panels as actions
from annotation.panels.selectors import MOST as MOST_AT_ONCE
from annotation.panels.selectors import able_to_exclude
from annotation.work.actions import exclusions
from crowdqc.errors import Conflict, DomainError, Invalid, Missing
from crowdqc.money import parse_amount
from crowdqc.numbers import listed, parse_real, parse_whole, plural
from evaluation.models import Run, WatchNote, WorkerScore
from evaluation.panels import choosing as panels
from evaluation.panels import rules as panel_choice
from evaluation.panels import selectors as reads
from evaluation.panels import watch as panel_watch
from evaluation.panels.forms import NAMED, ExclusionForm
from evaluation.runs import exclusion_preview
from evaluation.runs.adapters import adapter_of
from evaluation.runs.official.standing import run_standing
from evaluation.runs.selectors import lists as run_reads

REFUSED = (Invalid, Conflict)


def _task(access: Access, raw: str) -> Task:
    """The task of a form's field; Invalid where it is none of the project."""
    found = access.project.tasks.filter(pk=parse_whole(raw) or 0).first()
    if found is None:
        raise Invalid(_("Choose a task."), fields={"task": _("One of this project.")})
    found.project = access.project
    return found


def _redirect_to_panel(panel: Panel, part: str = "") -> HttpResponse:
    return redirect(reverse("panel", args=[panel.project_id, panel.pk]) + part)


@login_required
@require_safe
def panel_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """Every panel with how many are on it, what asks for it, and what waits for a look."""
    access = get_access(request, project_id)
    rows = list(reads.panel_rows(access.project))
    context = {
        "access": access,
        "project": access.project,
        "rows": rows,
        "waiting": sum(row.waiting for row in rows),
    }
    return render(request, "evaluation/panels/list.html", context)


@login_required
@require_POST
def panel_new(request: HttpRequest, project_id: int) -> HttpResponse:
    """An empty panel of this name."""
    access = get_access(request, project_id, Role.REQUESTER)
    try:
        made = actions.create(
            by=access.user, project=access.project, name=request.POST.get("panel_name", "")
        )
    except REFUSED as error:
        messages.error(request, error.message)
        return redirect("panel_list", project_id)
    return _redirect_to_panel(made)


@login_required
@require_safe
def panel(request: HttpRequest, project_id: int, panel_id: int) -> HttpResponse:
    """Its members, its history, its tasks, runs on its answers, and what is watched."""
    access, found = get_panel(request, project_id, panel_id)
    context = {
        "access": access,
        "project": access.project,
        "panel": found,
        **reads.page(found),
        "outsiders": reads.outsiders(found) if access.is_requester else [],
        "words": actions.invitation(found),
    }
    return render(request, "evaluation/panels/panel.html", context)


@login_required
@require_POST
def panel_rename(request: HttpRequest, project_id: int, panel_id: int) -> HttpResponse:
    access, found = get_panel(request, project_id, panel_id, Role.REQUESTER)
    try:
        actions.rename(by=access.user, panel=found, name=request.POST.get("panel_name", ""))
    except REFUSED as error:
        messages.error(request, error.message)
    return _redirect_to_panel(found)


@login_required
@require_POST
def panel_admit(request: HttpRequest, project_id: int, panel_id: int) -> HttpResponse:
    """Let somebody onto the panel by hand."""
    access, found = get_panel(request, project_id, panel_id, Role.REQUESTER)
    names = request.POST.getlist("worker")
    workers = [row for row in reads.outsiders(found) if row.pseudonym in names]
    try:
        if not workers:
            raise Invalid(_("Nobody who could be let in is called that."))
        actions.admit(
            by=access.user,
            panel=found,
            workers=workers,
            why=request.POST.get("why", ""),
            words=request.POST.get("words", ""),
        )
    except REFUSED as error:
        messages.error(request, error.message)
    else:
        messages.success(
            request,
            _("%(workers)s let in, and told so.") % {"workers": plural(len(workers), "worker")},
        )
    return _redirect_to_panel(found)


@login_required
@require_POST
def panel_end(request: HttpRequest, project_id: int, panel_id: int, member_id: int) -> HttpResponse:
    """End a membership with a reason; it stays in the history."""
    access, found = get_panel(request, project_id, panel_id, Role.REQUESTER)
    member = PanelMember.objects.filter(panel=found, pk=member_id).first()
    if member is None:
        raise Missing(_("There is no such member of this panel."))
    try:
        ended = actions.end(by=access.user, member=member, why=request.POST.get("why", ""))
    except REFUSED as error:
        messages.error(request, error.message)
    else:
        messages.success(
            request,
            _("%(pseudonym)s is off the panel. Work in hand may be finished.")
            % {"pseudonym": ended.worker.pseudonym},
        )
    return _redirect_to_panel(found)


# Choosing by a run -------------------------------------------------------------------------------


def _run(access: Access, number: int) -> Run:
    run = run_reads.get_run(access.project, number)
    if not reads.finished(run):
        raise Missing(_("This run has no scores of workers to choose by."))
    return run


def _preview(run: Run, data: Any) -> dict[str, Any]:
    """Who would be chosen, or what is wrong with the rule."""
    try:
        wanted = panel_choice.read(data, data.getlist("worker"))
    except Invalid as error:
        return {"error": error, "wanted": None}
    try:
        return {"choice": panel_choice.choose(run, wanted), "wanted": wanted}
    except Invalid as error:
        return {"error": error, "wanted": wanted, "idle": panel_choice.rows_of(run)}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def panel_choose(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """A rule, and live who it chooses; POST lets them onto the panel, once."""
    access = get_access(request, project_id, Role.REQUESTER)
    run = _run(access, number)
    data = request.POST if request.method == "POST" else request.GET.copy()
    if request.method != "POST" and "rule" not in data:
        data.update({"rule": "top", "k": "5"})
    context: dict[str, Any] = {"run": run, **_preview(run, data)}
    status = 200
    if request.method == "POST" and "error" not in context:
        try:
            made, new = panels.select(
                by=access.user,
                run=run,
                wanted=context["wanted"],
                panel_name=data.get("panel_name", ""),
                words=data.get("words", ""),
            )
        except REFUSED as error:
            context["error"], status = error, error.status
        else:
            said = reads.selection_words(made)
            text = _("Let in: %(said)s.") if new else _("This choice was made already: %(said)s.")
            messages.success(request, text % {"said": said})
            return _redirect_to_panel(made.panel)
    elif request.method == "POST":
        status = 422
    dimensions = (
        WorkerScore.objects.filter(run=run)
        .order_by("dimension")
        .values_list("dimension", flat=True)
    )
    context.update(
        {
            "access": access,
            "project": access.project,
            "data": data,
            "task": run.task,
            "standing": run_standing(run),
            "title": run_reads.title_of(run.task),
            "panels": access.project.panels.all(),
            "parts": panel_choice.parts(panel_choice.rows_of(run, data.get("dimension", ""))),
            "dimensions": list(dict.fromkeys(dimensions)),
            "ticked": set(data.getlist("worker")),
        }
    )
    partial = request.method == "GET" and bool(request.htmx)  # type: ignore[attr-defined]
    name = "_choice.html" if partial else "choose.html"
    response = render(request, f"evaluation/panels/{name}", context, status=status)
    response["Vary"] = "HX-Request, Cookie"
    return response


# Runs on a panel's answers, and watching ---------------------------------------------------------


@login_required
@require_POST
def panel_evaluate(request: HttpRequest, project_id: int, panel_id: int) -> HttpResponse:
    """Score models on the members' answers alone, to one task or to two."""
    access, found = get_panel(request, project_id, panel_id, Role.REQUESTER)
    also = request.POST.get("also", "")
    try:
        run = panels.evaluate(
            by=access.user,
            panel=found,
            task=_task(access, request.POST.get("task", "")),
            also=_task(access, also).pk if also else None,
        )
    except REFUSED as error:
        messages.error(request, error.message)
        return _redirect_to_panel(found, "#models")
    return redirect("run", project_id, run.number)


def _number(raw: str, name: str, read: Callable[[str, int, int], Any]) -> Any:
    if not raw.strip():
        return None
    value = read(raw, -(10**6), 10**6)
    if value is None:
        raise Invalid(
            _("%(raw)s is no number.") % {"raw": f"{raw[:40]!r}"},
            fields={name: _("A number below a million.")},
        )
    return value


@login_required
@require_POST
def panel_watch_set(request: HttpRequest, project_id: int, panel_id: int) -> HttpResponse:
    """Say what is looked at after each run of a task."""
    access, found = get_panel(request, project_id, panel_id, Role.REQUESTER)
    given = request.POST
    try:
        task = _task(access, given.get("task", ""))
        raw = given.get("incentive", "").strip()
        panel_watch.watch(
            by=access.user,
            panel=found,
            task=task,
            threshold=_number(given.get("threshold", ""), "threshold", parse_real),
            ranks=_number(given.get("incentive_ranks", ""), "incentive_ranks", parse_whole),
            incentive=parse_amount(raw, access.project.currency, field="incentive")
            if raw
            else None,
            active=given.get("active", "on") == "on",
        )
    except REFUSED as error:
        detail = "; ".join(error.fields.values())
        messages.error(request, f"{error.message} {detail}".strip())
    else:
        messages.success(request, _("Saved. Notes are written from the next finished run on."))
    return _redirect_to_panel(found, "#watch")


@login_required
@require_POST
def panel_note(request: HttpRequest, project_id: int, panel_id: int, note_id: int) -> HttpResponse:
    """What follows from a note: kept, ended with a reason, or the incentive is proposed."""
    access, found = get_panel(request, project_id, panel_id, Role.REQUESTER)
    note = WatchNote.objects.filter(watch__panel=found, pk=note_id).first()
    if note is None:
        raise Missing(_("There is no such note on this panel."))
    try:
        panel_watch.settle_note(
            by=access.user,
            note=note,
            what=request.POST.get("what", ""),
            why=request.POST.get("why", ""),
        )
    except DomainError as error:
        messages.error(request, error.message)
    return _redirect_to_panel(found, "#watch")


# Removing workers from a task --------------------------------------------------------------------


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def exclude(request: HttpRequest, project_id: int, task_id: int, worker_id: int) -> HttpResponse:
    """What changes without this worker; with a reason it is done, from the next run on.

    ``also`` names further workers; of several those are passed over who answered nothing or are
    left out already.
    """
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    worker = get_worker(access, worker_id)
    workers = _with_others(access, task, worker, request.GET.getlist("also"))
    form, status = ExclusionForm(request.POST or None, task=task, workers=workers), 200
    if request.method == "POST":
        if form.leave_out(request, by=access.user):
            return _redirect_after_exclusion(task)
        status = 422
    every = list(task.exclusions.filter(worker=workers[0]).select_related("by", "undone_by"))
    part = request.method == "GET" and request.GET.get("part") == "effect"
    context = {
        "access": access,
        "project": access.project,
        "task": task,
        "worker": workers[0],
        "workers": workers,
        "names": listed([one.pseudonym for one in workers], NAMED),
        "also": urlencode([("also", one.pk) for one in workers[1:]]),
        "form": form,
        "title": run_reads.title_of(task),
        "noun": adapter_of(task).answer_noun,
        "standing": next((one for one in every if one.undone_at is None), None),
        "before": [one for one in every if one.undone_at is not None],
        **(_effect(task, workers) if part else {}),
    }
    name = "_effect.html" if part and bool(request.htmx) else "exclude.html"  # type: ignore[attr-defined]
    response = render(request, f"evaluation/panels/exclusions/{name}", context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _with_others(
    access: Access, task: Task, worker: Membership, also: Sequence[str]
) -> list[Membership]:
    """The worker, or of several workers of the project those who can be left out of the task."""
    if not also:
        return [worker]
    ids = {worker.pk, *(parse_whole(one) or 0 for one in also)}
    able = able_to_exclude(task).filter(project=access.project, pk__in=ids)
    return list(able.order_by("pseudonym")[:MOST_AT_ONCE]) or [worker]


def _redirect_after_exclusion(task: Task) -> HttpResponse:
    if after := adapter_of(task).after_exclusion:
        return redirect(after, task.project_id, task.pk)
    return redirect(reverse("task", args=[task.project_id, task.pk]) + "#left-out")


def _effect(task: Task, workers: Sequence[Membership]) -> dict[str, Any]:
    """The preview, or the reason why there is none."""
    try:
        return {"effect": exclusion_preview.effect(task, *workers)}
    except Conflict as conflict:
        return {"no_effect": conflict.message}


@login_required
@require_POST
def undo(request: HttpRequest, project_id: int, task_id: int, exclusion_id: int) -> HttpResponse:
    """Let a worker's answers enter results again, from the next run on."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    found = Exclusion.objects.filter(task=task, pk=exclusion_id).select_related("worker").first()
    if found is None:
        raise Missing(_("There is no such exclusion in this task."))
    exclusions.undo(by=access.user, exclusion=found)
    messages.success(
        request,
        _("%(pseudonym)s is in again from the next run on.")
        % {"pseudonym": found.worker.pseudonym},
    )
    return _redirect_after_exclusion(task)
