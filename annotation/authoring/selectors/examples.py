"""Which items of a task are still the examples of its template."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet

from annotation.models import Item, Task, TaskVersion

# Keys, topics and file names of examples begin so; those of a requester do not.
EXAMPLE = "template-example-"


def examples_of(task: Task, version: TaskVersion) -> QuerySet[Item]:
    """The example items that a version shows; changed by the requester they stay examples."""
    return task.items.in_version(version.number).filter(key__startswith=EXAMPLE)


def has_examples(task: Task) -> bool:
    """Whether the task was never published and its draft still shows examples."""
    draft = task.versions.filter(published_at__isnull=True).first()
    return task.current_id is None and draft is not None and examples_of(task, draft).exists()


def count_examples(task: Task, version: TaskVersion) -> dict[str, int]:
    """Count the ``examples`` that a version shows, and those of them with a known answer."""
    return examples_of(task, version).aggregate(
        examples=Count("pk"), known_examples=Count("pk", filter=Q(expected__isnull=False))
    )
