"""The builder of labels tasks: fields with their options and conditions."""

from __future__ import annotations

from collections.abc import Collection

from django.http import QueryDict
from django.utils.translation import gettext

from annotation.authoring.actions import label_fields
from annotation.authoring.views.builder.context import STEPS, Followed, field_view, row_view
from annotation.authoring.views.builder.parts import BuilderState
from annotation.models import Task, User
from crowdqc.errors import Invalid
from crowdqc.numbers import parse_whole

# What shows other rows when it is saved.
WHOLE = ("kind", "field-", "is-", "values-", "color-", "low", "high", "step", "unsure")


@field_view("field")
def task_build_field(
    post: QueryDict, user: User, task: Task, place: BuilderState
) -> BuilderState | Followed:
    """Save what the form sends of the open field; ``has_NAME`` stands for an unticked box."""
    if post.keys() - {"csrfmiddlewaretoken"} == {"label"}:
        name = label_fields.rename_field(
            by=user, task=task, name=place.question, label=post.get("label", "")
        )
        return place.with_changes(question=name)
    fields = {
        name: post.getlist(name) if name.startswith("values-") else post.get(name, "")
        for name in post
    }
    for name in [one for one in post if one.startswith("has_")]:
        fields.setdefault(name.removeprefix("has_"), [] if "values-" in name else "")
    name = label_fields.edit_field(by=user, task=task, name=place.question, fields=fields)
    place = place.with_changes(question=name)
    if any(name.startswith(WHOLE) for name in fields):
        return place
    return Followed(place, _followers(task, name, fields))


def _followers(task: Task, name: str, fields: Collection[str]) -> dict[str, str]:
    """What follows the saved ``fields``: the label its question, a value its label."""
    rows = task.versions.latest("number").settings["fields"]
    row = next(row for row in rows if row["name"] == name)
    found = {"label": row["label"]} if "question" in fields else {}
    for number, option in enumerate(row["options"]):
        if f"label-{number}" in fields:
            found[f"value-{number}"] = option["value"]
    return found


@row_view("#field-step-note", part="fields")
def task_build_field_step(
    post: QueryDict, user: User, task: Task, place: BuilderState
) -> BuilderState:
    """Add or copy fields, move or remove the open one; its options and conditions."""
    to, name = post.get("to", ""), place.question
    to, _, number = to.partition(":")
    if to == "add":
        return place.with_changes(
            question=label_fields.add_field(by=user, task=task, question=post.get("new", ""))
        )
    if to == "remove":
        label_fields.remove_field(by=user, task=task, name=name)
        return place.with_changes(question="")
    if to == "copy":
        pk = parse_whole(post.get("source", ""), 1)
        source = task.project.tasks.filter(pk=pk or 0).first()
        if source is None:
            raise Invalid(
                gettext("No task is chosen."), fields={"source": gettext("Choose a task.")}
            )
        label_fields.copy_fields(by=user, task=task, source=source)
        return place.with_changes(question="")
    if to in STEPS:
        label_fields.move_field(by=user, task=task, name=name, step=STEPS[to])
    elif to == "option":
        label_fields.add_option(by=user, task=task, name=name)
    elif to == "option-remove":
        label_fields.remove_option(by=user, task=task, name=name, number=number)
    elif to == "paste":
        label_fields.paste_options(by=user, task=task, name=name, text=post.get("pasted", ""))
    elif to == "condition":
        label_fields.add_condition(by=user, task=task, name=name)
    elif to == "condition-remove":
        label_fields.remove_condition(by=user, task=task, name=name, number=number)
    else:
        raise Invalid(
            gettext("There is no such step."),
            fields={"to": "add, copy, remove, up, down, option."},
        )
    return place
