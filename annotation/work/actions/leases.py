"""End leases (extended, returned, revoked or expired) and free their slots.

Locks: see ``assignments``; items are locked last, once, and in the order of their ids.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from annotation.models import Assignment, AssignmentItem, Item, Membership, Task, User
from annotation.models.assignments import AssignmentState
from annotation.records.actions.audit import record
from crowdqc.database.compiled import CompiledQuery, Placeholder
from crowdqc.errors import Conflict, NotAllowed

MAX_EXTENSIONS = 3
# What an action may have changed since the assignment was fetched.
CHANGING = (
    "state",
    "expires_at",
    "extensions",
    "opened_at",
    "submitted_at",
    "submit_key",
    "settled_at",
)

LOCKED = CompiledQuery(
    lambda: (
        Assignment.objects.filter(pk=Placeholder("pk"))
        .select_for_update(no_key=True)
        .only(*CHANGING)
    )
)


def lock_own(assignment: Assignment, by: User) -> Assignment:
    """Lock one's own assignment and return its current state."""
    if assignment.worker.user_id != by.pk:
        raise NotAllowed(gettext("This is somebody else's assignment."))
    now = LOCKED.all(pk=assignment.pk)[0]
    for name in CHANGING:
        setattr(assignment, name, getattr(now, name))
    return assignment


def lock_items(ids: Sequence[int]) -> None:
    """Lock items in the order of ids, the only order in which anybody waits."""
    rows = Item.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk")
    list(rows.values_list("pk"))


def free_slots(entries: QuerySet[AssignmentItem]) -> None:
    """Free held slots."""
    rows = list(entries.filter(holds=True).values_list("pk", "item_id"))
    if not rows:
        return
    lock_items([item for _, item in rows])
    AssignmentItem.objects.filter(pk__in=[pk for pk, _ in rows]).update(holds=False)
    # Leases of several people may hold one item; an UPDATE ... IN would count it once.
    times = Counter(item for _, item in rows)
    for number in set(times.values()):
        ids = [item for item, count in times.items() if count == number]
        Item.objects.filter(pk__in=ids).update(held=F("held") - number)


def release_expired(
    *, task: Task | None = None, worker: Membership | None = None, limit: int = 200
) -> int:
    """Free the slots of expired leases; drafts stay for a late submit."""
    due = Assignment.objects.filter(
        state=AssignmentState.LEASED, expires_at__lte=timezone.now()
    ).order_by("expires_at", "pk")
    if task is not None:
        due = due.filter(task=task)
    if worker is not None:
        due = due.filter(worker=worker)
    if not due.exists():
        return 0
    with transaction.atomic():
        # Somebody else's lease that is locked is being worked on; one's own is waited for.
        rows = due.select_for_update(skip_locked=worker is None, no_key=True)
        ids = list(rows.values_list("pk", flat=True)[:limit])
        if ids:
            free_slots(AssignmentItem.objects.filter(assignment_id__in=ids))
            Assignment.objects.filter(pk__in=ids).update(state=AssignmentState.EXPIRED)
    return len(ids)


@transaction.atomic
def extend_lease(*, by: User, assignment: Assignment) -> Assignment:
    """Extend the lease by its length from now, a few times."""
    locked = lock_own(assignment, by)
    if locked.state != AssignmentState.LEASED or locked.expires_at <= timezone.now():
        raise Conflict(gettext("The time has run out. What you wrote is kept; submit it as it is."))
    if locked.extensions >= MAX_EXTENSIONS:
        raise Conflict(
            gettext("The time was extended %(max_extensions)s times; that is the most.")
            % {"max_extensions": MAX_EXTENSIONS}
        )
    locked.extensions += 1
    locked.expires_at = timezone.now() + dt.timedelta(minutes=locked.version.lease_minutes)
    locked.save(update_fields=["extensions", "expires_at"])
    record(by=by, project=locked.task.project, action="assignment.extend", on=locked)
    return locked


@transaction.atomic
def return_assignment(*, by: User, assignment: Assignment) -> Assignment:
    """Return the assignment without disadvantage; its slots are free."""
    locked = lock_own(assignment, by)
    if locked.state == AssignmentState.RETURNED:
        return locked
    if locked.state == AssignmentState.SUBMITTED:
        raise Conflict(gettext("It is submitted already."))
    free_slots(locked.entries.all())
    locked.state = AssignmentState.RETURNED
    locked.save(update_fields=["state"])
    record(by=by, project=locked.task.project, action="assignment.return", on=locked)
    return locked


@transaction.atomic
def revoke_lease(*, by: User | None, assignment: Assignment) -> Assignment:
    """End the lease of a worker who left the project or platform."""
    locked = (
        Assignment.objects.select_for_update(no_key=True, of=("self",))
        .select_related("task__project")
        .get(pk=assignment.pk)
    )
    if locked.state == AssignmentState.LEASED:
        free_slots(locked.entries.all())
        locked.state = AssignmentState.RETURNED
        locked.save(update_fields=["state"])
        record(by=by, project=locked.task.project, action="assignment.take_back", on=locked)
    return locked
