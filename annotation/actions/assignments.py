"""Leases: claim, draft, extend, return, expire. The redundancy is never exceeded.

Locks: a transaction takes the worker or the assignment first and items after it, items once and
in the order of their ids unless it skips locked ones. NO KEY locks let others refer to a row.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, QuerySet, Subquery
from django.utils import timezone

from annotation.models import Assignment, AssignmentItem, Item, Membership, Task, User
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState, TaskVersion
from annotation.task_types import get_type
from crowdqc.errors import Conflict, Invalid, NotAllowed

from .audit import record
from .people import current_consent

MAX_EXTENSIONS = 3
Pick = Callable[[Task, TaskVersion, Membership], list[Item]]
MAX_SEQ = 2**53  # numbers that JavaScript can count by one
DONE = (AssignmentState.LEASED, AssignmentState.SUBMITTED)


def _open_items(task: Task, version: TaskVersion, worker: Membership) -> QuerySet[Item]:
    """Items with a free slot that this worker has neither in work nor submitted."""
    theirs = AssignmentItem.objects.filter(
        item=OuterRef("pk"), assignment__worker=worker, assignment__state__in=DONE
    )
    return (
        task.items.in_version(version.number)
        .filter(held__lt=F("redundancy"))
        .filter(~Exists(theirs))
        .select_related("group")
    )


def _start(task: Task, worker: Membership) -> int:
    """Where this worker goes on, or begins: staggered starts overlap, so the graph is connected."""
    last = task.assignments.filter(worker=worker).order_by("-pk").values("pk")[:1]
    reached = AssignmentItem.objects.filter(assignment=Subquery(last)).aggregate(
        m=Max("item__position")
    )["m"]
    if reached is not None:
        return reached
    end = task.items.filter(held__lt=F("redundancy")).aggregate(m=Max("position"))["m"] or 0
    return random.Random(f"{task.pk}:{worker.pk}").randrange(end + 1)  # noqa: S311


class _TooFew(Exception):
    """Others hold locks on some of the items that a full bundle needs."""


def _pick(task: Task, version: TaskVersion, worker: Membership) -> list[Item]:
    """Lock a full bundle of open items without waiting for anybody, or raise _TooFew."""
    wanted = version.items_per_assignment
    base = _open_items(task, version, worker)
    start = _start(task, worker)
    plain = base.filter(priority=0)
    ways = (
        base.filter(priority__gt=0).order_by("-priority", "position", "id"),
        plain.filter(position__gte=start).order_by("position", "id"),
        plain.filter(position__lt=start).order_by("position", "id"),
        base.filter(priority__lt=0).order_by("-priority", "position", "id"),
    )
    picked: list[Item] = []
    for way in ways:
        left = wanted - len(picked)
        if left:
            free = way.select_for_update(skip_locked=True, no_key=True, of=("self",))
            picked += list(free[:left])
    if len(picked) < wanted:
        raise _TooFew
    return picked


def _wait_for(task: Task, version: TaskVersion, worker: Membership) -> list[Item]:
    """Lock what is open, waiting in the order of ids, which cannot deadlock."""
    rows = _open_items(task, version, worker).order_by("id")
    return list(rows.select_for_update(no_key=True, of=("self",))[: version.items_per_assignment])


def _arrange(items: Sequence[Item], version: TaskVersion, seed: str) -> list[Item]:
    """The order of presentation: as written, or random over groups and then within them."""
    items = sorted(items, key=lambda i: (i.group.position, i.group_id, i.position, i.pk))
    if version.order == TaskVersion.Order.FIXED:
        return items
    rng = random.Random(seed)  # noqa: S311 (an order, not a secret)
    groups: dict[int, list[Item]] = {}
    for item in items:
        groups.setdefault(item.group_id, []).append(item)
    order = list(groups.values())
    rng.shuffle(order)
    for group in order:
        rng.shuffle(group)
    return [item for group in order for item in group]


def claim(*, by: User, task: Task, worker: Membership, source: str = "browser") -> Assignment:
    """Lease the worker a bundle; a lease they already have is given back as it is.

    Raises Conflict when the task is not open or nothing is left for this worker, NotAllowed
    without an agreement to the text in force.
    """
    if worker.user_id != by.pk or worker.project_id != task.project_id:
        raise NotAllowed("Nobody claims for somebody else.")
    # In a transaction of its own: its locks are gone before the picking begins.
    release_expired(task=task, limit=50)
    assignment = _claimed(by=by, task=task, worker=worker, source=source)
    if assignment is None:  # an own lease ran out that was not among those just freed
        release_expired(worker=worker)
        assignment = _claimed(by=by, task=task, worker=worker, source=source)
    if assignment is None:
        raise Conflict("Your last assignment is just being closed. Try again.")
    return assignment


def _claimed(*, by: User, task: Task, worker: Membership, source: str) -> Assignment | None:
    try:
        return _claim(by=by, task=task, worker=worker, source=source, pick=_pick)
    except _TooFew:  # the locks that were taken are gone with that transaction
        return _claim(by=by, task=task, worker=worker, source=source, pick=_wait_for)


@transaction.atomic
def _claim(
    *, by: User, task: Task, worker: Membership, source: str, pick: Pick
) -> Assignment | None:
    """A lease; None when the worker still has one whose time is over."""
    # One row a worker: two clicks of one person stand in line, people do not.
    Membership.objects.select_for_update(no_key=True).only("pk").get(pk=worker.pk)
    held = (
        task.assignments.filter(worker=worker, state=AssignmentState.LEASED)
        .select_related("version")
        .first()
    )
    if held:
        return held if held.expires_at > timezone.now() else None
    task = Task.objects.select_related("current", "project").get(pk=task.pk)
    if task.state != TaskState.OPEN or task.current is None:
        raise Conflict("This task is not open at the moment.")
    if current_consent(worker) is None:
        raise NotAllowed(
            "Please read and answer the question about recording first.", code="no-consent"
        )
    version = task.current
    items = pick(task, version, worker)
    if not items:
        raise Conflict("There is nothing left for you in this task.")
    return _lease(task=task, version=version, worker=worker, items=items, by=by, source=source)


def _lease(
    *,
    task: Task,
    version: TaskVersion,
    worker: Membership,
    items: Sequence[Item],
    by: User,
    source: str,
) -> Assignment:
    now = timezone.now()
    assignment = Assignment.objects.create(
        task=task,
        version=version,
        worker=worker,
        source=source,
        pay=version.pay,
        leased_at=now,
        expires_at=now + dt.timedelta(minutes=version.lease_minutes),
    )
    arranged = _arrange(items, version, f"{worker.pk}:{assignment.pk}")
    AssignmentItem.objects.bulk_create(
        AssignmentItem(assignment=assignment, item=item, position=number)
        for number, item in enumerate(arranged)
    )
    # The check constraint refuses a slot over the redundancy even if the locks were wrong.
    Item.objects.filter(pk__in=[item.pk for item in items]).update(held=F("held") + 1)
    record(by=by, project=task.project, action="assignment.claim", on=assignment, items=len(items))
    return assignment


def lock_items(ids: Sequence[int]) -> None:
    """Lock items in the order of their ids, the one order in which anybody waits for them."""
    rows = Item.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk")
    list(rows.values_list("pk"))


def _release(entries: QuerySet[AssignmentItem]) -> None:
    """Give held slots back."""
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
    """Free the slots of leases that ran out; their drafts stay for a late submit."""
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
            _release(AssignmentItem.objects.filter(assignment_id__in=ids))
            Assignment.objects.filter(pk__in=ids).update(state=AssignmentState.EXPIRED)
    return len(ids)


def lock_own(assignment: Assignment, by: User) -> Assignment:
    """The assignment, locked, for its own worker."""
    locked = (
        Assignment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("version", "task__project", "worker")
        .get(pk=assignment.pk)
    )
    if locked.worker.user_id != by.pk:
        raise NotAllowed("This is somebody else's assignment.")
    return locked


@transaction.atomic
def open_assignment(*, by: User, assignment: Assignment) -> Assignment:
    """Note the first opening of the page; the minimum time and the log count from it."""
    locked = lock_own(assignment, by)
    if locked.opened_at is None:
        locked.opened_at = timezone.now()
        locked.save(update_fields=["opened_at"])
    return locked


@transaction.atomic
def extend(*, by: User, assignment: Assignment) -> Assignment:
    """Another lease's length from now on, a few times."""
    locked = lock_own(assignment, by)
    if locked.state != AssignmentState.LEASED or locked.expires_at <= timezone.now():
        raise Conflict("The time has run out. What you wrote is kept; submit it as it is.")
    if locked.extensions >= MAX_EXTENSIONS:
        raise Conflict(f"The time was extended {MAX_EXTENSIONS} times; that is the most.")
    locked.extensions += 1
    locked.expires_at = timezone.now() + dt.timedelta(minutes=locked.version.lease_minutes)
    locked.save(update_fields=["extensions", "expires_at"])
    return locked


