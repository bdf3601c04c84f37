"""Importing a file: choose it, see how it is read, import all of it or all but its bad rows."""

from __future__ import annotations

import csv
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import get_task
from annotation.actions import imports as actions
from annotation.imports.base import MAX_BYTES
from annotation.imports.reading import check_size, read
from annotation.models import ImportFile, Role, Task
from annotation.selectors.imports import Examined, examine, format_for, kinds_of
from crowdqc import numbers
from crowdqc.errors import Invalid, Missing
from crowdqc.htmx import page_or_fragment

SHOWN_PROBLEMS = 200
SHOWN_ROWS = 5
WORDS = {
    "items": ("questions", "question"),
    "answers": ("answers of workers", "answer"),
    "system_answers": ("answers of systems", "answer"),
    "candidates": ("texts to be judged", "text"),
    "judgments": ("judgments", "judgment"),
    "documents": ("documents with answers", "answer"),
    "ratings": ("ratings with explanations", "rating"),
    "topics": ("topics", "topic"),
    "responses": ("responses", "response"),
    "samples": ("dimensions with scored samples", "sample"),
    "attributes": ("attributes", "session"),
    "checks": ("checklists", "checklist"),
}

# What is counted as new, where it is not a row of the file: several rows may make one.
UNITS = {"topics": "topic", "attributes": "session", "checks": "checklist"}
# Only once the task is published.
AFTER = (
    "answers", "system_answers", "judgments", "ratings", "responses", "attributes", "checks",
)  # fmt: skip


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_import(request: HttpRequest, project_id: int, task_id: int, kind: str) -> HttpResponse:
    """Choose a file of a kind that the task takes: questions, answers, texts, judgments."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    kinds = kinds_of(task)
    if kind not in kinds:
        raise Missing("The task takes no such file. It takes " + ", ".join(kinds) + ".")
    error = None
    if request.method == "POST":
        try:
            upload = request.FILES.get("file")
            if upload is None:
                raise Invalid("No file was chosen.", fields={"file": "Choose a file."})
            check_size(upload.size or 0)
            file = actions.keep_file(
                by=access.user, task=task, kind=kind, name=upload.name or "", content=upload.read()
            )
        except Invalid as refused:
            error = refused
        else:
            return redirect("task_import_file", project_id, task_id, file.pk)
    context = {
        "access": access,
        "project": task.project,
        "task": task,
        "title": _title(task),
        "kind": kind,
        "words": WORDS[kind][0],
        "format": format_for(task, kind),
        "error": error,
        "blocked": kind in AFTER and task.current is None,
        "most": MAX_BYTES // 2**20,
        "files": task.import_files.filter(kind=kind)
        .defer("content")
        .select_related("uploaded_by")
        .order_by("-pk")[:20],
    }
    return render(
        request, "annotation/requester/import.html", context, status=422 if error else 200
    )


def _title(task: Task) -> str:
    version = task.current or task.versions.order_by("-number").first()
    return version.title if version else ""


def _file(task: Task, file_id: int) -> ImportFile:
    file = task.import_files.filter(pk=file_id).first()
    if file is None:
        raise Missing("There is no such file in this task.")
    file.task = task
    return file


def _examined(task: Task, file: ImportFile) -> Examined:
    sheet = read(bytes(file.content), file.name)
    return examine(task, file.kind, sheet, file.mapping or None)


def _columns(found: Examined) -> list[dict[str, Any]]:
    """Each column with the field it is read as."""
    read_as = {column: name for name, column in found.mapping.items()}
    return [
        {
            "name": column,
            "field": read_as.get(column, ""),
        }
        for column in found.sheet.columns
        if column
    ]


def _first_rows(found: Examined) -> list[dict[str, Any]]:
    """The first rows, each value with whether its column is read."""
    read_columns = set(found.mapping.values())
    columns = [column for column in found.sheet.columns if column]
    return [
        {
            "line": row.line,
            "values": [
                {"text": row.values.get(column, ""), "read": column in read_columns}
                for column in columns
            ],
        }
        for row in found.sheet.rows[:SHOWN_ROWS]
    ]


def _sentence(file: ImportFile, found: Examined | None) -> tuple[str, str, str]:
    """Mark, word and sentence of the header."""
    if file.imported_at:
        report, noun = file.report, WORDS[file.kind][1]
        there = f" {report['there']:,} were there already." if report["there"] else ""
        out = report["left_out"]
        left = f" {numbers.plural(out, 'row was', 'rows were')} left out." if out else ""
        new = numbers.plural(report["new"], f"new {noun}")
        return "done", "Imported", f"{new} from {report['rows']:,} rows.{there}{left}"
    if found is None:
        return "bad", "Nothing imported", "The file cannot be read."
    total, checked = found.sheet.total, found.checked
    if found.unmapped:
        names = ", ".join(field.label.lower() for field in found.unmapped)
        return "bad", "Nothing imported", f"No column is read as {names}. Choose it below."
    if checked.problems:
        return (
            "bad", "Nothing imported",
            f"{found.bad_rows:,} of {total:,} rows cannot be read. "
            "Mend them in the file, or leave them out knowingly.",
        )  # fmt: skip
    if not checked.good:
        said = f"All {total:,} rows are there already; importing adds nothing."
        return "done", "Nothing new", said
    there = f", {checked.there:,} are there already" if checked.there else ""
    said = f"{len(checked.good):,} of {total:,} rows are new{there}."
    if file.kind in UNITS:
        new = numbers.plural(len(checked.good), f"new {UNITS[file.kind]}")
        said = f"{new} in {numbers.plural(total, 'row')}{there}."
    return "waiting", "Nothing imported yet", said


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_import_file(
    request: HttpRequest, project_id: int, task_id: int, file_id: int
) -> HttpResponse:
    """How a file is read: its columns, first rows and bad rows; then import it."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    file = _file(task, file_id)
    if request.method == "POST" and request.POST.get("do") == "import":
        leave_out = request.POST.get("leave_out") == "1"
        report = actions.import_file(by=access.user, file=file, leave_out_bad=leave_out)
        _tell(request, report, UNITS.get(file.kind, "row"))
        return redirect("task_import_file", project_id, task_id, file_id)
    if request.method == "POST" and not file.imported_at:
        actions.map_columns(by=access.user, file=file, mapping=_mapping(request))
    found, error = None, None
    try:
        found = None if file.imported_at else _examined(task, file)
    except Invalid as refused:
        error = refused
    state, word, sentence = _sentence(file, found)
    unit = UNITS.get(file.kind, "row")
    context = {
        "access": access,
        "project": task.project,
        "task": task,
        "title": _title(task),
        "file": file,
        "kind": file.kind,
        "words": WORDS[file.kind][0],
        "format": format_for(task, file.kind),
        "found": found,
        "error": error,
        "state": state,
        "word": word,
        "sentence": sentence,
        "columns": _columns(found) if found else [],
        "first_rows": _first_rows(found) if found else [],
        "problems": [p.as_dict() for p in found.checked.problems[:SHOWN_PROBLEMS]] if found else [],
        "more_problems": max(0, len(found.checked.problems) - SHOWN_PROBLEMS) if found else 0,
        "new": len(found.checked.good) if found else 0,
        "units": f"{unit},{unit}s",
    }
    return page_or_fragment(
        request,
        "annotation/requester/import_file.html",
        "annotation/requester/_import_file.html",
        context,
        status=422 if error else 200,
    )


