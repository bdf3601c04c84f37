"""What the pages of runs call a run, and where its results stand, by its task and method."""

from __future__ import annotations

from django.urls import reverse

from annotation.models import Task
from annotation.task_types import get_type
from crowdqc.numbers import plural
from evaluation.methods.registry import METHODS
from evaluation.models import Run
from evaluation.selectors.pair_runs import CHECKS, CORE, PUBLISHED
from evaluation.selectors.recipes import encoder_words

# Shape of a task -> the page of its results.
PAGES = {
    "texts": "task_results", "pairs": "pair_results", "ratings": "rating_results",
    "responses": "writing_results",
}  # fmt: skip
EXPORTS = {
    "texts": "task_results_export", "pairs": "pair_export", "responses": "writing_export",
}  # fmt: skip
NOUNS = {
    "texts": ("answer", "question"), "pairs": ("judgment", "pair"), "ratings": ("rating", "text"),
    "responses": ("response", "topic"),
}  # fmt: skip


def shape_of(task: Task) -> str:
    """What the task's answers are: texts, responses, pairs or ratings."""
    return get_type(task.type).shape


def results_page(task: Task) -> str:
    """The address of the task's results."""
    return reverse(PAGES[shape_of(task)], args=[task.project_id, task.pk])


def rounds(run: Run) -> bool:
    """Whether the run's method goes round until its weights settle."""
    return shape_of(run.task) == "texts"


def shown_number(run: Run) -> int:
    """The number of the run whose results show this one's: nulls belong to their core."""
    return run.source.number if run.source is not None else run.number


def results_url(run: Run) -> str:
    """The page that shows what a run found."""
    page = results_page(run.task)
    if run.method == CHECKS:
        page = reverse("pair_agreement", args=[run.project_id, run.task_id])
    return f"{page}?run={shown_number(run)}"


def export_url(run: Run) -> str:
    """Its rows as files; "" for a run that has none of its own."""
    name = EXPORTS.get(shape_of(run.task), "")
    if not name or run.source_id is not None:
        return ""
    return f"{reverse(name, args=[run.project_id, run.task_id])}?run={run.number}"


def heading(run: Run) -> str:
    """``Run 4: AQER, workers and systems``."""
    title = METHODS[run.method].title if run.method in METHODS else run.method
    if not rounds(run):
        return f"Run {run.number}: {title[:1].lower()}{title[1:]}"
    both = run.snapshot is not None and run.snapshot.counts.get("systems")
    return f"Run {run.number}: {title}, workers{' and systems' if both else ''}"


def scored(run: Run) -> str:
    """What a finished run was made of."""
    counts = run.snapshot.counts if run.snapshot else {}
    people = plural(counts.get("workers", 0), "worker")
    given, item = NOUNS[shape_of(run.task)]
    if run.method == PUBLISHED:
        return "Imported as it was published; nothing was computed."
    if not rounds(run):
        judged = plural(counts.get("answers", 0), given)
        return f"{judged} of {plural(counts.get('questions', 0), item)} by {people}."
    systems = f" and {plural(counts['systems'], 'system')}" if counts.get("systems") else ""
    return f"{people}{systems} scored from {plural(counts.get('answers', 0), given)}."


def cancelled(run: Run) -> str:
    """What is left of a run that was stopped."""
    kept = " Finished embeddings are kept." if rounds(run) else ""
    return f"Nothing was written.{kept}"


def detail(run: Run) -> str:
    """The choice that tells runs of a method apart, for the history."""
    if run.method == CORE:
        return "one competence" if run.params.get("pooled") else "by dimension"
    if run.source is not None:
        return f"of run {run.source.number}"
    return encoder_words(run.params["encoder"]) if run.params.get("encoder") else ""
