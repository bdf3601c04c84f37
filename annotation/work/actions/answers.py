"""Answers: submit them once, let them count or not, take in those of systems and of files."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from annotation.authoring.selectors.steps import check_entry
from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    ChoiceValue,
    Item,
    SpanValue,
    TextValue,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.notifications.actions.notices import notify
from annotation.notifications.actions.webhooks import emit
from annotation.records.actions.audit import record
from annotation.records.actions.bulk import copy_into
from annotation.task_types import Values, get_type
from annotation.work.actions import visits
from annotation.work.actions.assignments import DONE, MAX_SEQ, DraftChanged, is_apart
from annotation.work.actions.leases import lock_items, lock_own
from crowdqc.errors import Conflict, DomainError, Invalid

# Of the entries and their questions, what a submit reads.
NEEDED = (
    "assignment",
    "position",
    "holds",
    "flipped",
    "draft",
    "draft_seq",
    "draft_saved_at",
    "item__settings",
    "item__expected",
)
SLOT_GONE = "came after its time, and the slot had been given to somebody else"
ATTENTION = "an item whose answer is known"


def _checked(
    assignment: Assignment, entries: Sequence[AssignmentItem], *, on_page: bool
) -> dict[int, Values | None]:
    """Every entry's values by item, or one Invalid that names each open question."""
    task_type = get_type(assignment.task.type)
    values: dict[int, Values | None] = {}
    wrong: dict[str, str] = {}
    for entry in entries:
        try:
            values[entry.item_id] = check_entry(assignment, entry, on_page=on_page)
        except DomainError as error:
            wrong[str(entry.position + 1)] = error.message
    if wrong:
        first, why = next(iter(wrong.items()))
        raise Invalid(f"{task_type.item_noun.capitalize()} {first}: {why}", fields=wrong)
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
    lock_items(ids)
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


def write_values(pairs: Iterable[tuple[Answer, Values]]) -> None:
    """Store the values of new answers."""
    write_values_of((answer.pk, values) for answer, values in pairs)


def write_values_of(pairs: Iterable[tuple[int, Values]]) -> None:
    """The same for answers by their ids."""
    texts, choices, spans = [], [], []
    for pk, values in pairs:
        texts += [(pk, *text) for text in values.texts]
        choices += [(pk, *choice) for choice in values.choices]
        spans += [(pk, *span) for span in values.spans]
    # An empty list costs no query.
    if texts:
        copy_into(TextValue, ("answer_id", "field", "index", "text"), texts)
    if choices:
        copy_into(ChoiceValue, ("answer_id", "field", "code", "ordinal"), choices)
    if spans:
        copy_into(SpanValue, ("answer_id", "field", "index", "target", "start", "end"), spans)


def submit(
    *,
    by: User,
    assignment: Assignment,
    key: UUID,
    drafts: Mapping[int, Mapping[str, Any]] | None = None,
    seqs: Mapping[int, int] | None = None,
    afters: Mapping[int, Collection[int]] | None = None,
    on_page: bool = False,
) -> Assignment:
    """Turn the drafts into answers, once: the same ``key`` again changes nothing.

    ``drafts`` (item id -> draft) are what the page holds, newer than what it saved; one whose
    number in ``seqs`` is below that of the saved draft is not taken, and one that was not made
    from the saved draft (``afters``, see ``save_draft``) raises DraftChanged. After the lease ran
    out, answers whose slot is still free count; the others are kept uncounted. ``on_page``: they
    were given on the worker's page, where both texts of a pair have to have been in view.
    Raises Invalid naming each open question (by its number) and changes nothing then.
    """
    try:
        return _submit(
            by=by,
            assignment=assignment,
            key=key,
            drafts=drafts or {},
            seqs=seqs or {},
            afters=afters or {},
            on_page=on_page,
        )
    except IntegrityError as error:
        if "submit_key" in str(error):
            raise Conflict("This key belongs to another submit.", code="key-used") from error
        raise


@transaction.atomic
def _submit(
    *,
    by: User,
    assignment: Assignment,
    key: UUID,
    drafts: Mapping[int, Mapping[str, Any]],
    seqs: Mapping[int, int],
    afters: Mapping[int, Collection[int]],
    on_page: bool,
) -> Assignment:
    locked = lock_own(assignment, by)
    if locked.state == AssignmentState.SUBMITTED:
        if locked.submit_key == key:
            return locked
        raise Conflict("It was submitted already; nothing was changed.", code="submitted")
    if locked.state == AssignmentState.RETURNED:
        raise Conflict("It was returned; nothing can be submitted to it.", code="returned")
    now = timezone.now()
    _enough_time(locked, now)
    needed = (*NEEDED, *get_type(locked.task.type).check_reads)
    entries = list(locked.entries.select_related("item").only(*needed).order_by("position"))
    _take_drafts(locked, entries, drafts, seqs, afters)
    values = _checked(locked, entries, on_page=on_page)
    late = locked.state == AssignmentState.EXPIRED
    if late:
        visits.retie(locked, by)
    given = [entry for entry in entries if values[entry.item_id] is not None]
    # Attention items have no slot and never count.
    asked = [entry for entry in given if entry.item.expected is None]
    counting = _regain(locked, asked) if late else {entry.item_id for entry in asked}
    _store(locked, given, values, counting, now)
    _settle_slots(entries, counting)
    locked.state, locked.submitted_at, locked.submit_key = AssignmentState.SUBMITTED, now, key
    locked.save(update_fields=["state", "submitted_at", "submit_key"])
    visits.complete(locked)
    record(
        by=by,
        project=locked.task.project,
        action="assignment.submit",
        on=locked,
        answers=len(given),
        counting=len(counting),
        late=late,
    )
    emit(
        project=locked.task.project,
        event="assignment.submitted",
        data={
            "assignment": locked.pk,
            "task": locked.task_id,
            "worker": locked.worker.pseudonym,
            "answers": len(given),
            "counting": len(counting),
            "late": late,
        },
    )
    return locked


