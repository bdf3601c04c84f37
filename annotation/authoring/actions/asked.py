"""What a draft asks of every pair or text: its dimensions or scales, edited row by row."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from annotation.authoring.actions.rows import (
    Change,
    Rows,
    change_rows,
    drop_row,
    is_published_row,
    rename_known,
    row_at,
    shift_row,
)
from annotation.models import Task, TaskVersion, User
from annotation.task_types import get_type
from annotation.task_types.scales import name_of, truth
from crowdqc.errors import Invalid

TEXTS = ("label", "question", "description")
POINT = "point-"  # and the point's value: the name of its label's field


def list_of(task: Task) -> str:
    """Return the name of the setting with the task's lines, "dimensions" or "scales".

    Raises Invalid where the type has neither.
    """
    found = get_type(task.type).scales_in
    if not found:
        raise Invalid(gettext("This type of task has no dimensions."))
    return found


def _change(*, by: User, task: Task, change: Change) -> TaskVersion:
    return change_rows(by=by, task=task, name=list_of(task), change=change)


def edit_row(*, by: User, task: Task, name: str, fields: Mapping[str, Any]) -> None:
    """Change the line called ``name``: its label, question, description, neutral, points.

    Its short name stays (see ``rename_row``). Invalid names the field.
    """
    if "label" in fields and not str(fields["label"]).strip():
        raise Invalid(gettext("A line needs a name."), fields={"label": gettext("Write a name.")})

    def change(rows: Rows) -> Rows:
        row = rows[row_at(rows, name)]
        row |= {field: str(fields[field]).strip() for field in TEXTS if field in fields}
        if "neutral" in fields and "neutral" in row:
            row["neutral"] = truth(fields["neutral"])
        for point in row.get("points", []):
            label = fields.get(f"{POINT}{point['value']}")
            point["label"] = point["label"] if label is None else str(label).strip()
        return rows

    _change(by=by, task=task, change=change)


@transaction.atomic
def rename_row(*, by: User, task: Task, name: str, label: str) -> str:
    """Change the label of a line; returns its short name, by which exports call it.

    A short name that was made of the label follows it, and with it known answers, as long as no
    published version has the line; names that a study gave stay. Invalid without a label.
    """
    setting, now = list_of(task), name
    published = is_published_row(task, setting, name)

    def change(rows: Rows) -> Rows:
        nonlocal now
        row = rows[row_at(rows, name)]
        others = [one["name"] for one in rows if one is not row]
        if not published and name == name_of(row["label"], others):
            now = row["name"] = name_of(label, others)
        row["label"] = label.strip()
        return rows

    if not label.strip():
        raise Invalid(gettext("A line needs a name."), fields={"label": gettext("Write a name.")})
    _change(by=by, task=task, change=change)
    rename_known(task, name, now)
    return now


def add_row(*, by: User, task: Task, label: str) -> str:
    """Add a dimension or scale at the end; return the short name made of its label."""
    if not label.strip():
        raise Invalid(gettext("A line needs a name."), fields={"new": gettext("Write a name.")})
    name = ""

    def change(rows: Rows) -> Rows:
        nonlocal name
        name = name_of(label, [row["name"] for row in rows])
        return [*rows, get_type(task.type).new_line(name, label.strip())]

    _change(by=by, task=task, change=change)
    return name


def remove_row(*, by: User, task: Task, name: str) -> None:
    """Take a line out; the last one stays."""

    last = _("One line stays: there would be nothing to judge.")
    _change(by=by, task=task, change=lambda rows: drop_row(rows, name, last=last))


def move_row(*, by: User, task: Task, name: str, step: int) -> None:
    """Move a line up (-1) or down (1); at the end it stays where it is."""
    _change(by=by, task=task, change=lambda rows: shift_row(rows, name, step))


def change_points(*, by: User, task: Task, name: str, step: int) -> None:
    """Add a point at the top of a scale (``step`` 1) or remove one (-1); two always stay."""

    def change(rows: Rows) -> Rows:
        points = rows[row_at(rows, name)]["points"]
        if step > 0:
            points.append({"value": points[-1]["value"] + 1, "label": ""})
        elif len(points) > 2:
            points.pop()
        return rows

    _change(by=by, task=task, change=change)


def use_template(*, by: User, task: Task) -> None:
    """Replace all lines by the template of their type."""
    settings = task.versions.latest("number").settings
    template = get_type(task.type).template_lines(settings)
    _change(by=by, task=task, change=lambda _: copy.deepcopy(template))
