"""Mark answers to known items: the only place that decides what is right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import F, QuerySet

from annotation.authoring.selectors.steps import check_entry, settings_of
from annotation.models import Answer, Assignment, AssignmentItem, ChoiceValue, Item, TextValue
from annotation.task_types import get_type
from annotation.task_types.base import ITEM_TEXT
from annotation.task_types.known import matches, values_given


@dataclass(frozen=True)
class MarkedAnswer:
    """One answer to an item with a known answer."""

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


def mark_answers(answers: QuerySet[Answer]) -> list[MarkedAnswer]:
    """Mark these answers where their item's answer is known (three queries)."""
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
        MarkedAnswer(pk, worker, task, item, matches(expected or {}, given[pk]))
        for pk, worker, task, item, expected in rows
    ]


def exclude_quizzes(answers: QuerySet[Answer]) -> QuerySet[Answer]:
    """Leave out answers given in quizzes, which select workers and so say less of them."""
    return answers.filter(assignment__quiz__isnull=True)


def count_by_worker(rows: Iterable[MarkedAnswer]) -> dict[int, KnownCount]:
    """Count known answers met and seen, by worker."""
    found: dict[int, KnownCount] = {}
    for one in rows:
        if one.worker is not None:
            before = found.get(one.worker, KnownCount())
            found[one.worker] = KnownCount(before.right + one.right, before.seen + 1)
    return found


def mark_assignment(assignment: Assignment) -> dict[int, bool]:
    """Return by item whether each answer of an assignment matches."""
    return {
        one.item: one.right for one in mark_answers(Answer.objects.filter(assignment=assignment))
    }


@dataclass(frozen=True)
class KnownFeedback:
    """Feedback on a known item: the answer, whether it matches, and why."""

    position: int
    item: Item
    said: str
    right: bool

    @property
    def why(self) -> str:
        return self.item.known_why


def draft_feedback(assignment: Assignment, entry: AssignmentItem) -> KnownFeedback:
    """Return the feedback on a complete draft before submission."""
    values = check_entry(assignment, entry)
    right = values is not None and matches(entry.item.expected or {}, values_given(values))
    settings = {**settings_of(assignment, entry), ITEM_TEXT: entry.item.question}
    words = get_type(assignment.task.type).in_words(entry.draft, settings)
    return KnownFeedback(entry.position, entry.item, words, right)


def revealed_feedback(assignment: Assignment, position: int) -> KnownFeedback:
    """Return the feedback on the answer at a revealed place."""
    return draft_feedback(
        assignment, assignment.entries.select_related("item__group").get(position=position)
    )
