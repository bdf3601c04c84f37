"""What the page of a table shows: what it is, how it is read, and what would be scored."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext, ngettext

from annotation.files.reading.importer import Row
from annotation.formats.imports.tables.base import TableReader
from annotation.formats.imports.tables.possible import reason_of_columns
from annotation.formats.registry import TABLES
from annotation.formats.uploads.naming import total
from annotation.formats.uploads.selectors import (
    arriving_sentence,
    reading_choices,
    shared_columns,
)
from annotation.formats.uploads.staging import ACTIVE, IS_CHATS
from annotation.models import ImportFile, Membership, Project, Role, User
from crowdqc.numbers import count, mid_sentence, plural
from evaluation.score_table.kinds import KINDS, Kind, reason_of_one_column

State = ImportFile.State
SHOWN_PROBLEMS = 50


def own_table(user: User, file_id: int) -> ImportFile | None:
    """A table that this person uploaded."""
    mine = ImportFile.objects.filter(kind__in=TABLES, uploaded_by=user)
    return mine.select_related("project", "task").filter(pk=file_id).first()


def tables_in(user: User, project: Project) -> QuerySet[ImportFile]:
    """The person's tables of a project."""
    return ImportFile.objects.filter(kind__in=TABLES, uploaded_by=user, project=project)


def reason_against(file: ImportFile) -> str:
    """Why a table that was checked cannot be scored; "" where it can or is not checked."""
    found = file.found
    if file.state != State.READY:
        return ""
    if not found["new"] and file.error.get(IS_CHATS):
        return str(file.error[IS_CHATS])
    if found["unmapped"] and (one := reason_of_one_column(file.sheet["columns"])):
        return one
    if found["unmapped"]:
        return _unread_sentence(file)
    if not found["new"]:
        return gettext("No row can be used.")
    cannot = found["about"].get("cannot")
    return str(cannot[1]) if cannot else ""


def _unread_sentence(file: ImportFile) -> str:
    if reason := file.sheet.get("reason"):
        return str(reason)
    fields, found = KINDS[file.kind].reader.fields, file.found
    possible = file.sheet.get("possible", {})
    return reason_of_columns(fields, found["mapping"], found["unmapped"], possible)


def count_votes(file: ImportFile) -> int | None:
    """How many votes a score would count, without repeats; None before the rows are checked."""
    return file.found.get("about", {}).get("counted", file.found.get("new"))


def list_rejected(file: ImportFile) -> list[dict[str, Any]]:
    """The rows that are left out, by line, each with its reason; the first of many."""
    problems = [*file.found.get("problems", ()), *file.found.get("repeats", ())]
    return sorted(problems, key=lambda one: one.get("line") or 0)


def tables_of(user: User) -> list[dict[str, Any]]:
    """The person's newest tables, each with its kind."""
    mine = ImportFile.objects.filter(kind__in=TABLES, uploaded_by=user).defer("sheet")
    files = mine.select_related("task", "project").order_by("-pk")[:10]
    return [{"file": file, "kind": KINDS[file.kind].title} for file in files]


def projects_of(user: User) -> list[Project]:
    """The projects in which this person may make a task, by name."""
    mine = Membership.objects.filter(user=user, role=Role.REQUESTER, removed_at=None)
    return list(Project.objects.filter(pk__in=mine.values("project")).order_by("name", "pk"))


def frame(file: ImportFile) -> dict[str, Any]:
    """State, columns, problems and numbers of a table."""
    if file.state in (*ACTIVE, State.UPLOADING):
        at_work = {"state": _at_work(file), "active": True}
        # Another column can be chosen while the rows are checked by the last choice.
        return at_work | (_read_as(file) if file.state == State.CHECKING else {})
    if file.state == State.FAILED:
        said = f"{file.error.get('message', '')} {file.error.get('mend', '')}".strip()
        return {"state": ("bad", gettext("Cannot be read"), said)}
    found, kind, rows = file.found, KINDS[file.kind], total(file)
    about = {"cannot": [], "offers": [], **found["about"]}
    used = found["tally"].get("used", 0)
    problems = list_rejected(file)
    named = {(one["column"], one["value"]): one for one in reversed(problems)}  # the first of each
    shown = [
        {**one, "fixes": _fixes(one, about) if named[one["column"], one["value"]] is one else []}
        for one in problems[:SHOWN_PROBLEMS]
    ]
    return {
        "state": _state(file, rows, used, about),
        **_read_as(file),
        "votes": count_votes(file),
        "seconds": kind.seconds(found["new"]),
        "unit": f"{kind.reader.unit},{kind.reader.unit}s",
        "reading": reading_choices(file),
        "choices": [one for one in about["offers"] if (one["column"], one["value"]) not in named],
        "problems": shown,
        "left": rows - used,
        "more": found["all_problems"] + found["repeated"] - len(shown),
        "missing": [mid_sentence(one["label"]) for one in found["unmapped"]],
        "can_score": bool(found["new"]) and not about["cannot"],
        "about": about,
        "notes": found["notes"],
        "warnings": about.get("warnings", ()),
        "methods": kind.methods(about) if found["new"] else (),
    }


