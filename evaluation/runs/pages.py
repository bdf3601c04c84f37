"""What the views of every kind of results share: the run shown, its state, the first screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from annotation.files.writing.tables import Table, check_format
from annotation.models import Task
from crowdqc.errors import Missing
from crowdqc.numbers import parse_whole
from evaluation.models import Run
from evaluation.runs import schedules
from evaluation.runs.exports import dictionary
from evaluation.runs.exports import scores as exports
from evaluation.runs.exports.own_ids import own_ids
from evaluation.runs.next_actions import page_screen
from evaluation.runs.official.standing import run_standing
from evaluation.runs.run_types import type_of
from evaluation.runs.selectors import lists as reads
from evaluation.runs.sharing.selectors import menu_of
from evaluation.runs.study_state import read_state


def number_of(request: HttpRequest, name: str = "run") -> int | None:
    """A whole number of the query string; Missing where it is something else."""
    raw = request.GET.get(name, "")
    if not raw:
        return None
    number = parse_whole(raw, high=10**9)
    if number is None:
        raise Missing(gettext("%(name)s is not a number.") % {"name": name})
    return number


def run_frame(task: Task, run: Run | None, *, noun: str = "answer") -> dict[str, Any]:
    """Return what all result pages show of a run: its state, and what is new since."""
    standing, active = run_standing(run), reads.active_of(task)
    last = schedules.last_run(task, standing.official_run if standing else None)
    since = schedules.count_new_answers(task, last)
    words = reads.start_words(since, first=last is None, noun=noun)
    study = None
    if run is not None:
        study = read_state(task, run, active=active, new_answers=since, standing=standing)
    return {
        "task": task,
        "title": reads.title_of(task),
        "run": run,
        "standing": standing,
        "chooses": run is not None and type_of(run.method).chooses,
        "active": active,
        "last": last,
        "fresh": since,
        **menu_of(run),
        "start_words": words,
        "study_state": study,
        "screen": page_screen(study, []),
    }


def view_links(
    task: Task, address: str, labels: Iterable[tuple[str, str]], view: str, keep: str
) -> list[dict[str, Any]]:
    """The switch between the sections of one address, of which ``view`` is shown."""
    page = reverse(address, args=[task.project_id, task.pk])
    return [
        {
            "slug": slug,
            "label": label,
            "current": slug == view,
            "url": f"{page}?view={slug}{keep}",
        }
        for slug, label in labels
    ]


def kept_run(request: HttpRequest, run: Run | None, mark: str = "&") -> str:
    """Return the query part that keeps the requested run in a page's links; "" if none."""
    return f"{mark}run={run.number}" if run is not None and request.GET.get("run") else ""


def method_frame(task: Task, run: Run | None, *, view: str, method: str) -> dict[str, Any]:
    """Return what the page of another method shows of its run."""
    active = reads.active_of(task, method)
    study = None
    if run is not None:
        since = schedules.count_new_answers(task, run) if type_of(method).automatic else None
        study = read_state(task, run, active=active, new_answers=since)
    return {
        "task": task,
        "title": reads.title_of(task),
        "run": run,
        "view": view,
        "keep": "",
        "runs": [],
        "active": active,
        "study_state": study,
        "screen": page_screen(study, []),
        "method": method,
    }


# Table of a run -> what menus call it, where its name says too little.
TABLE_LABELS = {
    "workers": gettext_lazy("Workers"),
    "systems": gettext_lazy("Systems"),
    "texts": gettext_lazy("Texts"),
    "answers": gettext_lazy("Answers"),
    "responses": gettext_lazy("Responses"),
    "questions": gettext_lazy("Questions"),
    "items": gettext_lazy("Items"),
    "labels": gettext_lazy("Labels"),
    "soft_labels": gettext_lazy("Soft labels"),
    "confusion": gettext_lazy("Confusion matrices"),
    "all": gettext_lazy("All, with manifest"),
    dictionary.TABLE: gettext_lazy("What the columns hold"),
}


def export_menu(run: Run | None) -> dict[str, Any]:
    """Return the tables and formats of a run's menu of exports, the joined table apart."""
    if run is None:
        return {}
    names = (*exports.tables_of(run), dictionary.TABLE, "all")
    labels = {name: name.replace("_", " ").capitalize() for name in names} | TABLE_LABELS
    return {
        "export_rows": [(name, labels[name]) for name in names],
        "export_formats": sorted(exports.FORMATS, key=lambda form: form != "xlsx"),
        "joined_of_run": "soft_labels" in names,
    }


def send(request: HttpRequest, run: Run | None) -> HttpResponseBase:
    """A table of a finished run as a file, or all of them in one.

    Missing where there is no run; Invalid names a table or format that is not known.
    """
    if run is None:
        raise Missing(gettext("This task has no finished run to export."))
    table, form = request.GET.get("table", "all"), request.GET.get("format", "csv")
    name = f"task-{run.task_id}-run-{run.number}-{table}"
    ids = own_ids(request.access, run.task)  # type: ignore[attr-defined]
    if table == "all":
        response = HttpResponse(exports.archive(run, form, ids), content_type="application/zip")
        response["Content-Disposition"] = f'attachment; filename="{name}-{form}.zip"'
        return response
    exports.check(run, table, form)
    lines: Iterator[str] = exports.lines(run, table, form, ids)
    streamed = StreamingHttpResponse(lines, content_type=exports.FORMATS[form])
    streamed["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return streamed


def send_table(run: Run, name: str, table: Table, form: str) -> StreamingHttpResponse:
    """A table of a run in one format; Invalid names a format that is not known."""
    check_format(form)
    response = StreamingHttpResponse(table.parts(form), content_type=exports.FORMATS[form])
    file = f"task-{run.task_id}-run-{run.number}-{name}.{form}"
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    return response


def send_csv(run: Run, name: str, content: str) -> HttpResponse:
    """Figures of a run that a page draws, as a table of their own."""
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    file = f"task-{run.task_id}-run-{run.number}-{name}.csv"
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    return response
