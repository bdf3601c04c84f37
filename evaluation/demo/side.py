"""The demo's two smaller tasks: one that has just begun, one that is a draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotation.authoring.actions import tasks
from annotation.demo import side_tasks
from annotation.models import Project, Task
from evaluation.demo import money as demo_money

if TYPE_CHECKING:
    from evaluation.demo.context import DemoContext


def make(load: DemoContext, project: Project) -> Task:
    """Make both tasks, and the first assignments of the begun one, which is returned."""
    by = load.people["requester"]
    load.clock.move_to(load.ago(0.4))
    task = tasks.create_task(by=by, project=project, type="free_text", title=side_tasks.BEGUN_TITLE)
    rules = {
        "redundancy": 12,
        "items_per_assignment": 4,
        "lease_minutes": 30,
        "pay": "0.80",
        "order": "fixed",
        "instructions": side_tasks.BEGUN_INSTRUCTIONS,
    }
    tasks.edit_draft(by=by, task=task, fields=rules)
    load.text(task, side_tasks.BEGUN)
    tasks.publish(by=by, task=task)
    task = Task.objects.select_related("project").get(pk=task.pk)
    kinds = {worker.id: worker.kind for worker in load.data.workers}
    for number, (pseudonym, given) in enumerate(side_tasks.BEGUN_ANSWERS.items()):
        load.clock.move_to(load.ago(0.3 - 0.03 * number))
        none = {key for key, text in given.items() if not text}
        load.answer(task, pseudonym, kinds[pseudonym], given, none)
    demo_money.ways_in(load, task)
    load.clock.move_to(load.ago(0.05))
    draft = tasks.create_task(
        by=by, project=project, type="free_text", title=side_tasks.DRAFT_TITLE
    )
    load.text(draft, side_tasks.DRAFT)
    load.say("a second task that has just begun, and one that is a draft")
    return task
