"""Checklists out: one row a question answered, of people under their pseudonyms and of models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.files.writing.tables import Table
from annotation.models import Answer, ChoiceValue, Task
from annotation.task_types.checklist.type import list_of

CHUNK = 2000
CHECKS = (
    "item_id",
    "topic",
    "text",
    "worker",
    "system",
    "prompt_strategy",
    "replicate",
    "component",
    "name",
    "question",
    "answer",
    "answered_at",
    "counts",
    "reason",
    "excluded",
    "version",
)


def check_table(task: Task, form: str, dimension: str = "") -> Table:
    """Every answer to the questions of the list in force, counting or not.

    Answers to questions that were since worded anew are left out: they answer something else.
    """
    return Table(CHECKS, _checks(task))


def _checks(task: Task) -> Iterator[dict[str, Any]]:
    if task.current is None:
        return
    asked = {row["name"]: row for row in task.current.settings["questions"]}
    same = _versions(task)
    excluded = set(task.exclusions.in_force().values_list("worker_id", flat=True))
    rows = ChoiceValue.objects.filter(
        field__in=asked, answer__item__task=task, answer__stage=Answer.Stage.MAIN
    ).order_by("answer__item__position", "answer__item_id", "answer_id", "pk")
    for stored in rows.values(
        "field",
        "code",
        "answer__version_id",
        "answer__item__key",
        "answer__item__group__key",
        "answer__item__first__key",
        "answer__worker_id",
        "answer__worker__pseudonym",
        "answer__system__name",
        "answer__system__prompt_strategy",
        "answer__replicate",
        "answer__answered_at",
        "answer__counts",
        "answer__uncounted_reason",
        "answer__version__number",
    ).iterator(CHUNK):
        row: dict[str, Any] = {k.removeprefix("answer__"): value for k, value in stored.items()}
        line = asked[row["field"]]
        if (row["field"], line["label"]) not in same[row["version_id"]]:
            continue
        yield {
            "item_id": row["item__key"],
            "topic": row["item__group__key"],
            "text": row["item__first__key"] or "",
            "worker": row["worker__pseudonym"] or "",
            "system": row["system__name"] or "",
            "prompt_strategy": row["system__prompt_strategy"] or "",
            "replicate": row["replicate"],
            "component": line["component"],
            "name": row["field"],
            "question": line["label"],
            "answer": row["code"],
            "answered_at": row["answered_at"].isoformat(),
            "counts": row["counts"],
            "reason": row["uncounted_reason"],
            "excluded": row["worker_id"] in excluded,
            "version": row["version__number"],
        }


def _versions(task: Task) -> dict[int, set[tuple[str, str]]]:
    """What each version asked, by its id."""
    return {version.pk: set(list_of(version)) for version in task.versions.all()}
