"""The items of one assignment in their order, as the worker's pages and the API walk them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy, pgettext

from annotation.models import Assignment, AssignmentItem, Item, ItemGroup, Recording
from annotation.task_types import TaskType, Values, get_type
from annotation.task_types.base import ITEM_TEXT, ON_PAGE, RECORDED
from crowdqc.database.compiled import CompiledQuery, Placeholder
from crowdqc.errors import DomainError


@dataclass(frozen=True)
class Step:
    """One item of an assignment as the page's segments and the review list show it."""

    entry: AssignmentItem
    noun: str  # question, pair, text
    state: str  # done, skipped, current, open
    declined: bool
    problem: str  # what a submit would say about it as it is saved; empty when nothing
    said: str  # the draft in one line

    @property
    def number(self) -> int:
        """Return the item's number in the assignment, from 1."""
        return self.entry.position + 1

    @property
    def name(self) -> str:
        """Noun and number by which workers know the item."""
        return f"{pgettext('noun', self.noun).capitalize()} {self.number}"

    @property
    def label(self) -> str:
        return f"{self.name}, {STEP_WORDS[self.state]}"


def settings_of(assignment: Assignment, entry: AssignmentItem) -> dict[str, Any]:
    """Return the settings of an entry: those of its version, overridden by those of its item."""
    return {**assignment.version.settings, **entry.item.settings}


def check_entry(
    assignment: Assignment, entry: AssignmentItem, *, on_page: bool = False
) -> Values | None:
    """Check an entry's draft and return its values; None for a permitted skip.

    The one rule of what is complete: editor, "Next", review and submit all ask here. ``on_page``:
    it was answered on the worker's page, so that what must be in view has to have been.
    Raises Invalid, which says what is missing.
    """
    task_type = get_type(assignment.task.type)
    settings = {**settings_of(assignment, entry), ON_PAGE: on_page}
    if task_type.check_reads:
        settings[ITEM_TEXT] = entry.item.question
    if task_type.records_speech(settings):
        if entry.recorded is None:
            note_recordings(assignment, [entry])
        settings[RECORDED] = entry.recorded
    return task_type.check(entry.draft, settings, flipped=entry.flipped)


def note_recordings(assignment: Assignment, entries: Sequence[AssignmentItem]) -> None:
    """Set ``entry.recorded`` on each entry: whether a recording is stored for it (one query)."""
    if not get_type(assignment.task.type).records_speech(assignment.version.settings):
        return
    kept = Recording.objects.filter(entry__in=entries).values_list("entry", flat=True)
    found = set(kept)
    for entry in entries:
        entry.recorded = entry.pk in found


def problem_of(assignment: Assignment, entry: AssignmentItem, *, on_page: bool = False) -> str:
    """Return the error that submitting the entry's draft would give; "" if it is complete."""
    try:
        check_entry(assignment, entry, on_page=on_page)
    except DomainError as error:
        return error.message
    return ""


STEP_WORDS = {
    "done": gettext_lazy("answered"),
    "skipped": gettext_lazy("skipped"),
    "current": gettext_lazy("this one"),
    "open": gettext_lazy("not answered yet"),
}


def _entries() -> QuerySet[AssignmentItem]:
    return AssignmentItem.objects.filter(assignment=Placeholder("assignment")).order_by("position")


WHOLE = CompiledQuery(
    lambda: _entries().select_related("item__group", "item__first", "item__second", "item__chat")
)
UNREAD = CompiledQuery(
    lambda: (
        _entries()
        .select_related("item__group", "item__media")
        .defer("item__group__passage", "item__group__passages")
    )
)
WITH_TEXTS = CompiledQuery(
    lambda: Item.objects.filter(pk=Placeholder("pk")).select_related(
        "group", "first__chat", "second__chat", "media", "chat"
    )
)


def entries(assignment: Assignment, *, whole: bool = True) -> list[AssignmentItem]:
    """Return all items of the assignment in order (one query).

    With ``whole`` False without passages and texts under judgment, which would come once for each
    item that shares them; a page that shows one of them calls ``with_texts``.
    """
    rows = (WHOLE if whole else UNREAD).all(assignment=assignment.pk)
    for entry in rows:
        entry.assignment = assignment
    return rows


def steps(
    assignment: Assignment,
    current: int | None = None,
    *,
    whole: bool = True,
    on_page: bool = False,
) -> list[Step]:
    """Return the items of the assignment, each with its state."""
    task_type = get_type(assignment.task.type)
    rows = entries(assignment, whole=whole)
    note_recordings(assignment, rows)
    return [_step(task_type, assignment, entry, current, on_page) for entry in rows]


def with_texts(entry: AssignmentItem) -> Item:
    """The entry's item with its group and the texts it puts to judgment (one query)."""
    return WITH_TEXTS.all(pk=entry.item_id)[0]


def _step(
    task_type: TaskType,
    assignment: Assignment,
    entry: AssignmentItem,
    current: int | None,
    on_page: bool,
) -> Step:
    state = "open"
    if task_type.is_answered(entry.draft):
        state = "done"
    elif entry.draft.get("skipped"):
        state = "skipped"
    if entry.position == current:
        state = "current"
    settings = settings_of(assignment, entry)
    problem = problem_of(assignment, entry, on_page=on_page)
    # What a submit would refuse is begun, not done: some lines open, or too many words.
    if state == "done" and problem:
        state = "open"
    return Step(
        entry,
        task_type.noun_in(assignment.version.settings),
        state,
        bool(entry.draft.get("declined")),
        problem,
        task_type.in_words(entry.draft, {**settings, ITEM_TEXT: entry.item.question}),
    )


def texts_of(rows: Sequence[Step]) -> list[ItemGroup]:
    """The texts of an assignment in the order in which they are met."""
    groups = {row.entry.item.group_id: row.entry.item.group for row in rows}
    return [group for group in groups.values() if group.passage.strip()]
