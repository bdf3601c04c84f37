"""The builder of tasks that ask for responses: styles, questionnaires, topics and passages."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_POST

from annotation.authoring.actions import writing_forms, writing_topics
from annotation.authoring.actions.writing_topics import Passage
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.views.builder.context import find, moved, place_of, refused, saved
from annotation.authoring.views.builder.place import Place
from annotation.models import ItemGroup, Task, User
from crowdqc.errors import Conflict, Invalid

STEPS = {"up": -1, "down": 1}


# Styles and questionnaires ---------------------------------------------------------------------


def _list_of(place: Place) -> tuple[str, str]:
    """The list and the name of the open row: ``essay``, or ``entry.knowledge`` of a form."""
    if place.part == "styles":
        return writing_forms.STYLES, place.question
    which, _, name = place.question.partition(".")
    return which, name


@login_required
@require_POST
def task_build_rows(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save the fields of the open style or question, named in the query."""
    access, task = find(request, project_id, task_id)
    place = place_of(request, task)
    if not place.question:  # without scripts, and no row is open
        return saved(request, access, task, {"note": "rows"})
    which, name = _list_of(place)
    fields = {field: value for field, value in request.POST.items() if isinstance(value, str)}
    if "has_required" in fields:
        fields.setdefault("required", "")
    try:
        writing_forms.edit_row(by=access.user, task=task, which=which, name=name, fields=fields)
    except Invalid as error:
        return refused(request, access, task, error)
    if "kind" in fields:  # the choices come or go
        return moved(request, access, task, place)
    return saved(request, access, task, {"note": "rows"})


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
        return refused(request, access, task, error, into=into)
    return moved(request, access, task, place, focus=to == "add")


def _stepped(request: HttpRequest, user: User, task: Task, place: Place) -> Place:
    to, _, stage = request.POST.get("to", "").partition("-")
    which, name = _list_of(place)
    if to in ("add", "template"):
        which = stage or writing_forms.STYLES
    before = f"{which}." if which != writing_forms.STYLES else ""
    if to == "add":
        label = request.POST.get(f"new-{which}", "")
        made = writing_forms.add_row(by=user, task=task, which=which, label=label)
        return place.but(question=f"{before}{made}")
    if to == "template":
        writing_forms.use_template(by=user, task=task, which=which)
        return place.but(question="")
    if to == "remove":
        writing_forms.remove_row(by=user, task=task, which=which, name=name)
        return place.but(question="")
    if to in STEPS:
        writing_forms.move_row(by=user, task=task, which=which, name=name, step=STEPS[to])
    elif to in ("more", "fewer"):
        step = 1 if to == "more" else -1
        writing_forms.change_points(by=user, task=task, which=which, name=name, step=step)
    else:
        raise Invalid("There is no such step.", fields={"to": "add, template, remove, up, down."})
    return place


# Topics and passages ---------------------------------------------------------------------------


def _topic(task: Task, place: Place) -> ItemGroup:
    group = Build(task).group(place.text)
    if group is None:
        raise Conflict("This topic was removed meanwhile. Reload the page.")
    return group


@login_required
@require_POST
def task_build_topic(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save the query of the open topic, or the title or text of its open passage."""
    access, task = find(request, project_id, task_id)
    place, post = place_of(request, task), request.POST
    if not place.text:  # without scripts, and no topic is open
        return saved(request, access, task, {"note": "topic"})
    fields = {
        field: post[f"passage_{field}"] for field in ("title", "text") if f"passage_{field}" in post
    }
    try:
        if "query" in post:
            writing_topics.save_topic(
                by=access.user, task=task, group=_topic(task, place), query=post["query"]
            )
        if fields and place.question:
            writing_topics.change_passages(
                by=access.user,
                task=task,
                key=place.text,
                change=lambda rows: _with(rows, place.question, fields),
            )
    except Invalid as error:
        return refused(request, access, task, error)
    return saved(request, access, task, {"note": "topic"})


def _with(rows: list[Passage], document: str, fields: dict[str, str]) -> list[Passage]:
    rows[writing_topics.passage_at(rows, document)] |= fields
    return rows


@login_required
@require_POST
def task_build_topic_step(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Add, move or remove a topic; add passages to the open one, move or remove its open one."""
    access, task = find(request, project_id, task_id)
    place, user, to = place_of(request, task), access.user, request.POST.get("to", "")
    try:
        if to == "add":
            group = writing_topics.save_topic(by=user, task=task, query="")
            place = place.but(text=group.key, question="", page="1")
        elif to == "remove":
            writing_topics.remove_topic(by=user, task=task, group=_topic(task, place))
            place = place.but(text="", question="")
        elif to in STEPS:
            writing_topics.move_topic(by=user, task=task, group=_topic(task, place), step=STEPS[to])
        else:
            place = _passages_stepped(request.POST, user, task, place, to)
    except Invalid as error:
        return refused(request, access, task, error, into="#passages-note")
    return moved(request, access, task, place, focus=to == "add")


def _passages_stepped(post: QueryDict, user: User, task: Task, place: Place, to: str) -> Place:
    """Passages pasted in, or one of them moved or taken out."""
    document = place.question
    if to in ("paste", "one"):
        pasted = post.get("pasted", "")
        new = writing_topics.blocks(pasted) if to == "paste" else [_block(pasted)]
        if not pasted.strip():
            raise Invalid("There is nothing to add.", fields={"pasted": "Paste a passage."})

        def change(rows: list[Passage]) -> list[Passage]:
            return rows + new

        place = place.but(question="")
    elif to in ("passage-up", "passage-down"):

        def change(rows: list[Passage]) -> list[Passage]:
            at = writing_topics.passage_at(rows, document)
            row = rows.pop(at)
            rows.insert(max(0, at + STEPS[to.removeprefix("passage-")]), row)
            return rows

    elif to == "passage-remove":

        def change(rows: list[Passage]) -> list[Passage]:
            at = writing_topics.passage_at(rows, document)
            return rows[:at] + rows[at + 1 :]

        place = place.but(question="")
    else:
        raise Invalid("There is no such step.", fields={"to": "add, remove, up, down, paste."})
    writing_topics.change_passages(by=user, task=task, key=place.text, change=change)
    return place


def _block(pasted: str) -> dict[str, Any]:
    return {"key": "", "title": "", "text": pasted.strip()}
