"""What a labels task asks of every item, field by field."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotation.authoring.actions.rows import (
    Rows,
    change_rows,
    drop_row,
    is_published_row,
    rename_known,
    row_at,
    shift_row,
)
from annotation.models import Task, User
from annotation.task_types import get_type
from annotation.task_types.labels.fields import FROM_TEMPLATE, MADE, SCALE, points_of
from annotation.task_types.scales import MAX_LABEL, name_of, truth
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import parse_whole

FIELDS, NOUN = "fields", "field"
PLAIN = (
    *("label", "question", "kind", "low", "high", "step", "min", "max"),
    *("per", "among", "rule"),
)
BOXES = ("required", "unsure", "shuffle", "corrects")
OPTION = re.compile(r"(value|label|description|color)-(\d{1,3})")
CONDITION = re.compile(r"(field|is|values)-(\d{1,2})")
MOST_PASTED = 200
Row = dict[str, Any]


def _require(task: Task) -> None:
    if get_type(task.type).scales_in != FIELDS:
        raise Invalid(_("This type of task has no fields."))


def _change(*, by: User, task: Task, change: Callable[[Rows], Rows]) -> None:
    _require(task)
    change_rows(by=by, task=task, name=FIELDS, change=change)


def _change_one(*, by: User, task: Task, name: str, change: Callable[[Row, Rows], None]) -> None:
    """Change the field called ``name``; ``change`` gets it and all of them."""

    def whole(rows: Rows) -> Rows:
        change(rows[row_at(rows, name, noun=NOUN)], rows)
        return rows

    _change(by=by, task=task, change=whole)


@transaction.atomic
def edit_field(*, by: User, task: Task, name: str, fields: Mapping[str, Any]) -> str:
    """Change the field called ``name``; returns its short name. Invalid names what is wrong.

    Options have ``value-N``, ``label-N``, ``description-N`` and ``color-N``, conditions
    ``field-N``, ``is-N`` and ``values-N`` (a list), N from 0. What nobody wrote by hand follows: a
    field's label and short name its question, an option's value its label; conditions and known
    answers follow them. What a published version has stays.
    """
    if "question" in fields and not str(fields["question"]).strip():
        raise Invalid(_("A field asks something."), fields={"question": _("Write the question.")})
    published = is_published_row(task, FIELDS, name)
    fixed = _published_values(task, name) if published else set()
    now, values = name, dict[str, str]()

    def change(row: Row, rows: Rows) -> None:
        nonlocal now
        values.clear()
        if "question" in fields and _label_follows(row):
            follows = not published and _is_made(row["name"], row, _others(rows, row, "name"))
            row["label"] = str(fields["question"]).strip()[:MAX_LABEL].strip()
            row.pop(FROM_TEMPLATE, None)
            if follows:
                now = _rename(row, rows)
        row |= {part: fields[part] for part in PLAIN if part in fields}
        row |= {part: truth(fields[part]) for part in BOXES if part in fields}
        for part, given in fields.items():
            option, condition = OPTION.fullmatch(part), CONDITION.fullmatch(part)
            if option:
                one = _entry_at(row["options"], option[2], "option")
                before = one["value"]
                _edit_option(row, one, option[1], str(given).strip(), fixed)
                if before and one["value"] != before:
                    values[before] = one["value"]
                    _rename_in_conditions(rows, row["name"], before, one["value"])
            elif condition:
                _edit_condition(row, rows, condition[1], condition[2], given)

    _change_one(by=by, task=task, name=name, change=change)
    rename_known(task, name, now, values)
    return now


@transaction.atomic
def rename_field(*, by: User, task: Task, name: str, label: str) -> str:
    """Call a field ``label`` in results; returns its short name, which exports use.

    The short name is made of the label as long as no published version asks the field; conditions
    and known answers follow. Workers read the question alone. Invalid without a label.
    """
    label = " ".join(label.split())
    if not label:
        raise Invalid(_("A field has a name."), fields={"label": _("Write a name.")})
    published, now = is_published_row(task, FIELDS, name), name

    def change(row: Row, rows: Rows) -> None:
        nonlocal now
        row["label"] = label
        row.pop(FROM_TEMPLATE, None)
        if not published:
            now = _rename(row, rows)

    _change_one(by=by, task=task, name=name, change=change)
    rename_known(task, name, now)
    return now


def _published_values(task: Task, name: str) -> set[str]:
    """The values that answers to published versions of the field can have."""
    published = task.versions.filter(published_at__isnull=False)
    return {
        option["value"]
        for rows in published.values_list(f"settings__{FIELDS}", flat=True)
        for row in rows
        if row["name"] == name
        for option in row["options"]
    }


def _label_follows(row: Row) -> bool:
    """Whether nobody wrote the label by hand: it begins the question, or a template gave it."""
    return FROM_TEMPLATE in row or row["label"] == row["question"][: len(row["label"])]


def _is_made(code: str, row: Row, others: Sequence[str]) -> bool:
    """Whether nobody wrote a name or value by hand: it is made of the label, or a template's."""
    return FROM_TEMPLATE in row or code in (
        name_of(row["label"], others),
        name_of(row["label"][:MADE], others),
    )


