"""Runs that would take more memory than there is are refused before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, F, Sum
from django.utils.translation import gettext as _

from annotation.models import Answer, Task
from crowdqc.errors import Invalid
from crowdqc.jobs.memory import limit_bytes, machine_bytes
from crowdqc.numbers import count
from evaluation.methods.core.memory import Size
from evaluation.methods.core.params import Method
from evaluation.runs.run_types import RunType

MB = 2**20


def available_bytes() -> int:
    """The most that a run may take."""
    return limit_bytes() or machine_bytes()


def exceeded_message() -> str:
    """Return the message for a run that ran out of memory."""
    return _(
        "The run needed more memory than the %(most)s MB that it may take, and was stopped. Score "
        "fewer answers, or have whoever runs this site raise CROWDQC_JOB_MEMORY."
    ) % {"most": count(available_bytes() // MB)}


def killed_message() -> str:
    """Why a run failed whose process died at it."""
    return _(
        "The process of this run was ended, most likely because it found no more memory; it may "
        "take %(most)s MB. The run is not tried again by itself: score fewer answers, or have "
        "whoever runs this site give its jobs more memory (CROWDQC_JOB_MEMORY), and start it again."
    ) % {"most": count(available_bytes() // MB)}


def refuse_if_too_large(method: Method, size: Size, params: Mapping[str, Any]) -> None:
    """Raise Invalid where a fit of this size would take more than a run may.

    The message names the counts, the estimate, the limit and what can be done.
    """
    known = {name: value for name, value in params.items() if name in method.params}
    wanted, most = method.memory(size, {**method.params, **known}), available_bytes()
    if wanted <= most:
        return
    text = _(
        "%(size)s would take about %(wanted)s MB of memory; a run may take %(most)s MB. Score "
        "fewer workers, items or labels at once, or have whoever runs this site raise "
        "CROWDQC_JOB_MEMORY."
    )
    numbers = {"wanted": f"{wanted / MB:,.0f}", "most": count(most // MB)}
    raise Invalid(text % {"size": size, **numbers}, code="too-large")


def refuse_task_if_too_large(kind: RunType, task: Task, params: Mapping[str, Any]) -> None:
    """Raise Conflict if a run on the task's answers would need too much memory."""
    if isinstance(kind.recipe, Method):
        refuse_if_too_large(kind.recipe, size_of_task(kind, task, params), params)


def size_of_task(kind: RunType, task: Task, params: Mapping[str, Any]) -> Size:
    """Count the answers, items and workers of a task, for estimating memory."""
    rows = Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN, worker__isnull=False)
    by_item = rows.order_by().values("item").annotate(n=Count("pk"))
    sums = by_item.aggregate(
        votes=Sum("n"), items=Count("item"), meetings=Sum(F("n") * (F("n") - 1))
    )
    return Size(
        votes=sums["votes"] or 0,
        workers=rows.order_by().values("worker").distinct().count(),
        items=sums["items"] or 0,
        meetings=(sums["meetings"] or 0) // 2,
        **kind.counts(task, params),
    )
