"""What every page of a pairwise study shares: the runs, the dimensions, the view switch."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.access import Access, get_task
from annotation.formats.exports.pairwise import exports_of
from annotation.models import Task
from annotation.templatetags.crowdqc import moment
from crowdqc.errors import Missing
from evaluation.pairwise.run import CORE
from evaluation.pairwise.selectors import boards as pair_boards
from evaluation.pairwise.selectors import facts as pair_facts
from evaluation.pairwise.selectors import runs as pair_runs
from evaluation.pairwise.selectors import workers
from evaluation.pairwise.selectors.runs import ShownRun
from evaluation.runs import schedules
from evaluation.runs.next_actions import page_screen
from evaluation.runs.official.standing import run_standing
from evaluation.runs.pages import export_menu, kept_run, number_of
from evaluation.runs.results import votes_used
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as reads
from evaluation.runs.study_state import read_state

# View -> its label and the name of its address, in the order of the switch.
VIEWS = {
    "board": (gettext_lazy("Leaderboard"), "pair_results"),
    "wins": (gettext_lazy("Win matrix"), "pair_wins"),
    "pairs": (gettext_lazy("Pairs"), "pair_list"),
    "workers": (gettext_lazy("Workers"), "pair_workers"),
    "agreement": (gettext_lazy("Agreement"), "pair_agreement"),
    "order": (gettext_lazy("Order effects"), "pair_order"),
    "grades": (gettext_lazy("Grades"), "pair_grades"),
    "judges": (gettext_lazy("Models as judges"), "pair_judges"),
    "adaptive": (gettext_lazy("Collection"), "pair_adaptive"),
}


def study(request: HttpRequest, project_id: int, task_id: int, *roles: str) -> tuple[Access, Task]:
    """A pairwise task under the rules of its project; Missing where it is of another type."""
    access, task = get_task(request, project_id, task_id, *roles)
    require_fit(task, CORE, Missing(_("This task does not ask for pairs to be compared.")))
    return access, task


def frame(request: HttpRequest, task: Task, view: str) -> tuple[ShownRun, dict[str, Any]]:
    """The runs shown, and the context that the layout of these pages needs."""
    runs = pair_runs.shown_run(task, number_of(request))
    standing = run_standing(runs.core)
    last = schedules.last_run(task, standing.official_run if standing else None)
    since = schedules.count_new_answers(task, last)
    asked = pair_runs.dimensions(task)
    wanted = request.GET.get("dimension", "")
    dimension = wanted if wanted in {one.name for one in asked} else ""
    keep = kept_run(request, runs.core, "?")
    words = reads.start_words(since, first=last is None, noun="judgment")
    study = None
    if runs.core is not None:
        study = read_state(
            task, runs.core, active=runs.active, new_answers=since, standing=standing
        )
    tally = votes_used.tally_of(reads.figures_of(runs.core, votes_used.FIGURE) if runs.core else {})
    context = {
        "task": task,
        "title": reads.title_of(task),
        "view": view,
        "views": [
            {
                "slug": slug,
                "label": label,
                "current": slug == view,
                "url": reverse(name, args=[task.project_id, task.pk]) + keep,
            }
            for slug, (label, name) in VIEWS.items()
        ],
        "runs": runs,
        "run": runs.core,
        "tally": tally,
        "counted": pair_facts.counted(runs.core, tally, asked),
        "standing": standing,
        "asked": asked,
        "dimension": dimension,
        "dimension_label": next((one.label for one in asked if one.name == dimension), ""),
        "keep": keep,
        "fresh": since,
        "active": runs.active,
        "last": last,
        "start_words": words,
        "study_state": study,
        "screen": page_screen(study, []),
        "low_workers": workers.low_workers_finding(task, runs.core)
        if runs.core and view != "workers"
        else None,
        **export_menu(runs.core),
        "pair_exports": exports_of(task),
    }
    return runs, context


def study_frame(request: HttpRequest, task: Task, view: str) -> tuple[ShownRun, dict[str, Any]]:
    """The frame, with the runs to choose from and the tables to take away."""
    runs, context = frame(request, task, view)
    run = runs.core
    context.update(
        run_choices=pair_boards.run_choices(task),
        state_word=_("Run %(run)s finished %(finished_at)s")
        % {"run": run.number, "finished_at": moment(run.finished_at)}
        if run
        else "",
    )
    return runs, context
