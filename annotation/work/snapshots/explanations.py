"""Ratings with their written explanations, and what they are about, as evaluation freezes them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Q

from annotation.models import Answer, Item, SpanValue, Task, TaskVersion, TextValue
from annotation.work.snapshots.judgments import pooled_versions

EXPLANATION, EVIDENCE = "explanation", "evidence"
CHUNK = 20_000


class Explained(NamedTuple):
    """One person's rating of one item on one scale; ``explanation`` is "" where none was given."""

    answer_id: int
    item_id: int
    item: str  # key and first version: which content it was
    worker_id: int
    value: int
    explanation: str
    answered_at: dt.datetime


class RatedDocument(NamedTuple):
    """An item of a rating task: its question, answer and document."""

    item_id: int
    key: str
    group_id: int
    question: str
    answer: str
    anchor: int


@dataclass(frozen=True)
class Point:
    """A point of a scale as its raters read it."""

    value: int
    label: str
    description: str = ""


@dataclass(frozen=True)
class RatingScale:
    """An ordinal scale of a rating task, its points from the lowest on."""

    name: str
    label: str
    question: str
    points: tuple[Point, ...]

    def label_of(self, value: int) -> str:
        """Return the label of a point, or its value if the scale lacks it."""
        return next((one.label for one in self.points if one.value == value), str(value))


def scales(version: TaskVersion) -> list[RatingScale]:
    """Return the scales of a version, in order."""
    return [
        RatingScale(
            row["name"],
            row["label"],
            row.get("question", ""),
            tuple(
                Point(point["value"], point["label"], point.get("description", ""))
                for point in sorted(row["points"], key=lambda point: point["value"])
            ),
        )
        for row in version.settings.get("scales", [])
    ]


def _counting(task: Task) -> Q:
    excluded = task.exclusions.in_force().values("worker")
    return Q(counts=True, version__in=pooled_versions(task), item__expected__isnull=True) & ~Q(
        worker__in=excluded
    )


def explained_ratings(
    task: Task, scale: str, answer_ids: Collection[int] | None = None
) -> list[Explained]:
    """Counting ratings of people on one scale, in the order in which they were stored.

    With ``answer_ids``: the same rows for answers that are known already, counting or not by now.
    """
    main = Q(item__task=task, stage=Answer.Stage.MAIN, worker__isnull=False)
    condition = main & _counting(task) if answer_ids is None else main
    rows = Answer.objects.filter(condition, choices__field=scale).order_by("pk")
    wanted = None if answer_ids is None else set(answer_ids)
    words = dict(
        TextValue.objects.filter(answer__item__task=task, field=EXPLANATION, index=0)
        .values_list("answer_id", "text")
        .iterator(CHUNK)
    )
    columns = (
        "pk",
        "item_id",
        "item__key",
        "item__since",
        "worker_id",
        "choices__ordinal",
        "answered_at",
    )
    return [
        Explained(pk, item, f"{key}@{since}", worker, value, words.get(pk, "").strip(), at)
        for pk, item, key, since, worker, value, at in rows.values_list(*columns).iterator(CHUNK)
        if value is not None and (wanted is None or pk in wanted)
    ]


def rated_documents(
    task: Task, item_ids: Collection[int] | None = None
) -> dict[int, RatedDocument]:
    """Return what each item of a rating task is about, by item id; only ``item_ids`` if given."""
    rows = Item.objects.filter(task=task)
    if item_ids is not None:
        rows = rows.filter(pk__in=item_ids)
    return {
        pk: RatedDocument(
            pk, key, group, question, answer or "", int((settings or {}).get("anchor") or 0)
        )
        for pk, key, group, question, answer, settings in rows.values_list(
            "pk", "key", "group_id", "question", "first__text", "settings"
        ).iterator(CHUNK)
    }


def documents(task: Task, group_ids: Collection[int] | None = None) -> dict[int, str]:
    """The document of each group of items; of all of the task's unless some are named."""
    rows = task.groups.all() if group_ids is None else task.groups.filter(pk__in=group_ids)
    return dict(rows.values_list("pk", "passage"))


def words(answer_ids: Collection[int]) -> dict[int, str]:
    """Return the explanation of each answer that has one, by id."""
    rows = TextValue.objects.filter(answer__in=answer_ids, field=EXPLANATION, index=0)
    return dict(rows.values_list("answer_id", "text"))


def evidence(answer_ids: Collection[int]) -> dict[int, list[tuple[int, int]]]:
    """The sentences that answers point at as evidence: first and last number, in their order."""
    found: dict[int, list[tuple[int, int]]] = {}
    rows = SpanValue.objects.filter(answer__in=answer_ids, field=EVIDENCE).order_by("start", "end")
    for pk, start, end in rows.values_list("answer_id", "start", "end"):
        found.setdefault(pk, []).append((start, end))
    return found
