"""Runs: their history, one with live progress, starting, cancelling, the schedule. HTTP only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_access, get_task, open_to_viewers
from annotation.accounts.projects.forms import add_errors
from annotation.lists.definition import Bulk, Choice, Column, Filter, Listing, apply_to_each
from annotation.lists.pages import list_page
from annotation.models import Task
from crowdqc.errors import Conflict, Invalid, Missing
from crowdqc.numbers import parse_whole, plural, several
from crowdqc.web.htmx import page_or_fragment
from evaluation.models import Run, RunState
from evaluation.official import effect as official_effect
from evaluation.official import tables as official_tables
from evaluation.runs import engine as runs
from evaluation.runs import run_types, schedules
from evaluation.runs.adapters import ShapeAdapter, adapter_of
from evaluation.runs.forms import RunForm, ScheduleForm
from evaluation.runs.official import actions as official
from evaluation.runs.official.selectors import in_force
from evaluation.runs.official.standing import run_standing
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors import words as run_words


def _columns() -> tuple[Column, ...]:
    return (
        Column("run", _("Run"), sort=("number",), down=True, fixed=True),
        Column("task", _("Task"), sort=("task__current__title",)),
        Column("method", _("Method"), sort=("method",)),
        Column("started", _("Started"), sort=("created_at",), down=True),
        Column("snapshot", _("Snapshot")),
        Column(
            "answers", _("Answers"), sort=("snapshot__counts__answers",), number=True, down=True
        ),
        Column(
            "took", _("Took"), sort=(F("finished_at") - F("started_at"),), number=True, down=True
        ),
        Column("state", _("State"), sort=("state",)),
        Column("result", _("Result")),
    )


def run_listing(access: Access) -> Listing:
    """The runs of a project, the newest first."""
    there = access.project.runs.order_by().values_list("method", flat=True).distinct()
    methods = [Choice(slug, run_types.title_of(slug), Q(method=slug)) for slug in sorted(there)]
    states = [
        Choice(value, _(reads.STATES[RunState(value)][1]), Q(state=value)) for value in RunState
    ]

    def why_not(rows: Sequence[Any]) -> dict[int, str]:
        return {row.pk: _("It has ended already.") for row in rows if row.state not in runs.ACTIVE}

    cancel = Bulk(
        "cancel",
        _("Cancel runs"),
        _("Cancelled"),
        apply_to_each(lambda run: runs.cancel(by=access.user, run=run)),
        sentence=_("They stop at their next step. What they computed so far is lost."),
        why_not=why_not,
        danger=True,
    )
    return Listing(
        slug="runs",
        nouns="run,runs",
        caption=_("Runs of the project"),
        rows=reads.all_runs(access.project).annotate(in_force=in_force()),
        columns=_columns(),
        template="evaluation/runs/_line.html",
        order="-run",
        search=(reads.named,),
        search_label=_("Search by task, method or number"),
        filters=(
            Filter("state", _("State"), states),
            Filter("method", _("Method"), methods if len(methods) > 1 else ()),
            Filter(
                "standing", _("Standing"), (Choice("official", _("Official"), Q(in_force=True)),)
            ),
        ),
        bulk=(cancel,),
        read=reads.lines,
        name_of=_name,
    )


def _name(run: Run) -> str:
    return _("Run %(run)s") % {"run": run.number}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@open_to_viewers
def run_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """The history of runs, with recipe, trigger and export."""
    access = get_access(request, project_id)
    context = {"runs": access.project.runs.count()}
    return list_page(request, access, run_listing(access), "evaluation/runs/list.html", context)


def _live(request: HttpRequest, project_id: int, number: int, fragment: bool) -> HttpResponse:
    access = get_access(request, project_id)
    run = reads.get_run(access.project, number)
    follows = run_words.FOLLOW in request.GET
    if follows and run.state == RunState.DONE:
        url = run_words.results_url(run)
        return HttpResponse(headers={"HX-Redirect": url}) if fragment else redirect(url)
    context = {
        "run": run,
        "follows": follows,
        "live": reads.live_run(run),
        "title": reads.title_of(run.task),
        "standing": run_standing(run),
    }
    if fragment:
        return page_or_fragment(
            request, "evaluation/runs/run.html", "evaluation/runs/_live_oob.html", context
        )
    return render(request, "evaluation/runs/run.html", context)


@login_required
@require_safe
@open_to_viewers
def run(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """One run: steps, convergence, recipe; live while it works."""
    return _live(request, project_id, number, fragment=False)


@login_required
@require_safe
@open_to_viewers
def run_progress(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """Fragment with the run's progress; it reloads itself until the run ends."""
    return _live(request, project_id, number, fragment=True)


