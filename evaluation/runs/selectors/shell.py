"""The run that the shell's bar shows on every page."""

from __future__ import annotations

from annotation.models import Project
from crowdqc.database.compiled import CompiledQuery, Placeholder
from evaluation.models import Run, RunState

ACTIVE = CompiledQuery(
    lambda: Run.objects.filter(
        project_id=Placeholder("project"), state__in=[RunState.QUEUED, RunState.RUNNING]
    ).order_by("-id")[:1]
)


def active_run(project: Project) -> Run | None:
    """The newest run that is queued or in work, if any."""
    return ACTIVE.first(project=project.pk)


def percent(run: Run) -> int:
    """Return the progress of a run in per cent of its steps."""
    if not run.progress:
        return 0
    parts = [
        step["done"] / step["total"] if step.get("total") else float(step.get("state") == "done")
        for step in run.progress
    ]
    return int(100 * sum(parts) / len(parts))
