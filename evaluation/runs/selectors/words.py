"""What the pages of runs call a run, and where its results stand, by its task and method."""

from __future__ import annotations

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _

from annotation.models import Task
from crowdqc.numbers import mid_sentence, plural
from evaluation.models import Run
from evaluation.runs import run_types
from evaluation.runs.adapters import adapter_of
from evaluation.runs.selectors.recipes import encoder_words

FOLLOW = "follow"  # in the address of a run's page: its results take its place once they are there


def follow_url(run: Run) -> str:
    """Return the address of a run's page that leads to the results once the run is done."""
    return f"{reverse('run', args=[run.project_id, run.number])}?{FOLLOW}=1"


def results_page(task: Task) -> str:
    """Return the address of the task's results, or of its runs with models."""
    return _page(adapter_of(task).results, task)


def _page(name: str, task: Task) -> str:
    args = [task.project_id, task.pk]
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return reverse("task_models", args=args)


def shown_number(run: Run) -> int:
    """The number of the run whose results show this one's: nulls belong to their core."""
    return run.source.number if run.source is not None else run.number


def results_url(run: Run) -> str:
    """Return the address of the page with a run's result."""
    kind = run_types.type_of(run.method)
    if place := kind.place(run):
        return place
    page = _page(kind.page or adapter_of(run.task).results, run.task)
    of_one = kind.page or kind.asking is None
    return f"{page}?run={shown_number(run)}" if of_one else page


def export_url(run: Run) -> str:
    """Return the address of a run's export; "" if it has none."""
    name = run_types.type_of(run.method).export
    if name == run_types.OWN_ROWS:
        return reverse(name, args=[run.project_id, run.number])
    if not name or run.source_id is not None:
        return ""
    return f"{reverse(name, args=[run.project_id, run.task_id])}?run={run.number}"


def lower_title(title: str) -> str:
    """Lower the first letter of a title within a sentence, except for abbreviations."""
    return mid_sentence(title)


def heading(run: Run) -> str:
    """``Run 4: AQER, workers and systems``."""
    kind = run_types.type_of(run.method)
    title = run_types.title_of(run.method)
    if not kind.iterates:
        return _("Run %(run)s: %(title)s") % {"run": run.number, "title": lower_title(title)}
    both = run.snapshot is not None and run.snapshot.counts.get("systems")
    text = (
        _("Run %(run)s: %(title)s, workers and systems")
        if both
        else _("Run %(run)s: %(title)s, workers")
    )
    return text % {"run": run.number, "title": title}


def describe_input(run: Run) -> str:
    """Describe the data of a finished run."""
    counts = run.snapshot.counts if run.snapshot else {}
    people = plural(counts.get("workers", 0), "worker")
    known, kind = adapter_of(run.task), run_types.type_of(run.method)
    if kind.made_of:
        return _(kind.made_of)
    if kind.asking and not counts:
        return _("What the models answered is kept, call by call.")
    if not kind.iterates:
        judged = plural(counts.get("answers", 0), known.answer_noun)
        return _("%(judged)s of %(items)s by %(people)s.") % {
            "judged": judged,
            "items": plural(counts.get("questions", 0), known.item_noun),
            "people": people,
        }
    text = (
        _("%(people)s and %(systems)s scored from %(answers)s.")
        if counts.get("systems")
        else _("%(people)s scored from %(answers)s.")
    )
    return text % {
        "people": people,
        "systems": plural(counts.get("systems", 0), "system"),
        "answers": plural(counts.get("answers", 0), known.answer_noun),
    }


def cancelled(run: Run) -> str:
    """Say what was kept of a cancelled run."""
    kind = run_types.type_of(run.method)
    if kind.asking:
        return _("Nothing was written. Calls that were answered are kept and not asked again.")
    if kind.iterates:
        return _("Nothing was written. Finished embeddings are kept.")
    return _("Nothing was written.")


def run_detail(run: Run, model_name: str = "") -> str:
    """Return the option that tells runs of one method apart in the history."""
    if run.source is not None:
        return _("of run %(source)s") % {"source": run.source.number}
    kind = run_types.type_of(run.method)
    told = kind.detail(run) if kind.detail else str(run.params.get("strategy") or "")
    if kind.asking or kind.detail:
        return ", ".join(filter(None, (model_name, told)))
    return encoder_words(run.params["encoder"]) if run.params.get("encoder") else ""
