"""Claims and drafts; the redundancy is never exceeded.

Locks: a transaction takes the worker or the assignment first and items after it, items once and
in the order of their ids unless it skips locked ones. NO KEY locks let others refer to a row.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.projects.actions import current_consent
from annotation.authoring.selectors.steps import problem_of
from annotation.models import (
    Assignment,
    AssignmentItem,
    Item,
    Membership,
    PanelMember,
    Task,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState, TaskVersion
from annotation.pairs.actions import pair_design
from annotation.panels.selectors import STOPPED, reasons_barred
from annotation.records.actions.audit import record
from annotation.records.installation_state import current_state
from annotation.task_types import get_type
from annotation.task_types.rating.type import by_document
from annotation.work.actions import quiz, slots, spending, visits
from annotation.work.actions.drafts import DraftChanged, SaveOutcome, Version, place_draft
from annotation.work.actions.leases import lock_own, release_expired
from annotation.work.actions.slots import Bundle, PickedItem
from crowdqc import limits
from crowdqc.database.compiled import CompiledQuery, Placeholder, insert_row, run_statement
from crowdqc.errors import Conflict, Invalid, NotAllowed

MAX_SEQ = 2**53  # numbers that JavaScript can count by one
DONE = (AssignmentState.LEASED, AssignmentState.SUBMITTED)


def _start_offset(task: Task) -> int:
    """Return where a worker starts; staggered starts connect the graph."""
    end = task.items.filter(held__lt=F("redundancy")).aggregate(m=Max("position"))["m"] or 0
    return secrets.randbelow(end + 1)


class _TooFew(Exception):
    """Locks or expired leases of others hold a part of a full bundle."""


def _arrange(items: Sequence[PickedItem], version: TaskVersion, *, together: bool) -> list[int]:
    """Order ids as written, or by a draw that nobody can repeat.

    ``together``: random over groups and then within them, so that a passage is read once; else
    over all items.
    """
    items = sorted(items, key=lambda i: (i.group_position, i.group, i.position, i.pk))
    if version.order == TaskVersion.Order.FIXED:
        return [item.pk for item in items]
    rng = random.SystemRandom()
    if not together:
        return rng.sample([item.pk for item in items], len(items))
    groups: dict[int, list[int]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(item.pk)
    order = list(groups.values())
    rng.shuffle(order)
    for group in order:
        rng.shuffle(group)
    return [pk for group in order for pk in group]


def claim_assignment(
    *, by: User, task: Task, worker: Membership, source: str = "browser"
) -> Assignment:
    """Lease a bundle of items to the worker, or return the lease that they hold.

    A program reads it at once, so that its time counts from here.
    Raises Conflict when the task is not open or nothing is left for this worker, NotAllowed
    without an agreement to the text in force.
    """
    if worker.user_id != by.pk or worker.project_id != task.project_id:
        raise NotAllowed(_("Nobody claims for somebody else."))
    assignment = _claimed(by=by, task=task, worker=worker, source=source)
    if assignment is None:  # an own lease ran out
        release_expired(worker=worker)
        assignment = _claimed(by=by, task=task, worker=worker, source=source)
    if assignment is None:
        raise Conflict(_("Your last assignment is just being closed. Try again."))
    assignment.task, assignment.worker = task, worker
    return open_assignment(by=by, assignment=assignment) if source == "api" else assignment


def _claimed(*, by: User, task: Task, worker: Membership, source: str) -> Assignment | None:
    try:
        return _claim(by=by, task=task, worker=worker, source=source, wait=False)
    except _TooFew:  # the locks that were taken are gone with that transaction
        # In a transaction of its own: its locks are gone before the picking begins.
        release_expired(task=task, limit=50)
        return _claim(by=by, task=task, worker=worker, source=source, wait=True)


def returns_limit() -> limits.Limit:
    """Return how often per hour a worker may reclaim a returned task."""
    return limits.Limit("claim-returned", settings.CROWDQC_RETURNS_AN_HOUR, limits.HOUR)


LINE_UP = "SELECT id FROM annotation_membership WHERE id = %s FOR NO KEY UPDATE"


@transaction.atomic
def _claim(
    *, by: User, task: Task, worker: Membership, source: str, wait: bool
) -> Assignment | None:
    """Lease a bundle; None if the worker has an expired lease."""
    # One row a worker: two clicks of one person stand in line, people do not.
    run_statement(LINE_UP, [worker.pk])
    found = slots.look_up_assignment(task, worker)
    if found.assignment and found.assignment_state == AssignmentState.LEASED:
        held = Assignment.objects.select_related("version").get(pk=found.assignment)
        return held if held.expires_at > timezone.now() else None
    if found.task_state != TaskState.OPEN or found.version is None:
        raise Conflict(_("This task is not open at the moment."))
    if current_consent(worker, task.type) is None:
        raise NotAllowed(
            _("Please read and answer the question about recording first."), code="no-consent"
        )
    if found.assignment_state == AssignmentState.RETURNED:
        limits.require_try(
            returns_limit(), f"{task.pk}:{worker.pk}", _("You returned this task often.")
        )
    version = task.current
    if version is None or version.pk != found.version:  # published meanwhile
        version = TaskVersion.objects.get(pk=found.version)
    if task.panel_id and not is_on_panel(task, worker):
        raise NotAllowed(_("This task is for a panel that you are not on."))
    if found.is_stopped:
        raise Conflict(str(STOPPED))
    why_not = reasons_barred([task], [worker]).get(task.pk)
    if why_not:
        raise Conflict(why_not, code="qualification")
    pair_design.check(task, version)
    number = quiz.next_try_number(task, version, worker)
    if found.limited:
        spending.require_budget(task, quiz.quiz_terms(version).pay if number else version.pay)
    if number:
        return _lease_quiz(
            task=task,
            version=version,
            worker=worker,
            by=by,
            source=source,
            number=number,
            seed=found.seed,
        )
    seed = found.seed if found.seed is not None else secrets.randbits(63)
    bundle = None
    if found.assignment and found.assignment_state == AssignmentState.RETURNED:
        bundle = slots.repick_bundle(task, version, worker, found.assignment)
    if bundle is None:
        bundle = _new_bundle(task, version, worker, found.position, wait=wait)
    return _lease(
        task=task, version=version, worker=worker, bundle=bundle, by=by, source=source, seed=seed
    )


def _new_bundle(
    task: Task, version: TaskVersion, worker: Membership, reached: int | None, *, wait: bool
) -> Bundle:
    """Return items in display order, mixed with known items."""
    items, stretch = _pick_items(task, version, worker, reached, wait=wait)
    if not items:
        raise Conflict(_("There is nothing left for you in this task."))
    one_document = by_document(version.settings)
    together = get_type(task.type).keeps_groups_together or one_document
    hidden = slots.draw_known_items(
        task,
        version,
        worker,
        wanted=version.settings.get("gold_per_assignment", 0),
        near={item.group for item in items} if together else (),
        only_near=one_document,
    )
    order = _mix_known_items(task, version, items, hidden)
    return Bundle(
        _make_entries(task, version, worker, order, {item.pk for item in hidden}), stretch
    )


def _pick_items(
    task: Task, version: TaskVersion, worker: Membership, reached: int | None, *, wait: bool
) -> tuple[Sequence[PickedItem], int | None]:
    """Lock items of a bundle and return their stretch; _TooFew if waiting may help."""
    stretch = None
    if by_document(version.settings):
        items = slots.pick_document(task, version, worker)
        wanted = 1
    else:
        start: int | None
        if get_type(task.type).overlaps_bundles:
            stretch, start = slots.next_stretch(task, version)
        elif _draws_items(task, version):
            start = None
        else:
            start = reached if reached is not None else _start_offset(task)
        items = slots.pick_items(task, version, worker, start, wait=wait)
        wanted = version.items_per_assignment
    if len(items) < wanted and not wait:
        raise _TooFew
    return items, stretch


def _draws_items(task: Task, version: TaskVersion) -> bool:
    """Whether an assignment's items are drawn over all, not only put into a drawn order."""
    return version.order == TaskVersion.Order.RANDOM and get_type(task.type).draws_items


