"""Answers: submit once, set whether they count, store imported and system answers."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Model
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotation.authoring.selectors.steps import check_entry, note_recordings
from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    ChoiceValue,
    Item,
    SpanValue,
    Task,
    TextValue,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.notifications.actions.notices import notify
from annotation.notifications.actions.webhooks import emit
from annotation.records.actions.audit import record
from annotation.records.actions.bulk import Encoded, encode_rows
from annotation.task_types import Values, get_type
from annotation.work.actions import quiz, visits
from annotation.work.actions.assignments import DONE
from annotation.work.actions.drafts import (
    DraftChanged,
    SaveOutcome,
    Version,
    check_size,
    other_versions,
    place_draft,
)
from annotation.work.actions.leases import free_slots, lock_items, lock_own
from crowdqc.database.compiled import CompiledQuery, Placeholder, run_statement
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
    "draft_versions",
    "told_at",
    "item__settings",
    "item__expected",
)
SLOT_GONE = "came after its time, and the slot had been given to somebody else"
KNOWN = "an item whose answer is known"
QUIZ = "an answer of the quiz"


def _check_entries(
    assignment: Assignment, entries: Sequence[AssignmentItem], *, on_page: bool
) -> dict[int, Values | None]:
    """Return values by item, or one Invalid that names each open question."""
    task_type = get_type(assignment.task.type)
    note_recordings(assignment, entries)
    values: dict[int, Values | None] = {}
    wrong: dict[str, str] = {}
    for entry in entries:
        try:
            values[entry.item_id] = check_entry(assignment, entry, on_page=on_page)
        except DomainError as error:
            wrong[str(entry.position + 1)] = error.message
    if wrong:
        first, why = next(iter(wrong.items()))
        noun = pgettext("noun", task_type.item_noun)
        told = {"item": noun[:1].upper() + noun[1:], "number": first, "why": why}
        raise Invalid(_("%(item)s %(number)s: %(why)s") % told, fields=wrong)
    return values


def _enough_time(assignment: Assignment, now: dt.datetime) -> None:
    spent = (now - (assignment.opened_at or assignment.leased_at)).total_seconds()
    if spent < 0:  # the clock was set back meanwhile, so that nobody knows
        return
    missing = assignment.version.min_seconds - spent
    if missing > 0:
        raise Invalid(
            _(
                "This task takes at least %(min_seconds)s seconds; %(value)s are left. "
                "Nothing is lost."
            )
            % {"min_seconds": assignment.version.min_seconds, "value": int(missing) + 1},
            fields={"time": _("%(value)s seconds left") % {"value": int(missing) + 1}},
        )


def _retake_free_slots(assignment: Assignment, entries: Sequence[AssignmentItem]) -> set[int]:
    """Retake the still free slots of an expired lease.

    Conflict where most of them are the worker's in another assignment too: each is paid for itself,
    so that a lease let run out and taken again would be paid as often as that.
    """
    ids = sorted(entry.item_id for entry in entries)
    lock_items(ids)
    again = set(
        AssignmentItem.objects.filter(
            item_id__in=ids, assignment__worker=assignment.worker, assignment__state__in=DONE
        )
        .exclude(assignment=assignment)
        .values_list("item_id", flat=True)
    )
    if 2 * len(again) > len(ids):
        raise Conflict(
            _(
                "You took these questions again in another assignment. Go on there, or return it "
                "and submit this one."
            ),
            code="taken-again",
        )
    free = Item.objects.filter(pk__in=ids, held__lt=F("redundancy")).exclude(pk__in=again)
    got = set(free.values_list("pk", flat=True))
    Item.objects.filter(pk__in=got).update(held=F("held") + 1)
    return got


def write_values(pairs: Iterable[tuple[Answer, Values]]) -> None:
    """Store the values of new answers."""
    write_values_by_id((answer.pk, values) for answer, values in pairs)


def write_values_by_id(pairs: Iterable[tuple[int, Values]]) -> None:
    """Store values of new answers given by their ids."""
    for table in encode_values(pairs):
        table.write()


def encode_values(pairs: Iterable[tuple[int, Values]]) -> list[Encoded]:
    """Encode values of new answers, given by their ids, for COPY; no table without rows."""
    texts, choices, spans = [], [], []
    for pk, values in pairs:
        texts += [(pk, *text) for text in values.texts]
        choices += [(pk, *choice) for choice in values.choices]
        spans += [(pk, *span) for span in values.spans]
    tables: Iterable[tuple[type[Model], tuple[str, ...], list[Any]]] = (
        (TextValue, ("answer_id", "field", "index", "text"), texts),
        (ChoiceValue, ("answer_id", "field", "code", "ordinal"), choices),
        (SpanValue, ("answer_id", "field", "index", "target", "start", "end"), spans),
    )
    return [encode_rows(model, names, rows, lazy=False) for model, names, rows in tables if rows]


def submit_assignment(
    *,
    by: User,
    assignment: Assignment,
    key: UUID,
    drafts: Mapping[int, Mapping[str, Any]] | None = None,
    versions: Mapping[int, Version] | None = None,
    on_page: bool = False,
    strict: bool = False,
    public: bool = False,
) -> Assignment:
    """Turn the drafts into answers once; the same ``key`` changes nothing.

    ``drafts`` (item id -> draft) are what the page holds and has not saved yet; they are taken by
    their ``versions`` as saves are, and without one in any case. Where two versions of a draft are
    left, the page's submit raises DraftChanged. After the lease ran out, answers whose slot is
    still free count; the others are kept uncounted. ``on_page``: they were given on the worker's
    page, where both texts of a pair have to have been in view.
    ``strict``: drafts of items that are not in the assignment are refused, not passed over.
    ``public``: items are named as their worker's pages and programs name them.
    Raises Invalid naming each open question (by its number) and changes nothing then.
    """
    try:
        return _submit(
            by=by,
            assignment=assignment,
            key=key,
            drafts=drafts or {},
            versions=versions or {},
            on_page=on_page,
            strict=strict,
            public=public,
        )
    except IntegrityError as error:
        if "submit_key" in str(error):
            raise Conflict(_("This key belongs to another submit."), code="key-used") from error
        raise


@transaction.atomic
def _submit(
    *,
    by: User,
    assignment: Assignment,
    key: UUID,
    drafts: Mapping[int, Mapping[str, Any]],
    versions: Mapping[int, Version],
    on_page: bool,
    strict: bool,
    public: bool,
) -> Assignment:
    locked = lock_own(assignment, by)
    if locked.state == AssignmentState.SUBMITTED:
        if locked.submit_key == key:
            return locked
        raise Conflict(_("It was submitted already; nothing was changed."), code="submitted")
    if locked.state == AssignmentState.RETURNED:
        raise Conflict(_("It was returned; nothing can be submitted to it."), code="returned")
    now = timezone.now()
    if not locked.quiz:
        _enough_time(locked, now)
    needed = (*NEEDED, *get_type(locked.task.type).check_reads)
    entries = _entries_with(needed).all(assignment=locked.pk)
    for entry in entries:
        entry.assignment = locked
    if strict:
        _refuse_unknown(entries, drafts)
    if public:
        ids = {entry.public_id: entry.item_id for entry in entries}
        drafts, versions = _group_by_item(ids, drafts), _group_by_item(ids, versions)
    changed = _apply_sent_drafts(locked, entries, drafts, versions)
    if on_page:
        for entry in entries:
            if other_versions(entry) and not entry.told_at:
                raise DraftChanged(entry)
    values = _check_entries(locked, entries, on_page=on_page)
    late = locked.state == AssignmentState.EXPIRED
    if late and not locked.quiz:
        visits.rebind_visit(locked, by)
    given = [entry for entry in entries if values[entry.item_id] is not None]
    # Items whose answer is known have no slot and never count.
    asked = [entry for entry in given if entry.item.expected is None]
    counting = _retake_free_slots(locked, asked) if late else {entry.item_id for entry in asked}
    locked.state, locked.submitted_at, locked.submit_key = AssignmentState.SUBMITTED, now, key
    _store_answers(locked, given, values, counting, changed)
    _settle_slots(entries, counting)
    if locked.quiz:
        quiz.grade_try(locked)
    visits.complete_visit(locked)
    facts = {"answers": len(given), "counting": len(counting), "late": late}
    project = locked.task.project
    record(by=by, project=project, action="assignment.submit", on=locked, **facts)
    whose = {
        "assignment": locked.pk,
        "task": locked.task_id,
        "worker": locked.worker.pseudonym,
    }
    emit(project=project, event="assignment.submitted", data={**whose, **facts})
    return locked


@cache
def _entries_with(needed: tuple[str, ...]) -> CompiledQuery[AssignmentItem]:
    return CompiledQuery(
        lambda: (
            AssignmentItem.objects.filter(assignment=Placeholder("assignment"))
            .select_related("item")
            .only(*needed)
            .order_by("position")
        )
    )


def _group_by_item(ids: Mapping[int, int], sent: Mapping[int, Any]) -> dict[int, Any]:
    """Group values by item, without items that are not in the assignment."""
    return {ids[name]: value for name, value in sent.items() if name in ids}


def _refuse_unknown(entries: Sequence[AssignmentItem], drafts: Collection[int]) -> None:
    unknown = sorted(set(drafts) - {entry.public_id for entry in entries})
    if unknown:
        raise Invalid(
            _("%(unknown)s is not a question of this assignment.") % {"unknown": unknown[0]},
            fields={f"answers.{item}": _("Not in this assignment.") for item in unknown},
        )


def _apply_sent_drafts(
    assignment: Assignment,
    entries: Sequence[AssignmentItem],
    drafts: Mapping[int, Mapping[str, Any]],
    versions: Mapping[int, Version],
) -> list[AssignmentItem]:
    """Replace older drafts by what the page sent; return the changed entries."""
    task_type = get_type(assignment.task.type)
    changed = []
    for entry in entries:
        # What was told to match or not stands as it was told.
        if entry.item_id not in drafts or entry.told_at:
            continue
        draft = task_type.clean_draft(drafts[entry.item_id])
        before = entry.draft
        if entry.item_id not in versions:
            check_size(draft)
            entry.draft = draft
        elif place_draft(entry, draft, versions[entry.item_id]) == SaveOutcome.APART:
            raise DraftChanged(entry)
        if entry.draft != before:
            changed.append(entry)
    return changed


def _settle_slots(entries: Sequence[AssignmentItem], counting: set[int]) -> None:
    """Free the slots of skipped questions and hold those of counted answers."""
    skipped = sorted(e.item_id for e in entries if e.holds and e.item_id not in counting)
    if skipped:
        lock_items(skipped)
        Item.objects.filter(pk__in=skipped).update(held=F("held") - 1)
    for holds in (True, False):
        moved = [e.pk for e in entries if e.holds != holds and (e.item_id in counting) == holds]
        if moved:
            AssignmentItem.objects.filter(pk__in=moved).update(holds=holds)


def _store_answers(
    assignment: Assignment,
    entries: Sequence[AssignmentItem],
    values: Mapping[int, Values | None],
    counting: set[int],
    changed: Sequence[AssignmentItem],
) -> None:
    """Store answers, values, drafts and assignment by one statement."""
    texts, choices, spans = [], [], []
    for place, entry in enumerate(entries):
        found = values[entry.item_id]
        assert found is not None  # noqa: S101 (a skipped one is not among them)
        texts += [(place, *text) for text in found.texts]
        choices += [(place, *choice) for choice in found.choices]
        spans += [(place, *span) for span in found.spans]
    rows = [
        (
            entry.item_id,
            entry.position,
            entry.flipped,
            entry.item_id in counting,
            QUIZ if assignment.quiz else _uncounted_reason(entry, counting),
            entry.draft_saved_at or assignment.submitted_at,
        )
        for entry in entries
    ]
    drafts = [(entry.pk, json.dumps(entry.draft)) for entry in changed]
    parts: dict[str, Sequence[tuple[Any, ...]]]
    parts = {"drafts": drafts, "texts": texts, "choices": choices, "spans": spans}
    kept = tuple(name for name, part in parts.items() if part)
    columns = _to_columns("item position flipped counts reason at", rows)
    for name in kept:
        columns |= _to_columns(PARTS[name][0], parts[name])
    run_statement(
        _store_of(kept),
        {
            "assignment": assignment.pk,
            "state": AssignmentState.SUBMITTED,
            "now": assignment.submitted_at,
            "key": assignment.submit_key,
            "version": assignment.version_id,
            "worker": assignment.worker_id,
            "stage": Answer.Stage.MAIN,
            **columns,
        },
    )


def _to_columns(names: str, rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Transpose rows into one list per column, for ``unnest``."""
    return {name: [row[at] for row in rows] for at, name in enumerate(names.split())}


