"""Answers: submit them once, let them count or not, take in those of systems and of files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    ChoiceValue,
    Item,
    Membership,
    Project,
    SpanValue,
    System,
    Task,
    TextValue,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskVersion
from annotation.task_types import Values, get_type
from crowdqc.errors import Conflict, DomainError, Invalid

from .assignments import DONE, lock_own
from .audit import record
from .people import add_worker

SLOT_GONE = "came after its time, and the slot had been given to somebody else"


def _checked(
    assignment: Assignment, entries: Sequence[AssignmentItem]
) -> dict[int, Values | None]:
    """Every entry's values by item, or one Invalid that names each open question."""
    task_type = get_type(assignment.task.type)
    values: dict[int, Values | None] = {}
    wrong: dict[str, str] = {}
    for entry in entries:
        settings = {**assignment.version.settings, **entry.item.settings}
        try:
            values[entry.item_id] = task_type.check(entry.draft, settings)
        except DomainError as error:
            wrong[str(entry.position + 1)] = error.message
    if wrong:
        first, why = next(iter(wrong.items()))
        raise Invalid(f"Question {first}: {why}", fields=wrong)
    return values


def _enough_time(assignment: Assignment, now: dt.datetime) -> None:
    spent = (now - (assignment.opened_at or assignment.leased_at)).total_seconds()
    missing = assignment.version.min_seconds - spent
    if missing > 0:
        raise Invalid(
            f"This task takes at least {assignment.version.min_seconds} seconds; "
            f"{int(missing) + 1} are left. Nothing is lost.",
            fields={"time": f"{int(missing) + 1} seconds left"},
        )


def _regain(assignment: Assignment, entries: Sequence[AssignmentItem]) -> set[int]:
    """Of a lease that ran out, the items whose slots are still free, held again."""
    ids = sorted(entry.item_id for entry in entries)
    list(Item.objects.select_for_update().filter(pk__in=ids).order_by("pk").values_list("pk"))
    again = set(
        AssignmentItem.objects.filter(
            item_id__in=ids, assignment__worker=assignment.worker, assignment__state__in=DONE
        )
        .exclude(assignment=assignment)
        .values_list("item_id", flat=True)
    )
    free = Item.objects.filter(pk__in=ids, held__lt=F("redundancy")).exclude(pk__in=again)
    got = set(free.values_list("pk", flat=True))
    Item.objects.filter(pk__in=got).update(held=F("held") + 1)
    return got


def _write_values(pairs: Iterable[tuple[Answer, Values]]) -> None:
    texts, choices, spans = [], [], []
    for answer, values in pairs:
        texts += [TextValue(answer=answer, field=f, index=i, text=t) for f, i, t in values.texts]
        choices += [
            ChoiceValue(answer=answer, field=f, code=c, ordinal=o) for f, c, o in values.choices
        ]
        spans += [
            SpanValue(answer=answer, field=f, index=i, target=t, start=a, end=b)
            for f, i, t, a, b in values.spans
        ]
    for model, rows in ((TextValue, texts), (ChoiceValue, choices), (SpanValue, spans)):
        if rows:
            model.objects.bulk_create(rows, batch_size=1000)  # type: ignore[attr-defined]


@transaction.atomic
def submit(
    *,
    by: User,
    assignment: Assignment,
    key: UUID,
    drafts: Mapping[int, Mapping[str, Any]] | None = None,
) -> Assignment:
    """Turn the drafts into answers, once: the same ``key`` again changes nothing.

    ``drafts`` (item id -> draft) are what the page holds, newer than what it saved. After the
    lease ran out, answers whose slot is still free count; the others are kept uncounted.
    Raises Invalid naming each open question (by its number) and changes nothing then.
    """
    locked = lock_own(assignment, by)
    if locked.state == AssignmentState.SUBMITTED:
        if locked.submit_key == key:
            return locked
        raise Conflict("It was submitted already; nothing was changed.", code="submitted")
    if locked.state == AssignmentState.RETURNED:
        raise Conflict("It was returned; nothing can be submitted to it.")
    now = timezone.now()
    _enough_time(locked, now)
    entries = list(locked.entries.select_related("item").order_by("position"))
    task_type = get_type(locked.task.type)
    for entry in entries:
        if drafts and entry.item_id in drafts:
            entry.draft = task_type.clean_draft(drafts[entry.item_id])
    values = _checked(locked, entries)
    late = locked.state == AssignmentState.EXPIRED
    given = [entry for entry in entries if values[entry.item_id] is not None]
    counting = _regain(locked, given) if late else {entry.item_id for entry in given}
    _store(locked, given, values, counting, now)
    skipped = [entry.item_id for entry in entries if values[entry.item_id] is None and entry.holds]
    if skipped:
        Item.objects.filter(pk__in=sorted(skipped)).update(held=F("held") - 1)
    for entry in entries:
        entry.holds = entry.item_id in counting
    AssignmentItem.objects.bulk_update(entries, ["holds", "draft"])
    locked.state, locked.submitted_at, locked.submit_key = AssignmentState.SUBMITTED, now, key
    locked.save(update_fields=["state", "submitted_at", "submit_key"])
    record(
        by=by,
        project=locked.task.project,
        action="assignment.submit",
        on=locked,
        answers=len(given),
        counting=len(counting),
        late=late,
    )
    return locked