def _read_as(file: ImportFile) -> dict[str, Any]:
    """Return the kinds, and the columns with what each is read as."""
    kind, names = KINDS[file.kind], [name for name in file.sheet["columns"] if name]
    mapping = file.found.get("mapping", {}) if file.state == State.READY else file.mapping
    mapped = {column: name for name, column in mapping.items()}
    labels = file.found.get("about", {}).get("label_columns", names)
    return {
        "rows": total(file),
        "kinds": _kinds(file),
        "columns": [
            {
                "name": name,
                "field": mapped.get(name, ""),
                "unread_as": (kind.reader if name in labels else TableReader).unread,
            }
            for name in names
        ],
        "fields": kind.reader.fields,
        "first": [
            [{"text": values.get(name, ""), "read": name in mapped} for name in names]
            for _, values in file.sheet["first"]
        ],
    }


def scoring(file: ImportFile) -> dict[str, Any]:
    """Return the context of the page while a table's run is in work."""
    assert file.task is not None  # noqa: S101 (a run is one of a task)
    run = file.task.runs.order_by("number").first()
    said = gettext("Results are shown here as soon as they are there. You can close this page.")
    return {"state": ("running", gettext("Scoring"), said), "active": True, "run": run}


def _at_work(file: ImportFile) -> tuple[str, str, str]:
    if arriving := arriving_sentence(file):
        return "running", file.get_state_display(), arriving
    rows = (
        gettext("%(done)s of %(total)s rows")
        % {"done": count(file.done), "total": count(file.total)}
        if file.total
        else gettext("%(done)s rows") % {"done": count(file.done)}
    )
    if file.state == State.IMPORTING:
        return (
            "running",
            gettext("Writing the task"),
            gettext("%(count)s checked. You can close this page.") % {"count": rows},
        )
    return (
        "running",
        gettext("Reading the table"),
        (
            gettext("%(count)s checked.")
            if file.state == State.CHECKING
            else gettext("%(count)s read.")
        )
        % {"count": rows},
    )


def _fixes(problem: dict[str, Any], about: dict[str, Any]) -> list[dict[str, str]]:
    """List what can be done about a problem with a click."""
    where = (problem["column"], problem["value"])
    return [one for one in about["offers"] if (one["column"], one["value"]) == where]


def _state(file: ImportFile, rows: int, used: int, about: dict[str, Any]) -> tuple[str, str, str]:
    found = file.found
    read = plural(rows, "row")
    if not found["new"] and file.error.get(IS_CHATS):
        return "bad", gettext("Conversations"), str(file.error[IS_CHATS])
    if found["unmapped"] and (one := reason_of_one_column(file.sheet["columns"])):
        return "bad", gettext("One column"), one
    if found["unmapped"]:
        return (
            "waiting",
            gettext("Columns missing"),
            _unread_sentence(file),
        )
    if not found["new"]:
        said = (
            gettext("%(rows)s read. See what is wrong with them below.") % {"rows": read}
            if rows
            else gettext("It names columns and has no rows.")
        )
        return "bad", gettext("No row can be used"), said
    if about["cannot"]:
        head, said = about["cannot"]
        return "bad", head, gettext("%(rows)s read. %(said)s") % {"rows": read, "said": said}
    reader, left = KINDS[file.kind].reader, rows - used
    votes = plural(count_votes(file) or 0, reader.unit)
    said = gettext("%(rows)s read as %(kind)s: %(votes)s can be used.")
    if left:
        # Of a row that holds several votes, the others are used.
        said = ngettext(
            "%(rows)s read as %(kind)s: %(votes)s can be used. %(left)s row is left out, whole or "
            "in part.",
            "%(rows)s read as %(kind)s: %(votes)s can be used. %(left)s rows are left out, whole "
            "or in part.",
            left,
        )
    kind = mid_sentence(KINDS[file.kind].title)
    return (
        "waiting",
        gettext("Ready to score"),
        said % {"rows": read, "votes": votes, "left": count(left), "kind": kind},
    )


def _kinds(file: ImportFile) -> list[dict[str, Any]]:
    """List each kind of table, and what the file has of it."""
    fits = file.sheet["fits"]
    recognised = next((slug for slug in reversed(fits) if fits[slug][0]), "")
    return [
        {
            "slug": slug,
            "title": kind.title,
            "needs": kind.needs,
            "here": _in_file(file, kind),
            "chosen": slug == file.kind,
            "recognised": slug == recognised,
        }
        for slug, kind in KINDS.items()
    ]


def _in_file(file: ImportFile, kind: Kind) -> str:
    """Say what the file has of a kind, by the columns that a person chose where they did."""
    recognised = str(file.sheet["fits"][kind.reader.slug][1])
    if not file.mapping:
        return recognised
    if kind.reader.slug == file.kind:
        mapping = file.mapping
    else:
        rows = [Row(line, values) for line, values in file.sheet["first"]]
        mapping = shared_columns(file, kind.reader.slug, file.sheet["columns"], rows)
    return (kind.reader.lacks(mapping) or gettext("all columns")) if mapping else recognised
