"""Batch release as a rule of claiming."""

from __future__ import annotations

from django.utils import timezone

from annotation.models import Task, TaskVersion
from annotation.pairs.selectors import released, rule_of
from annotation.records.actions.locks import line_up
from crowdqc.errors import Conflict


def check(task: Task, version: TaskVersion) -> None:
    """Conflict where the window of the task's release is used up; says when the next one begins.

    Claims of one version stand in line from here to the end of their transaction, so that two who
    count at once cannot both take the last place.
    """
    if not rule_of(version):
        return
    line_up(version)
    task.current = version
    found = released([task])[task.pk]
    if not found.left:
        at = timezone.localtime(found.next_at)
        raise Conflict(
            f"{found.every} assignments are given out at a time, and these are taken. "
            f"More come on {at:%d %B at %H:%M}.",
            code="not-released",
        )
