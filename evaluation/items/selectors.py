"""One item with all that is known of it: answers, labels, scores, logs and its history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy

from annotation.models import Answer, AuditEntry, Item, Task
from annotation.records.selectors import audit
from annotation.task_types import get_type
from annotation.work.selectors.log import EMPTY, LogSummary, log_summaries
from annotation.work.snapshots.labels import LabelField
from evaluation.labels.selectors import decisions
from evaluation.labels.selectors.decisions import Deciding
from evaluation.models import ItemLabel, ItemScore, Run
from evaluation.payouts.selectors.evidence import answer_scores
from evaluation.payouts.selectors.review import ReadAnswer
from evaluation.runs.adapters import ShapeAdapter, adapter_of
from evaluation.runs.official.selectors import official_run

ANSWERS, ENTRIES = 20, 50


@dataclass(frozen=True)
class Label:
    """What the official run makes of an item on one dimension."""

    row: ItemLabel
    title: str  # of the field or dimension
    word: str
    posterior: float | None
    others: list[tuple[str, str]]  # other methods and their labels


@dataclass(frozen=True)
class ItemPage:
    """The page."""

    item: Item
    known: ShapeAdapter
    run: Run | None
    page: Page
    answers: list[tuple[ReadAnswer, LogSummary]]
    counted: int
    labels: list[Label]
    deciding: list[Deciding]  # of a labels task: its fields, and what was decided in them
    scores: list[ItemScore]
    history: list[audit.Line]
    before: Item | None
    after: Item | None


OTHERS = {"majority": gettext_lazy("Majority"), "dawid_skene": "Dawid-Skene", "mace": "MACE"}


def item_page(task: Task, item: Item, number: Any) -> ItemPage:
    """Everything about one item, in a fixed number of queries."""
    run = official_run(task)
    given = Answer.objects.filter(item=item)
    rows = (
        given.select_related("item", "version", "worker", "system", "assignment")
        .prefetch_related("texts", "choices", "spans")
        .order_by("-counts", "answered_at", "pk")
    )
    page = Paginator(rows, ANSWERS).get_page(number)
    found = list(page.object_list)
    for one in found:
        one.item = item
    fields = {one.name: one for one in decisions.fields_of(task)}
    scores = answer_scores(run, [one.pk for one in found])
    logs = log_summaries([one.assignment_id for one in found if one.assignment_id])
    answers = []
    for one in found:
        log = logs.get(one.assignment_id or 0, EMPTY)
        answers.append((ReadAnswer.of(one, scores.get(one.pk), logged=log.events > 0), log))
    return ItemPage(
        item=item,
        known=adapter_of(task),
        run=run,
        page=page,
        answers=answers,
        counted=_counted(task, given),
        labels=_labels(run, item, fields),
        deciding=decisions.of_item(task, item),
        scores=_scores(run, item),
        history=_history(task, item),
        before=_beside(item, back=True),
        after=_beside(item, back=False),
    )


def _counted(task: Task, given: QuerySet[Answer]) -> int:
    """Count the answers that count; a model's, where models stand beside people, is no vote."""
    beside = get_type(task.type).models_beside
    counted = given.filter(counts=True, **({"system__isnull": True} if beside else {}))
    return counted.count()


def _labels(run: Run | None, item: Item, fields: Mapping[str, LabelField]) -> list[Label]:
    """Labels in the words of the fields; where there are none, dimensions speak for themselves."""
    if run is None:
        return []
    found = []
    for row in ItemLabel.objects.filter(run=run, item=item).order_by("dimension"):
        field = fields.get(row.dimension)
        words = field.labels if field else {}
        others = [
            (str(name), words.get(row.extra[slug], row.extra[slug]))
            for slug, name in OTHERS.items()
            if row.extra.get(slug)
        ]
        title = field.label if field else row.dimension
        word = words.get(row.label, row.label)
        found.append(Label(row, title, word, row.posterior.get(row.label), others))
    return found


def _scores(run: Run | None, item: Item) -> list[ItemScore]:
    if run is None:
        return []
    return list(ItemScore.objects.filter(run=run, item=item).order_by("dimension"))


def _history(task: Task, item: Item) -> list[audit.Line]:
    """List the decisions about the item and its answers, newest first."""
    answers = Answer.objects.filter(item=item).values("pk")
    about = Q(object_type="item", object_id=item.pk)
    about |= Q(object_type="answer", object_id__in=answers)
    rows = AuditEntry.objects.filter(about, project=task.project).order_by("-pk")[:ENTRIES]
    return audit.describe_entries(task.project, rows)


def _beside(item: Item, *, back: bool) -> Item | None:
    """The item before or after this one, in the order of the list."""
    rows, at = Item.objects.filter(task=item.task_id), item.position
    if back:
        rows = rows.filter(Q(position__lt=at) | Q(position=at, pk__lt=item.pk))
        return rows.order_by("-position", "-pk").first()
    rows = rows.filter(Q(position__gt=at) | Q(position=at, pk__gt=item.pk))
    return rows.order_by("position", "pk").first()
