"""From writing to judging: a task over the responses of an earlier one, begun once."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.authoring.actions.drafts import as_title
from annotation.authoring.actions.tasks import create_task
from annotation.authoring.actions.writing_topics import require
from annotation.models import Task, User
from annotation.pairs.actions.topics import add_answers
from annotation.pairs.selectors import judged_by
from annotation.records.actions.audit import record
from annotation.task_types import TYPES
from crowdqc.errors import Conflict, Invalid


@dataclass(frozen=True)
class DerivedTask:
    """The task over the responses, whether it was begun just now, and what came to it."""

    task: Task
    begun: bool
    new: int  # texts
    topics: int


@transaction.atomic
def judge_responses(*, by: User, task: Task, type: str = "pairwise") -> DerivedTask:
    """Put the counting responses of people and systems to judgment, pair by pair or one by one.

    The first time begins a draft in the same project; later, what is new since comes into that
    task, unless it is closed, and nothing comes twice. Who wrote a response never judges it.
    Raises Invalid where no response counts, or the project has texts on another question under
    the same topic.
    """
    require(task)
    if type not in TYPES or not TYPES[type].judges_texts:
        raise Invalid(_("Such a task judges no texts."), fields={"type": _("pairwise or rating.")})
    # Two clicks stand in line.
    task = Task.objects.select_for_update(of=("self",)).select_related("current").get(pk=task.pk)
    if task.current is None:
        raise Conflict(_("Publish the task first: there is no response yet."))
    there = judged_by(task, type).first()
    judged = there or create_task(
        by=by, project=task.project, type=type, title=as_title(f"Judge: {task.current.title}")
    )
    new, topics = add_answers(by=by, task=judged, source=task)
    if there is None:
        if not topics:
            raise Invalid(
                _("No response of this task counts yet."), fields={"task": _("None counts.")}
            )
        judged.source = task
        judged.save(update_fields=["source"])
    record(
        by=by, project=task.project, action="responses.judge", on=judged, source=task.pk, new=new
    )
    return DerivedTask(judged, there is None, new, topics)
