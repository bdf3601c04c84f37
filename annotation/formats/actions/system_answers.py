"""What a language model answered, or thought aloud: stored as answers of a system, once each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.named.actions import systems_by_name
from annotation.formats.actions.answers import BATCH, lock_version
from annotation.formats.actions.judgments import Added
from annotation.models import Answer, System, Task, TaskVersion, User
from annotation.records.actions.audit import record
from annotation.task_types import Values
from annotation.task_types.think_aloud.type import ATTRIBUTE, MAX_ATTRIBUTE, MAX_ATTRIBUTES
from annotation.work.actions.answers import write_values
from crowdqc.errors import Invalid

ANSWERED = "systems.answer"
MOST = 120  # characters of a system's name and of its prompt strategy


class SystemAnswer(NamedTuple):
    """One answer: to which item, as the how-manieth from 0, shown how, and what it says."""

    item: int
    values: Values
    replicate: int = 0
    flipped: bool = False
    at: dt.datetime | None = None


@dataclass(frozen=True)
class Session:
    """One model's attributes on one dimension."""

    item_id: int
    attributes: Sequence[str]
    replicate: int = 0


@transaction.atomic
def store_system_answers(
    *, by: User | None, task: Task, system: tuple[str, str], rows: Sequence[SystemAnswer]
) -> Added:
    """Store what the system (name, prompt strategy) answered; an item once a replicate.

    An answer that is there already stays as it is, so that the same rows again add nothing. They
    count, hold no slot and are paid nothing. Raises Conflict for a task that was never published,
    Invalid for an item of another task.
    """
    version = lock_version(task)
    own = set(task.items.filter(pk__in={row.item for row in rows}).values_list("pk", flat=True))
    strange = next((row.item for row in rows if row.item not in own), None)
    if strange is not None:
        raise Invalid(
            _("Item %(strange)s belongs to another task.") % {"strange": strange},
            fields={"item": _("Of this task.")},
        )
    author, _made = System.objects.get_or_create(
        project=task.project, name=system[0][:MOST], prompt_strategy=system[1][:MOST]
    )
    new = _store(version, author, rows)
    record(by=by, project=task.project, action=ANSWERED, on=task, system=author.pk, new=new)
    return Added(new, len(rows) - new)


@transaction.atomic
def add_system_attributes(
    *, by: User | None, task: Task, name: str, strategy: str, sessions: Sequence[Session]
) -> int:
    """Store what the system ``name`` with its prompt ``strategy`` thought aloud, as its answers.

    A session that is there already (system, dimension, replicate) stays as it is; returns how
    many are new. Raises Conflict for a task that was never published.
    """
    version = lock_version(task)
    row = {"system": name[:MOST], "prompt_strategy": strategy[:MOST]}
    system = next(iter(systems_by_name(task.project, [row]).values()))
    known = set(task.items.values_list("pk", flat=True))
    rows = [
        SystemAnswer(one.item_id, Values(texts=_texts(one.attributes)), one.replicate)
        for one in sessions
        if one.item_id in known
    ]
    new = _store(version, system, rows)
    if new:
        record(
            by=by,
            project=task.project,
            action="systems.think_aloud",
            on=task,
            system=str(system),
            new=new,
        )
    return new


def _texts(attributes: Sequence[str]) -> list[tuple[str, int, str]]:
    kept = [text.strip() for text in attributes if text.strip()][:MAX_ATTRIBUTES]
    return [(ATTRIBUTE, index, text[:MAX_ATTRIBUTE]) for index, text in enumerate(kept)]


def _store(version: TaskVersion, system: System, rows: Sequence[SystemAnswer]) -> int:
    """Add the answers of a system that are not there; how many that are."""
    now = timezone.now()
    answered = Answer.objects.filter(system=system, item__task=version.task_id)
    there = set(answered.values_list("item_id", "replicate"))
    new = [row for row in rows if (row.item, row.replicate) not in there]
    answers = Answer.objects.bulk_create(
        [
            Answer(
                version=version,
                item_id=row.item,
                system=system,
                replicate=row.replicate,
                flipped=row.flipped,
                answered_at=row.at or now,
            )
            for row in new
        ],
        batch_size=BATCH,
    )
    write_values(zip(answers, (row.values for row in new), strict=True))
    return len(new)


def answered_items(task: Task, system: tuple[str, str]) -> set[tuple[int, int]]:
    """Return (item, replicate) of the system's answers in the task."""
    rows = Answer.objects.filter(
        item__task=task,
        stage=Answer.Stage.MAIN,
        system__name=system[0][:MOST],
        system__prompt_strategy=system[1][:MOST],
    )
    return set(rows.values_list("item_id", "replicate"))
