"""Answers of workers and systems from elsewhere: written in bulk, added once."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from annotation import pseudonyms
from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    Item,
    Membership,
    Project,
    Role,
    System,
    Task,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskVersion
from annotation.task_types import Values
from crowdqc.errors import Conflict, NotAllowed

from .answers import write_values
from .assignments import lock_items
from .audit import record
from .plans import fresh_plans

BATCH = 2000
Rows = Sequence[Mapping[str, Any]]


def lock_version(task: Task) -> TaskVersion:
    """The published version; imports of one task stand in line."""
    task = (
        Task.objects.select_for_update(of=("self",), no_key=True)
        .select_related("current")
        .get(pk=task.pk)
    )
    if task.current is None:
        raise Conflict("Publish the task first: answers name the version they answer.")
    return task.current


def _text(row: Mapping[str, Any]) -> Values:
    return Values(texts=[("answer", 0, row["answer"])])


@transaction.atomic
def import_system_answers(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows (item_id, system, prompt_strategy, answer, replicate); returns how many.

    Rows that are there already with the same key are skipped: importing twice adds nothing.
    """
    version, now = lock_version(task), timezone.now()
    systems = systems_by_name(task.project, rows)
    items = {i.key: i for i in task.items.in_version(version.number)}
    there = set(
        Answer.objects.filter(system__in=systems.values(), item__task=task).values_list(
            "system_id", "item_id", "replicate"
        )
    )
    new: list[tuple[Answer, Values]] = []
    for row in rows:
        system = systems[(row["system"], row.get("prompt_strategy", ""))]
        item, replicate = items[row["item_id"]], int(row.get("replicate") or 0)
        if (system.pk, item.pk, replicate) in there:
            continue
        answer = Answer(
            version=version, item=item, system=system, replicate=replicate, answered_at=now
        )
        new.append((answer, _text(row)))
    Answer.objects.bulk_create([answer for answer, _ in new], batch_size=BATCH)
    write_values(new)
    fresh_plans(len(new))
    record(by=by, project=task.project, action="systems.import", on=task, file=name, new=len(new))
    return len(new)


def systems_by_name(
    project: Project, rows: Iterable[Mapping[str, Any]]
) -> dict[tuple[str, str], System]:
    """The project's systems for the names in ``rows``, made where they are new."""
    wanted = {(row["system"], row.get("prompt_strategy", "")) for row in rows}
    return {
        (name, strategy): System.objects.get_or_create(
            project=project, name=name, prompt_strategy=strategy
        )[0]
        for name, strategy in sorted(wanted)
    }


