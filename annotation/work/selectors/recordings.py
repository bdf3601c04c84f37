"""Read recordings: their addresses and content."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F
from django.urls import reverse

from annotation.files.stored.selectors import content
from annotation.models import Recording, Task


def recording_address(kept: Recording, project: int) -> str:
    """Return a recording's address; it changes with the content, so none is cached."""
    return f"{reverse('recording_file', args=[project, kept.pk])}?{kept.sha256[:12]}"


def recording_addresses(assignment: int) -> dict[int, str]:
    """Return the addresses of an assignment's recordings by item (one query)."""
    rows = Recording.objects.filter(entry__assignment=assignment).select_related(
        "entry__assignment__task"
    )
    return {
        row.entry.item_id: recording_address(row, row.entry.assignment.task.project_id)
        for row in rows
    }


def submitted_recordings(task: Task) -> Iterator[Recording]:
    """Return recordings of a task's answers, in order, without their bytes."""
    rows = Recording.objects.filter(
        entry__assignment__task=task, entry__assignment__answers__item=F("entry__item")
    )
    return (
        rows.select_related("entry__item", "entry__assignment__worker", "stored", "transcript")
        .order_by("pk")
        .iterator()
    )


def read_recording_bytes(kept: Recording) -> bytes:
    """Return the bytes of a recording."""
    return content(kept.stored)
