"""What every kind of runs does before it computes: freeze its answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet

from annotation.models import Answer, Task
from annotation.work.snapshots import answers
from evaluation.models import Run, Snapshot
from evaluation.runs.adapters import adapter_of


def freeze(run: Run, take: Callable[[Task], Snapshot]) -> Snapshot:
    """Return the run's snapshot, taking one if it has none.

    What counts is hashed before the rows are read: an answer that changes in between shows as one
    that changed since, and is never taken for one that was seen.
    """
    if run.snapshot is None:
        with transaction.atomic():
            mark = take_mark(run.task)
            run.snapshot = take(run.task)
            run.snapshot.counts["mark"] = mark
            run.snapshot.save(update_fields=["counts"])
            Run.objects.filter(pk=run.pk, started_at=run.started_at).update(snapshot=run.snapshot)
    return run.snapshot


def counting_rows(task: Task) -> QuerySet[Answer]:
    """The answers that a snapshot of the task would hold, by its type."""
    return adapter_of(task).counting_rows(task)


def take_mark(task: Task) -> dict[str, Any]:
    """Record the state of a task's answers: last id, number that count, and their hash."""
    rows = counting_rows(task)
    max_id = rows.aggregate(last=Max("pk"))["last"] or 0
    found = answers.tally_of(rows, max_id)
    return {"max_id": max_id, "counting": found.before, "digest": found.digest}
