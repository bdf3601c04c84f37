"""What a model thought aloud, as an answer of its system: attributes, one a consideration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from annotation.accounts.named.actions import systems_by_name
from annotation.formats.actions.answers import lock_version
from annotation.models import Answer, Task, User
from annotation.records.actions.audit import record
from annotation.task_types import Values
from annotation.task_types.think_aloud.type import ATTRIBUTE, MAX_ATTRIBUTE, MAX_ATTRIBUTES
from annotation.work.actions.answers import write_values


@dataclass(frozen=True)
class Session:
    """One model's attributes on one dimension."""

    item_id: int
    attributes: Sequence[str]
    replicate: int = 0


@transaction.atomic
def add_system_attributes(
    *, by: User | None, task: Task, name: str, strategy: str, sessions: Sequence[Session]
) -> int:
    """Store sessions as counting answers of the system ``name`` with its prompt ``strategy``.

    A session that is there already (system, dimension, replicate) stays as it is; returns how
    many are new. Raises Conflict for a task that was never published.
    """
    version = lock_version(task)
    row = {"system": name[:120], "prompt_strategy": strategy[:120]}
    system = next(iter(systems_by_name(task.project, [row]).values()))
    there = set(
        Answer.objects.filter(system=system, item__task=task).values_list("item_id", "replicate")
    )
    known = set(task.items.values_list("pk", flat=True))
    new = [
        one
        for one in sessions
        if (one.item_id, one.replicate) not in there and one.item_id in known
    ]
    now, made = timezone.now(), []
    for one in new:
        answer = Answer(
            version=version,
            item_id=one.item_id,
            system=system,
            replicate=one.replicate,
            answered_at=now,
        )
        made.append((answer, Values(texts=_texts(one.attributes))))
    Answer.objects.bulk_create([answer for answer, _ in made])
    write_values(made)
    if made:
        record(
            by=by,
            project=task.project,
            action="systems.think_aloud",
            on=task,
            system=str(system),
            new=len(made),
        )
    return len(made)


def _texts(attributes: Sequence[str]) -> list[tuple[str, int, str]]:
    kept = [text.strip() for text in attributes if text.strip()][:MAX_ATTRIBUTES]
    return [(ATTRIBUTE, index, text[:MAX_ATTRIBUTE]) for index, text in enumerate(kept)]
