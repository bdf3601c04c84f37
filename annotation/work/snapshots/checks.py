"""Checklist answers as evaluation freezes them: one flat row a question answered."""

from __future__ import annotations

from typing import Any, NamedTuple

from annotation.models import Answer, ChoiceValue, Task
from annotation.task_types.checklist.type import list_of

COLUMNS = (
    "answer_id",
    "answer__item_id",
    "answer__item__first_id",
    "answer__worker_id",
    "answer__system_id",
    "answer__replicate",
    "field",
    "ordinal",
)


class CheckRow(NamedTuple):
    """One question about one text, answered yes or no by a person or a model."""

    answer_id: int
    item_id: int
    candidate_id: int
    worker_id: int | None
    system_id: int | None
    replicate: int
    name: str
    yes: bool


def pooled_versions(task: Task) -> list[int]:
    """Return the published versions with the same questions as the current one, in any order."""
    if task.current is None:
        return []
    now = set(list_of(task.current))
    published = task.versions.filter(published_at__isnull=False)
    return [version.pk for version in published if set(list_of(version)) == now]


def counting_checks(task: Task) -> list[CheckRow]:
    """Return every counting answer to the current checklist, by text, answer and question.

    Answers to versions that asked other questions are not pooled and not here. People left out
    of the task are here still; exclusions are an input of the snapshot.
    """
    if task.current is None:
        return []
    places = {name: place for place, (name, _) in enumerate(list_of(task.current))}
    rows: Any = ChoiceValue.objects.filter(
        answer__item__task=task,
        answer__counts=True,
        answer__stage=Answer.Stage.MAIN,
        answer__item__expected__isnull=True,
        answer__item__first__isnull=False,
        answer__version__in=pooled_versions(task),
        field__in=places,
    ).values_list(*COLUMNS)
    found = [
        CheckRow(pk, item, text, worker, system, replicate, name, yes == 1)
        for pk, item, text, worker, system, replicate, name, yes in rows.iterator(chunk_size=20_000)
    ]
    found.sort(key=lambda row: (row.item_id, row.answer_id, places[row.name]))
    return found