# A submit in one statement: the values join the answers that it has just made.
STORE = """
WITH done AS (
    UPDATE annotation_assignment SET state = %(state)s, submitted_at = %(now)s, submit_key = %(key)s
    WHERE id = %(assignment)s),
given AS (
    SELECT * FROM unnest(%(item)s::bigint[], %(position)s::smallint[], %(flipped)s::boolean[],
        %(counts)s::boolean[], %(reason)s::text[], %(at)s::timestamptz[])
        WITH ORDINALITY AS given (item_id, position, flipped, counts, reason, at, place)),
made AS (
    INSERT INTO annotation_answer (version_id, item_id, stage, assignment_id, worker_id, replicate,
        order_shown, flipped, counts, uncounted_reason, answered_at)
    SELECT %(version)s, item_id, %(stage)s, %(assignment)s, %(worker)s, 0, position, flipped,
        counts, reason, at FROM given ORDER BY place
    RETURNING id, item_id),
answer AS (SELECT made.id, given.place - 1 AS place FROM made JOIN given USING (item_id))
"""
# What it has none of it leaves out: triggers of a table work also where no row comes.
PARTS = {
    "drafts": (
        "d_entry d_draft",
        """, drafts AS (
    UPDATE annotation_assignmentitem AS e SET draft = d.draft
    FROM unnest(%(d_entry)s::bigint[], %(d_draft)s::jsonb[]) AS d (id, draft) WHERE e.id = d.id)
""",
    ),
    "texts": (
        "t_place t_field t_index t_text",
        """, texts AS (
    INSERT INTO annotation_textvalue (answer_id, field, index, text)
    SELECT answer.id, field, index, text
    FROM unnest(%(t_place)s::bigint[], %(t_field)s::text[], %(t_index)s::smallint[],
        %(t_text)s::text[]) WITH ORDINALITY AS t (place, field, index, text, number)
    JOIN answer USING (place) ORDER BY number)
""",
    ),
    "choices": (
        "c_place c_field c_code c_ordinal",
        """, choices AS (
    INSERT INTO annotation_choicevalue (answer_id, field, code, ordinal)
    SELECT answer.id, field, code, ordinal
    FROM unnest(%(c_place)s::bigint[], %(c_field)s::text[], %(c_code)s::text[],
        %(c_ordinal)s::smallint[]) WITH ORDINALITY AS c (place, field, code, ordinal, number)
    JOIN answer USING (place) ORDER BY number)
""",
    ),
    "spans": (
        "s_place s_field s_index s_target s_start s_end",
        """, spans AS (
    INSERT INTO annotation_spanvalue (answer_id, field, index, target, start, "end")
    SELECT answer.id, field, index, target, first, last
    FROM unnest(%(s_place)s::bigint[], %(s_field)s::text[], %(s_index)s::smallint[],
        %(s_target)s::text[], %(s_start)s::integer[], %(s_end)s::integer[])
        WITH ORDINALITY AS s (place, field, index, target, first, last, number)
    JOIN answer USING (place) ORDER BY number)
""",
    ),
}