def _lease(
    *,
    task: Task,
    version: TaskVersion,
    worker: Membership,
    bundle: Bundle,
    by: User,
    source: str,
    seed: int,
) -> Assignment:
    term = _lease_term(version)
    assignment = insert_row(
        Assignment(
            task=task,
            version=version,
            worker=worker,
            source=source,
            stretch=bundle.stretch,
            seed=seed,
            pay=version.pay,
            opened_at=term["leased_at"] if source == "api" else None,
            **term,
        )
    )
    visits.bind_assignment(assignment)
    slots.take_slots(assignment.pk, bundle.entries)
    record(
        by=by,
        project=worker.project,
        action="assignment.claim",
        on=assignment,
        items=len(bundle.entries),
    )
    return assignment


def _lease_quiz(
    *,
    task: Task,
    version: TaskVersion,
    worker: Membership,
    by: User,
    source: str,
    number: int,
    seed: int | None,
) -> Assignment:
    """Lease the quiz that precedes the first assignment.

    One that was begun and not submitted is gone on with: its questions are no other ones for it.
    """
    begun = quiz.find_unfinished_try(task, worker)
    if begun is not None:
        Assignment.objects.filter(pk=begun.pk).update(
            state=AssignmentState.LEASED, **_lease_term(begun.version)
        )
        begun.refresh_from_db(fields=["state", "leased_at", "expires_at"])
        return begun
    assignment = Assignment.objects.create(
        task=task,
        version=version,
        worker=worker,
        source=source,
        pay=quiz.quiz_terms(version).pay,
        quiz=number,
        seed=secrets.randbits(63) if seed is None else seed,
        **_lease_term(version),
    )
    wanted = quiz.quiz_terms(version).items
    items = slots.draw_known_items(task, version, worker, wanted=wanted, again=True)
    if not items:
        raise Conflict(_("There is nothing left for you in this task."))
    together = get_type(task.type).keeps_groups_together
    order = _arrange(items, version, together=together)
    entries = _make_entries(task, version, worker, order, {item.pk for item in items})
    slots.take_slots(assignment.pk, entries)
    record(by=by, project=worker.project, action="quiz.begin", on=assignment, number=number)
    return assignment


