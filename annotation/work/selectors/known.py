"""Answers to items whose answer is known, marked: the one place that says what was right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import F, QuerySet

from annotation.authoring.selectors.steps import check_entry, settings_of
from annotation.models import Answer, Assignment, AssignmentItem, ChoiceValue, Item, TextValue
from annotation.task_types import get_type
from annotation.task_types.known import given_of, matches


@dataclass(frozen=True)
class Marked:
    """One answer to an item whose answer is known."""

    answer: int
    worker: int | None
    task: int
    item: int
    right: bool


@dataclass(frozen=True)
class KnownCount:
    """Known answers met, of those seen."""

    right: int = 0
    seen: int = 0


def mark(answers: QuerySet[Answer]) -> list[Marked]:
    """These answers, as far as the answer to their item is known (three queries)."""
    known = answers.filter(item__expected__isnull=False)
    rows = list(
        known.order_by("pk").values_list(
            "pk", "worker_id", "item__task_id", "item_id", "item__expected"
        )
    )
    ids = [pk for pk, *_ in rows]
    given: dict[int, list[tuple[str, str]]] = {pk: [] for pk in ids}
    if ids:
        # "I don't know" is a choice beside its text, which matches nothing.
        for model, value in ((ChoiceValue, "code"), (TextValue, "text")):
            found: Any = model._default_manager.filter(answer__in=ids)
            for pk, name, said in found.values_list("answer_id", "field", F(value)):
                given[pk].append((name, said))
    return [
        Marked(pk, worker, task, item, matches(expected or {}, given[pk]))
        for pk, worker, task, item, expected in rows
    ]


def worked(answers: QuerySet[Answer]) -> QuerySet[Answer]:
    """Those given in work: a quiz selects who goes on, so its answers say less of them."""
    return answers.filter(assignment__quiz__isnull=True)


def count_by_worker(rows: Iterable[Marked]) -> dict[int, KnownCount]:
    """Known answers met and seen, by worker."""
    found: dict[int, KnownCount] = {}
    for one in rows:
        if one.worker is not None:
            before = found.get(one.worker, KnownCount())
            found[one.worker] = KnownCount(before.right + one.right, before.seen + 1)
    return found


def marked_of(assignment: Assignment) -> dict[int, bool]:
    """Of a submitted assignment: whether the answer matches, by item."""
    return {one.item: one.right for one in mark(Answer.objects.filter(assignment=assignment))}


@dataclass(frozen=True)
class Told:
    """A known item after its answer: what the worker said, whether it matches, and why."""

    position: int
    item: Item
    said: str
    right: bool

    @property
    def why(self) -> str:
        return self.item.known_why


def told_of(assignment: Assignment, entry: AssignmentItem) -> Told:
    """What is told of one answer before it is submitted; its draft is complete."""
    values = check_entry(assignment, entry)
    right = values is not None and matches(entry.item.expected or {}, given_of(values))
    words = get_type(assignment.task.type).in_words(entry.draft, settings_of(assignment, entry))
    return Told(entry.position, entry.item, words, right)


def told_at(assignment: Assignment, position: int) -> Told:
    """The same of the answer at a place that has been told."""
    return told_of(
        assignment, assignment.entries.select_related("item__group").get(position=position)
    )