@login_required
@require_POST
def run_cancel(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """Stop a run."""
    access = get_access(request, project_id)
    found = reads.get_run(access.project, number)
    runs.cancel(by=access.user, run=found)
    return redirect("run", project_id, number)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def run_official(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """Page on what changes if this run becomes official, with the button."""
    access = get_access(request, project_id)
    found = reads.get_run(access.project, number)
    stands = run_standing(found)
    if stands is None:
        raise Missing(_("Only a finished run of the task’s own method can be official."))
    error: Conflict | Invalid | None = None
    if request.method == "POST":
        seen = parse_whole(request.POST.get("instead_of", ""), high=10**9)
        try:
            official.make_official(by=access.user, run=found, instead_of=seen or 0)
        except (Conflict, Invalid) as refused:
            error = refused
        else:
            messages.success(
                request, _("Run %(number)s is the official run now.") % {"number": number}
            )
            return redirect(run_words.results_page(found.task))
    effect = official_effect.effect(found)
    context = {
        "run": found,
        "title": reads.title_of(found.task),
        "task": found.task,
        "error": error,
        "standing": stands,
        "effect": effect,
        "tables": official_tables.rank_tables(effect),
        "panels": official_tables.panel_table(effect),
        "pending": official_tables.pending_table(effect),
        "bonuses": official_tables.bonus_table(effect),
    }
    status = error.status if error is not None else 200
    return render(request, "evaluation/runs/official.html", context, status=status)


def _method_of(request: HttpRequest, task: Task) -> str:
    """The method that was asked for, of those that can be started here; else the task's own."""
    asked = request.GET.get("method", "")
    if asked and asked not in reads.startable(task):
        raise Missing(_("No such method can be started on this task."))
    return asked or runs.main_method(task)


def _start_title(known: ShapeAdapter, title: str) -> str:
    return _(known.start_title) if known.start_title else _("Run %(title)s") % {"title": title}


def _start_page(
    request: HttpRequest, task: Task, method: str, form: RunForm, status: int = 200
) -> HttpResponse:
    own = method == runs.main_method(task)
    last = schedules.last_run(task) if own else reads.last_of(task, method)
    # A run that compares texts freezes no answers, so that none are new to it.
    frozen = own or last is None or last.snapshot is not None
    since = schedules.count_new_answers(task, last) if frozen else schedules.NewAnswers(0, 0)
    known = adapter_of(task)
    form.offer(task.project_id)
    title = run_types.title_of(method)
    context = {
        "task": task,
        "method": method,
        "others": [(slug, name) for slug, name in reads.startable(task).items() if slug != method],
        "title": reads.title_of(task),
        "form": form,
        "opened": bool(request.GET.keys() - {"method"}) or form.is_bound or form.needs_choice,
        "known": known,
        "fixed_words": known.fixed_words,
        "page_title": _start_title(known, title) if own else title,
        "begins": _("The %(nouns)s that count now are frozen when the run begins.")
        % {"nouns": several(known.answer_noun)},
        "last": last,
        "active": reads.active_of(task, "" if own else method),
        "fresh": since,
        "came": plural(since.new, f"new {known.new_noun}"),
        "start_words": reads.start_words(since, first=last is None, noun=known.answer_noun),
        "schedule": schedules.schedule_of(task),
    }
    return render(request, "evaluation/runs/start.html", context, status=status)


def _chosen(task: Task, method: str) -> dict[str, Any]:
    """The options of the official run, else of the latest: what "run again" means."""
    own = method == runs.main_method(task)
    last = schedules.last_run(task) if own else reads.last_of(task, method)
    return {**last.params, "seed": last.seed} if last is not None else {}


def _form_of(task: Task, method: str) -> Callable[..., RunForm]:
    """The form of a method that runs on the task, from the options that it declares."""
    kind, noun = run_types.type_of(method), adapter_of(task).answer_noun
    return partial(RunForm, options=kind.options, noun=noun, choices=kind.choices(task))


def _run_again(request: HttpRequest, access: Access, task: Task, method: str) -> Run:
    """Start a run with the last one's options, unless one of the method is in progress."""
    if (active := reads.active_of(task, method)) is not None:
        words = _("Run %(number)s is in progress; no second one was started.")
        messages.info(request, words % {"number": active.number})
        return active
    options = _chosen(task, method)
    seed = options.pop("seed", runs.DEFAULT_SEED)
    return runs.start(by=access.user, task=task, method=method, params=options, seed=seed)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def run_start(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Start a run: with the last run's options (``again``), or with those of the form.

    ``?method=`` names another method than the task's own.
    """
    access, task = get_task(request, project_id, task_id)
    method = _method_of(request, task)
    if not method:  # nothing is fitted here; what models can be asked stands there
        return redirect("task_models", project_id, task_id)
    form_of = _form_of(task, method)
    if request.method != "POST":
        initial = {**run_types.type_of(method).initial(task), **_chosen(task, method)}
        if request.GET.get("leave_one_out") in ("0", "1"):
            initial["leave_one_out"] = request.GET["leave_one_out"] == "1"
        return _start_page(request, task, method, form_of(initial=initial))
    if "again" in request.POST:
        return redirect(run_words.follow_url(_run_again(request, access, task, method)))
    form = form_of(request.POST)
    if not form.is_valid():
        return _start_page(request, task, method, form, 422)
    options = dict(form.cleaned_data)
    seed = options.pop("seed")
    try:
        started = runs.start(by=access.user, task=task, method=method, params=options, seed=seed)
    except (Invalid, Conflict) as error:
        add_errors(form, error)
        return _start_page(request, task, method, form, error.status)
    return redirect(run_words.follow_url(started))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def run_schedule(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """When runs of the task start automatically."""
    access, task = get_task(request, project_id, task_id)
    schedule, known = schedules.schedule_of(task), adapter_of(task)
    status = 200
    names = ("enabled", "after_answers", "every_minutes")
    initial = {name: getattr(schedule, name) for name in names}
    form = ScheduleForm(
        request.POST if request.method == "POST" else None, initial=initial, known=known
    )
    if request.method == "POST":
        if form.is_valid():
            try:
                schedules.change_schedule(
                    by=access.user, task=task, params=schedule.params, **form.cleaned_data
                )
            except Invalid as error:
                add_errors(form, error)
            else:
                messages.success(request, _("The schedule is saved."))
                return redirect(reverse("run_schedule", args=[project_id, task_id]))
        status = 422
    context = {
        "task": task,
        "title": reads.title_of(task),
        "form": form,
        "schedule": schedule,
        "noun": known.answer_noun,
        "first": schedules.first_run(task),
        "last": schedules.last_run(task),
    }
    return render(request, "evaluation/runs/schedule.html", context, status=status)
