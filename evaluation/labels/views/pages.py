"""Results of a labels task: workers, items, agreement, classes, methods, export. HTTP only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.access import Access, get_task, get_worker, open_to_viewers
from annotation.models import Task
from annotation.work.snapshots.labels import fields_of
from annotation.work.snapshots.turns import turn_fields
from crowdqc.errors import Missing
from evaluation.labels import joined
from evaluation.labels.run import LABELS
from evaluation.labels.selectors import findings, study, tables
from evaluation.labels.selectors import items as item_reads
from evaluation.labels.selectors import kinds as kind_reads
from evaluation.labels.selectors import models as model_reads
from evaluation.labels.selectors import workers as worker_reads
from evaluation.labels.selectors.items import DecisionCounts, WorkersLabels
from evaluation.labels.selectors.study import ShownField
from evaluation.models import Run
from evaluation.results.files import csv_of
from evaluation.results.findings import Finding, Screen, arrange
from evaluation.runs import schedules
from evaluation.runs.exports.scores import FORMATS
from evaluation.runs.model_answers import untested_models
from evaluation.runs.next_actions import choose_action
from evaluation.runs.pages import (
    export_menu,
    kept_run,
    number_of,
    run_frame,
    send,
    send_csv,
    send_table,
)
from evaluation.runs.results import look_alikes, votes_used
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as reads

# View -> its label and the name of its address, in the order of the switch.
VIEWS = {
    "items": (gettext_lazy("Items"), "label_items"),
    "workers": (gettext_lazy("Workers"), "label_results"),
    "agreement": (gettext_lazy("Agreement"), "label_agreement"),
    "classes": (gettext_lazy("Classes"), "label_classes"),
    "compare": (gettext_lazy("Compare methods"), "label_compare"),
}


def get_study(request: HttpRequest, project_id: int, task_id: int) -> tuple[Access, Task]:
    """Return access and task for a labels task; Missing if it is of another type."""
    access, task = get_task(request, project_id, task_id)
    require_fit(task, LABELS, Missing(_("This task does not ask for labels.")))
    return access, task


def frame(request: HttpRequest, task: Task, view: str) -> tuple[Run | None, dict[str, Any]]:
    """Return the run to show and the context of all pages of label results."""
    run = reads.shown_run(task, number_of(request))
    context = run_frame(task, run, noun="label")
    keep = kept_run(request, run, "?")
    untested = untested_models(task) if run is not None else None
    same = run is not None and not context["fresh"].any and not untested
    context.update(
        view=view,
        keep=keep,
        **export_menu(run),
        header=study.state(run, context["active"], context["last"]),
        models_untested=untested,
        since=study.since_words(run) if run is not None and same else "",
        views=[
            {
                "slug": slug,
                "label": label,
                "current": slug == view,
                "url": reverse(name, args=[task.project_id, task.pk]) + keep,
            }
            for slug, (label, name) in _views(task)
        ],
    )
    return run, context


def _views(task: Task) -> Iterable[tuple[str, tuple[Any, str]]]:
    """The views of a task's results; those of turns where it asks about turns."""
    yield from VIEWS.items()
    if turn_fields(task.current):
        yield "turns", (_("Turns"), "turn_results")


def told_frame(
    run: Run,
    context: dict[str, Any],
    *names: str,
) -> tuple[dict[str, Any], ShownField]:
    """Return a page's figures, with verdict and recipe put into the context."""
    told = reads.figures_of(run, *study.FIGURES, *names)
    field = ShownField.of(told)
    sizes = {
        "workers": told["summary"]["workers"],
        "items": told["summary"]["items"],
        "classes": len(field.options),
    }
    for one in context["views"]:
        one["n"] = sizes.get(one["slug"])
    context.update(
        field=field,
        decisions=DecisionCounts.of(run),
        run_choices=study.run_choices(context["task"]),
        basis=study.basis(run, told),
        recipe=reads.recipe_pairs(run, told.get("recipe")),
        tally=votes_used.tally_of(told),
    )
    return told, field


def screen_of(
    run: Run,
    context: dict[str, Any],
    told: dict[str, Any],
    reliable: int | None,
    warnings: Iterable[Finding] = (),
) -> Screen:
    """Return the screen of a page: verdict, next action, warnings."""
    action = choose_action(
        context["study_state"],
        *findings.actions_of(run, told, context["decisions"]),
        settled=findings.is_settled(told),
    )
    models = context["models_untested"]
    return arrange([findings.verdict_of(run, told, reliable), action, models, *warnings])


