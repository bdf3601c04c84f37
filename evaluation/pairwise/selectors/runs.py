"""The runs that a pairwise study shows: the core, what follows it, and what is published."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.task_types.ready_made import translate_ready_made
from annotation.work.snapshots import judgments
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.errors import Missing
from evaluation.models import Run, RunState
from evaluation.models.runs import PUBLISHED
from evaluation.pairwise.run import CHECKS, CORE
from evaluation.runs.engine import ACTIVE
from evaluation.runs.official.selectors import official_first


@dataclass(frozen=True)
class ShownRun:
    """A finished core run with its checks (finished, or in work), and the published one if any."""

    core: Run | None
    checks: Run | None
    checking: Run | None
    published: Run | None
    active: Run | None


def _runs() -> Any:
    return Run.objects.select_related("snapshot", "task__current", "started_by").defer(
        "snapshot__answer_ids"
    )


def shown_run(task: Task, number: int | None = None) -> ShownRun:
    """Return the run to show: the official core run, or the one asked for; else Missing.

    While none is official it is the latest trial, which the pages mark. A published
    result of the same judgments has the number of its own run and can be asked for as well; it is
    then shown in the place of the core.
    """
    mine = _runs().filter(task=task, method__in=(CORE, CHECKS, PUBLISHED))
    rows = list(mine.order_by("-id")[:200])
    done = [run for run in rows if run.state == RunState.DONE]
    published = next((run for run in done if run.is_published), None)
    if number is None:
        core = official_first(mine.filter(method=CORE, state=RunState.DONE)).first()
    else:
        core = next((r for r in done if r.number == number and r.method in (CORE, PUBLISHED)), None)
        if core is None:
            raise Missing(_("This task has no finished run %(number)s.") % {"number": number})
    following = list(mine.filter(source=core).order_by("-id")) if core is not None else []
    return ShownRun(
        core=core,
        checks=next((run for run in following if run.state == RunState.DONE), None),
        checking=next((run for run in following if run.state in ACTIVE), None),
        published=published,
        active=next((r for r in rows if r.method == CORE and r.state in ACTIVE), None),
    )


def dimensions(task: Task) -> list[AskedDimension]:
    """Return the dimensions that the task's published version asks of every pair."""
    asked = judgments.version_items(task.current) if task.current is not None else []
    return [replace(one, label=translate_ready_made(one.label)) for one in asked]
