"""The texts and questions of a draft: add, change, move, remove, take in from a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext

from annotation.authoring.actions.drafts import as_stored, clean_title, draft_of, lock_draft
from annotation.files.reading.keys import text_print
from annotation.models import Item, ItemGroup, Task, TaskVersion, User
from annotation.records.actions.audit import record
from annotation.records.actions.bulk import copy_into, reserve_ids, split_with_refresh
from annotation.records.cleaning import clean_text
from annotation.task_types import get_type
from annotation.task_types.base import KNOWN_RULES
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count

DEFAULT_GROUP = "main"
STEP = 10  # positions are spaced, so that a row can be put between two others
MAX_PASSAGE, MAX_QUESTION, MAX_CATEGORY = 100_000, 20_000, 60


def free_key(rows: Any, form: str) -> str:
    """Return the first key of this pattern that no row has, counting from their number on."""
    taken = set(rows.values_list("key", flat=True))
    number = len(taken) + 1
    while form.format(number) in taken:
        number += 1
    return form.format(number)


def _next_position(task: Task) -> int:
    return (task.items.aggregate(m=Max("position"))["m"] or 0) + STEP


def _has_content(row: Any, content: Mapping[str, Any]) -> bool:
    return all(getattr(row, name) == value for name, value in content.items())


@transaction.atomic
def save_group(
    *,
    by: User,
    task: Task,
    group: ItemGroup | None = None,
    key: str = "",
    title: str = "",
    passage: str = "",
    passages: Sequence[Mapping[str, str]] | None = None,
    look_back: bool = True,
) -> ItemGroup:
    """Add a group or change one; a published group is replaced, and its items with it.

    Without ``passages`` those of the group stay.
    """
    if len(passage) > MAX_PASSAGE:
        raise Invalid(
            gettext("The passage is too long."),
            fields={
                "passage": gettext("%(most)s characters at most.") % {"most": count(MAX_PASSAGE)}
            },
        )
    content = {
        "title": clean_title(title),
        "passage": as_stored(passage),
        "passages": (group.passages if group else []) if passages is None else list(passages),
        "look_back": look_back,
    }
    if group is not None and _has_content(group, content):
        return group
    draft = lock_draft(task, by=by)
    if group is None:
        last = task.groups.aggregate(m=Max("position"))["m"] or 0
        key = key.strip() or free_key(task.groups, "text-{}")
        if task.groups.filter(key=key, until__isnull=True).exists():
            raise Invalid(
                gettext("There is a text %(key)s already.") % {"key": repr(key)},
                fields={"key": gettext("Another key.")},
            )
        return ItemGroup.objects.create(
            task=task, key=key, position=last + STEP, since=draft.number, **content
        )
    live = task.groups.filter(key=group.key, until__isnull=True).first() or group
    if live.since == draft.number:
        for name, value in content.items():
            setattr(live, name, value)
        live.save()
        return _restored_group(live, draft) or live
    ItemGroup.objects.filter(pk=live.pk).update(until=draft.number)
    new = ItemGroup.objects.create(
        task=task,
        key=live.key,
        position=live.position,
        category=live.category,
        since=draft.number,
        **content,
    )
    # What was answered under the old passage is not pooled with answers under the new one.
    _move_into(live, new, draft)
    return new


@transaction.atomic
def set_category(*, by: User, task: Task, group: ItemGroup, category: str) -> None:
    """Set the category of a topic, by which boards can be split; works on published ones too.

    Workers never see it, so no answer is set apart. Empty: of no kind.
    """
    clean = clean_text(category, "category", MAX_CATEGORY)
    if clean == group.category:
        return
    task.groups.filter(key=group.key).update(category=clean)
    group.category = clean
    record(
        by=by, project=task.project, action="items.category", on=task, key=group.key, category=clean
    )


def _move_into(old: ItemGroup, new: ItemGroup, draft: TaskVersion) -> None:
    """Give the questions of a replaced text copies under the new one."""
    items = list(old.items.in_version(draft.number))
    old.items.filter(since=draft.number).update(group=new)
    published = [item for item in items if item.since != draft.number]
    old.items.filter(pk__in=[item.pk for item in published]).update(until=draft.number)
    copies = [copy_to_draft(item, draft, group=new) for item in published]
    Item.objects.bulk_create(copies, batch_size=1000)


def _restored_group(group: ItemGroup, draft: TaskVersion) -> ItemGroup | None:
    """The published text again, where an edit of it was taken back word for word."""
    old = group.task.groups.filter(key=group.key, until=draft.number).first()
    if old is None or not _has_content(old, {n: getattr(group, n) for n in _GROUP_CONTENT}):
        return None
    before = {i.key: i for i in old.items.filter(until=draft.number)}
    equal = [
        item
        for item in group.items.filter(since=draft.number)
        if item.key in before
        and _has_content(before[item.key], {name: getattr(item, name) for name in _WORDING})
    ]
    Item.objects.filter(pk__in=[item.pk for item in equal]).delete()
    Item.objects.filter(pk__in=[before[item.key].pk for item in equal]).update(until=None)
    group.items.update(group=old)
    group.delete()
    ItemGroup.objects.filter(pk=old.pk).update(until=None, category=group.category)
    old.until, old.category = None, group.category
    return old


_GROUP_CONTENT = ("title", "passage", "passages", "look_back")
_SHOWN = (
    *("first_id", "second_id", "side", "repeat", "expected", "known_why"),
    *("media_id", "chat_id"),
)
_WORDING = ("question", "settings", "expected", "known_why", "media_id", "chat_id")
_ITEM_CONTENT = (*_WORDING, "group_id")


def copy_to_draft(item: Item, draft: TaskVersion, **changes: Any) -> Item:
    """Make an unsaved copy of a published item for the draft, with empty slots."""
    fields = {
        "group": item.group,
        "key": item.key,
        "position": item.position,
        "question": item.question,
        "settings": item.settings,
        **{name: getattr(item, name) for name in _SHOWN},
        **changes,
    }
    return Item(task_id=item.task_id, since=draft.number, **fields)


def supersede(item: Item, draft: TaskVersion, **changes: Any) -> Item:
    """Change an item in the draft; a published item is replaced by a changed copy.

    A change taken back word for word gives the published question back, with its answers.
    """
    if item.since != draft.number:
        Item.objects.filter(pk=item.pk).update(until=draft.number)
        new = copy_to_draft(item, draft, **changes)
        new.save(force_insert=True)
        return new
    for name, value in changes.items():
        setattr(item, name, value)
    old = Item.objects.filter(task_id=item.task_id, key=item.key, until=draft.number).first()
    if old is not None and _has_content(old, {name: getattr(item, name) for name in _ITEM_CONTENT}):
        item.delete()
        Item.objects.filter(pk=old.pk).update(until=None)
        old.until = None
        return old
    item.save()
    return item


def clean_question(text: str) -> str:
    """A question's text, or Invalid."""
    if len(text) > MAX_QUESTION:
        wrong = gettext("%(most)s characters at most.") % {"most": count(MAX_QUESTION)}
        raise Invalid(gettext("The question is too long."), fields={"question": wrong})
    return as_stored(text).strip()