def _others(rows: Rows, row: Row, key: str) -> list[str]:
    return [one[key] for one in rows if one is not row]


def _rename(row: Row, rows: Rows) -> str:
    """Make the short name of a field of its label; conditions follow. Returns it."""
    before = row["name"]
    row["name"] = name_of(row["label"][:MADE], _others(rows, row, "name"))
    for one in rows:
        for condition in one["ask_if"]:
            if condition["field"] == before:
                condition["field"] = row["name"]
    return row["name"]


def _entry_at(listed: Sequence[Row], raw: str, noun: str) -> Row:
    number = parse_whole(raw, 0, len(listed) - 1)
    if number is None:
        raise Conflict(
            _("This %(noun)s was removed meanwhile. Reload the page.")
            % {"noun": pgettext("noun", noun)}
        )
    return listed[number]


def _edit_option(row: Row, one: Row, part: str, given: str, fixed: Container[str]) -> None:
    """Change one text of an option; its value follows the label unless it is in ``fixed``."""
    before, others = one["value"], _others(row["options"], one, "value")
    if part == "value":
        one.pop(FROM_TEMPLATE, None)
    follows = not before or (before not in fixed and _is_made(before, one, others))
    if part == "label" and follows and row["kind"] != SCALE:
        if before and not given:
            number = row["options"].index(one)
            raise Invalid(_("An option has a label."), fields={f"label-{number}": _("Write it.")})
        one["value"] = name_of(given, others) if given else ""
        one.pop(FROM_TEMPLATE, None)
    one[part] = given


def _rename_in_conditions(rows: Rows, name: str, before: str, now: str) -> None:
    for row in rows:
        for condition in row["ask_if"]:
            if condition["field"] == name:
                kept = [now if value == before else value for value in condition["values"]]
                condition["values"] = [value for value in kept if value]


def _edit_condition(row: Row, rows: Rows, part: str, number: str, given: Any) -> None:
    one = _entry_at(row["ask_if"], number, "condition")
    if part == "field" and given != one["field"]:
        one["values"] = []
    one[part] = [str(value) for value in given if value] if part == "values" else str(given)


def add_field(*, by: User, task: Task, question: str) -> str:
    """Add a field at the end of the list; return the short name made of its question."""
    question = question.strip()
    if not question:
        raise Invalid(_("A field asks something."), fields={"new": _("Write the question.")})
    before: set[str] = set()

    def change(rows: Rows) -> Rows:
        before.update(row["name"] for row in rows)
        return [*rows, {"question": question}]

    _change(by=by, task=task, change=change)
    rows = task.versions.latest("number").settings[FIELDS]
    return next(row["name"] for row in reversed(rows) if row["name"] not in before)


