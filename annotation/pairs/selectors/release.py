"""Batch release: how many assignments of a task may be claimed now, and when more may.

After Wadhwa et al., App. D, who released a few assignments every 12 to 24 hours so that nobody
would work too long at a stretch. Windows are counted from the task's first publication; what was
given back or ran out is free again, and what came from a file took nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Count, Min, Q
from django.utils import timezone

from annotation.models import Assignment, Task, TaskVersion
from annotation.models.assignments import AssignmentState


class Released(NamedTuple):
    """What a task's window holds: how many may still be claimed, and when the next begins."""

    left: int
    every: int
    next_at: dt.datetime


def window(published: dt.datetime, hours: int, now: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    """Begin and end of the stretch of ``hours`` that ``now`` lies in, counted from publication."""
    length = dt.timedelta(hours=hours)
    begin = published + max(0, (now - published) // length) * length
    return begin, begin + length


def rule_of(version: TaskVersion | None) -> Mapping[str, Any] | None:
    """The version's rule ``{"assignments", "hours"}``; None where all may be claimed at once."""
    return version.settings.get("release") if version is not None else None


def released(tasks: Sequence[Task]) -> dict[int, Released]:
    """Of the tasks that release in batches, what is left now; two queries however many they are.

    ``current`` of every task has to be fetched. A claim asks under the lock of its version.
    """
    ruled = {task.pk: rule for task in tasks if (rule := rule_of(task.current))}
    if not ruled:
        return {}
    now = timezone.now()
    published = dict(
        TaskVersion.objects.filter(task__in=ruled, published_at__isnull=False)
        .values_list("task_id")
        .annotate(first=Min("published_at"))
    )
    windows = {pk: window(published[pk], rule["hours"], now) for pk, rule in ruled.items()}
    inside = Q()
    for pk, (begin, _) in windows.items():
        inside |= Q(task_id=pk, leased_at__gte=begin)
    taken = dict(
        Assignment.objects.filter(
            inside, state__in=(AssignmentState.LEASED, AssignmentState.SUBMITTED)
        )
        .exclude(source="import")
        .values_list("task_id")
        .annotate(n=Count("pk"))
    )
    return {
        pk: Released(
            max(0, rule["assignments"] - taken.get(pk, 0)), rule["assignments"], windows[pk][1]
        )
        for pk, rule in ruled.items()
    }
