"""The builder of think-aloud tasks: dimensions with their rubrics, and their scored samples."""

from __future__ import annotations

from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.authoring.actions import think_topics
from annotation.authoring.actions.rows import Rows, drop_row, row_at, shift_row
from annotation.authoring.actions.think_topics import DIMENSION, SAMPLE
from annotation.authoring.views.builder.context import STEPS, field_view, open_group, row_view
from annotation.authoring.views.builder.parts import BuilderState
from annotation.models import Task, User
from crowdqc.errors import Invalid

FIELDS = ("title", "text", "source", "score")  # of a sample; their inputs begin with "sample_"


@field_view("dimension", opened="text")
def task_build_dimension(post: QueryDict, user: User, task: Task, place: BuilderState) -> None:
    """Save the name or rubric of the open dimension, or the fields of its open sample."""
    fields = {name: post[f"sample_{name}"] for name in FIELDS if f"sample_{name}" in post}
    if "name" in post or "rubric" in post:
        think_topics.save_dimension(
            by=user,
            task=task,
            group=open_group(task, place, DIMENSION),
            name=post.get("name"),
            rubric=post.get("rubric"),
        )

    def change(rows: Rows) -> Rows:
        rows[row_at(rows, place.question, by="key", noun=SAMPLE)] |= fields
        return rows

    if fields and place.question:
        think_topics.change_samples(by=user, task=task, key=place.text, change=change)


@row_view("#samples-note", part="dimensions", focus=("add", "sample-add"))
def task_build_dimension_step(
    post: QueryDict, user: User, task: Task, place: BuilderState
) -> BuilderState:
    """Add, move or remove a dimension; add, move or remove a sample of the open one."""
    to = post.get("to", "")
    if to == "add":
        group = think_topics.save_dimension(by=user, task=task, name="", rubric="")
        return place.with_changes(text=group.key, question="")
    if to.startswith("sample-"):
        return _samples_stepped(user, task, place, to.removeprefix("sample-"))
    if to != "remove" and to not in STEPS:
        raise _no_such_step()
    group = open_group(task, place, DIMENSION)
    if to == "remove":
        think_topics.remove_dimension(by=user, task=task, group=group)
        return place.with_changes(text="", question="")
    think_topics.move_dimension(by=user, task=task, group=group, step=STEPS[to])
    return place


def _samples_stepped(user: User, task: Task, place: BuilderState, to: str) -> BuilderState:
    """A sample added to the open dimension, or the open one moved or taken out."""
    key = place.question

    def change(rows: Rows) -> Rows:
        nonlocal key
        if to == "add":
            key = think_topics.free_sample(rows)
            return [*rows, {"key": key}]
        if to == "remove":
            return drop_row(rows, place.question, by="key", noun=SAMPLE)
        return shift_row(rows, place.question, STEPS[to], by="key", noun=SAMPLE)

    if to not in ("add", "remove", *STEPS):
        raise _no_such_step()
    group = open_group(task, place, DIMENSION)
    think_topics.change_samples(by=user, task=task, key=group.key, change=change)
    return place.with_changes(question="" if to == "remove" else key)


def _no_such_step() -> Invalid:
    return Invalid(_("There is no such step."), fields={"to": "add, remove, up, down, sample-add."})