@transaction.atomic
def import_answers(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows (item_id, worker_id, answer, submitted_at); returns how many are new.

    Each worker's new rows become one submitted assignment without pay. They count, and the
    redundancy grows where they are more than it asked for.
    """
    version, now = lock_version(task), timezone.now()
    items = {i.key: i for i in task.items.in_version(version.number)}
    workers = workers_by_id(task.project, {row["worker_id"] for row in rows})
    there = set(
        Answer.objects.filter(worker__in=workers.values(), item__task=task).values_list(
            "worker_id", "item_id"
        )
    )
    by_worker: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        worker = workers[row["worker_id"]]
        if (worker.pk, items[row["item_id"]].pk) not in there:
            by_worker.setdefault(worker.pk, []).append(row)
    total = sum(len(theirs) for theirs in by_worker.values())
    if total:
        take_slots(Counter(items[r["item_id"]].pk for rs in by_worker.values() for r in rs))
        _write(version, by_worker, items, now)
    record(by=by, project=task.project, action="answers.import", on=task, file=name, new=total)
    return total


def take_slots(wanted: Mapping[int, int]) -> None:
    """Hold as many slots of each item as it gets answers, adding those it has not."""
    lock_items(sorted(wanted))
    by_count: dict[int, list[int]] = {}
    for pk, count in wanted.items():
        by_count.setdefault(count, []).append(pk)
    for count, ids in by_count.items():
        Item.objects.filter(pk__in=ids).update(
            redundancy=Greatest(F("redundancy"), F("held") + count), held=F("held") + count
        )


def _write(
    version: TaskVersion,
    by_worker: Mapping[int, Rows],
    items: Mapping[str, Item],
    now: dt.datetime,
) -> None:
    """One submitted assignment a worker, its entries, answers and texts."""
    assignments = Assignment.objects.bulk_create(
        [
            Assignment(
                task_id=version.task_id,
                version=version,
                worker_id=worker,
                source="import",
                state=AssignmentState.SUBMITTED,
                pay=0,
                leased_at=now,
                expires_at=now,
                submitted_at=now,
                settled_at=now,
            )
            for worker in by_worker
        ],
        batch_size=BATCH,
    )
    placed = [
        (assignment, number, row)
        for assignment in assignments
        for number, row in enumerate(by_worker[assignment.worker_id])
    ]
    AssignmentItem.objects.bulk_create(
        [
            AssignmentItem(assignment=assignment, item=items[row["item_id"]], position=number)
            for assignment, number, row in placed
        ],
        batch_size=BATCH,
    )
    answers = Answer.objects.bulk_create(
        [
            Answer(
                version=version,
                item=items[row["item_id"]],
                assignment=assignment,
                worker_id=assignment.worker_id,
                order_shown=number,
                answered_at=row.get("submitted_at") or now,
            )
            for assignment, number, row in placed
        ],
        batch_size=BATCH,
    )
    write_values(zip(answers, (_text(row) for _, _, row in placed), strict=True))
    fresh_plans(len(placed))


def workers_by_id(project: Project, external_ids: Collection[str]) -> dict[str, Membership]:
    """The project's workers known only by a file's id, made under free pseudonyms if new."""
    for _ in range(5):
        found = {
            worker.external_id: worker
            for worker in project.memberships.filter(role=Role.WORKER, external_id__in=external_ids)
        }
        _refuse_removed(found)
        new = sorted(set(external_ids) - found.keys())
        if not new:
            return found
        try:
            with transaction.atomic():
                Membership.objects.bulk_create(_unnamed(project, new), batch_size=BATCH)
        except IntegrityError:
            continue  # somebody joined under one of these pseudonyms meanwhile
    raise Conflict("No free pseudonyms were found; try again.")


def workers_named(project: Project, names: Collection[str]) -> dict[str, Membership]:
    """The workers whom a file names by its own ids, or by their pseudonyms as our exports do.

    An id comes before a pseudonym. Who is new and named as one of our pseudonyms keeps it, where
    it is free.
    """
    if not names:
        return {}
    workers = project.memberships.filter(role=Role.WORKER)
    known = set(workers.filter(external_id__in=names).values_list("external_id", flat=True))
    found = {
        worker.pseudonym: worker for worker in workers.filter(pseudonym__in=set(names) - known)
    }
    _refuse_removed(found)
    return {**workers_by_id(project, set(names) - found.keys()), **found}


def _refuse_removed(found: Mapping[str, Membership]) -> None:
    gone = sorted(key for key, worker in found.items() if worker.removed_at)
    if gone:
        raise NotAllowed(f"Worker {gone[0]} was removed from the project.")


def _unnamed(project: Project, external_ids: Sequence[str]) -> list[Membership]:
    taken = set(project.memberships.values_list("pseudonym", flat=True))
    # Our own exports name people by pseudonym, which they keep; a foreign id must not become one.
    kept = {name for name in external_ids if pseudonyms.is_one(name)} - taken
    taken |= kept
    made = []
    for external_id in external_ids:
        if external_id in kept:
            made.append(_unknown(project, external_id, external_id))
            continue
        name, tries = pseudonyms.propose(), 0
        while name in taken:
            # The plain names run out at some thousands: then a longer number.
            name, tries = pseudonyms.propose(), tries + 1
            name = name if tries < 20 else f"{name}{len(taken)}"
        taken.add(name)
        made.append(_unknown(project, external_id, name))
    return made


def _unknown(project: Project, external_id: str, pseudonym: str) -> Membership:
    return Membership(
        project=project, role=Role.WORKER, external_id=external_id, pseudonym=pseudonym
    )
