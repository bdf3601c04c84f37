"""Keep earlier answers where a new version only corrects the spelling."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from annotation.authoring.selectors.rewording import rewording_of
from annotation.models import Item, ItemGroup, Task, TaskVersion, User
from annotation.records.actions.audit import record


@transaction.atomic
def keep_answers(*, by: User, task: Task, draft: TaskVersion) -> None:
    """Give published items and texts the draft's wording, so that their answers still count.

    The audit log keeps the hash of the wording before: it outlives a deleted project, whose texts
    do not. Leases in work go on with the corrected spelling.
    """
    found = rewording_of(task, draft)
    with respelling():
        for item, copy in found.items:
            before, item.question = item.question, copy.question
            item.position, item.priority, item.until = copy.position, copy.priority, None
            copy.delete()
            item.save(update_fields=["question", "position", "priority", "until"])
            if before != item.question:
                record(
                    by=by,
                    project=task.project,
                    action="item.respell",
                    on=item,
                    key=item.key,
                    before=_hash(before),
                )
    for old, new in found.groups:
        text = {"title": new.title, "passage": new.passage, "passages": new.passages}
        text_before = {name: getattr(old, name) for name in text}
        Item.objects.filter(group=new).update(group=old)
        position = new.position
        new.delete()
        ItemGroup.objects.filter(pk=old.pk).update(until=None, position=position, **text)
        record(
            by=by,
            project=task.project,
            action="item.respell",
            on=old,
            key=old.key,
            before=_hash(text_before),
        )


def _hash(wording: object) -> str:
    """The SHA-256 of a wording; of several parts that of their JSON, keys sorted."""
    text = wording if isinstance(wording, str) else json.dumps(wording, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def respelling() -> Iterator[None]:
    """Open the database's guard of answered questions for what follows in this transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('crowdqc.respelling', 'on', true)")
        yield
        cursor.execute("SELECT set_config('crowdqc.respelling', 'off', true)")