def _take_drafts(
    assignment: Assignment,
    entries: Sequence[AssignmentItem],
    drafts: Mapping[int, Mapping[str, Any]],
    seqs: Mapping[int, int],
    afters: Mapping[int, Collection[int]],
) -> None:
    """Let what the page sent along stand in for older drafts, and keep it."""
    task_type = get_type(assignment.task.type)
    changed = []
    for entry in entries:
        if entry.item_id not in drafts:
            continue
        known = entry.item_id not in afters or entry.draft_seq in afters[entry.item_id]
        if known and seqs.get(entry.item_id, MAX_SEQ) < entry.draft_seq:
            continue
        draft = task_type.clean_draft(drafts[entry.item_id])
        if is_apart(entry, draft, afters.get(entry.item_id)):
            raise DraftChanged(entry)
        if draft != entry.draft:
            entry.draft = draft
            changed.append(entry)
    if changed:
        _keep_drafts(changed)


def _keep_drafts(entries: Sequence[AssignmentItem]) -> None:
    """One UPDATE; the framework's takes longer to write a CASE than all else a submit does."""
    ids: Any = [entry.pk for entry in entries]
    drafts: Any = [json.dumps(entry.draft) for entry in entries]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotation_assignmentitem AS e SET draft = given.draft "
            "FROM unnest(%s, %s::jsonb[]) AS given (id, draft) WHERE e.id = given.id",
            [ids, drafts],
        )


def _settle_slots(entries: Sequence[AssignmentItem], counting: set[int]) -> None:
    """Free the slots of skipped questions; hold those of answers that count."""
    skipped = sorted(e.item_id for e in entries if e.holds and e.item_id not in counting)
    if skipped:
        lock_items(skipped)
        Item.objects.filter(pk__in=skipped).update(held=F("held") - 1)
    for holds in (True, False):
        moved = [e.pk for e in entries if e.holds != holds and (e.item_id in counting) == holds]
        if moved:
            AssignmentItem.objects.filter(pk__in=moved).update(holds=holds)


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
            flipped=entry.flipped,
            counts=entry.item_id in counting,
            uncounted_reason=_why_not(entry, counting),
            answered_at=entry.draft_saved_at or now,
        )
        for entry in entries
    )
    write_values((answer, values[answer.item_id]) for answer in answers)  # type: ignore[misc]


def _why_not(entry: AssignmentItem, counting: set[int]) -> str:
    if entry.item_id in counting:
        return ""
    return SLOT_GONE if entry.item.expected is None else ATTENTION


@transaction.atomic
def set_counts(*, by: User, answer: Answer, counts: bool, reason: str = "") -> Answer:
    """Let an answer count or not; one that does not reopens its slot. Pay is decided separately."""
    answer = (
        Answer.objects.select_for_update(of=("self",), no_key=True)
        .select_related("item__task__project", "assignment__version", "worker__user")
        .get(pk=answer.pk)
    )
    if answer.counts == counts:
        return answer
    if answer.item.expected is not None:
        raise Conflict("The answer to an attention item never counts.")
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
    _tell_counts(answer)
    return answer


def _tell_counts(answer: Answer) -> None:
    """Its worker, once an assignment: forty answers of one are no forty notices."""
    if answer.worker is None or answer.assignment is None:
        return
    again = "count in the results again" if answer.counts else "do not count in the results"
    state = "counted" if answer.counts else "uncounted"
    notify(
        to=[answer.worker.user],
        kind="work.uncounted",
        project=answer.item.task.project,
        key=f"work.{state}:{answer.assignment_id}",
        url=reverse("work_record_assignment", args=[answer.assignment_id]),
        text=f"One or more answers of yours to “{answer.assignment.version.title}” {again}. Pay "
        "is decided separately.",
    )


def _move_slot(answer: Answer, counts: bool) -> None:
    """Take or free the slot of a worker's answer."""
    item = Item.objects.select_for_update(no_key=True).get(pk=answer.item_id)
    if counts:
        if item.held >= item.redundancy:
            raise Conflict("Its slot has been given to somebody else meanwhile.")
        same = Answer.objects.filter(item=item, worker=answer.worker_id, counts=True)
        if same.exclude(pk=answer.pk).exists():
            raise Conflict("Another answer of this person to the same question counts already.")
    item.held += 1 if counts else -1
    item.save(update_fields=["held"])
    AssignmentItem.objects.filter(assignment=answer.assignment_id, item=item).update(holds=counts)