@cache
def _store_of(parts: tuple[str, ...]) -> str:
    return STORE + "".join(PARTS[name][1] for name in parts) + "SELECT count(*) FROM made"  # noqa: S608


def _uncounted_reason(entry: AssignmentItem, counting: set[int]) -> str:
    if entry.item_id in counting:
        return ""
    return SLOT_GONE if entry.item.expected is None else KNOWN


@transaction.atomic
def set_counts(
    *, by: User, answer: Answer, counts: bool, reason: str = "", beyond_plan: bool = False
) -> Answer:
    """Set whether an answer counts; if not, its slot reopens. Pay is separate.

    ``beyond_plan``: it counts again even where its slot was given to somebody else meanwhile, who
    keeps it. Else that raises Conflict.
    """
    answer = (
        Answer.objects.select_for_update(of=("self",), no_key=True)
        .select_related("item__task__project", "assignment__version", "worker__user")
        .get(pk=answer.pk)
    )
    if answer.counts == counts:
        return answer
    if answer.item.expected is not None:
        raise Conflict(_("The answer to an item whose answer is known never counts."))
    if not counts and not reason.strip():
        raise Invalid(_("Say why it does not count."), fields={"reason": _("Write a reason.")})
    if answer.assignment_id:
        _move_slot(answer, counts, beyond_plan=beyond_plan)
    answer.counts, answer.uncounted_reason = counts, "" if counts else as_uncounted_reason(reason)
    answer.save(update_fields=["counts", "uncounted_reason"])
    record(
        by=by,
        project=answer.item.task.project,
        action="answer.count" if counts else "answer.uncount",
        on=answer,
        reason=answer.uncounted_reason,
    )
    _notify_counts(answer)
    return answer


