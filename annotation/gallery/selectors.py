"""Which items of a task are still the examples of its template."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet

from annotation.gallery.templates import EXAMPLE
from annotation.models import Item, Task, TaskVersion


def examples_of(task: Task, version: TaskVersion) -> QuerySet[Item]:
    """The example items that a version shows; changed by the requester they stay examples."""
    return task.items.in_version(version.number).filter(key__startswith=EXAMPLE)


def count_examples(task: Task, version: TaskVersion) -> dict[str, int]:
    """Count the ``examples`` that a version shows, and those of them with a known answer."""
    return examples_of(task, version).aggregate(
        examples=Count("pk"), known_examples=Count("pk", filter=Q(expected__isnull=False))
    )
