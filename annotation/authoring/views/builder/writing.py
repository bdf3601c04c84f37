"""The builder of tasks that ask for responses: styles, questionnaires, topics and passages."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from annotation.authoring.actions import writing_forms, writing_topics
from annotation.authoring.actions.rows import Rows, drop_row, row_at, shift_row
from annotation.authoring.actions.writing_topics import PASSAGE, TOPIC
from annotation.authoring.views.builder.context import (
    STEPS,
    field_refused,
    field_view,
    find,
    open_group,
    place_of,
    row_view,
    rows_changed,
)
from annotation.authoring.views.builder.parts import BuilderState
from annotation.models import Task, User
from crowdqc.errors import Invalid

# Styles and questionnaires ---------------------------------------------------------------------


def _list_of(place: BuilderState) -> tuple[str, str]:
    """The list and the name of the open row: ``essay``, or ``entry.knowledge`` of a form."""
    if place.part == "styles":
        return writing_forms.STYLES, place.question
    which, _, name = place.question.partition(".")
    return which, name


@field_view("rows")
def task_build_rows(post: QueryDict, user: User, task: Task, place: BuilderState) -> bool:
    """Save the fields of the open style or question, named in the query."""
    which, name = _list_of(place)
    fields = {field: value for field, value in post.items() if isinstance(value, str)}
    if "has_required" in fields:
        fields.setdefault("required", "")
    writing_forms.edit_row(by=user, task=task, which=which, name=name, fields=fields)
    return "kind" in fields  # the choices come or go


@login_required
@require_POST
def task_build_rows_step(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Add a style or question (``add``, ``add-entry``), move or remove the open one, ..."""
    access, task = find(request, project_id, task_id)
    place = place_of(request, task)
    to, _, stage = request.POST.get("to", "").partition("-")
    try:
        place = _stepped(request, access.user, task, place)
    except Invalid as error:
        into = f"#new-note-{stage or writing_forms.STYLES}" if to == "add" else ""
        return field_refused(request, access, task, error, into=into)
    return rows_changed(request, access, task, place, focus=to == "add")


def _stepped(request: HttpRequest, user: User, task: Task, place: BuilderState) -> BuilderState:
    to, _, stage = request.POST.get("to", "").partition("-")
    which, name = _list_of(place)
    if to in ("add", "template"):
        which = stage or writing_forms.STYLES
    before = f"{which}." if which != writing_forms.STYLES else ""
    if to == "add":
        label = request.POST.get(f"new-{which}", "")
        made = writing_forms.add_row(by=user, task=task, which=which, label=label)
        return place.with_changes(question=f"{before}{made}")
    if to == "template":
        writing_forms.use_template(by=user, task=task, which=which)
        return place.with_changes(question="")
    if to == "remove":
        writing_forms.remove_row(by=user, task=task, which=which, name=name)
        return place.with_changes(question="")
    if to in STEPS:
        writing_forms.move_row(by=user, task=task, which=which, name=name, step=STEPS[to])
    elif to in ("more", "fewer"):
        step = 1 if to == "more" else -1
        writing_forms.change_points(by=user, task=task, which=which, name=name, step=step)
    else:
        raise Invalid(
            gettext("There is no such step."),
            fields={"to": "add, template, remove, up, down."},
        )
    return place


# Topics and passages ---------------------------------------------------------------------------


@field_view("topic", opened="text")
def task_build_topic(post: QueryDict, user: User, task: Task, place: BuilderState) -> None:
    """Save the query of the open topic, or the title or text of its open passage."""
    fields = {
        field: post[f"passage_{field}"] for field in ("title", "text") if f"passage_{field}" in post
    }
    if "query" in post:
        group = open_group(task, place, TOPIC)
        writing_topics.save_topic(by=user, task=task, group=group, query=post.get("query"))

    def change(rows: Rows) -> Rows:
        rows[row_at(rows, place.question, by="key", noun=PASSAGE)] |= fields
        return rows

    if fields and place.question:
        writing_topics.change_passages(by=user, task=task, key=place.text, change=change)


@row_view("#passages-note")
def task_build_topic_step(
    post: QueryDict, user: User, task: Task, place: BuilderState
) -> BuilderState:
    """Add, move or remove a topic; add passages to the open one, move or remove its open one."""
    to = post.get("to", "")
    if to == "add":
        group = writing_topics.save_topic(by=user, task=task, query="")
        return place.with_changes(text=group.key, question="", page="1")
    if to == "remove":
        group = open_group(task, place, TOPIC)
        writing_topics.remove_topic(by=user, task=task, group=group)
        return place.with_changes(text="", question="")
    if to in STEPS:
        group = open_group(task, place, TOPIC)
        writing_topics.move_topic(by=user, task=task, group=group, step=STEPS[to])
        return place
    return _passages_stepped(post, user, task, place, to)


def _passages_stepped(
    post: QueryDict, user: User, task: Task, place: BuilderState, to: str
) -> BuilderState:
    """Passages pasted in, or one of them moved or taken out."""
    steps = {f"passage-{step}": by for step, by in STEPS.items()}
    new: Rows = []
    if to in ("paste", "one"):
        pasted = post.get("pasted", "")
        if not pasted.strip():
            raise Invalid(
                gettext("There is nothing to add."), fields={"pasted": gettext("Paste a passage.")}
            )
        one = {"key": "", "title": "", "text": pasted.strip()}
        new = [dict(row) for row in writing_topics.blocks(pasted)] if to == "paste" else [one]
    elif to != "passage-remove" and to not in steps:
        raise Invalid(
            gettext("There is no such step."),
            fields={"to": "add, remove, up, down, paste."},
        )

    def change(rows: Rows) -> Rows:
        if new:
            return rows + new
        if to == "passage-remove":
            return drop_row(rows, place.question, by="key", noun=PASSAGE)
        return shift_row(rows, place.question, steps[to], by="key", noun=PASSAGE)

    writing_topics.change_passages(by=user, task=task, key=place.text, change=change)
    return place if to in steps else place.with_changes(question="")