def default_group(task: Task, *, by: User) -> ItemGroup:
    """Return the first group of the draft, creating one if there is none."""
    draft = draft_of(task, by=by)
    group = task.groups.in_version(draft.number).order_by("position").first()
    return group or save_group(by=by, task=task, key=DEFAULT_GROUP)


@transaction.atomic
def save_item(
    *,
    by: User,
    task: Task,
    item: Item | None = None,
    group: ItemGroup | None = None,
    key: str = "",
    question: str,
    settings: Mapping[str, Any] | None = None,
) -> Item:
    """Add a question or change one; a published question is replaced in the draft.

    ``settings`` are kept only where they differ from the version's.
    """
    question = clean_question(question)
    shown = task.versions.order_by("-number").first() or draft_of(task, by=by)
    own = _own_settings(task, shown, settings) if settings else {}
    if item is not None:
        changes = {"question": question, "settings": own if settings is not None else item.settings}
        if group is not None:
            changes["group"] = group
        if _has_content(item, changes):
            return item
        draft = lock_draft(task, by=by)
        # Another tab may have replaced it since it was read.
        live = task.items.filter(key=item.key, until__isnull=True).select_related("group").first()
        if live is None:
            raise Conflict(
                gettext("Question %(key)s was removed meanwhile. Reload the page.")
                % {"key": item.key}
            )
        return supersede(live, draft, **changes)
    draft = lock_draft(task, by=by)
    key = key.strip() or free_key(task.items, "q-{:03d}")
    if task.items.filter(key=key, until__isnull=True).exists():
        raise Invalid(
            gettext("There is a question %(key)s already.") % {"key": repr(key)},
            fields={"key": gettext("Another id.")},
        )
    return Item.objects.create(
        task=task,
        group=group or default_group(task, by=by),
        key=key[:80],
        position=_next_position(task),
        question=question,
        settings=own,
        since=draft.number,
    )


def _own_settings(task: Task, version: TaskVersion, settings: Mapping[str, Any]) -> dict[str, Any]:
    full = get_type(task.type).clean_settings({**version.settings, **settings})
    if full == version.settings:
        return {}
    return {name: value for name, value in full.items() if name not in KNOWN_RULES}


@transaction.atomic
def remove_item(*, by: User, task: Task, item: Item) -> None:
    """Take a question out of the draft; what was answered stays with the older version."""
    draft = lock_draft(task, by=by)
    if item.since == draft.number:
        item.delete()
    else:
        Item.objects.filter(pk=item.pk).update(until=draft.number)


@transaction.atomic
def remove_group(*, by: User, task: Task, group: ItemGroup) -> None:
    """Take a text and its questions out of the draft."""
    draft = lock_draft(task, by=by)
    group.items.filter(since=draft.number).delete()
    group.items.in_version(draft.number).update(until=draft.number)
    if group.since == draft.number and not group.items.exists():
        group.delete()
    else:
        ItemGroup.objects.filter(pk=group.pk).update(until=draft.number)


