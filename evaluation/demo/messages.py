"""The demo's messages: a worker's question with its answer, and an announcement to a task."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from annotation.conversations import actions
from annotation.models import Assignment, Conversation, Task

if TYPE_CHECKING:
    from evaluation.demo.context import DemoContext

QUESTION = "May names and dates stay as they are in the text, or must I rewrite those too?"
ANSWER = "Keep names and dates as they are, and say the rest in your own words."
ANNOUNCEMENT = "Thank you for your answers. The questions about bread stay open until Sunday."


def ask_about_item(load: DemoContext, task: Task, who: str) -> None:
    """A worker asks about an item of an assignment of theirs."""
    user = load.people[who]
    held = Assignment.objects.filter(task=task, worker__user=user).order_by("pk")[0]
    held.worker.project = task.project
    item = held.entries.order_by("position")[0].item_id
    actions.write_as_worker(
        by=user,
        worker=held.worker,
        task=task,
        text=QUESTION,
        key=uuid.uuid4(),
        assignment=held,
        item_id=item,
    )


def answer(load: DemoContext, task: Task) -> None:
    """The requester answers what was asked."""
    found = Conversation.objects.select_related("worker__user").get(task=task, waits=True)
    found.worker.project = task.project
    by = load.people["requester"]
    actions.write_as_staff(by=by, worker=found.worker, task=task, text=ANSWER, key=uuid.uuid4())


def announce(load: DemoContext, task: Task) -> None:
    """Send an announcement to all who worked on the task."""
    by = load.people["requester"]
    actions.announce(by=by, task=task, text=ANNOUNCEMENT, key=uuid.uuid4())
