"""Attributes and checklists from elsewhere, of people and of models: in bulk, added once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation.accounts.named.actions import systems_by_name, workers_named
from annotation.formats.actions.answers import Rows
from annotation.formats.actions.judgments import (
    Choices,
    Vote,
    add_model_votes,
    add_votes,
    ended,
    placed,
)
from annotation.models import Task, User
from annotation.records.actions.audit import record
from annotation.task_types.checklist.type import ORDINALS
from annotation.task_types.think_aloud.type import ATTRIBUTE, TRANSCRIPT

ATTRIBUTES_IMPORTED, CHECKS_IMPORTED = "attributes.import", "checks.import"
Texts = tuple[tuple[str, int, str], ...]
Spans = tuple[tuple[str, int, str, int, int], ...]


@transaction.atomic
def import_attributes(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows (see ``formats.imports.attributes``); returns how many answers are new.

    Each worker's rows become one submitted assignment without pay. What counts takes slots, and
    the redundancy grows where that is more than it asked for.
    """
    new = _store(task, rows, lambda row: {"texts": _texts(row), "spans": _spans(row)})
    record(by=by, project=task.project, action=ATTRIBUTES_IMPORTED, on=task, file=name, new=new)
    return new


@transaction.atomic
def import_checks(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows (see ``formats.imports.checks``); returns how many checklists are new."""
    new = _store(task, rows, lambda row: {"choices": _choices(row)})
    record(by=by, project=task.project, action=CHECKS_IMPORTED, on=task, file=name, new=new)
    return new


def _texts(row: Mapping[str, Any]) -> Texts:
    found = [(ATTRIBUTE, n, one["text"]) for n, one in enumerate(row["attributes"])]
    if row["transcript"].strip():
        found.append((TRANSCRIPT, 0, row["transcript"]))
    return tuple(found)


def _spans(row: Mapping[str, Any]) -> Spans:
    """The stretches of the transcript in which attributes were marked."""
    return tuple(
        (ATTRIBUTE, n, TRANSCRIPT, one["start"], one["end"])
        for n, one in enumerate(row["attributes"])
        if one["start"] is not None
    )


def _choices(row: Mapping[str, Any]) -> Choices:
    return tuple((name, code, ORDINALS[code]) for name, code in row["answers"].items())


def _store(task: Task, rows: Rows, values: Any) -> int:
    """Store the answers of people and of systems; returns how many are new."""
    items = _items(task)
    by_people = [row for row in rows if row["worker"]]
    by_models = [row for row in rows if not row["worker"]]
    workers = workers_named(task.project, {row["worker"] for row in by_people})
    systems = systems_by_name(task.project, by_models)

    def vote(row: Mapping[str, Any], author: int) -> Vote:
        own = {"choices": (), **values(row)}
        return Vote(
            author,
            items[row["item"]],
            uncounted=row["uncounted"],
            replicate=row["replicate"],
            **own,
        )

    people = placed(vote(row, workers[row["worker"]].pk) for row in by_people)
    models = [vote(row, systems[row["system"], row["prompt_strategy"]].pk) for row in by_models]
    new = add_votes(task=task, votes=people, sessions=ended(people)).new if people else 0
    return new + (add_model_votes(task=task, votes=models).new if models else 0)


def _items(task: Task) -> dict[str, int]:
    assert task.current is not None  # noqa: S101 (a task never published has no answers to take)
    rows = task.items.in_version(task.current.number).filter(expected__isnull=True)
    return dict(rows.values_list("key", "pk"))
