"""What a writing task asks beside the text: its styles and its questionnaires, row by row."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from annotation.authoring.actions.drafts import lock_draft
from annotation.authoring.actions.rows import Change, Rows, change_rows, drop_row, row_at, shift_row
from annotation.authoring.actions.writing_topics import require, sync_items
from annotation.models import Task, User
from annotation.task_types.scales import name_of, truth
from annotation.task_types.writing import questionnaire
from annotation.task_types.writing import type as writing
from crowdqc.errors import Invalid

STYLES = "styles"
LISTS: dict[str, tuple[Mapping[str, Any], ...]] = {  # setting -> what it can start from
    STYLES: writing.STYLES,
    writing.ENTRY: writing.ENTRY_TEMPLATE,
    writing.EXIT: writing.EXIT_TEMPLATE,
}
VALUE, LABEL = "value-", "label-"  # and a point's place from 0: its fields
POINTS = [{"value": value, "label": ""} for value in range(1, 6)]


@transaction.atomic
def _change(*, by: User, task: Task, which: str, change: Change) -> None:
    """Change the rows of a list; items follow the styles."""
    require(task)
    if which not in LISTS:
        raise Invalid(gettext("There is no such list."), fields={"which": ", ".join(LISTS)})
    version = change_rows(by=by, task=task, name=which, change=change)
    if which == STYLES and version.published_at is None:
        sync_items(task, lock_draft(task, by=by))


def edit_row(*, by: User, task: Task, which: str, name: str, fields: Mapping[str, Any]) -> None:
    """Change a writing style (label, told) or a question (label, question, kind, required, points).

    ``told`` is what is said of a style. Points have ``value-N`` and ``label-N``, N from 0. The
    short name stays: exports call it by that, and items of a style. Invalid names the field.
    """
    if "label" in fields and not str(fields["label"]).strip():
        raise Invalid(gettext("It needs a name."), fields={"label": gettext("Write a name.")})

    def change(rows: Rows) -> Rows:
        row = rows[row_at(rows, name)]
        for field, own in (("label", "label"), ("told", "instructions"), ("question", "question")):
            if field in fields and (own == "label" or own in row):
                row[own] = str(fields[field]).strip()
        if "required" in fields and "required" in row:
            row["required"] = truth(fields["required"])
        if "kind" in fields and "kind" in row:
            row["kind"] = str(fields["kind"])
            row["points"] = row["points"] or copy.deepcopy(POINTS)
        for place, point in enumerate(row.get("points", [])):
            if f"{LABEL}{place}" in fields:
                point["label"] = str(fields[f"{LABEL}{place}"]).strip()
            if f"{VALUE}{place}" in fields:
                point["value"] = str(fields[f"{VALUE}{place}"]).strip()
                point["value"] = _checked(point["value"], f"{VALUE}{place}", row["points"])
        return rows

    _change(by=by, task=task, which=which, change=change)


def _checked(value: str, field: str, points: Rows) -> int:
    """A point's number, which no other has; Invalid names the field."""
    if not re.fullmatch(r"-?[0-9]{1,3}", value) or not -100 <= int(value) <= 100:
        raise Invalid(
            gettext("This is no such number."),
            fields={field: gettext("A whole number, -100 to 100.")},
        )
    if [str(point["value"]) for point in points].count(value) > 1:
        raise Invalid(
            gettext("%(value)s is there twice.") % {"value": value},
            fields={field: gettext("Each choice its own number.")},
        )
    return int(value)


def add_row(*, by: User, task: Task, which: str, label: str) -> str:
    """One more style or question at the end; returns the short name that its label gives it."""
    if not label.strip():
        raise Invalid(gettext("It needs a name."), fields={"new": gettext("Write a name.")})
    name = ""

    def change(rows: Rows) -> Rows:
        nonlocal name
        name = name_of(label, [row["name"] for row in rows])[: questionnaire.MAX_FIELD]
        row: dict[str, Any] = {"name": name, "label": label.strip()}
        if which == STYLES:
            return [*rows, {**row, "instructions": ""}]
        asked = {"question": "", "kind": questionnaire.POINTS, "required": True}
        return [*rows, {**row, **asked, "points": copy.deepcopy(POINTS)}]

    _change(by=by, task=task, which=which, change=change)
    return name


def remove_row(*, by: User, task: Task, which: str, name: str) -> None:
    """Take a question out, or a style with its items; the last style stays."""

    last = gettext("One style stays: there would be nothing to write.") if which == STYLES else ""
    _change(by=by, task=task, which=which, change=lambda rows: drop_row(rows, name, last=last))


def move_row(*, by: User, task: Task, which: str, name: str, step: int) -> None:
    """Move a style or question up (-1) or down (1); at the end it stays where it is."""
    _change(by=by, task=task, which=which, change=lambda rows: shift_row(rows, name, step))


def change_points(*, by: User, task: Task, which: str, name: str, step: int) -> None:
    """Add a choice (``step`` 1) or remove the last one (-1) of a question; two always stay."""

    def change(rows: Rows) -> Rows:
        points = rows[row_at(rows, name)].get("points", [])
        if step > 0:
            points.append({"value": max((p["value"] for p in points), default=0) + 1, "label": ""})
        elif len(points) > 2:
            points.pop()
        return rows

    _change(by=by, task=task, which=which, change=change)


def use_template(*, by: User, task: Task, which: str) -> None:
    """Replace a list by what it can start from: three styles, or four questions."""
    template = [dict(row) for row in LISTS.get(which, ())]
    if which != STYLES:
        template = questionnaire.clean(template, which)
    _change(by=by, task=task, which=which, change=lambda _: copy.deepcopy(template))
