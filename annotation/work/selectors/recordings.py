"""What people said while they worked: where it is played, and what is kept of an assignment."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F
from django.urls import reverse

from annotation.files.stored.selectors import content
from annotation.models import Recording, Task


def address_of(kept: Recording, project: int) -> str:
    """Where a recording is played; another sound has another address, so that none is cached."""
    return f"{reverse('recording_file', args=[project, kept.pk])}?{kept.sha256[:12]}"


def recordings_of(assignment: int) -> dict[int, str]:
    """Where the recordings of an assignment are played, by the item (one query)."""
    rows = Recording.objects.filter(entry__assignment=assignment).select_related(
        "entry__assignment__task"
    )
    return {
        row.entry.item_id: address_of(row, row.entry.assignment.task.project_id) for row in rows
    }


def submitted_recordings(task: Task) -> Iterator[Recording]:
    """Recordings of a task's answers, in the order of items and answers; without their bytes."""
    rows = Recording.objects.filter(
        entry__assignment__task=task, entry__assignment__answers__item=F("entry__item")
    )
    return (
        rows.select_related("entry__item", "entry__assignment__worker", "stored")
        .order_by("pk")
        .iterator()
    )


def bytes_of(kept: Recording) -> bytes:
    """The sound itself."""
    return content(kept.stored)