def empty_page(request: HttpRequest, task: Task, context: dict[str, Any]) -> HttpResponse:
    """Show the page of results before the first finished run."""
    first = schedules.first_run(task)
    sentence, _why = reads.first_run_words(first.enough, first.others, first.missing, "label")
    sentence = reads.waiting_words(task, first.missing, "label") or sentence
    why = _("Agreement needs 2 workers on the same item; competence needs 3.")
    context.update(first=first, sentence=sentence, why=why)
    return render(request, "evaluation/labels/empty.html", context)


@login_required
@require_safe
@open_to_viewers
def workers(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Competence against guessing, in groups or sorted; ``?open=`` shows a confusion matrix."""
    access, task = get_study(request, project_id, task_id)
    run, context = frame(request, task, "workers")
    if run is None:
        return empty_page(request, task, context)
    rows = worker_reads.rows_of(run)
    reliable = worker_reads.count_reliable(run, rows)
    told, field = told_frame(run, context, *worker_reads.FIGURES)
    warnings = findings.worker_warnings(task, told, rows, requester=access.is_requester)
    by = request.GET.get("sort", "")
    by = by if by in worker_reads.SORTS else ""
    ascending, opened = request.GET.get("dir") == "up", number_of(request, "open")
    models = model_reads.model_rows(run, field, worker_reads.SCALE)
    keep = kept_run(request, run)
    context.update(
        worker_reads.worker_list(
            run,
            worker_reads.ordered(rows, by, ascending=ascending)
            if by
            else worker_reads.grouped(rows),
            field,
            page=request.GET.get("page"),
            opening=worker_reads.Opening(context["keep"], opened, access.is_requester),
            models=models,
            sorts=worker_reads.sort_links(by, ascending=ascending, keep=keep),
            in_groups=not by,
        ),
        look_alikes=look_alikes.listed(run, told, {row.id: row.name for row in rows}),
        screen=screen_of(run, context, told, reliable, warnings),
        agreement=tables.rail_agreement(told),
        prevalence=tables.prevalence_lines(told, field),
        known=tables.known_lines(told, worker_reads.single_labels(rows)),
    )
    row = next((row for row in rows if row.id == opened), None)
    if row is not None:
        context["detail"] = worker_reads.detail(task, row, field)
    return render(request, "evaluation/labels/workers.html", context)


@login_required
@require_safe
@open_to_viewers
def worker(request: HttpRequest, project_id: int, task_id: int, worker_id: int) -> HttpResponse:
    """Show a worker's row with the confusion matrix, or closed with ``?closed=1``.

    Without htmx it is the list, opened at this worker.
    """
    access, task = get_study(request, project_id, task_id)
    person = get_worker(access, worker_id)
    run = reads.shown_run(task, number_of(request))
    if run is None:
        raise Missing(_("This task has no finished run."))
    if not request.htmx:  # type: ignore[attr-defined]
        page = reverse("label_results", args=[project_id, task_id])
        return redirect(f"{page}?open={person.pk}{kept_run(request, run)}#worker-{person.pk}")
    field = ShownField.of(reads.figures_of(run, "field"))
    is_open = "closed" not in request.GET
    opening = worker_reads.Opening(
        kept_run(request, run, "?"), person.pk if is_open else None, access.is_requester
    )
    row = worker_reads.get_row(run, person, field, opening)
    context = {
        "task": task,
        "access": access,
        "run": run,
        "table": worker_reads.competence_table(
            [opening.group(row)],
            # The columns of the table that the row stands in.
            any_known=worker_reads.has_known(
                worker_reads.rows_of(run), model_reads.model_rows(run, field, worker_reads.SCALE)
            ),
            opened=opening.opened,
        ),
        "detail": worker_reads.detail(task, row, field) if is_open else None,
    }
    response = render(request, "_includes/results/body.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@login_required
@require_safe
@open_to_viewers
def items(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Page of items: votes, label and certainty; the open ones unless asked otherwise.

    ``?worker=`` shows the items of one worker with their label.
    """
    access, task = get_study(request, project_id, task_id)
    run, context = frame(request, task, "items")
    if run is None and turn_fields(task.current) and not fields_of(task.current):
        return redirect("turn_results", project_id, task_id)
    if run is None:
        return empty_page(request, task, context)
    reliable = worker_reads.reliable_of(run)
    told, field = told_frame(run, context, *item_reads.FIGURES)
    chosen, only = _filter_of(request, access, run, field)
    if not chosen:
        chosen = item_reads.first_filter(run) if only is None else "all"
    context["table_formats"] = tuple(FORMATS)
    context.update(
        item_reads.item_list(
            run, told, field, chosen=chosen, page=request.GET.get("page"), only=only
        ),
        screen=screen_of(
            run, context, told, reliable, findings.item_notes(context["decisions"].decided)
        ),
    )
    return render(request, "evaluation/labels/items/items.html", context)


def _filter_of(
    request: HttpRequest, access: Access, run: Run, field: ShownField
) -> tuple[str, WorkersLabels | None]:
    """The filter of items, "" without one, and the worker whose items they are."""
    chosen = request.GET.get("show", "")
    wanted = number_of(request, "worker")
    only = None
    if wanted is not None:
        only = WorkersLabels.of(run, field, get_worker(access, wanted))
    return chosen if chosen in item_reads.FILTERS else "", only


@login_required
@require_safe
@open_to_viewers
def agreement(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Page of agreement coefficients: of all workers, of the better ones, by class."""
    _access, task = get_study(request, project_id, task_id)
    run, context = frame(request, task, "agreement")
    if run is None:
        return empty_page(request, task, context)
    reliable = worker_reads.reliable_of(run)
    asked = (*tables.AGREEMENT, *kind_reads.FIGURES)
    told, field = told_frame(run, context, *asked)
    context.update(tables.agreement(told, field, told["summary"]))
    context["screen"] = screen_of(run, context, told, reliable)
    context["others"] = tables.other_fields(told)
    names = worker_reads.names_of(run)
    context["kinds"] = kind_reads.kinds(told, names, task.project_id)
    context["pairs"] = tables.pairs(told, names, request.GET.get("page"))
    context["trust"] = tables.trust_words(study.alpha_of(told))
    return render(request, "evaluation/labels/agreement.html", context)


@login_required
@require_safe
@open_to_viewers
def classes(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """How frequent each class is, and what is confused with what."""
    _access, task = get_study(request, project_id, task_id)
    run, context = frame(request, task, "classes")
    if run is None:
        return empty_page(request, task, context)
    reliable = worker_reads.reliable_of(run)
    told, field = told_frame(run, context, *tables.CLASSES)
    context.update(tables.classes(run, told, field), screen=screen_of(run, context, told, reliable))
    return render(request, "evaluation/labels/classes.html", context)


@login_required
@require_safe
@open_to_viewers
def compare(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Page comparing methods: known answers right, disputed items, which to use."""
    _access, task = get_study(request, project_id, task_id)
    run, context = frame(request, task, "compare")
    if run is None:
        return empty_page(request, task, context)
    rows = worker_reads.rows_of(run)
    reliable = worker_reads.count_reliable(run, rows)
    told, _field = told_frame(run, context, *tables.COMPARE)
    context.update(
        tables.compare(told, worker_reads.single_labels(rows)),
        screen=screen_of(run, context, told, reliable),
    )
    return render(request, "evaluation/labels/compare.html", context)


@login_required
@require_safe
@open_to_viewers
def export(request: HttpRequest, project_id: int, task_id: int) -> HttpResponseBase:
    """Rows of a finished run: one table as a file, or all of them with a manifest.

    The table of items is that of the page: ``show`` and ``worker`` filter it.
    """
    access, task = get_study(request, project_id, task_id)
    run = reads.shown_run(task, number_of(request))
    table = request.GET.get("table")
    if run is not None and table == joined.TABLE:
        field = ShownField.of(reads.figures_of(run, "field"))
        chosen, only = _filter_of(request, access, run, field)
        content = joined.joined_table(run, field, chosen=chosen or "all", only=only)
        return send_table(run, table, content, request.GET.get("format", "csv"))
    if run is not None and table == joined.COLUMNS:
        field = ShownField.of(reads.figures_of(run, "field"))
        content = joined.joined_columns(run, field)
        return send_table(run, table, content, request.GET.get("format", "csv"))
    if run is not None and table in tables.FILES:
        rows = reads.figures_of(run, table).get(table) or ()
        return send_csv(run, table, csv_of(tables.FILES[table], rows))
    return send(request, run)
