"""The builder of checklist tasks: its questions, line by line."""

from __future__ import annotations

from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.authoring.views.builder.context import STEPS, field_view, row_view
from annotation.authoring.views.builder.parts import BuilderState
from annotation.models import Task, User
from annotation.pairs.actions import checklist_items
from crowdqc.errors import Invalid


@field_view("line")
def task_build_line(post: QueryDict, user: User, task: Task, place: BuilderState) -> None:
    """Save the wording or the component of the open question."""
    fields = {name: post[name] for name in ("label", "component") if name in post}
    checklist_items.edit_question(by=user, task=task, name=place.question, fields=fields)


@row_view("#new-note", part="asked")
def task_build_line_step(
    post: QueryDict, user: User, task: Task, place: BuilderState
) -> BuilderState:
    """Add questions, one a line; move or remove the open one."""
    to = post.get("to", "")
    if to == "add":
        names = checklist_items.add_questions(
            by=user, task=task, text=post.get("new", ""), component=post.get("new_component", "")
        )
        return place.with_changes(question=names[0] if len(names) == 1 else "")
    if to == "remove":
        checklist_items.remove_question(by=user, task=task, name=place.question)
        return place.with_changes(question="")
    if to in STEPS:
        checklist_items.move_question(by=user, task=task, name=place.question, step=STEPS[to])
        return place
    raise Invalid(_("There is no such step."), fields={"to": "add, remove, up, down."})