def _mapping(request: HttpRequest) -> dict[str, str]:
    """Field -> column from one select a column, named ``column:NAME``."""
    return {
        field: name.removeprefix("column:")
        for name, field in request.POST.items()
        if name.startswith("column:") and isinstance(field, str) and field
    }


def _tell(request: HttpRequest, report: actions.Report, unit: str) -> None:
    if report.new:
        messages.success(request, f"{numbers.plural(report.new, unit)} imported.")
    else:
        messages.info(request, "Nothing was added: every row was there already.")


@login_required
@require_safe
def task_import_bad_rows(
    request: HttpRequest, project_id: int, task_id: int, file_id: int
) -> HttpResponse:
    """The bad rows with their reasons, as CSV."""
    _, task = get_task(request, project_id, task_id, Role.REQUESTER)
    file = _file(task, file_id)
    if file.imported_at:
        raise Missing("This file was imported; its rows are no longer kept here.")
    found = _examined(task, file)
    rows = {row.line: row for row in found.sheet.rows}
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="bad-rows-{file.pk}.csv"'
    writer = csv.writer(response)
    writer.writerow(["line", "column", "wrong", "mend", *found.sheet.columns])
    for problem in found.checked.problems:
        row = rows.get(problem.line or -1)
        values = [row.values.get(c, "") for c in found.sheet.columns] if row else [problem.value]
        writer.writerow([problem.line, problem.column, problem.wrong, problem.mend, *values])
    return response