def copy_fields(*, by: User, task: Task, source: Task) -> None:
    """Add the fields of another labels task of the project at the end, with what they depend on.

    Short names that are taken get a number. A task whose only field is as it began is left with
    the copied ones. Invalid where the two together are no fields of one task.
    """
    if source.project_id != task.project_id or source.type != task.type:
        raise Invalid(
            _("That task has no fields to copy."), fields={"source": _("Choose a labels task.")}
        )
    copied: Rows = source.versions.latest("number").settings[FIELDS]
    begun = get_type(task.type).clean_settings({})[FIELDS]

    def change(rows: Rows) -> Rows:
        kept = [] if rows == begun else rows
        taken = [row["name"] for row in kept]
        names: dict[str, str] = {}
        for row in copied:
            names[row["name"]] = name_of(row["name"], taken)
            taken.append(names[row["name"]])
        return [*kept, *(_renamed(row, names) for row in copied)]

    _change(by=by, task=task, change=change)


def _renamed(row: Row, names: Mapping[str, str]) -> Row:
    asked = [{**one, "field": names[one["field"]]} for one in row["ask_if"]]
    return {**row, "name": names[row["name"]], "ask_if": asked}


def remove_field(*, by: User, task: Task, name: str) -> None:
    """Take a field out, with the conditions that others have on it; the last one stays."""

    def change(rows: Rows) -> Rows:
        last = _("One field stays: there would be nothing to label.")
        rows = drop_row(rows, name, noun=NOUN, last=last)
        for row in rows:
            row["ask_if"] = [one for one in row["ask_if"] if one["field"] != name]
        return rows

    _change(by=by, task=task, change=change)


def move_field(*, by: User, task: Task, name: str, step: int) -> None:
    """Move a field up (-1) or down (1); Invalid where it would depend on a later one."""
    _change(by=by, task=task, change=lambda rows: shift_row(rows, name, step, noun=NOUN))


def add_option(*, by: User, task: Task, name: str) -> None:
    """Add an empty option at the end of the field's options."""

    def change(row: Row, rows: Rows) -> None:
        value = ""
        if row["kind"] == SCALE:
            taken = {one["value"] for one in row["options"]}
            value = next((str(n) for n in points_of(row) if str(n) not in taken), "")
        row["options"].append({"value": value, "label": "", "description": "", "color": ""})

    _change_one(by=by, task=task, name=name, change=change)


def remove_option(*, by: User, task: Task, name: str, number: str) -> None:
    """Take an option out, by its place from 0; conditions no longer name it."""

    def change(row: Row, rows: Rows) -> None:
        gone = _entry_at(row["options"], number, "option")
        row["options"] = [one for one in row["options"] if one is not gone]
        _rename_in_conditions(rows, name, gone["value"], "")

    _change_one(by=by, task=task, name=name, change=change)


def paste_options(*, by: User, task: Task, name: str, text: str) -> None:
    """Add options, one a line: a label, or value, label and description between tabs or "|"."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or len(lines) > MOST_PASTED:
        raise Invalid(
            _("There is no list."),
            fields={"pasted": _("1 to %(most)s lines.") % {"most": MOST_PASTED}},
        )

    def change(row: Row, rows: Rows) -> None:
        for line in lines:
            cells = [cell.strip() for cell in re.split(r"\t|\s\|\s", line)]
            value, label = (cells[0], cells[1]) if len(cells) > 1 else ("", cells[0])
            more = " ".join(cells[2:])
            row["options"].append(
                {"value": value, "label": label, "description": more, "color": ""}
            )

    _change_one(by=by, task=task, name=name, change=change)


def add_condition(*, by: User, task: Task, name: str) -> None:
    """Add an empty condition to a field, on the nearest field above that has options."""

    def change(row: Row, rows: Rows) -> None:
        above = rows[: row_at(rows, name, noun=NOUN)]
        found = next((one for one in above if one["options"]), None)
        if found is None:
            raise Invalid(
                _("A condition needs a field with options above this one."),
                fields={"ask_if": _("Move this field down, or add a field above it.")},
            )
        row["ask_if"].append({"field": found["name"], "is": "one_of", "values": []})

    _change_one(by=by, task=task, name=name, change=change)


def remove_condition(*, by: User, task: Task, name: str, number: str) -> None:
    """Take a condition out, by its place from 0."""

    def change(row: Row, rows: Rows) -> None:
        gone = _entry_at(row["ask_if"], number, "condition")
        row["ask_if"] = [one for one in row["ask_if"] if one is not gone]

    _change_one(by=by, task=task, name=name, change=change)
