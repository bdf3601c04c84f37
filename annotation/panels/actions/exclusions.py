"""Leave a worker's answers out of a task's results, and take that back; nobody's pay changes."""

from __future__ import annotations

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Answer, Exclusion, Membership, Task, User
from annotation.notifications.actions.notices import notify
from annotation.records.actions.audit import record
from crowdqc.errors import Conflict, Invalid


@transaction.atomic
def exclude(*, by: User, task: Task, worker: Membership, reason: str) -> Exclusion:
    """Leave the worker's answers to the task out of results from the next run on.

    Raises Invalid without a reason or where the worker answered nothing, Conflict where they are
    left out already.
    """
    reason = reason.strip()[:300]
    if not reason:
        raise Invalid(
            _("Say why."), fields={"reason": _("Write a reason; the worker may ask for it.")}
        )
    Task.objects.select_for_update(no_key=True).get(pk=task.pk)
    if not Answer.objects.filter(item__task=task, worker=worker).exists():
        raise Invalid(
            _("This worker answered nothing in this task."), fields={"worker": _("Another.")}
        )
    if task.exclusions.in_force().filter(worker=worker).exists():
        raise Conflict(_("%(pseudonym)s is left out already.") % {"pseudonym": worker.pseudonym})
    exclusion = Exclusion.objects.create(task=task, worker=worker, reason=reason, by=by)
    record(
        by=by,
        project=task.project,
        action="worker.exclude",
        on=exclusion,
        worker=worker.pseudonym,
        reason=reason,
    )
    _tell(exclusion, "work.excluded")
    return exclusion


@transaction.atomic
def undo(*, by: User, exclusion: Exclusion) -> Exclusion:
    """Let the worker's answers enter results again; twice is once."""
    locked = (
        Exclusion.objects.select_for_update(of=("self",))
        .select_related("task__project")
        .get(pk=exclusion.pk)
    )
    if locked.undone_at is None:
        locked.undone_at, locked.undone_by = timezone.now(), by
        locked.save(update_fields=["undone_at", "undone_by"])
        record(by=by, project=locked.task.project, action="worker.include", on=locked)
        _tell(locked, "work.included")
    return locked


def _tell(exclusion: Exclusion, key: str) -> None:
    """The worker concerned."""
    version = exclusion.task.current or exclusion.task.versions.latest("number")
    notify(
        to=[exclusion.worker.user],
        kind="work.excluded",
        project=exclusion.task.project,
        key=f"{key}:{exclusion.pk}",
        url=reverse("work_home"),
        text=lambda: (
            (
                _(
                    "Your answers to “%(task)s” are left out of its results. You may ask for the "
                    "reason. Your pay does not change."
                )
                if key == "work.excluded"
                else _(
                    "Your answers to “%(task)s” are in its results again. Your pay does not change."
                )
            )
            % {"task": version.title}
        ),
    )
