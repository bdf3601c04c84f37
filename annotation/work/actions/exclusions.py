"""Leave a worker's answers out of a task's results, and take that back; nobody's pay changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.authoring.selectors.planned import planned_answers
from annotation.models import (
    Answer,
    Exclusion,
    Membership,
    PayoutLine,
    Rejection,
    Task,
    User,
)
from annotation.notifications.actions.notices import notify
from annotation.records.actions.audit import record
from annotation.work.actions.answers import (
    as_uncounted_reason,
    set_counts,
    uncount_answers,
)
from crowdqc.errors import Conflict, Invalid

PLANNED = ("pk", "given", "planned")


@transaction.atomic
def exclude(
    *,
    by: User,
    task: Task,
    worker: Membership,
    reason: str,
    collect_again: bool = False,
    stop_work: bool = False,
) -> Exclusion:
    """Leave the worker's answers to the task out of results from the next run on.

    ``collect_again``: those that are then missing stop counting, so that their slots are open to
    others. ``stop_work``: the worker gets no more work in this task; what they hold they may
    finish.

    Raises Invalid without a reason or where the worker answered nothing, Conflict where they are
    left out already.
    """
    reason = reason.strip()[:300]
    if not reason:
        raise Invalid(
            _("Say why."), fields={"reason": _("Write a reason; the worker may ask for it.")}
        )
    _lock_task(task)
    if not Answer.objects.filter(item__task=task, worker=worker).exists():
        raise Invalid(
            _("This worker answered nothing in this task."), fields={"worker": _("Another.")}
        )
    if task.exclusions.in_force().filter(worker=worker).exists():
        raise Conflict(_("%(pseudonym)s is left out already.") % {"pseudonym": worker.pseudonym})
    exclusion = Exclusion.objects.create(
        task=task,
        worker=worker,
        reason=reason,
        by=by,
        collects_again=collect_again,
        stops_work=stop_work,
    )
    if collect_again:
        missing = answers_to_collect(task, worker).values_list("pk", flat=True)
        reasons = dict.fromkeys(missing, reason)
        uncount_answers(by=by, task=task, reasons=reasons, reopen=reasons)
    record(
        by=by,
        project=task.project,
        action="worker.exclude",
        on=exclusion,
        worker=worker.pseudonym,
        reason=reason,
        collects_again=collect_again,
        stops_work=stop_work,
    )
    _notify_worker(exclusion, "work.excluded")
    return exclusion


@transaction.atomic
def exclude_all(
    *, by: User, task: Task, workers: Sequence[Membership], **effects: Any
) -> list[Exclusion]:
    """Exclude several workers for one reason; all of them or none."""
    return [exclude(by=by, task=task, worker=worker, **effects) for worker in workers]


@transaction.atomic
def undo(*, by: User, exclusion: Exclusion) -> Exclusion:
    """End an exclusion: the worker's answers enter results again; a second call changes nothing.

    Answers that stopped counting with the exclusion count again where their slot is still free.
    """
    locked = (
        Exclusion.objects.select_for_update(of=("self",))
        .select_related("task__project")
        .get(pk=exclusion.pk)
    )
    if locked.undone_at is None:
        locked.undone_at, locked.undone_by = timezone.now(), by
        locked.save(update_fields=["undone_at", "undone_by"])
        if locked.collects_again:
            _count_again(by, locked)
        record(by=by, project=locked.task.project, action="worker.include", on=locked)
        _notify_worker(locked, "work.included")
    return locked


def counting_answers(task: Task, *workers: Membership) -> QuerySet[Answer]:
    """Return workers' answers to the task that count and take a slot."""
    own = Answer.objects.filter(item__task=task, worker__in=workers, counts=True)
    return own.filter(item__expected__isnull=True).order_by("pk")


def answers_to_collect(task: Task, *workers: Membership) -> QuerySet[Answer]:
    """Return workers' counting answers without which their item has fewer than planned."""
    own = counting_answers(task, *workers)
    enough = items_with_plan(task, without=[one.pk for one in workers]).filter(
        given__gte=F("planned")
    )
    return own.exclude(item__in=enough.values("pk"))


