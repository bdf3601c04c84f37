"""What the results of a task say first, for its own page."""

from __future__ import annotations

from django.core.cache import cache
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.models import Task
from evaluation.models import Run
from evaluation.runs.run_types import shared_page_of
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors.words import results_page

KEPT = 600  # seconds; a run does not change, but what was decided beside it may


def task_verdict(task: Task) -> dict[str, str] | None:
    """The verdict on the run that counts, its basis, and the page; None where there is none."""
    if task.current is None:
        return None
    run = reads.shown_run(task)
    if run is None:
        return None
    key = f"verdict:{run.pk}:{bool(run.spoiled)}:{get_language()}"
    said: dict[str, str] | None = cache.get(key)
    if said is None:
        said = _verdict(run)
        cache.set(key, said, KEPT)
    return {**said, "url": results_page(task)} if said else None


def _verdict(run: Run) -> dict[str, str]:
    page = shared_page_of(run.method)
    if page is None:
        return {}
    told = page.context(run, 1)
    verdict = told["screen"].verdict
    if verdict is None:
        return {}
    day = date_format(timezone.localtime(run.finished_at), "j M H:i") if run.finished_at else ""
    made = _("Run %(run)s, %(day)s.") % {"run": run.number, "day": day}
    return {"text": verdict.text, "basis": f"{told['basis']} {made}"}
