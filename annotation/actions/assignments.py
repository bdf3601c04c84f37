"""Leases: claim, draft, extend, return, expire. The redundancy is never exceeded."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from annotation.models import Assignment, AssignmentItem, Item, Membership, Task, User
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState, TaskVersion
from annotation.task_types import get_type
from crowdqc.errors import Conflict, Invalid, NotAllowed

from .audit import record
from .people import current_consent

MAX_EXTENSIONS = 3
DONE = (AssignmentState.LEASED, AssignmentState.SUBMITTED)


def _open_items(task: Task, version: TaskVersion, worker: Membership) -> QuerySet[Item]:
    """Items with a free slot that this worker has neither in work nor submitted."""
    theirs = AssignmentItem.objects.filter(
        item=OuterRef("pk"), assignment__worker=worker, assignment__state__in=DONE
    )
    return (
        task.items.in_version(version.number)  # type: ignore[attr-defined]
        .filter(held__lt=F("redundancy"))
        .filter(~Exists(theirs))
    )


def _start(task: Task, worker: Membership, wanted: int) -> int:
    """Where this worker begins: staggered starts overlap, which keeps the graph connected."""
    last = task.items.order_by("-position").values_list("position", flat=True).first() or 0
    span = max(1, last // max(1, wanted))
    return random.Random(f"{task.pk}:{worker.pk}").randrange(span) * wanted  # noqa: S311


def _pick(task: Task, version: TaskVersion, worker: Membership) -> list[Item]:
    """Lock up to a bundle of open items, without waiting for others' locks if possible."""
    wanted = version.items_per_assignment
    base = _open_items(task, version, worker)
    start = _start(task, worker, wanted)
    ways = (
        base.filter(priority__gt=0).order_by("-priority", "position"),
        base.filter(priority__lte=0, position__gte=start).order_by("position", "id"),
        base.filter(priority__lte=0, position__lt=start).order_by("position", "id"),
    )
    savepoint = transaction.savepoint()
    picked: list[Item] = []
    for way in ways:
        left = wanted - len(picked)
        if left:
            picked += list(way.select_for_update(skip_locked=True, of=("self",))[:left])
    if len(picked) == wanted:
        transaction.savepoint_commit(savepoint)
        return picked
    # Others hold locks on some: let go, then wait in the order of ids, which cannot deadlock.
    transaction.savepoint_rollback(savepoint)
    return list(base.order_by("id").select_for_update(of=("self",))[:wanted])


def _arrange(items: Sequence[Item], version: TaskVersion, seed: str) -> list[Item]:
    """The order of presentation: as written, or random over groups and then within them."""
    items = sorted(items, key=lambda item: (item.position, item.pk))
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


@transaction.atomic
def claim(*, by: User, task: Task, worker: Membership, source: str = "browser") -> Assignment:
    """Lease the worker a bundle; a lease they already have is given back as it is.

    Raises Conflict when the task is not open or nothing is left for this worker, NotAllowed
    without an agreement to the text in force.
    """
    if worker.user_id != by.pk or worker.project_id != task.project_id:
        raise NotAllowed("Nobody claims for somebody else.")
    # One row a worker: two clicks of one person stand in line, people do not.
    Membership.objects.select_for_update().get(pk=worker.pk)
    held = task.assignments.filter(worker=worker, state=AssignmentState.LEASED).first()
    if held and held.expires_at > timezone.now():
        return held
    release_expired(task=task)
    task = Task.objects.select_related("current", "project").get(pk=task.pk)
    if task.state != TaskState.OPEN or task.current is None:
        raise Conflict("This task is not open at the moment.")
    if current_consent(worker) is None:
        raise NotAllowed("Please read and answer the question about recording first.")
    version = task.current
    items = _pick(task, version, worker)
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
    record(
        by=by, project=task.project, action="assignment.claim", on=assignment, items=len(items)
    )
    return assignment


def _release(entries: QuerySet[AssignmentItem]) -> None:
    """Give held slots back, in the order of item ids."""
    rows = list(entries.filter(holds=True).order_by("item_id").values_list("pk", "item_id"))
    if not rows:
        return
    ids = [item for _, item in rows]
    list(Item.objects.select_for_update().filter(pk__in=ids).order_by("pk").values_list("pk"))
    AssignmentItem.objects.filter(pk__in=[pk for pk, _ in rows]).update(holds=False)
    for pk in ids:  # rarely two entries of one item; an UPDATE ... IN would count it once
        Item.objects.filter(pk=pk).update(held=F("held") - 1)


@transaction.atomic
def release_expired(*, task: Task | None = None, limit: int = 200) -> int:
    """Free the slots of leases that ran out; their drafts stay for a late submit."""
    due = Assignment.objects.filter(
        state=AssignmentState.LEASED, expires_at__lte=timezone.now()
    ).order_by("expires_at")
    if task is not None:
        due = due.filter(task=task)
    ids = list(due.select_for_update(skip_locked=True).values_list("pk", flat=True)[:limit])
    if ids:
        _release(AssignmentItem.objects.filter(assignment_id__in=ids))
        Assignment.objects.filter(pk__in=ids).update(state=AssignmentState.EXPIRED)
    return len(ids)


def lock_own(assignment: Assignment, by: User) -> Assignment:
    """The assignment, locked, for its own worker."""
    locked = (
        Assignment.objects.select_for_update(of=("self",))
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
        AssignmentItem.objects.select_for_update(of=("self",))
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
    """Keep what is written so far; an older save that arrives late changes nothing."""
    locked = lock_own(assignment, by)
    if locked.state not in (AssignmentState.LEASED, AssignmentState.EXPIRED):
        raise Conflict("This assignment is not in work any more.")
    entry = locked.entries.filter(item_id=item_id).first()
    if entry is None:
        raise Invalid("This question is not part of the assignment.", fields={"item": "Unknown."})
    if not 0 <= seq < 2**62:
        raise Invalid("seq is out of range.", fields={"seq": "A whole number from 0."})
    if seq <= entry.draft_seq:
        return entry
    entry.draft = get_type(locked.task.type).clean_draft(draft)
    entry.draft_seq, entry.draft_saved_at = seq, timezone.now()
    entry.save(update_fields=["draft", "draft_seq", "draft_saved_at"])
    return entry