def items_with_plan(task: Task, *, without: Sequence[int] = ()) -> QuerySet[Any]:
    """Items in force with ``given``, people's answers that enter results, and ``planned`` ones.

    ``without``: workers who are left out beside those who are already.
    """
    version = task.version_or_draft()
    left_out = [*task.exclusions.in_force().values_list("worker", flat=True), *without]
    main = Q(answers__counts=True, answers__stage=Answer.Stage.MAIN, answers__worker__isnull=False)
    return (
        task.items.in_version(version.number)
        .filter(expected__isnull=True)
        .annotate(
            given=Count("answers", filter=main & ~Q(answers__worker__in=left_out)),
            planned=planned_answers(version.redundancy),
        )
    )


def _count_again(by: User, exclusion: Exclusion) -> None:
    """Count the answers that stopped counting for this reason; a slot that was taken stays so.

    Answers of rejected work that was left out stay out, until that is overturned.
    """
    _lock_task(exclusion.task)
    own = Answer.objects.filter(
        item__task=exclusion.task,
        worker=exclusion.worker,
        counts=False,
        uncounted_reason=as_uncounted_reason(exclusion.reason),
    )
    rejected = dict(
        own.filter(rejection_that_leaves_out()).values_list("pk", "assignment__rejection__reason")
    )
    for answer in list(own.exclude(pk__in=rejected).order_by("pk")):
        with suppress(Conflict), transaction.atomic():
            set_counts(by=by, answer=answer, counts=True)
    for pk, reason in rejected.items():
        own.filter(pk=pk).update(uncounted_reason=as_uncounted_reason(reason))


# Of rejected work -------------------------------------------------------------------------------


def rejection_that_leaves_out() -> Q:
    """Answers whose assignment is rejected with its answers left out."""
    rejected = Q(assignment__rejection__isnull=False, assignment__rejection__line__leaves_out=True)
    return rejected & ~Q(assignment__rejection__outcome=Rejection.Outcome.OVERTURNED)


def leave_out_rejected(*, by: User, task: Task, lines: Sequence[PayoutLine]) -> None:
    """Let answers of rejected work not count, and their slots reopen, as the lines say."""
    reasons = {line.assignment_id: line.reason for line in lines if line.leaves_out}
    again = {line.assignment_id for line in lines if line.leaves_out and line.collects_again}
    own = Answer.objects.filter(
        assignment__in=reasons, item__task=task, counts=True, item__expected__isnull=True
    )
    rows = list(own.order_by("pk").values_list("pk", "assignment_id", "item_id", "worker_id"))
    left_out = set(task.exclusions.in_force().values_list("worker", flat=True))
    counted = items_with_plan(task).filter(pk__in={item for _pk, _of, item, _who in rows})
    plan = {pk: (given, planned) for pk, given, planned in counted.values_list(*PLANNED)}
    gone: Counter[int] = Counter()
    reopen = set()
    for pk, assignment, item, worker in rows:
        gone[item] += worker not in left_out
        given, planned = plan.get(item, (0, 1))
        if assignment in again and given - gone[item] < planned:
            reopen.add(pk)
    uncount_answers(
        by=by,
        task=task,
        reasons={pk: reasons[assignment] for pk, assignment, _item, _who in rows},
        reopen=reopen,
    )


def count_overturned(*, by: User, rejection: Rejection) -> None:
    """Count answers again that were left out with a rejection, and close slots nobody took.

    They count beside those of whoever took a slot meanwhile. Answers of a worker who is removed
    from the task and collected again stay out, until that is undone.
    """
    task, worker = rejection.assignment.task, rejection.assignment.worker
    _lock_task(task)
    own = Answer.objects.filter(
        assignment=rejection.assignment,
        counts=False,
        uncounted_reason=as_uncounted_reason(rejection.reason),
    )
    excluded = task.exclusions.in_force().filter(worker=worker, collects_again=True).first()
    if excluded is not None:
        own.update(uncounted_reason=as_uncounted_reason(excluded.reason))
        return
    for answer in own.order_by("pk"):
        with suppress(Conflict), transaction.atomic():
            set_counts(by=by, answer=answer, counts=True, beyond_plan=True)


def _lock_task(task: Task) -> None:
    """Let one change of whose answers count follow another."""
    Task.objects.select_for_update(no_key=True).get(pk=task.pk)


def _notify_worker(exclusion: Exclusion, key: str) -> None:
    """The worker concerned."""
    version = exclusion.task.version_or_draft()
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
