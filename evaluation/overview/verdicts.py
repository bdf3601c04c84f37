"""What the results of a task say first, for its own page."""

from __future__ import annotations

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from annotation.models import Task
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors.shown_verdict import verdict_of
from evaluation.runs.selectors.words import results_page


def task_verdict(task: Task) -> dict[str, str] | None:
    """Return the verdict on the task's shown run with its basis and page; None if there is none."""
    run = reads.shown_run(task) if task.current is not None else None
    verdict = verdict_of(run) if run is not None else None
    if run is None or verdict is None:
        return None
    day = date_format(timezone.localtime(run.finished_at), "j M H:i") if run.finished_at else ""
    made = _("Run %(run)s, %(day)s.") % {"run": run.number, "day": day}
    return {
        "text": verdict.text,
        "basis": f"{verdict.basis} {made}",
        "url": results_page(task),
    }