def _store(
    assignment: Assignment,
    entries: Sequence[AssignmentItem],
    values: Mapping[int, Values | None],
    counting: set[int],
    now: dt.datetime,
) -> None:
    answers = Answer.objects.bulk_create(
        Answer(
            version=assignment.version,
            item_id=entry.item_id,
            assignment=assignment,
            worker=assignment.worker,
            order_shown=entry.position,
            counts=entry.item_id in counting,
            uncounted_reason="" if entry.item_id in counting else SLOT_GONE,
            answered_at=entry.draft_saved_at or now,
        )
        for entry in entries
    )
    _write_values((answer, values[answer.item_id]) for answer in answers)  # type: ignore[misc]


@transaction.atomic
def set_counts(*, by: User, answer: Answer, counts: bool, reason: str = "") -> Answer:
    """Let an answer count or not; one that does not reopens its slot. Pay is decided apart."""
    answer = (
        Answer.objects.select_for_update(of=("self",))
        .select_related("item__task__project", "assignment")
        .get(pk=answer.pk)
    )
    if answer.counts == counts:
        return answer
    if not counts and not reason.strip():
        raise Invalid("Say why it does not count.", fields={"reason": "Write a reason."})
    if answer.assignment_id:
        _move_slot(answer, counts)
    answer.counts, answer.uncounted_reason = counts, "" if counts else reason.strip()[:200]
    answer.save(update_fields=["counts", "uncounted_reason"])
    record(
        by=by,
        project=answer.item.task.project,
        action="answer.count" if counts else "answer.uncount",
        on=answer,
        reason=answer.uncounted_reason,
    )
    return answer


def _move_slot(answer: Answer, counts: bool) -> None:
    """Take or free the slot of a worker's answer."""
    item = Item.objects.select_for_update().get(pk=answer.item_id)
    if counts and item.held >= item.redundancy:
        raise Conflict("Its slot has been given to somebody else meanwhile.")
    item.held += 1 if counts else -1
    item.save(update_fields=["held"])
    AssignmentItem.objects.filter(assignment=answer.assignment_id, item=item).update(holds=counts)


def _version_for_import(task: Task) -> TaskVersion:
    if task.current is None:
        raise Conflict("Publish the task first: answers name the version they answer.")
    return task.current


@transaction.atomic
def import_system_answers(
    *, by: User, task: Task, rows: Sequence[Mapping[str, Any]], name: str = ""
) -> int:
    """Add checked rows (item, system, prompt_strategy, answer, replicate); returns how many.

    Rows that are there already with the same key are skipped: importing twice adds nothing.
    """
    version, now = _version_for_import(task), timezone.now()
    systems = systems_by_name(task.project, rows)
    items = {i.key: i for i in task.items.in_version(version.number)}  # type: ignore[attr-defined]
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
        new.append((answer, Values(texts=[("answer", 0, row["answer"])])))
    Answer.objects.bulk_create([answer for answer, _ in new], batch_size=1000)
    _write_values(new)
    record(
        by=by, project=task.project, action="systems.import", on=task, file=name, new=len(new)
    )
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
def import_answers(
    *, by: User, task: Task, rows: Sequence[Mapping[str, Any]], name: str = ""
) -> int:
    """Add checked rows (item_id, worker_id, answer, submitted_at); returns how many are new.

    Each worker's new rows become one submitted assignment without pay. They count, and the
    redundancy grows where they are more than it asked for.
    """
    version, now = _version_for_import(task), timezone.now()
    items = {i.key: i for i in task.items.in_version(version.number)}  # type: ignore[attr-defined]
    by_worker: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_worker.setdefault(row["worker_id"], []).append(row)
    total = 0
    for external_id, theirs in by_worker.items():
        worker = add_worker(project=task.project, user=None, external_id=external_id)
        there = set(worker.answers.filter(item__task=task).values_list("item__key", flat=True))
        fresh = [row for row in theirs if row["item_id"] not in there]
        if fresh:
            _import_one(task, version, worker, items, fresh, now)
        total += len(fresh)
    record(by=by, project=task.project, action="answers.import", on=task, file=name, new=total)
    return total


def _import_one(
    task: Task,
    version: TaskVersion,
    worker: Membership,
    items: Mapping[str, Item],
    rows: Sequence[Mapping[str, Any]],
    now: dt.datetime,
) -> None:
    assignment = Assignment.objects.create(
        task=task,
        version=version,
        worker=worker,
        source="import",
        state=AssignmentState.SUBMITTED,
        pay=0,
        leased_at=now,
        expires_at=now,
        submitted_at=now,
        settled_at=now,
    )
    ids = sorted(items[row["item_id"]].pk for row in rows)
    list(Item.objects.select_for_update().filter(pk__in=ids).order_by("pk").values_list("pk"))
    # Capacity first: the constraint looks at each statement.
    Item.objects.filter(pk__in=ids, held__gte=F("redundancy")).update(redundancy=F("held") + 1)
    Item.objects.filter(pk__in=ids).update(held=F("held") + 1)
    AssignmentItem.objects.bulk_create(
        AssignmentItem(assignment=assignment, item=items[row["item_id"]], position=number)
        for number, row in enumerate(rows)
    )
    answers = Answer.objects.bulk_create(
        Answer(
            version=version,
            item=items[row["item_id"]],
            assignment=assignment,
            worker=worker,
            order_shown=number,
            answered_at=row.get("submitted_at") or now,
        )
        for number, row in enumerate(rows)
    )
    _write_values(
        (answer, Values(texts=[("answer", 0, row["answer"])]))
        for answer, row in zip(answers, rows, strict=True)
    )