def as_uncounted_reason(reason: str) -> str:
    """The reason as answers keep it, by which they are found again."""
    return reason.strip()[:200]


@transaction.atomic
def uncount_answers(
    *, by: User, task: Task, reasons: Mapping[int, str], reopen: Collection[int]
) -> None:
    """Set that answers of a task do not count, each for its reason, by answer.

    ``reopen``: those whose slots open for others; the other slots stay as they are. Answers that
    do not count already keep their reason. Nobody is notified.
    """
    rows = Answer.objects.select_for_update(of=("self",), no_key=True).filter(
        pk__in=reasons, item__task=task, counts=True
    )
    ids = set(rows.order_by("pk").values_list("pk", flat=True))
    if not ids:
        return
    free_slots(
        AssignmentItem.objects.filter(
            assignment__answers__in=ids & set(reopen), item=F("assignment__answers__item")
        )
    )
    by_reason: dict[str, list[int]] = {}
    for pk in ids:
        by_reason.setdefault(as_uncounted_reason(reasons[pk]), []).append(pk)
    for reason, own in by_reason.items():
        Answer.objects.filter(pk__in=own).update(counts=False, uncounted_reason=reason)
        record(
            by=by,
            project=task.project,
            action="answer.uncount",
            on=task,
            reason=reason,
            answers=len(own),
            reopened=len(set(own) & set(reopen)),
        )


