"""What every kind of runs does before it computes: check its options, freeze its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from annotation.models import Task
from crowdqc.errors import Invalid
from evaluation.asked import Asking
from evaluation.methods.base import BadParameter, Method
from evaluation.models import Run, Snapshot


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
    """The run's snapshot, taken where it has none; a run taken up meanwhile keeps its own."""
    if run.snapshot is None:
        run.snapshot = take(run.task)
        Run.objects.filter(pk=run.pk, started_at=run.started_at).update(snapshot=run.snapshot)
    return run.snapshot
