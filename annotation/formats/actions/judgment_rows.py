"""Rows of answers by people and models, to what a task asks already: in bulk, added once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from annotation.accounts.named.actions import systems_by_name, workers_named
from annotation.files.reading.spool import Spool
from annotation.formats.actions.answers import Rows
from annotation.formats.actions.judgments import (
    Vote,
    add_model_votes,
    add_votes,
    place_votes,
    submission_time,
)
from annotation.formats.actions.votes import IMPORTED
from annotation.models import Task, User
from annotation.records.actions.audit import record
from annotation.task_types.checklist.type import ORDINALS
from annotation.task_types.pairwise.sides import call_of
from annotation.task_types.think_aloud.type import ATTRIBUTE, TRANSCRIPT

ATTRIBUTES_IMPORTED, CHECKS_IMPORTED = "attributes.import", "checks.import"
Row = Mapping[str, Any]


def store_rows(
    *, by: User, task: Task, rows: Rows, name: str, action: str, vote: Callable[[Row, int], Vote]
) -> int:
    """Store rows of people and of systems as votes, and say so; returns how many are new.

    Each worker's new rows become one submitted assignment without pay, and a further one where
    they judged an item again; a model's become calls, one a replicate. What counts takes slots, and
    the redundancy grows where that is more than it asked for.
    """
    with transaction.atomic():
        names, called = set[str](), set[tuple[str, str]]()
        for row in rows:  # once: rows of a large file come from the disk each time
            if row["worker"]:
                names.add(row["worker"])
            else:
                called.add((row["system"], row["prompt_strategy"]))
        workers = workers_named(task.project, names)
        systems = systems_by_name(
            task.project, [{"system": name, "prompt_strategy": how} for name, how in called]
        )
        new = 0
        if names:
            people = place_votes(
                vote(row, workers[row["worker"]].pk) for row in rows if row["worker"]
            )
            new += add_votes(task=task, votes=people, sessions=submission_time(people)).new
        if called:
            models = Spool(
                vote(row, systems[row["system"], row["prompt_strategy"]].pk)
                for row in rows
                if not row["worker"]
            )
            new += add_model_votes(task=task, votes=models).new
        record(by=by, project=task.project, action=action, on=task, file=name, new=new)
        return new


def import_judgment_rows(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows (see ``annotation.formats.imports.judgments``); returns how many are new."""

    def vote(row: Row, author: int) -> Vote:
        return Vote(
            author,
            row["item"],
            row["choices"],
            row["flipped"],
            uncounted=row["uncounted"],
            replicate=call_of(row["replicate"], flipped=row["flipped"]),
            at=row["at"],
            met=row["position"],
            sides_known=row["sides_known"],
            order_known=row["order_known"],
        )

    return store_rows(by=by, task=task, rows=rows, name=name, action=IMPORTED, vote=vote)


def import_attributes(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows of ``imports.think_aloud``; returns how many answers are new."""
    items = _items(task)

    def vote(row: Row, author: int) -> Vote:
        texts = [(ATTRIBUTE, n, one["text"]) for n, one in enumerate(row["attributes"])]
        if row["transcript"].strip():
            texts.append((TRANSCRIPT, 0, row["transcript"]))
        marked = (  # the stretches of the transcript in which attributes were marked
            (ATTRIBUTE, n, TRANSCRIPT, one["start"], one["end"])
            for n, one in enumerate(row["attributes"])
            if one["start"] is not None
        )
        return Vote(
            author,
            items[row["item"]],
            (),
            uncounted=row["uncounted"],
            replicate=row["replicate"],
            texts=tuple(texts),
            spans=tuple(marked),
        )

    return store_rows(by=by, task=task, rows=rows, name=name, action=ATTRIBUTES_IMPORTED, vote=vote)


def import_checks(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows of ``imports.checks``; returns how many checklists are new."""
    items = _items(task)

    def vote(row: Row, author: int) -> Vote:
        return Vote(
            author,
            items[row["item"]],
            tuple((name, code, ORDINALS[code]) for name, code in row["answers"].items()),
            uncounted=row["uncounted"],
            replicate=row["replicate"],
        )

    return store_rows(by=by, task=task, rows=rows, name=name, action=CHECKS_IMPORTED, vote=vote)


def _items(task: Task) -> dict[str, int]:
    assert task.current is not None  # noqa: S101 (a task never published has no answers to take)
    rows = task.items.in_version(task.current.number).filter(expected__isnull=True)
    return dict(rows.values_list("key", "pk"))