def _notify_counts(answer: Answer) -> None:
    """Notify the worker once per assignment."""
    if answer.worker is None or answer.assignment is None:
        return
    title = answer.assignment.version.title
    state = "counted" if answer.counts else "uncounted"
    notify(
        to=[answer.worker.user],
        kind="work.uncounted",
        project=answer.item.task.project,
        key=f"work.{state}:{answer.assignment_id}",
        url=reverse("work_record_assignment", args=[answer.assignment_id]),
        text=lambda: (
            (
                _("Some of your answers to “%(task)s” count again. Pay is decided separately.")
                if answer.counts
                else _(
                    "Some of your answers to “%(task)s” do not count. Pay is decided separately."
                )
            )
            % {"task": title}
        ),
    )


def _move_slot(answer: Answer, counts: bool, *, beyond_plan: bool) -> None:
    """Take or free the slot of a worker's answer; it may hold one without counting."""
    item = Item.objects.select_for_update(no_key=True).get(pk=answer.item_id)
    entries = AssignmentItem.objects.filter(assignment=answer.assignment_id, item=item)
    holds = entries.filter(holds=True).exists()
    if counts:
        same = Answer.objects.filter(item=item, worker=answer.worker_id, counts=True)
        if same.exclude(pk=answer.pk).exists():
            raise Conflict(_("Another answer of this person to the same question counts already."))
        if not holds and item.held >= item.redundancy:
            if beyond_plan:
                return
            raise Conflict(_("Its slot has been given to somebody else meanwhile."))
    if holds != counts:
        item.held += 1 if counts else -1
        item.save(update_fields=["held"])
        entries.update(holds=counts)
