"""Answers of workers and systems from elsewhere: written in bulk, added once."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.named.actions import systems_by_name, workers_by_id
from annotation.files.reading.keys import Keys
from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    Item,
    Task,
    TextValue,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskVersion
from annotation.records.actions.audit import record
from annotation.records.actions.bulk import (
    Batch,
    Encoded,
    copy_into,
    encode_rows,
    reserve_ids,
    split_rows,
    write_batches,
)
from annotation.work.actions.leases import lock_items
from crowdqc.errors import Conflict

BATCH = 2000
AT_ONCE = 2_500  # answers of a batch, of which two are in memory with their texts
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
        raise Conflict(_("Publish the task first: answers name the version they answer."))
    return task.current


@transaction.atomic
def import_system_answers(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows (item_id, system, prompt_strategy, answer, replicate); returns how many.

    Rows that are there already with the same key are skipped: importing twice adds nothing.
    """
    version, now = lock_version(task), timezone.now()
    systems = {key: one.pk for key, one in systems_by_name(task.project, rows).items()}
    items = dict(task.items.in_version(version.number).values_list("key", "pk"))
    there = Keys()
    given = Answer.objects.filter(system__in=systems.values(), item__task=task)
    for key in given.values_list("system_id", "item_id", "replicate").iterator():
        there.add(key)

    def new() -> Iterator[tuple[tuple[int, int, int], str]]:
        for row in rows:
            system = systems[row["system"], row.get("prompt_strategy", "")]
            key = (system, items[row["item_id"]], int(row.get("replicate") or 0))
            if key not in there:
                yield key, row["answer"]

    ids = reserve_ids(Answer, sum(1 for _ in new()))
    same = {"version_id": version.pk, "answered_at": now}

    def batches() -> Iterator[Batch]:
        left = iter(ids)
        for part in split_rows(new(), AT_ONCE):
            own = list(itertools.islice(left, len(part)))
            keys = [(pk, *key) for pk, (key, _) in zip(own, part, strict=True)]
            names = ("id", "system_id", "item_id", "replicate")
            answers = encode_rows(Answer, names, keys, lazy=False, **same)
            yield Batch(len(part), [answers, _encode_texts(own, [text for _, text in part])])

    total = write_batches(batches())
    record(by=by, project=task.project, action="systems.import", on=task, file=name, new=total)
    return total


def _encode_texts(ids: Sequence[int], texts: Sequence[str]) -> Encoded:
    # Texts may be long, so that they are encoded as they are written.
    rows = zip(ids, texts, strict=True)
    return encode_rows(TextValue, ("answer_id", "text"), rows, field="answer", index=0)


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
    there = Keys()
    given = Answer.objects.filter(worker__in=workers.values(), item__task=task)
    for key in given.values_list("worker_id", "item_id").iterator():
        there.add(key)
    of_item = Counter({items[key]: count for key, count in asked.items()})
    of_worker = Counter({workers[key]: count for key, count in names.items()})
    for row in rows if len(there) else ():
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
            if not len(there) or (worker, item) not in there
        )
        ids = iter(reserve_ids(Answer, total))
        write_batches(_batches(version, bundles, new, ids, now))
    record(by=by, project=task.project, action="answers.import", on=task, file=name, new=total)
    return total


def take_slots(wanted: Mapping[int, int]) -> None:
    """Take as many slots of each item as it gets answers, adding missing ones."""
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
    wanted = [worker for worker, count in of_worker.items() for _ in range(0, count, MOST)]
    ids = reserve_ids(Assignment, len(wanted))
    copy_into(
        Assignment,
        ("id", "worker_id"),
        zip(ids, wanted, strict=True),
        task_id=version.task_id,
        version_id=version.pk,
        source="import",
        state=AssignmentState.SUBMITTED,
        pay=0,
        leased_at=now,
        expires_at=now,
        submitted_at=now,
        settled_at=now,
    )
    found: dict[int, list[int]] = {}
    for pk, worker in zip(ids, wanted, strict=True):
        found.setdefault(worker, []).append(pk)
    return found


def _batches(
    version: TaskVersion,
    bundles: Mapping[int, Sequence[int]],
    new: Iterable[tuple[int, int, Mapping[str, Any]]],
    ids: Iterator[int],
    now: dt.datetime,
) -> Iterator[Batch]:
    """Entries, answers and texts of (worker, item, row), some thousands at a time."""
    place = Counter[int]()
    for part in split_rows(new, AT_ONCE):
        placed = []
        for worker, item, row in part:
            bundle, position = divmod(place[worker], MOST)
            place[worker] += 1
            placed.append((bundles[worker][bundle], worker, item, position, row))
        own = list(itertools.islice(ids, len(placed)))
        items = [(bundle, item, position) for bundle, _, item, position, _ in placed]
        answers = [
            (
                *(pk, bundle, worker, item, position, row.get("submitted_at") or now),
                json.dumps(row["meta"]) if row.get("meta") else None,
            )
            for pk, (bundle, worker, item, position, row) in zip(own, placed, strict=True)
        ]
        names = ("assignment_id", "item_id", "position")
        yield Batch(
            len(placed),
            [
                encode_rows(AssignmentItem, names, items, lazy=False),
                encode_rows(Answer, ANSWER, answers, lazy=False, version_id=version.pk),
                _encode_texts(own, [row["answer"] for *_, row in placed]),
            ],
        )


ANSWER = ("id", "assignment_id", "worker_id", "item_id", "order_shown", "answered_at", "meta")
