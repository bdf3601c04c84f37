"""Choosing workers for a panel by what a run says of them, and runs on a panel's answers."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Membership, Panel, Task, User
from annotation.panels.actions import panels
from annotation.records.actions.audit import record
from crowdqc.errors import Conflict, Invalid
from evaluation.models import Run, RunState, Selection
from evaluation.panels import rules as panel_choice
from evaluation.panels import run as panel_runs
from evaluation.panels.rules import RuleRequest
from evaluation.runs import engine as runs
from evaluation.runs.official.standing import run_standing
from evaluation.runs.recipe import recipe_in_force
from evaluation.runs.run_types import fits

WHY = {
    Selection.Rule.TOP: gettext_lazy("among the best %(k)s of run %(run)s"),
    Selection.Rule.THRESHOLD: gettext_lazy("interval above %(threshold)g in run %(run)s"),
    Selection.Rule.HAND: gettext_lazy("chosen by hand from run %(run)s"),
}


@transaction.atomic
def select(
    *, by: User, run: Run, wanted: RuleRequest, panel_name: str, words: str = ""
) -> tuple[Selection, bool]:
    """Let the workers whom a rule chooses onto a panel; the selection, and whether it is new.

    Pressed twice it is one selection: the same rule on the same run chooses the same people, and
    who was taken off the panel since is not let in again by it. Raises Invalid naming a field, or
    where nobody is chosen; Conflict for a run that is not finished, or a trial.
    """
    if run.state != RunState.DONE:
        raise Conflict(_("This run is not finished."))
    stands = run_standing(run)
    if stands is not None and not stands.is_official:
        raise Conflict(
            _("Run %(run)s is not the official run. Only that one chooses a panel.")
            % {"run": run.number}
        )
    panel = panels.get_or_create_panel(by=by, project=run.project, name=panel_name)
    Panel.objects.select_for_update(no_key=True).get(pk=panel.pk)
    found = panel_choice.choose(run, wanted)
    params = wanted.params()
    same = Selection.objects.filter(panel=panel, run=run, rule=wanted.rule, params=params).first()
    if same is not None:
        return same, False
    if not found.chosen:
        raise Invalid(_("This rule chooses nobody."), fields={"rule": _("Change it.")})
    made = Selection.objects.create(
        panel=panel,
        task=run.task,
        run=run,
        rule=wanted.rule,
        params=params,
        rows=[row.as_dict() for row in found.rows],
        by=by,
    )
    record(
        by=by,
        project=run.project,
        action="panel.select",
        on=made,
        panel=panel.name,
        run=run.number,
        rule=wanted.rule,
        chosen=len(found.chosen),
        border=len(found.border),
        **params,
    )
    why = WHY[Selection.Rule(wanted.rule)] % {"run": run.number, **params}
    panels.admit(
        by=by,
        panel=panel,
        run_number=run.number,
        why=why,
        words=words,
        workers=Membership.objects.filter(pk__in=[row.worker for row in found.chosen]),
    )
    return made, True


def evaluate(*, by: User, panel: Panel, task: Task, also: int | None = None) -> Run:
    """Run AQER on the answers of the panel's members, by the recipe of the official run.

    Raises Invalid naming ``task`` or ``also``, and Conflict where one is in work already.
    """
    if not fits(task, panel_runs.SLUG) or task.project_id != panel.project_id:
        raise Invalid(_("Choose a task of free text."), fields={"task": _("One of free text.")})
    if also:
        panel_runs.other_task(task, also)
    recipe = recipe_in_force(task)
    params = {**recipe.params, "panel": panel.pk, "also": also or None}
    return runs.start(
        by=by,
        task=task,
        method=panel_runs.SLUG,
        params=params,
        lane=f"panel {panel.pk}",
        seed=recipe.seed,
    )