@transaction.atomic
def give_back(*, by: User, assignment: Assignment) -> Assignment:
    """Return the assignment: its slots are free for others, nothing is held against anybody."""
    locked = lock_own(assignment, by)
    if locked.state == AssignmentState.RETURNED:
        return locked
    if locked.state == AssignmentState.SUBMITTED:
        raise Conflict("It is submitted already.")
    _release(locked.entries.all())
    locked.state = AssignmentState.RETURNED
    locked.save(update_fields=["state"])
    record(by=by, project=locked.task.project, action="assignment.return", on=locked)
    return locked


@transaction.atomic
def show_item(*, by: User, assignment: Assignment, position: int) -> AssignmentItem:
    """Note that the worker has seen a question; with "no look back" its passage ends here."""
    entry = (
        AssignmentItem.objects.select_for_update(of=("self",), no_key=True)
        .select_related("item__group", "assignment__worker")
        .filter(assignment=assignment, position=position)
        .first()
    )
    if entry is None:
        raise Invalid("There is no such question in this assignment.")
    if entry.assignment.worker.user_id != by.pk:
        raise NotAllowed("This is somebody else's assignment.")
    if entry.shown_at is None:
        entry.shown_at = timezone.now()
        entry.save(update_fields=["shown_at"])
    return entry


@transaction.atomic
def save_draft(
    *, by: User, assignment: Assignment, item_id: int, draft: Mapping[str, Any], seq: int
) -> AssignmentItem:
    """Keep what is written so far; an older save that arrives late changes nothing.

    The entry returned says by its ``draft_seq`` what is kept: above ``seq``, something newer was.
    """
    locked = lock_own(assignment, by)
    if locked.state not in (AssignmentState.LEASED, AssignmentState.EXPIRED):
        raise Conflict("This assignment is not in work any more.")
    entry = locked.entries.filter(item_id=item_id).first()
    if entry is None:
        raise Invalid("This question is not part of the assignment.", fields={"item": "Unknown."})
    if not 0 <= seq < MAX_SEQ:
        raise Invalid("seq is out of range.", fields={"seq": "A whole number from 0."})
    if seq <= entry.draft_seq:
        return entry
    entry.draft = get_type(locked.task.type).clean_draft(draft)
    entry.draft_seq, entry.draft_saved_at = seq, timezone.now()
    entry.save(update_fields=["draft", "draft_seq", "draft_saved_at"])
    return entry
