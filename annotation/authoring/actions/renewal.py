"""Texts asked anew: what a changed checklist does to the items that an older one was asked of."""

from __future__ import annotations

from annotation.authoring.actions.items import copied
from annotation.models import Item, Task, TaskVersion
from annotation.task_types import get_type


def renew(task: Task, draft: TaskVersion) -> int:
    """Put copies in the place of texts that a published version asked other questions about.

    Their answers are never pooled, so that every text wants its answers again; the old ones stay
    with the old items. Returns how many texts are asked anew.
    """
    pooled_by = get_type(task.type).pooled_by
    if task.current is None or pooled_by(task.current.settings) == pooled_by(draft.settings):
        return 0
    live = list(task.items.in_version(draft.number).filter(since__lt=draft.number))
    Item.objects.filter(pk__in=[item.pk for item in live]).update(until=draft.number)
    Item.objects.bulk_create([copied(item, draft) for item in live], batch_size=1000)
    return len(live)
