"""What every kind of runs does before it computes: check its options, freeze its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet

from annotation.models import Answer, Task
from annotation.work.snapshots import answers
from crowdqc.errors import Invalid
from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.params import Method
from evaluation.models import Run, Snapshot
from evaluation.runs.adapters import adapter_of
from evaluation.runs.asking import Asking


def clean_params(method: Method | Asking, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a run stores them, all of them; Invalid names a bad field."""
    unknown = sorted(set(raw) - set(method.params))
    if unknown:
        raise Invalid(
            f"{method.title} has no option {unknown[0]!r}.", fields={unknown[0]: "Unknown."}
        )
    for name, value in raw.items():
        try:
            method.check(**{name: value})
        except BadParameter as error:
            raise Invalid(str(error), fields={name: str(error)}) from error
    return {**method.params, **raw}


def freeze(run: Run, take: Callable[[Task], Snapshot]) -> Snapshot:
    """The run's snapshot, taken where it has none; a run taken up meanwhile keeps its own.

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
    """What tells later whether anything has changed: the last id, how many count, their hash."""
    rows = counting_rows(task)
    max_id = rows.aggregate(last=Max("pk"))["last"] or 0
    found = answers.tally_of(rows, max_id)
    return {"max_id": max_id, "counting": found.before, "digest": found.digest}
