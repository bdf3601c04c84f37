"""Which run of a task is official: the first by itself, others by a person's word.

A run of the same recipe on later answers follows the official one by itself: its method, version,
options, seed and encoder are what somebody agreed to. Every other run is a trial (ADR 22).
"""

from __future__ import annotations

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.security.log import Kind, log_event
from annotation.accounts.security.stepup import needs_stepup
from annotation.models import Task, User
from annotation.notifications.actions.notices import notify, people_of
from annotation.payouts.actions.rules import require_proposer
from annotation.records.actions.audit import record
from crowdqc.errors import Conflict, Invalid
from evaluation.models import OfficialRun, Run, RunState
from evaluation.runs import run_types
from evaluation.runs.recipe import is_default, main_method, same_recipe

Origin = OfficialRun.Origin


def settle_official(run: Run) -> None:
    """Let a run that has just ended become official where it needs nobody's word.

    Part of the transaction that closes the run, which must be of its task's own method to count.
    """
    if run.method != main_method(run.task) or run.lane:
        return
    held = _lock_official(run)
    if held is None:
        if is_default(run):
            _install(run, None, by=None, how=Origin.FIRST)
    elif held.run_id < run.pk and same_recipe(held.run, run):
        _install(run, held, by=None, how=Origin.FOLLOWED)
    elif run.started_by is None:
        _tell_waits(run, held.run)


@needs_stepup("make a run official")
@transaction.atomic
def make_official(*, by: User, run: Run, instead_of: int | None = None) -> OfficialRun:
    """Make a finished run official: money, panels, cards and boards read it from now on.

    ``instead_of`` is the number of the official run that the person saw (0: none). Raises
    NotAllowed without the role to propose payouts, Conflict for a run that is not finished or
    where another one became official meanwhile, Invalid for one that can never be official.
    """
    require_proposer(run.project, by)
    if run.method != main_method(run.task) or run.lane:
        raise Invalid(
            _("Only a run of the task’s own method, on all its answers, can be official."),
            fields={"run": _("One of the task’s own method.")},
        )
    if run.state != RunState.DONE:
        raise Conflict(_("Run %(run)s is not finished.") % {"run": run.number})
    held = _lock_official(run)
    if held is not None and held.run_id == run.pk:
        return held
    now = held.run.number if held is not None else 0
    if instead_of is not None and instead_of != now:
        raise Conflict(_("Another run became official meanwhile. Look at the changes again."))
    made = _install(run, held, by=by, how=Origin.CHOSEN)
    log_event(Kind.RULES, user=by, project=run.project, what="official run")
    run_types.notify_packages(run)
    return made


def _lock_official(run: Run) -> OfficialRun | None:
    """The row in force, with the task locked: one decision after another."""
    Task.objects.select_for_update(no_key=True).get(pk=run.task_id)
    rows = OfficialRun.objects.filter(task=run.task_id, method=run.method, until__isnull=True)
    return rows.select_related("run").first()


def _install(run: Run, held: OfficialRun | None, *, by: User | None, how: Origin) -> OfficialRun:
    now = timezone.now()
    if held is not None:
        OfficialRun.objects.filter(pk=held.pk).update(until=now)
    made = OfficialRun.objects.create(
        task=run.task, method=run.method, run=run, how=how, since=now, by=by
    )
    record(
        by=by,
        project=run.project,
        on=run,
        number=run.number,
        action="run.official" if by is not None else f"run.official_{how}",
        before=held.run.number if held is not None else None,
    )
    if how != Origin.FOLLOWED:
        first, version = how == Origin.FIRST, run.task.current
        title = version.title if version is not None else str(run.task_id)

        notify(
            to=[one for one in people_of(run.project) if by is None or one.pk != by.pk],
            kind="run.official",
            project=run.project,
            key=f"run.official:{made.pk}",
            url=reverse("run_official", args=[run.project_id, run.number]),
            mail=not first,
            text=lambda: (
                (
                    _(
                        "Run %(run)s is now the official run of “%(task)s”: the "
                        "first run with the default recipe."
                    )
                    if first
                    else _("Run %(run)s is now the official run of “%(task)s”.")
                )
                % {"run": run.number, "task": title}
            ),
        )
    return made


def _tell_waits(run: Run, official: Run) -> None:
    """A run by itself that is not computed as the official one was: somebody has to look."""
    notify(
        to=people_of(run.project),
        kind="run.official",
        project=run.project,
        key=f"run.waits:{run.task_id}:{run.version}:{official.pk}",
        url=reverse("run_official", args=[run.project_id, run.number]),
        text=lambda: (
            _(
                "Run %(run)s was computed otherwise than the official run "
                "%(official)s (the method is "
                "version %(version)s now), so it is a trial. Look what would change."
            )
            % {"run": run.number, "official": official.number, "version": run.version}
        ),
    )
