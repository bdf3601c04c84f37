"""What the results of a task say first, for its own page."""

from __future__ import annotations

from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.templatetags.crowdqc import moment
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors.shown_findings import shown_findings
from evaluation.runs.selectors.words import results_page


def task_verdict(task: Task) -> dict[str, str] | None:
    """Return the verdict on the task's shown run with its basis and page; None if there is none."""
    run = reads.shown_run(task) if task.current is not None else None
    shown = shown_findings(run) if run is not None else None
    if run is None or shown is None or shown.verdict is None:
        return None
    made = _("Run %(run)s, %(day)s.") % {"run": run.number, "day": moment(run.finished_at)}
    return {
        "text": shown.verdict.text,
        "basis": f"{shown.basis} {made}",
        "url": results_page(task),
    }
