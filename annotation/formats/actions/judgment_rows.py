"""Judgments on what a task asks already, by people and models from elsewhere: bulk, added once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation.accounts.named.actions import systems_by_name, workers_named
from annotation.formats.actions.answers import Rows
from annotation.formats.actions.judgments import Vote, add_model_votes, add_votes, ended, placed
from annotation.formats.actions.votes import IMPORTED
from annotation.models import Task, User
from annotation.records.actions.audit import record
from annotation.task_types.pairwise.sides import call_of


@transaction.atomic
def import_judgment_rows(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows (see ``annotation.formats.imports.judgments``); returns how many are new.

    Each worker's new rows become one submitted assignment without pay, and a further one where
    they judged an item again; a model's become calls, two a replicate. What counts takes slots, and
    the redundancy grows where that is more than it asked for.
    """
    by_people = [row for row in rows if row["worker"]]
    by_models = [row for row in rows if not row["worker"]]
    workers = workers_named(task.project, {row["worker"] for row in by_people})
    systems = systems_by_name(task.project, by_models)
    people = placed(_vote(row, workers[row["worker"]].pk) for row in by_people)
    models = [_vote(row, systems[row["system"], row["prompt_strategy"]].pk) for row in by_models]
    new = add_votes(task=task, votes=people, sessions=ended(people)).new if people else 0
    new += add_model_votes(task=task, votes=models).new if models else 0
    record(by=by, project=task.project, action=IMPORTED, on=task, file=name, new=new)
    return new


def _vote(row: Mapping[str, Any], author: int) -> Vote:
    return Vote(
        author,
        row["item"],
        row["choices"],
        row["flipped"],
        uncounted=row["uncounted"],
        replicate=call_of(row["replicate"], flipped=row["flipped"]),
        at=row["at"],
        met=row["position"],
    )
