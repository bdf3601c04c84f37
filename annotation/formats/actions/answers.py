"""Answers of workers and systems from elsewhere: written in bulk, added once."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from annotation.accounts import pseudonyms
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
    TextValue,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskVersion
from annotation.records.actions.audit import record
from annotation.records.actions.table_statistics import fresh_plans
from annotation.records.bulk import copy_into, new_ids, parts
from annotation.work.actions.leases import lock_items
from crowdqc.errors import Conflict, NotAllowed

BATCH = 2000
Rows = Collection[Mapping[str, Any]]  # gone through more than once, so no iterator
MOST = 30_000  # answers of one assignment: places are small numbers


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


@transaction.atomic
def import_system_answers(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows (item_id, system, prompt_strategy, answer, replicate); returns how many.

    Rows that are there already with the same key are skipped: importing twice adds nothing.
    """
    version, now = lock_version(task), timezone.now()
    systems = {key: one.pk for key, one in systems_by_name(task.project, rows).items()}
    items = dict(task.items.in_version(version.number).values_list("key", "pk"))
    there = set(
        Answer.objects.filter(system__in=systems.values(), item__task=task).values_list(
            "system_id", "item_id", "replicate"
        ).iterator()
    )  # fmt: skip

    def new() -> Iterator[tuple[tuple[int, int, int], str]]:
        for row in rows:
            system = systems[row["system"], row.get("prompt_strategy", "")]
            key = (system, items[row["item_id"]], int(row.get("replicate") or 0))
            if key not in there:
                yield key, row["answer"]

    total = 0
    for part in parts(new()):
        ids = new_ids(Answer, len(part))
        copy_into(
            Answer, ("id", "system_id", "item_id", "replicate"),
            ((pk, *key) for pk, (key, _) in zip(ids, part, strict=True)),
            version_id=version.pk, answered_at=now,
        )  # fmt: skip
        _write_texts(ids, (text for _, text in part))
        total += len(part)
    fresh_plans(total)
    record(by=by, project=task.project, action="systems.import", on=task, file=name, new=total)
    return total


def _write_texts(ids: Sequence[int], texts: Iterable[str]) -> None:
    copy_into(
        TextValue, ("answer_id", "text"), zip(ids, texts, strict=True), field="answer", index=0
    )


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

    Each worker's new rows become one submitted assignment without pay (30,000 at most).
    They count, and the redundancy grows where they are more than it asked for.
    """
    version, now = lock_version(task), timezone.now()
    items = dict(task.items.in_version(version.number).values_list("key", "pk"))
    names, asked = Counter[str](), Counter[str]()
    for row in rows:
        names[row["worker_id"]] += 1
        asked[row["item_id"]] += 1
    workers = {key: one.pk for key, one in workers_by_id(task.project, set(names)).items()}
    there = set(
        Answer.objects.filter(worker__in=workers.values(), item__task=task).values_list(
            "worker_id", "item_id"
        ).iterator()
    )  # fmt: skip
    of_item = Counter({items[key]: count for key, count in asked.items()})
    of_worker = Counter({workers[key]: count for key, count in names.items()})
    for row in rows if there else ():
        worker, item = workers[row["worker_id"]], items[row["item_id"]]
        if (worker, item) in there:
            of_item[item] -= 1
            of_worker[worker] -= 1
    of_item, of_worker = +of_item, +of_worker
    total = of_item.total()
    if total:
        take_slots(of_item)
        bundles = _bundles(version, of_worker, now)
        new = (
            (worker, item, row)
            for row in rows
            for worker, item in [(workers[row["worker_id"]], items[row["item_id"]])]
            if (worker, item) not in there
        )
        _write(version, bundles, new, now)
        fresh_plans(total)
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


def _bundles(
    version: TaskVersion, of_worker: Mapping[int, int], now: dt.datetime
) -> dict[int, list[int]]:
    """The submitted assignments of each worker: one, or more where it would hold too many."""
    wanted = [
        worker for worker, count in of_worker.items() for _ in range(0, count, MOST)
    ]  # fmt: skip
    ids = new_ids(Assignment, len(wanted))
    copy_into(
        Assignment, ("id", "worker_id"), zip(ids, wanted, strict=True), task_id=version.task_id,
        version_id=version.pk, source="import", state=AssignmentState.SUBMITTED, pay=0,
        leased_at=now, expires_at=now, submitted_at=now, settled_at=now,
    )  # fmt: skip
    found: dict[int, list[int]] = {}
    for pk, worker in zip(ids, wanted, strict=True):
        found.setdefault(worker, []).append(pk)
    return found


def _write(
    version: TaskVersion,
    bundles: Mapping[int, Sequence[int]],
    new: Iterable[tuple[int, int, Mapping[str, Any]]],
    now: dt.datetime,
) -> None:
    """Entries, answers and texts of (worker, item, row), some thousands at a time."""
    place = Counter[int]()
    for part in parts(new):
        placed = []
        for worker, item, row in part:
            bundle, position = divmod(place[worker], MOST)
            place[worker] += 1
            placed.append((bundles[worker][bundle], worker, item, position, row))
        ids = new_ids(Answer, len(placed))
        copy_into(
            AssignmentItem, ("assignment_id", "item_id", "position"),
            ((bundle, item, position) for bundle, _, item, position, _ in placed),
        )  # fmt: skip
        copy_into(
            Answer,
            ("id", "assignment_id", "worker_id", "item_id", "order_shown", "answered_at"),
            (
                (pk, bundle, worker, item, position, row.get("submitted_at") or now)
                for pk, (bundle, worker, item, position, row) in zip(ids, placed, strict=True)
            ),
            version_id=version.pk,
        )
        _write_texts(ids, (row["answer"] for *_, row in placed))


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
