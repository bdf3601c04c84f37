"""What a draft words otherwise than the published version, and how many answers that is about."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import models
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.cost import count_open_answers
from annotation.models import Answer, Item, ItemGroup, Task, TaskVersion
from annotation.task_types import get_type

# Of an item and of a text, what has to be the same where only the wording differs.
SAME_ITEM = (
    *("settings", "expected", "known_why", "media_id", "chat_id"),
    *("first_id", "second_id", "side", "repeat"),
)
SAME_GROUP = ("look_back", "category")


class Wording(models.TextChoices):
    """What a new wording means for earlier answers."""

    SPELLING = "spelling", gettext_lazy("Only spelling: earlier answers still count")
    MEANING = (
        "meaning",
        gettext_lazy("The question means something else: earlier answers do not count"),
    )


@dataclass(frozen=True)
class Rewording:
    """Pairs of the published row and its reworded copy in the draft, and reworded fields."""

    items: list[tuple[Item, Item]]
    groups: list[tuple[ItemGroup, ItemGroup]]
    fields: bool  # the label or question of a field, dimension or scale
    item_answers: int  # to these items
    answers: int  # to all that is reworded


def rewording_of(task: Task, draft: TaskVersion) -> Rewording:
    """Compare the draft with the published version.

    Items whose settings, media or texts under judgment differ too are other items, and where the
    kind or the options of a field change nothing is pooled; neither is a rewording.
    """
    if task.current is None or draft.published_at is not None:
        return Rewording([], [], fields=False, item_answers=0, answers=0)
    kind, before, after = get_type(task.type), task.current.settings, draft.settings
    if kind.pooled_whatever_wording(before) != kind.pooled_whatever_wording(after):
        return Rewording([], [], fields=False, item_answers=0, answers=0)
    groups = _reworded_groups(task, draft)
    items = _reworded_items(task, draft, groups)
    one, two = kind.wording(before), kind.wording(after)
    fields = any(one[name] != two[name] for name in one.keys() & two.keys())
    of_items = _answers([old.pk for old, _new in items])
    answers = of_items
    if fields:
        live = task.items.in_version(task.current.number).filter(until__isnull=True)
        answers += _answers(live.values("pk"))
    return Rewording(items, groups, fields=fields, item_answers=of_items, answers=answers)


def asks_otherwise(task: Task, draft: TaskVersion, wording: str) -> bool:
    """Return whether published with this ``wording``, the draft asks all items anew."""
    if task.current is None:
        return False
    kind, before, after = get_type(task.type), task.current.settings, draft.settings
    if wording == Wording.SPELLING:
        return kind.pooled_whatever_wording(before) != kind.pooled_whatever_wording(after)
    if kind.pooled_by(before) != kind.pooled_by(after):
        return True
    return wording == Wording.MEANING and rewording_of(task, draft).fields


def open_answers_of(
    task: Task, draft: TaskVersion, items: QuerySet[Item], found: Rewording, wording: str
) -> int:
    """Count the answers that the draft's ``items`` want, published with this ``wording``."""
    if asks_otherwise(task, draft, wording):
        return items.count() * draft.redundancy
    wanted = count_open_answers(draft, items)
    if wording == Wording.SPELLING:  # what is held of the old items is kept
        wanted -= sum(min(old.held, draft.redundancy) for old, _new in found.items)
    return wanted


def _reworded_groups(task: Task, draft: TaskVersion) -> list[tuple[ItemGroup, ItemGroup]]:
    ended = {one.key: one for one in task.groups.filter(until=draft.number)}
    begun = task.groups.filter(since=draft.number, key__in=ended)
    return [
        (ended[new.key], new)
        for new in begun.order_by("pk")
        if all(getattr(ended[new.key], name) == getattr(new, name) for name in SAME_GROUP)
        and _passage_keys(ended[new.key]) == _passage_keys(new)
    ]


def _passage_keys(group: ItemGroup) -> list[object]:
    return [one.get("key") for one in group.passages]


def _reworded_items(
    task: Task, draft: TaskVersion, groups: list[tuple[ItemGroup, ItemGroup]]
) -> list[tuple[Item, Item]]:
    same_text = {new.pk: old.pk for old, new in groups}
    ended = {one.key: one for one in task.items.filter(until=draft.number)}
    begun = task.items.filter(since=draft.number, key__in=ended)
    return [
        (ended[new.key], new)
        for new in begun.order_by("pk")
        if same_text.get(new.group_id, new.group_id) == ended[new.key].group_id
        and all(getattr(ended[new.key], name) == getattr(new, name) for name in SAME_ITEM)
    ]


def _answers(items: list[int] | QuerySet[Item, dict[str, int]]) -> int:
    """Count people's answers to these items that count."""
    counting = Answer.objects.filter(item__in=items, worker__isnull=False, counts=True)
    return counting.filter(stage=Answer.Stage.MAIN).count()
