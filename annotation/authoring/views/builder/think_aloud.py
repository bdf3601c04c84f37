"""The builder of think-aloud tasks: dimensions with their rubrics, and their scored samples."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from annotation.authoring.actions import think_topics
from annotation.authoring.actions.think_topics import Sample
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.views.builder.context import find, moved, place_of, refused, saved
from annotation.authoring.views.builder.place import Place
from annotation.models import ItemGroup, Task
from crowdqc.errors import Conflict, Invalid

STEPS = {"up": -1, "down": 1}
FIELDS = ("title", "text", "source", "score")  # of a sample; their inputs begin with "sample_"


def _group(task: Task, place: Place) -> ItemGroup:
    group = Build(task).group(place.text)
    if group is None:
        raise Conflict("This dimension was removed meanwhile. Reload the page.")
    return group


@login_required
@require_POST
def task_build_dimension(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save the name or rubric of the open dimension, or the fields of its open sample."""
    access, task = find(request, project_id, task_id)
    place, post = place_of(request, task), request.POST
    if not place.text:  # without scripts, and no dimension is open
        return saved(request, access, task, {"note": "dimension"})
    fields = {name: post[f"sample_{name}"] for name in FIELDS if f"sample_{name}" in post}
    try:
        if "name" in post or "rubric" in post:
            think_topics.save_dimension(
                by=access.user,
                task=task,
                group=_group(task, place),
                name=post.get("name"),
                rubric=post.get("rubric"),
            )
        if fields and place.question:
            think_topics.change_samples(
                by=access.user,
                task=task,
                key=place.text,
                change=lambda rows: _with(rows, place.question, fields),
            )
    except Invalid as error:
        return refused(request, access, task, error)
    return saved(request, access, task, {"note": "dimension"})


def _with(rows: list[Sample], key: str, fields: dict[str, str]) -> list[Sample]:
    rows[think_topics.sample_at(rows, key)] |= fields
    return rows


@login_required
@require_POST
def task_build_dimension_step(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Add, move or remove a dimension; add, move or remove a sample of the open one."""
    access, task = find(request, project_id, task_id)
    place, to = place_of(request, task), request.POST.get("to", "")
    place = place if place.part == "dimensions" else place.but(part="dimensions")
    try:
        place = _stepped(access.user, task, place, to)
    except Invalid as error:
        return refused(request, access, task, error, into="#samples-note")
    return moved(request, access, task, place, focus=to in ("add", "sample-add"))


def _stepped(user: Any, task: Task, place: Place, to: str) -> Place:
    if to == "add":
        group = think_topics.save_dimension(by=user, task=task, name="", rubric="")
        return place.but(text=group.key, question="")
    if to == "remove":
        think_topics.remove_dimension(by=user, task=task, group=_group(task, place))
        return place.but(text="", question="")
    if to in STEPS:
        group = _group(task, place)
        think_topics.move_dimension(by=user, task=task, group=group, step=STEPS[to])
        return place
    return _samples_stepped(user, task, place, to)


def _samples_stepped(user: Any, task: Task, place: Place, to: str) -> Place:
    """A sample added to the open dimension, or the open one moved or taken out."""
    key = place.question

    def change(rows: list[Sample]) -> list[Sample]:
        nonlocal key
        if to == "sample-add":
            key = think_topics.free_sample(rows)
            return [*rows, {"key": key}]
        at = think_topics.sample_at(rows, place.question)
        row = rows.pop(at)
        if to != "sample-remove":
            rows.insert(max(0, at + STEPS[to.removeprefix("sample-")]), row)
        return rows

    if to not in ("sample-add", "sample-remove", "sample-up", "sample-down"):
        raise Invalid("There is no such step.", fields={"to": "add, remove, up, down, sample-add."})
    think_topics.change_samples(by=user, task=task, key=_group(task, place).key, change=change)
    return place.but(question="" if to == "sample-remove" else key)
