"""Answers that a language model gave to a task's items: stored as those of a system, once each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from annotation.formats.actions.answers import BATCH, lock_version
from annotation.formats.actions.judgments import Added
from annotation.models import Answer, System, Task, User
from annotation.records.actions.audit import record
from annotation.task_types import Values
from annotation.work.actions.answers import write_values
from crowdqc.errors import Invalid

ANSWERED = "systems.answer"
MOST = 120  # characters of a system's name and of its prompt strategy


class Given(NamedTuple):
    """One answer: to which item, as the how-manieth from 0, shown how, and what it says."""

    item: int
    values: Values
    replicate: int = 0
    flipped: bool = False
    at: dt.datetime | None = None


@transaction.atomic
def store_system_answers(
    *, by: User | None, task: Task, system: tuple[str, str], rows: Sequence[Given]
) -> Added:
    """Store what the system (name, prompt strategy) answered; an item once a replicate.

    An answer that is there already stays as it is, so that the same rows again add nothing. They
    count, hold no slot and are paid nothing. Raises Conflict for a task that was never published,
    Invalid for an item of another task.
    """
    version, now = lock_version(task), timezone.now()
    own = set(task.items.filter(pk__in={row.item for row in rows}).values_list("pk", flat=True))
    strange = next((row.item for row in rows if row.item not in own), None)
    if strange is not None:
        raise Invalid(f"Item {strange} belongs to another task.", fields={"item": "Of this task."})
    author, _ = System.objects.get_or_create(
        project=task.project, name=system[0][:MOST], prompt_strategy=system[1][:MOST]
    )
    there = given_by(task, system)
    new = [row for row in rows if (row.item, row.replicate) not in there]
    answers = Answer.objects.bulk_create(
        [
            Answer(
                version=version,
                item_id=row.item,
                system=author,
                replicate=row.replicate,
                flipped=row.flipped,
                answered_at=row.at or now,
            )
            for row in new
        ],
        batch_size=BATCH,
    )
    write_values(zip(answers, (row.values for row in new), strict=True))
    record(by=by, project=task.project, action=ANSWERED, on=task, system=author.pk, new=len(new))
    return Added(len(new), len(rows) - len(new))


def given_by(task: Task, system: tuple[str, str]) -> set[tuple[int, int]]:
    """(item, replicate) of everything that the system has answered in the task."""
    rows = Answer.objects.filter(
        item__task=task,
        stage=Answer.Stage.MAIN,
        system__name=system[0][:MOST],
        system__prompt_strategy=system[1][:MOST],
    )
    return set(rows.values_list("item_id", "replicate"))
