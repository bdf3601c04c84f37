"""The items of one assignment in their order, as the worker's pages and the API walk them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation import checking, judging, think_aloud, writing
from annotation.models import Assignment, AssignmentItem, Item, ItemGroup
from annotation.task_types import TaskType, get_type
from annotation.task_types.rating import noun_of
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
        return self.entry.position + 1

    @property
    def label(self) -> str:
        return f"{self.noun.capitalize()} {self.number}, {STEP_WORDS[self.state]}"


STEP_WORDS = {
    "done": "answered",
    "skipped": "skipped",
    "current": "this one",
    "open": "not answered yet",
}


def steps(assignment: Assignment, current: int | None = None, *, whole: bool = True) -> list[Step]:
    """All items of the assignment in their order (one query).

    Not ``whole``: without passages and texts under judgment, which would come once for each item
    that shares them; a page that shows one of them asks ``with_texts``.
    """
    task_type = get_type(assignment.task.type)
    rows = assignment.entries.order_by("position")
    if whole:
        rows = rows.select_related("item__group", "item__first", "item__second")
    else:
        unread = ("item__group__passage", "item__group__passages")
        rows = rows.select_related("item__group").defer(*unread)
    return [_step(task_type, assignment, entry, current) for entry in rows]


def with_texts(entry: AssignmentItem) -> Item:
    """The entry's item with its group and the texts it puts to judgment (one query)."""
    return Item.objects.select_related("group", "first", "second").get(pk=entry.item_id)


def _step(
    task_type: TaskType, assignment: Assignment, entry: AssignmentItem, current: int | None
) -> Step:
    state = "open"
    if task_type.is_answered(entry.draft):
        state = "done"
    elif entry.draft.get("skipped"):
        state = "skipped"
    if entry.position == current:
        state = "current"
    settings = {**assignment.version.settings, **entry.item.settings}
    problem = ""
    try:
        task_type.check(entry.draft, settings, flipped=entry.flipped)
    except DomainError as error:
        problem = error.message
    # Some lines chosen and others not is begun, not done.
    if state == "done" and problem and task_type.shape != "texts":
        state = "open"
    return Step(
        entry,
        noun_of(task_type, assignment.version.settings),
        state,
        bool(entry.draft.get("declined")),
        problem,
        _in_words(task_type, entry, settings),
    )


def _in_words(task_type: TaskType, entry: AssignmentItem, settings: Mapping[str, Any]) -> str:
    if task_type.shape == "responses":
        return writing.in_words(entry.draft)
    if task_type.shape == "attributes":
        return think_aloud.in_words(entry.draft)
    if task_type.shape == "checks":
        return checking.in_words(entry.draft, settings)
    return judging.in_words(entry.draft, settings)


def texts_of(rows: Sequence[Step]) -> list[ItemGroup]:
    """The texts of an assignment in the order in which they are met."""
    groups = {row.entry.item.group_id: row.entry.item.group for row in rows}
    return [group for group in groups.values() if group.passage.strip()]
