"""The end of interaction logs: after the days agreed to, or when somebody asks for it.

What goes are the events, their streams and what was summed up from them. Answers, judgments,
payments and finished runs stay; ``Assignment.log_erased_at`` says when the log went, and an entry
of the audit log how much it was and why.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.core.cache import cache
from django.db import connection, transaction
from django.db.models import Count, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, EventBatch, EventStream, Membership, Project, User
from annotation.privacy.selectors import retention
from annotation.records.actions.audit import record
from annotation.work.selectors import log
from crowdqc.errors import Invalid, NotAllowed
from crowdqc.numbers import count

AT_ONCE = 50  # assignments a transaction
FEWEST_DAYS, MOST_DAYS = 30, 3650  # of the texts of answers


@transaction.atomic
def keep_texts(*, by: User, project: Project, days: int | None) -> Project:
    """Keep the texts of decided work for so many days, or (None) until deleted."""
    if days is not None and not FEWEST_DAYS <= days <= MOST_DAYS:
        raise Invalid(
            _("The days are out of range."),
            fields={
                "days": _("%(fewest_days)s to %(most_days)s days, or nothing.")
                % {"fewest_days": FEWEST_DAYS, "most_days": count(MOST_DAYS)}
            },
        )
    project = Project.objects.select_for_update().get(pk=project.pk)
    before, project.answer_days_kept = project.answer_days_kept, days
    project.save(update_fields=["answer_days_kept"])
    record(by=by, project=project, action="retention.change", on=project, before=before, days=days)
    return project


def erase_due_logs() -> int:
    """Erase every log whose days are over; gives how many assignments that were. Idempotent."""
    due = retention.due(timezone.now())
    return _erase_all(list(due.order_by("pk").values_list("pk", flat=True)), by=None, why="due")


def erase_logs_of_project(*, by: User, project: Project) -> int:
    """Erase the logs of all work of a project that is over; gives how many assignments."""
    found = retention.erasable(Assignment.objects.filter(task__project=project))
    return _erase_all(list(found.order_by("pk").values_list("pk", flat=True)), by=by, why="project")


def erase_logs_of_worker(*, by: User, worker: Membership) -> int:
    """Erase one worker's logs of work that is over; gives how many assignments."""
    found = retention.erasable(worker.assignments.all())
    return _erase_all(list(found.order_by("pk").values_list("pk", flat=True)), by=by, why="worker")


def erase_own_logs(*, by: User, worker: Membership) -> int:
    """Erase one's own logs of work that is decided; gives how many assignments."""
    if worker.user_id != by.pk:
        raise NotAllowed(_("Nobody erases somebody else's log for them here."))
    found = retention.erasable_by_worker(worker)
    return _erase_all(list(found.order_by("pk").values_list("pk", flat=True)), by=by, why="own")


def erase_logs_of_erased(*, worker: Membership) -> int:
    """Erase every log of a worker who is being erased, of imported work as well."""
    found = Assignment.objects.filter(worker=worker, streams__isnull=False).distinct()
    return _erase_all(list(found.order_by("pk").values_list("pk", flat=True)), by=None, why="erase")


def _erase_all(assignments: Sequence[int], *, by: User | None, why: str) -> int:
    """Erase the assignments' data in bounded transactions, so that writers wait briefly."""
    return sum(
        _erase(assignments[start : start + AT_ONCE], by=by, why=why)
        for start in range(0, len(assignments), AT_ONCE)
    )


@transaction.atomic
def _erase(assignments: Sequence[int], *, by: User | None, why: str) -> int:
    """Erase these logs; one that went meanwhile is passed over."""
    rows = list(
        Assignment.objects.select_for_update(of=("self",))
        .filter(pk__in=assignments)
        .select_related("task__project")
        .order_by("pk")
    )
    # A batch on its way is waited for and goes as well; a later one finds no stream.
    streams = list(
        EventStream.objects.select_for_update()
        .filter(assignment__in=rows)
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    sizes = {
        pk: (batches, events, size)
        for pk, batches, events, size in EventStream.objects.filter(pk__in=streams)
        .values("assignment")
        .annotate(events=Coalesce(Sum("next_seq"), 0), size=Coalesce(Sum("stored_bytes"), 0))
        .annotate(number=Count("pk"))
        .values_list("assignment", "number", "events", "size")
    }
    summaries = log.summary_keys(list(sizes)).values()
    with connection.cursor() as cursor:
        # What the database's guard of the log asks for; it ends with the transaction.
        cursor.execute("SELECT set_config('crowdqc.erasing', 'on', true)")
        EventBatch.objects.filter(stream__in=streams).delete()
        cursor.execute("SELECT set_config('crowdqc.erasing', 'off', true)")
    EventStream.objects.filter(pk__in=streams).delete()
    now, gone = timezone.now(), [row for row in rows if row.pk in sizes]
    for row in gone:
        number, events, size = sizes[row.pk]
        record(
            by=by,
            project=row.task.project,
            action="log.erase",
            on=row,
            why=why,
            streams=number,
            events=events,
            bytes=size,
        )
    Assignment.objects.filter(pk__in=[row.pk for row in gone]).update(log_erased_at=now)
    transaction.on_commit(lambda: cache.delete_many(summaries))
    return len(gone)
