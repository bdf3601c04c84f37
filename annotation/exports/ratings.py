"""Ratings with explanations, and the documents they are about, as the importers read them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from annotation.imports.documents import Documents
from annotation.imports.ratings import LABEL, columns_of
from annotation.models import Answer, ChoiceValue, Item, SpanValue, Task, TextValue
from annotation.task_types.explanation import EVIDENCE, EXPLANATION, FEEDBACK

from . import files

CHUNK = 2000
TAIL = ("feedback", "answered_at", "counts", "version")


def rating_lines(task: Task, form: str, dimension: str = "") -> Iterator[str]:
    """Every rating of a person, counting or not, with its words and sentence numbers."""
    if task.current is None:
        return files.lines((), [], form)
    named = columns_of(task.current.settings["scales"])
    others = [column for column in named.values() if column != LABEL]
    columns = ("item_id", "worker_id", LABEL, EXPLANATION, EVIDENCE, *others, *TAIL)
    return files.lines(columns, _ratings(task, named), form)


def _ratings(task: Task, named: dict[str, str]) -> Iterator[dict[str, Any]]:
    of_task = {"answer__item__task": task, "answer__worker__isnull": False}
    words: dict[tuple[int, str], str] = {}
    for pk, field, text in TextValue.objects.filter(
        **of_task, field__in=(EXPLANATION, FEEDBACK)
    ).values_list("answer_id", "field", "text").iterator(CHUNK):  # fmt: skip
        words[pk, field] = text
    points: dict[int, dict[str, Any]] = defaultdict(dict)
    for pk, field, value in ChoiceValue.objects.filter(
        **of_task, field__in=named
    ).values_list("answer_id", "field", "ordinal").iterator(CHUNK):  # fmt: skip
        points[pk][named[field]] = value
    shown: dict[int, list[int]] = defaultdict(list)
    spans = SpanValue.objects.filter(**of_task, field=EVIDENCE).order_by("answer_id", "start")
    for pk, start in spans.values_list("answer_id", "start").iterator(CHUNK):
        shown[pk].append(start)
    rows = Answer.objects.filter(item__task=task, worker__isnull=False, stage="main").order_by("pk")
    for pk, item, worker, at, counts, version in rows.values_list(
        "pk", "item__key", "worker__pseudonym", "answered_at", "counts", "version__number"
    ).iterator(CHUNK):
        yield {
            "item_id": item, "worker_id": worker,
            **{column: points[pk].get(column) for column in named.values()},
            EXPLANATION: words.get((pk, EXPLANATION), ""),
            EVIDENCE: ", ".join(map(str, shown[pk])),
            FEEDBACK: words.get((pk, FEEDBACK), ""),
            "answered_at": at.isoformat(), "counts": counts, "version": version,
        }  # fmt: skip


def document_lines(task: Task, form: str, dimension: str = "") -> Iterator[str]:
    """The answers under judgment with their questions and documents, in the task's order."""
    columns = tuple(one.name for one in Documents.fields)
    return files.lines(columns, _documents(task), form)


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
            "document_id": row.group.key, "document": row.group.passage, "title": row.group.title,
            "question_id": row.first.topic, "question": row.question,
            "sentence": row.settings.get("anchor", 0), "answer_id": row.key,
            "answer": row.first.text, "system": row.first.system.name,
            "prompt_strategy": row.first.system.prompt_strategy,
        }  # fmt: skip
