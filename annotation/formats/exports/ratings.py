"""Ratings with explanations, and the documents they are about, as the importers read them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from annotation.files.writing.tables import Table
from annotation.formats.exports.tools.frames import in_chunks
from annotation.formats.imports.ratings import LABEL, Documents, columns_of
from annotation.models import Answer, ChoiceValue, Item, SpanValue, Task, TextValue
from annotation.task_types.rating.explanation import EVIDENCE, EXPLANATION, FEEDBACK

CHUNK = 2000
TAIL = ("feedback", "answered_at", "counts", "version")


def rating_table(task: Task, form: str, dimension: str = "") -> Table:
    """Every rating of a person, counting or not, with its words and sentence numbers."""
    if task.current is None:
        return Table((), [])
    named = columns_of(task.current.settings["scales"])
    others = [column for column in named.values() if column != LABEL]
    columns = ("item_id", "worker_id", LABEL, EXPLANATION, EVIDENCE, *others, *TAIL)
    return Table(columns, _ratings(task, named))


def _ratings(task: Task, named: dict[str, str]) -> Iterator[dict[str, Any]]:
    rows = Answer.objects.filter(item__task=task, worker__isnull=False, stage="main").order_by("pk")
    stored = rows.values_list(
        "pk", "item__key", "worker__pseudonym", "answered_at", "counts", "version__number"
    ).iterator(CHUNK)
    for part in in_chunks(stored):
        ids = [row[0] for row in part]
        own = {"answer_id__in": ids}
        words = {
            (pk, field): text
            for pk, field, text in TextValue.objects.filter(
                **own, field__in=(EXPLANATION, FEEDBACK)
            ).values_list("answer_id", "field", "text")
        }
        points: dict[int, dict[str, Any]] = defaultdict(dict)
        chosen = ChoiceValue.objects.filter(**own, field__in=named)
        for pk, field, value in chosen.values_list("answer_id", "field", "ordinal"):
            points[pk][named[field]] = value
        shown: dict[int, list[int]] = defaultdict(list)
        spans = SpanValue.objects.filter(**own, field=EVIDENCE).order_by("answer_id", "start")
        for pk, start in spans.values_list("answer_id", "start"):
            shown[pk].append(start)
        for pk, item, worker, at, counts, version in part:
            yield {
                "item_id": item,
                "worker_id": worker,
                **{column: points[pk].get(column) for column in named.values()},
                EXPLANATION: words.get((pk, EXPLANATION), ""),
                EVIDENCE: ", ".join(map(str, shown[pk])),
                FEEDBACK: words.get((pk, FEEDBACK), ""),
                "answered_at": at.isoformat(),
                "counts": counts,
                "version": version,
            }


def document_table(task: Task, form: str, dimension: str = "") -> Table:
    """The answers under judgment with their questions and documents, in the task's order."""
    return Table(tuple(one.name for one in Documents.fields), _documents(task))


def _documents(task: Task) -> Iterator[dict[str, Any]]:
    version = task.current or task.versions.latest("number")
    rows = Item.objects.filter(task=task).in_version(version.number)
    for row in (
        rows.select_related("group", "first__system")
        .order_by("group__position", "position", "pk")
        .iterator(CHUNK)
    ):
        if row.first is None:
            continue
        yield {
            "document_id": row.group.key,
            "document": row.group.passage,
            "title": row.group.title,
            "question_id": row.first.topic,
            "question": row.question,
            "sentence": row.settings.get("anchor", 0),
            "answer_id": row.key,
            "answer": row.first.text,
            "system": row.first.system.name,
            "prompt_strategy": row.first.system.prompt_strategy,
        }