def _lease_term(version: TaskVersion) -> dict[str, Any]:
    """Return start and end of a lease that begins now."""
    now = timezone.now()
    return {
        "leased_at": now,
        "expires_at": now + dt.timedelta(minutes=version.lease_minutes),
    }


def _mix_known_items(
    task: Task, version: TaskVersion, items: Sequence[PickedItem], hidden: Sequence[PickedItem]
) -> list[int]:
    """Mix known items into the bundle's items.

    Each stands at a drawn place: among the items of its own text, or in a document among the
    answers to its question, as one that stood apart from these would be known by it.
    """
    parts: dict[int, Any] = {}
    if by_document(version.settings):  # a document is read from its beginning
        mixed = [item.pk for item in items]
        if hidden:
            every = [item.pk for item in (*items, *hidden)]
            parts = dict(Item.objects.filter(pk__in=every).values_list("pk", "question"))
    else:
        # Pairs of one topic side by side would be judged against each other.
        together = get_type(task.type).keeps_groups_together
        mixed = _arrange(items, version, together=together)
        if together:
            parts = {item.pk: item.group for item in (*items, *hidden)}
    for item in hidden:
        mixed.insert(_draw_position(item.pk, mixed, parts), item.pk)
    return mixed


def _draw_position(item: int, order: Sequence[int], parts: Mapping[int, Any]) -> int:
    """Draw the position of an item, within its part or between two others."""
    named = [parts.get(pk) for pk in order]
    own = [place for place, part in enumerate(named) if part == parts.get(item)]
    if own:
        return own[0] + secrets.randbelow(len(own) + 1)
    between = [n for n in range(len(order) + 1) if named[n - 1 : n] != named[n : n + 1]]
    return secrets.choice(between)


def _make_entries(
    task: Task,
    version: TaskVersion,
    worker: Membership,
    order: Sequence[int],
    known: Collection[int],
) -> list[slots.Entry]:
    """Return items as entries of a lease, with the side of each pair."""
    turned: dict[int, bool] = {}
    if get_type(task.type).pairs_texts:
        policy = version.settings.get("sides", "balanced")
        turned = slots.flipped_pairs(order, worker, policy)
    return [slots.Entry(pk, pk not in known, turned.get(pk, False)) for pk in order]


def is_on_panel(task: Task, worker: Membership) -> bool:
    """Whether the worker is on the panel that the task requires."""
    members = PanelMember.objects.filter(panel=task.panel_id, until__isnull=True)
    return members.filter(worker=worker).exists()


OPENED = """
UPDATE annotation_assignment SET opened_at = coalesce(opened_at, %s) WHERE id = %s
RETURNING opened_at
"""
# The assignment before its entry, as everybody locks them; one commit for both.
SHOWN = """
WITH entry AS (
    SELECT id, assignment_id FROM annotation_assignmentitem
    WHERE assignment_id = %(assignment)s AND position = %(position)s),
opened AS (
    UPDATE annotation_assignment a SET opened_at = coalesce(a.opened_at, %(now)s) FROM entry
    WHERE a.id = entry.assignment_id AND %(opens)s RETURNING a.opened_at)
UPDATE annotation_assignmentitem e SET shown_at = coalesce(e.shown_at, %(now)s)
FROM entry, (SELECT max(opened_at) AS at FROM opened) AS begun WHERE e.id = entry.id
RETURNING begun.at
"""


def open_assignment(*, by: User, assignment: Assignment) -> Assignment:
    """Record the first opening; minimum time and log count from it.

    While the installation is read-only nothing is recorded.
    """
    if assignment.worker.user_id != by.pk:
        raise NotAllowed(_("This is somebody else's assignment."))
    if assignment.opened_at is None and not current_state().is_read_only:
        # Another tab may have been first.
        assignment.opened_at = run_statement(OPENED, [timezone.now(), assignment.pk])[0][0]
    return assignment


