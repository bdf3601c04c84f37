"""The builder of checklist tasks: its questions, line by line."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from annotation.authoring.views.builder.context import find, moved, place_of, refused, saved
from annotation.authoring.views.builder.place import Place
from annotation.models import Task
from annotation.pairs.actions import checklist_items
from crowdqc.errors import Invalid

STEPS = {"up": -1, "down": 1}


@login_required
@require_POST
def task_build_line(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save the wording or the component of the open question."""
    access, task = find(request, project_id, task_id)
    place, post = place_of(request, task), request.POST
    if not place.question:  # without scripts, and no line is open
        return saved(request, access, task, {"note": "line"})
    fields = {name: post[name] for name in ("label", "component") if name in post}
    try:
        checklist_items.edit_question(by=access.user, task=task, name=place.question, fields=fields)
    except Invalid as error:
        return refused(request, access, task, error)
    return saved(request, access, task, {"note": "line"})


@login_required
@require_POST
def task_build_line_step(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Add questions, one a line; move or remove the open one."""
    access, task = find(request, project_id, task_id)
    place, to = place_of(request, task), request.POST.get("to", "")
    place = place if place.part == "asked" else place.but(part="asked")
    try:
        place = _stepped(request.POST, access.user, task, place)
    except Invalid as error:
        return refused(request, access, task, error, into="#new-note")
    return moved(request, access, task, place, focus=to == "add")


def _stepped(post: Any, user: Any, task: Task, place: Place) -> Place:
    to = post.get("to", "")
    if to == "add":
        names = checklist_items.add_questions(
            by=user, task=task, text=post.get("new", ""), component=post.get("new_component", "")
        )
        return place.but(question=names[0] if len(names) == 1 else "")
    if to == "remove":
        checklist_items.remove_question(by=user, task=task, name=place.question)
        return place.but(question="")
    if to in STEPS:
        checklist_items.move_question(by=user, task=task, name=place.question, step=STEPS[to])
        return place
    raise Invalid("There is no such step.", fields={"to": "add, remove, up, down."})
