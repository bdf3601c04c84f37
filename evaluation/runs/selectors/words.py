"""What the pages of runs call a run, and where its results stand, by its task and method."""

from __future__ import annotations

from django.urls import NoReverseMatch, reverse

from annotation.models import Task
from crowdqc.numbers import plural
from evaluation.models import ChecklistStage, Run
from evaluation.runs import run_types
from evaluation.runs.adapters import adapter_of
from evaluation.runs.run_types import CHECKS, CORE, PUBLISHED
from evaluation.runs.selectors.recipes import AQER, encoder_words

# Method whose results stand on a page of their own, which is asked for one run of it.
METHOD_PAGES = {
    CHECKS: "pair_agreement",
    "aqer_study": "study",
    "rescaling": "rescaling",
    "judge_points": "point_judges",
    "aqer_panel": "task_results_systems",
}
# Method -> the address of its tables; those of the others stand under the run itself.
EXPORTS = {"aqer": "task_results_export", "pairwise": "pair_export", "writing": "writing_export"}
WITH_ROWS = ("ratings", "rescaling", "checklist", "g_eval", "judge_points")


def results_page(task: Task) -> str:
    """The address of the task's results; of what models were asked, where there is no such page."""
    return _page(adapter_of(task).results, task)


def _page(name: str, task: Task) -> str:
    args = [task.project_id, task.pk]
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return reverse("task_models", args=args)


def asks(run: Run) -> bool:
    """Whether the run asks models instead of fitting a method to answers alone."""
    return run_types.asking_of(run.method) is not None


def rounds(run: Run) -> bool:
    """Whether the run's method goes round until its weights settle."""
    return run.method in AQER


def shown_number(run: Run) -> int:
    """The number of the run whose results show this one's: nulls belong to their core."""
    return run.source.number if run.source is not None else run.number


def results_url(run: Run) -> str:
    """The page that shows what a run found."""
    if asks(run) and run.method not in METHOD_PAGES:
        return _asked_page(run)
    page = _page(METHOD_PAGES.get(run.method) or adapter_of(run.task).results, run.task)
    return f"{page}?run={shown_number(run)}"


def _asked_page(run: Run) -> str:
    """Where the answers of models stand: among the task's results, which need no run of theirs."""
    if run.method == "checklist_stage" and run.params.get("checklist"):
        return reverse("checklist", args=[run.project_id, run.params["checklist"]])
    known = adapter_of(run.task)
    return _page(known.asked_results.get(run.method) or known.results, run.task)


def export_url(run: Run) -> str:
    """Its rows as files; "" for a run that has none of its own."""
    if run.method in WITH_ROWS:
        return reverse("run_export", args=[run.project_id, run.number])
    name = EXPORTS.get(run.method, "")
    if not name or run.source_id is not None or asks(run):
        return ""
    return f"{reverse(name, args=[run.project_id, run.task_id])}?run={run.number}"


def lowered(title: str) -> str:
    """A title within a sentence; one that begins with an abbreviation keeps its capitals."""
    return title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def heading(run: Run) -> str:
    """``Run 4: AQER, workers and systems``."""
    title = run_types.title_of(run.method)
    if not rounds(run):
        return f"Run {run.number}: {lowered(title)}"
    both = run.snapshot is not None and run.snapshot.counts.get("systems")
    return f"Run {run.number}: {title}, workers{' and systems' if both else ''}"


def scored(run: Run) -> str:
    """What a finished run was made of."""
    counts = run.snapshot.counts if run.snapshot else {}
    people = plural(counts.get("workers", 0), "worker")
    known = adapter_of(run.task)
    if run.method == PUBLISHED:
        return "Imported as it was published; nothing was computed."
    if asks(run) and not counts:
        return "What the models answered is kept, call by call."
    if not rounds(run):
        judged = plural(counts.get("answers", 0), known.answer_noun)
        return f"{judged} of {plural(counts.get('questions', 0), known.item_noun)} by {people}."
    systems = f" and {plural(counts['systems'], 'system')}" if counts.get("systems") else ""
    return f"{people}{systems} scored from {plural(counts.get('answers', 0), known.answer_noun)}."


def cancelled(run: Run) -> str:
    """What is left of a run that was stopped."""
    if asks(run):
        return "Nothing was written. Calls that were answered are kept and not asked again."
    kept = " Finished embeddings are kept." if rounds(run) else ""
    return f"Nothing was written.{kept}"


def _stage(run: Run) -> str:
    """The stage of a checklist that the run makes; "" for runs of other kinds."""
    kind = run.params.get("stage") if run.method == "checklist_stage" else None
    return str(ChecklistStage.Kind(kind).label).lower() if kind else ""


def detail(run: Run, model_name: str = "") -> str:
    """The choice that tells runs of a method apart, for the history: also which model is asked."""
    if run.method == CORE:
        return "one competence" if run.params.get("pooled") else "by dimension"
    if run.source is not None:
        return f"of run {run.source.number}"
    if run.method == PUBLISHED:
        return str(run.params.get("name") or run.params.get("model_name") or "")
    if asks(run):
        told = [run.params.get("strategy"), _stage(run)]
        return ", ".join(str(word) for word in (model_name, *told) if word)
    return encoder_words(run.params["encoder"]) if run.params.get("encoder") else ""
