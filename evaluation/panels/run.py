"""AQER on the answers of a panel's members: models judged by chosen people (AQER, App. M, 2 to 4).

The run reads one task, and another one ``also`` where both ask about the same things: the answers
of a screening come in again beside what the chosen wrote later. Which answers entered is frozen in
the snapshot; who joins or leaves the panel later changes no run.
"""

from __future__ import annotations

from functools import partial

from django.utils.translation import gettext as _

from annotation.models import Panel, Task
from crowdqc.errors import Conflict, Invalid
from evaluation.free_text import run as text_runs
from evaluation.methods.core.params import whole_number
from evaluation.methods.registry import get_method
from evaluation.models import Run, Snapshot
from evaluation.runs.freezing import snapshots
from evaluation.runs.progress import Recorder
from evaluation.runs.results import rows as results
from evaluation.runs.run_types import RunType, fits

SLUG = "aqer_panel"


def compute(run: Run, steps: Recorder) -> results.Computed:
    """Freeze the members' answers, embed, fit."""
    return text_runs.compute(run, steps, take=partial(_freeze_members, run))


def _freeze_members(run: Run, task: Task) -> Snapshot:
    """The snapshot of the panel's members, of one task or of two."""
    panel = Panel.objects.filter(project=run.project_id, pk=run.params["panel"]).first()
    if panel is None:
        raise Conflict(_("There is no such panel in this project."))
    also = []
    if run.params["also"]:
        also = [other_task(task, run.params["also"])]
    members = set(panel.members.filter(until__isnull=True).values_list("worker_id", flat=True))
    if not members:
        raise Conflict(_("Nobody is on the panel “%(panel)s” now.") % {"panel": panel.name})
    return snapshots.freeze_answers(task, only=members, also=also)


def other_task(task: Task, pk: int) -> Task:
    """A free-text task of the same project. Raises Invalid naming ``also``."""
    found = Task.objects.filter(project=task.project_id, pk=pk).exclude(pk=task.pk).first()
    if found is None or not fits(found, SLUG):
        raise Invalid(
            _("The other task is none of free text in this project."),
            fields={"also": _("Another one.")},
        )
    return found


RUNS = RunType(
    get_method(SLUG),
    ("texts",),
    "free text",
    text_runs.RUNS.steps,
    compute,
    text_runs.write,
    text_runs.fail,
    own=(
        whole_number(
            "panel", None, 1, required=True, help="The panel whose answers the run reads."
        ),
        whole_number("also", None, 1, help="Another task, whose answers come in too."),
        text_runs.ENCODER,
        text_runs.ENTAILMENT,
    ),
    stored=(*text_runs.STORED, "panel", "also"),
    complete=text_runs.with_models,
    refuse=text_runs.refuse_unasked,
    page="task_results_systems",
    shown_with=text_runs.AQER,
    iterates=True,
)
