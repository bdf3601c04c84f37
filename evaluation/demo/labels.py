"""The demo's labels task: claims that six people and three models labelled, and some left open.

It is what the page on replacing people reads: one model may, one may not, one cannot be decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotation.authoring.actions import tasks
from annotation.demo import labels
from annotation.formats.actions.imports import import_rows
from annotation.models import Project, Task

if TYPE_CHECKING:
    from evaluation.demo.context import DemoContext


def make(load: DemoContext, project: Project) -> Task:
    """The task and what came to it, in one go; says what was loaded."""
    by, data = load.people["requester"], labels.load()
    for who in data["people"]:
        load.join(project, who["id"])
    task = tasks.create_task(by=by, project=project, type="labels", title=data["title"])
    rules = {
        "instructions": data["instructions"],
        "redundancy": data["each"],
        "pay": "1.00",
        "items_per_assignment": 12,
        "settings": {"fields": [data.field()]},
    }
    tasks.edit_draft(by=by, task=task, fields=rules)
    import_rows(by=by, task=task, kind="label_items", rows=data.items(), name=labels.FILE)
    tasks.publish(by=by, task=task)
    people, models = data.of_people(), data.of_models()
    import_rows(by=by, task=task, kind="labels", rows=[*people, *models], name=labels.FILE)
    load.say(
        f"a labels task: {len(data.claims)} claims, {len(people)} labels of "
        f"{len(data['people'])} people, {len(models)} of {len(data['models'])} models"
    )
    return Task.objects.select_related("project", "current").get(pk=task.pk)