@transaction.atomic
def reorder_items(*, by: User, task: Task, ids: Sequence[int]) -> None:
    """Order the draft's questions by ``ids``; their order is not part of the wording."""
    draft = lock_draft(task, by=by)
    known = set(task.items.in_version(draft.number).values_list("pk", flat=True))
    if set(ids) != known or len(ids) != len(known):
        raise Conflict(gettext("The questions have changed meanwhile. Reload the page."))
    _write_positions(Item, [(pk, (n + 1) * STEP) for n, pk in enumerate(ids)])


def _write_positions(
    model: type[Item] | type[ItemGroup], places: Iterable[tuple[int, int]]
) -> None:
    rows: list[Any] = [model(pk=pk, position=position) for pk, position in places]
    manager: Any = model.objects
    manager.bulk_update(rows, ["position"], batch_size=1000)


@transaction.atomic
def place_item(*, by: User, task: Task, row: Item | ItemGroup, index: int) -> None:
    """Move a question within its text, or a text among texts, to ``index`` (from 0)."""
    draft = lock_draft(task, by=by)
    if isinstance(row, Item):
        model: type[Item] | type[ItemGroup] = Item
        beside = task.items.in_version(draft.number).filter(group_id=row.group_id)
    else:
        model, beside = ItemGroup, task.groups.in_version(draft.number)
    known = list(beside.order_by("position", "pk").values_list("pk", "position"))
    order = [pk for pk, _ in known if pk != row.pk]
    if len(order) == len(known):
        raise Conflict(gettext("It was changed meanwhile. Reload the page."))
    order.insert(max(0, min(index, len(order))), row.pk)
    places = sorted(position for _, position in known)
    if len(set(places)) < len(places):  # equal positions cannot be told apart
        places = [places[0] + STEP * n for n in range(len(places))]
    now = dict(known)
    _write_positions(
        model, [(pk, at) for pk, at in zip(order, places, strict=True) if now[pk] != at]
    )


class _Groups:
    """The text of each row of a file, found by topic or passage, else made."""

    def __init__(self, task: Task, draft: TaskVersion) -> None:
        self.task, self.draft = task, draft
        rows = task.groups.in_version(draft.number).values_list("pk", "key", "passage")
        self.by_topic: dict[str, int] = {}
        self.by_passage: dict[bytes, int] = {}
        for pk, key, passage in rows.iterator():
            self.by_topic[key] = self.by_passage[text_print(passage.strip())] = pk
        self.taken = set(task.groups.values_list("key", flat=True))
        self.position = task.groups.aggregate(m=Max("position"))["m"] or 0

    def of(self, rows: Sequence[Mapping[str, str]]) -> list[int]:
        """The groups of these rows; those that are new are stored."""
        new: list[tuple[int, str, str, str, int]] = []
        ids = iter(reserve_ids(ItemGroup, len(rows)))
        found = [self._group_of(row, ids, new) for row in rows]
        copy_into(
            ItemGroup,
            ("id", "key", "title", "passage", "position"),
            new,
            task_id=self.task.pk,
            since=self.draft.number,
        )
        return found

    def _group_of(self, row: Mapping[str, str], ids: Iterator[int], new: list[Any]) -> int:
        topic = row.get("topic", "").strip()
        passage = as_stored(row.get("context", "")).strip()
        group = self.by_topic.get(topic) if topic else self.by_passage.get(text_print(passage))
        if group is None:
            key, number = topic, len(self.taken) + 1
            while not key or (not topic and key in self.taken):
                key, number = f"text-{number}", number + 1
            group, self.position = next(ids), self.position + STEP
            new.append((group, key, topic, passage, self.position))
            self.taken.add(key)
            self.by_topic[key] = self.by_passage[text_print(passage)] = group
        return group


@transaction.atomic
def import_items(*, by: User, task: Task, rows: Iterable[Mapping[str, str]], name: str = "") -> int:
    """Add checked rows (item_id, question, context, topic) in one go; returns how many are new.

    Rows equal to an existing question are skipped, so that importing twice adds nothing.
    Rows of one topic, or of one context, share a group.
    """
    shown = task.versions.order_by("-number").first() or draft_of(task, by=by)
    existing = set(task.items.in_version(shown.number).values_list("key", flat=True))
    fresh = split_with_refresh(row for row in rows if row["item_id"] not in existing)
    total = 0
    for part in fresh:
        if not total:
            draft = lock_draft(task, by=by)
            groups, position = _Groups(task, draft), _next_position(task)
        copy_into(
            Item,
            ("group_id", "key", "question", "position"),
            (
                (group, row["item_id"], clean_question(row["question"]), position + STEP * number)
                for number, (group, row) in enumerate(
                    zip(groups.of(part), part, strict=True), total
                )
            ),
            task_id=task.pk,
            since=draft.number,
        )
        total += len(part)
    if total:
        record(by=by, project=task.project, action="items.import", on=task, file=name, new=total)
    return total