def show_item(*, by: User, assignment: Assignment, position: int) -> None:
    """Record that the worker saw a question, and open the assignment if needed.

    With "no look back" the question's passage ends here. While the installation is read-only
    nothing is recorded.
    """
    if assignment.worker.user_id != by.pk:
        raise NotAllowed(_("This is somebody else's assignment."))
    if current_state().is_read_only:
        return
    opens = assignment.opened_at is None
    place = {"assignment": assignment.pk, "position": position}
    shown = run_statement(SHOWN, {**place, "now": timezone.now(), "opens": opens})
    if not shown:
        raise Invalid(_("There is no such question in this assignment."))
    if opens:
        assignment.opened_at = shown[0][0]


@transaction.atomic
def reveal_known_answer(*, by: User, assignment: Assignment, position: int) -> bool:
    """Show whether the answer matches the known one, and fix the answer; False if not shown.

    False, and nothing is changed, where no answer is known or this one is not complete yet. A quiz
    tells after it is submitted.
    """
    locked = lock_own(assignment, by)
    if not locked.version.settings.get("known_feedback") or locked.quiz:
        return False
    entry = locked.entries.select_related("item").filter(position=position).first()
    if entry is None or entry.item.expected is None:
        return False
    on_page = locked.source == "browser"
    if not get_type(locked.task.type).is_answered(entry.draft):
        return False
    if entry.told_at is None and not problem_of(locked, entry, on_page=on_page):
        entry.told_at = timezone.now()
        entry.save(update_fields=["told_at"])
    return entry.told_at is not None


ENTRY = CompiledQuery(
    lambda: AssignmentItem.objects.filter(
        assignment=Placeholder("assignment"), item=Placeholder("item")
    ).order_by()
)
ENTRY_AT = CompiledQuery(
    lambda: AssignmentItem.objects.filter(
        assignment=Placeholder("assignment"), position=Placeholder("position")
    ).order_by()
)
SAVED = """
UPDATE annotation_assignmentitem
SET draft = %s::jsonb, draft_seq = %s, draft_saved_at = %s, draft_versions = %s::jsonb
WHERE id = %s
"""


def save_draft(
    *,
    by: User,
    assignment: Assignment,
    item_id: int = 0,
    public_id: int = 0,
    draft: Mapping[str, Any],
    seq: int = 0,
    version: Version | None = None,
) -> AssignmentItem:
    """Save a draft; an older save that arrives late changes nothing.

    The item is named by its row (``item_id``), or as its worker's pages and programs call it
    (``public_id``). ``version``: which tab saved it, on top of what (see ``drafts``). A program
    gives ``seq`` alone: the higher number counts. The entry returned holds what is kept, which may
    be newer.
    Raises DraftChanged where a draft is kept that this one does not know; it then waits beside it.
    """
    version = version or Version(seq)
    if not 0 <= version.seq < MAX_SEQ:
        raise Invalid(_("seq is out of range."), fields={"seq": _("A whole number from 0.")})
    entry, outcome = _save_draft(
        by=by,
        assignment=assignment,
        item_id=item_id,
        public_id=public_id,
        draft=draft,
        version=version,
    )
    if outcome == SaveOutcome.APART:
        raise DraftChanged(entry)
    return entry


@transaction.atomic
def _save_draft(
    *,
    by: User,
    assignment: Assignment,
    item_id: int,
    public_id: int,
    draft: Mapping[str, Any],
    version: Version,
) -> tuple[AssignmentItem, SaveOutcome]:
    locked = lock_own(assignment, by)
    if locked.state not in (AssignmentState.LEASED, AssignmentState.EXPIRED):
        raise Conflict(_("This assignment is no longer in progress."))
    if public_id and locked.seed is not None:
        entry = ENTRY_AT.first(assignment=locked.pk, position=public_id - 1)
    else:
        entry = ENTRY.first(assignment=locked.pk, item=item_id or public_id)
    if entry is None:
        raise Invalid(
            _("This question is not part of the assignment."), fields={"item": _("Unknown.")}
        )
    entry.assignment = locked
    clean = get_type(locked.task.type).clean_draft(draft)
    outcome = place_draft(entry, clean, version)
    if outcome == SaveOutcome.STALE:
        return entry, outcome
    if entry.told_at:  # whatever number a save gives itself
        raise Conflict(_("You have read whether this answer matches. It stands as it is."))
    if outcome == SaveOutcome.KEPT:
        entry.draft_saved_at = timezone.now()
    state = (json.dumps(entry.draft), entry.draft_seq, entry.draft_saved_at)
    run_statement(SAVED, [*state, json.dumps(entry.draft_versions), entry.pk])
    return entry, outcome
