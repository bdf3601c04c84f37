"""Authoring: drafts, items, and the states a task goes through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db import transaction
from django.db.models import F, Max
from django.db.models.functions import Greatest
from django.utils import timezone

from annotation.models import Item, ItemGroup, Project, Task, TaskVersion, User
from annotation.models.tasks import TaskState
from annotation.task_types import get_type
from annotation.task_types.base import whole_number
from crowdqc.errors import Conflict, Invalid, Missing

from .audit import record

DEFAULT_GROUP = "main"
STEP = 10  # positions are spaced, so that a row can be put between two others
RULES = {  # field: default, least, most
    "redundancy": (5, 1, 500),
    "items_per_assignment": (8, 1, 500),
    "lease_minutes": (45, 1, 1440),
    "min_seconds": (0, 0, 14_400),
}


@transaction.atomic
def create_task(*, by: User, project: Project, type: str, title: str) -> Task:
    """A new task with its first draft."""
    task_type = get_type(type)
    if not title.strip():
        raise Invalid("A task needs a title.", fields={"title": "Write a title."})
    task = Task.objects.create(project=project, type=type, created_by=by)
    TaskVersion.objects.create(
        task=task, number=1, title=title.strip()[:160], settings=task_type.clean_settings({})
    )
    record(by=by, project=project, action="task.create", on=task, type=type)
    return task


def draft_of(task: Task, *, by: User) -> TaskVersion:
    """The version being edited; editing a published task begins a new one from its copy."""
    draft = task.versions.filter(published_at__isnull=True).first()
    if draft:
        return draft
    if task.state == TaskState.CLOSED:
        raise Conflict("The task is closed; what it asked stays as it was.")
    with transaction.atomic():
        locked = Task.objects.select_for_update(of=("self",)).select_related("current").get(pk=task.pk)
        draft = locked.versions.filter(published_at__isnull=True).first()
        if draft:
            return draft
        source = locked.current
        if source is None:  # cannot be: a task is born with a draft
            raise Missing("The task has no version.")
        draft = TaskVersion.objects.get(pk=source.pk)
        draft.pk, draft._state.adding = None, True
        draft.number, draft.published_at, draft.published_by = source.number + 1, None, None
        draft.save(force_insert=True)
        record(by=by, project=task.project, action="version.begin", on=draft, number=draft.number)
        return draft


def _clean_money(raw: Any, name: str) -> Decimal:
    try:
        amount = Decimal(str(raw).strip().replace(",", "."))
    except InvalidOperation as error:
        raise Invalid(f"{name} is not an amount.", fields={name: "An amount, as 1.80."}) from error
    if not amount.is_finite() or amount < 0 or amount > 10_000:
        raise Invalid(f"{name} is out of range.", fields={name: "0 to 10,000."})
    if amount != amount.quantize(Decimal("0.01")):
        raise Invalid(f"{name} is finer than a cent.", fields={name: "Two decimals at most."})
    return amount.quantize(Decimal("0.01"))


def clean_rules(raw: Mapping[str, Any], task_type: Any, previous: Mapping[str, Any]) -> dict:
    """The cleaned fields of a draft; only fields present in ``raw`` are changed."""
    clean: dict[str, Any] = {}
    if "title" in raw:
        title = str(raw["title"]).strip()
        if not title:
            raise Invalid("A task needs a title.", fields={"title": "Write a title."})
        if len(title) > 160:
            raise Invalid("The title is too long.", fields={"title": "160 characters at most."})
        clean["title"] = title
    for name, limit in (("instructions", 20_000), ("bonus_note", 300)):
        if name in raw:
            if len(str(raw[name])) > limit:
                raise Invalid(
                    f"{name} is too long.", fields={name: f"{limit:,} characters at most."}
                )
            clean[name] = str(raw[name])
    if "order" in raw:
        if raw["order"] not in TaskVersion.Order.values:
            raise Invalid("There is no such order.", fields={"order": "fixed or random."})
        clean["order"] = raw["order"]
    for name, (default, low, high) in RULES.items():
        if name in raw:
            clean[name] = whole_number(raw, name, default, low, high)
    if "pay" in raw:
        clean["pay"] = _clean_money(raw["pay"], "pay")
    if "settings" in raw:
        clean["settings"] = task_type.clean_settings({**previous, **raw["settings"]})
    return clean


@transaction.atomic
def edit_draft(*, by: User, task: Task, fields: Mapping[str, Any]) -> TaskVersion:
    """Change the draft's wording and rules (begun from the published version if there is none)."""
    draft = draft_of(task, by=by)
    draft = TaskVersion.objects.select_for_update().get(pk=draft.pk)
    if draft.published_at:
        raise Conflict("The draft was published meanwhile. Reload the page.")
    clean = clean_rules(fields, get_type(task.type), draft.settings)
    for name, value in clean.items():
        setattr(draft, name, value)
    draft.save()
    return draft


@transaction.atomic
def discard_draft(*, by: User, task: Task) -> None:
    """Throw the changes since the published version away."""
    draft = task.versions.filter(published_at__isnull=True).first()
    if draft is None or task.current_id is None:
        raise Conflict("There is no draft over a published version.")
    task.items.filter(since=draft.number).delete()
    task.items.filter(until=draft.number).update(until=None)
    task.groups.filter(since=draft.number).delete()
    task.groups.filter(until=draft.number).update(until=None)
    record(by=by, project=task.project, action="version.discard", on=draft, number=draft.number)
    draft.delete()


def _group_key(task: Task) -> str:
    return f"text-{task.groups.values('key').distinct().count() + 1}"


@transaction.atomic
def save_group(
    *,
    by: User,
    task: Task,
    group: ItemGroup | None = None,
    key: str = "",
    title: str = "",
    passage: str = "",
    look_back: bool = True,
) -> ItemGroup:
    """Add a group or change one; a published group is replaced, and its items with it."""
    draft = draft_of(task, by=by)
    if len(passage) > 100_000:
        raise Invalid("The passage is too long.", fields={"passage": "100,000 characters at most."})
    content = {"title": title.strip()[:160], "passage": passage, "look_back": look_back}
    if group is None:
        last = task.groups.aggregate(m=Max("position"))["m"] or 0
        key = key.strip() or _group_key(task)
        if task.groups.filter(key=key, until__isnull=True).exists():
            raise Invalid(f"There is a text {key!r} already.", fields={"key": "Another key."})
        return ItemGroup.objects.create(
            task=task, key=key, position=last + STEP, since=draft.number, **content
        )
    if all(getattr(group, name) == value for name, value in content.items()):
        return group
    if group.since == draft.number:
        for name, value in content.items():
            setattr(group, name, value)
        group.save()
        return group
    ItemGroup.objects.filter(pk=group.pk).update(until=draft.number)
    new = ItemGroup.objects.create(
        task=task, key=group.key, position=group.position, since=draft.number, **content
    )
    # What was answered under the old passage is not pooled with answers under the new one.
    for item in group.items.in_version(draft.number):  # type: ignore[attr-defined]
        _supersede(item, draft, group=new)
    return new


def _supersede(item: Item, draft: TaskVersion, **changes: Any) -> Item:
    """Put a changed copy of a published item into the draft; an item of the draft is changed."""
    if item.since == draft.number:
        for name, value in changes.items():
            setattr(item, name, value)
        item.save()
        return item
    Item.objects.filter(pk=item.pk).update(until=draft.number)
    fields = {
        "group": item.group,
        "key": item.key,
        "position": item.position,
        "question": item.question,
        "settings": item.settings,
        **changes,
    }
    return Item.objects.create(task=item.task, since=draft.number, **fields)


def clean_question(text: str) -> str:
    """A question's text, or Invalid."""
    if len(text) > 20_000:
        raise Invalid(
            "The question is too long.", fields={"question": "20,000 characters at most."}
        )
    return text.replace("\x00", "").strip()


def default_group(task: Task, *, by: User) -> ItemGroup:
    """The first group of the draft, made when there is none."""
    draft = draft_of(task, by=by)
    group = task.groups.in_version(draft.number).order_by("position").first()  # type: ignore[attr-defined]
    return group or save_group(by=by, task=task, key=DEFAULT_GROUP)


def _next_position(task: Task) -> int:
    return (task.items.aggregate(m=Max("position"))["m"] or 0) + STEP


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
    """Add a question or change one; a published question is replaced in the draft."""
    draft = draft_of(task, by=by)
    question = clean_question(question)
    own = get_type(task.type).clean_settings({**draft.settings, **settings}) if settings else {}
    if item is not None:
        changes = {"question": question, "settings": own if settings is not None else item.settings}
        if group is not None:
            changes["group"] = group
        if all(getattr(item, name) == value for name, value in changes.items()):
            return item
        return _supersede(item, draft, **changes)
    key = key.strip() or _free_key(task)
    if task.items.filter(key=key, until__isnull=True).exists():
        raise Invalid(f"There is a question {key!r} already.", fields={"key": "Another id."})
    return Item.objects.create(
        task=task,
        group=group or default_group(task, by=by),
        key=key[:80],
        position=_next_position(task),
        question=question,
        settings=own,
        since=draft.number,
    )


def _free_key(task: Task) -> str:
    taken = set(task.items.values_list("key", flat=True))
    number = len(taken) + 1
    while f"q-{number:03d}" in taken:
        number += 1
    return f"q-{number:03d}"


@transaction.atomic
def remove_item(*, by: User, task: Task, item: Item) -> None:
    """Take a question out of the draft; what was answered stays with the older version."""
    draft = draft_of(task, by=by)
    if item.since == draft.number:
        item.delete()
    else:
        Item.objects.filter(pk=item.pk).update(until=draft.number)


@transaction.atomic
def remove_group(*, by: User, task: Task, group: ItemGroup) -> None:
    """Take a text and its questions out of the draft."""
    draft = draft_of(task, by=by)
    for item in group.items.in_version(draft.number):  # type: ignore[attr-defined]
        remove_item(by=by, task=task, item=item)
    if group.since == draft.number and not group.items.exists():
        group.delete()
    else:
        ItemGroup.objects.filter(pk=group.pk).update(until=draft.number)


@transaction.atomic
def reorder_items(*, by: User, task: Task, ids: Sequence[int]) -> None:
    """Put the draft's questions into the order of ``ids``; position is not part of the wording."""
    draft = draft_of(task, by=by)
    known = set(task.items.in_version(draft.number).values_list("pk", flat=True))  # type: ignore[attr-defined]
    if set(ids) != known or len(ids) != len(known):
        raise Conflict("The questions have changed meanwhile. Reload the page.")
    items = [Item(pk=pk, position=(n + 1) * STEP) for n, pk in enumerate(ids)]
    Item.objects.bulk_update(items, ["position"])


@transaction.atomic
def import_items(
    *, by: User, task: Task, rows: Iterable[Mapping[str, str]], name: str = ""
) -> int:
    """Add checked rows (item_id, question, context, topic) in one go; returns how many are new.

    Rows equal to an existing question are skipped, so that importing twice adds nothing.
    Rows of one topic, or of one context, share a group.
    """
    draft = draft_of(task, by=by)
    Task.objects.select_for_update().get(pk=task.pk)
    existing = set(task.items.in_version(draft.number).values_list("key", flat=True))  # type: ignore[attr-defined]
    groups = {g.key: g for g in task.groups.in_version(draft.number)}  # type: ignore[attr-defined]
    by_passage = {g.passage: g for g in groups.values()}
    position = _next_position(task)
    new: list[Item] = []
    for row in rows:
        if row["item_id"] in existing:
            continue
        topic, context = row.get("topic", "").strip(), row.get("context", "").strip()
        group = groups.get(topic) if topic else by_passage.get(context)
        if group is None:
            group = save_group(by=by, task=task, key=topic, title=topic, passage=context)
            groups[group.key] = by_passage[context] = group
        new.append(
            Item(
                task=task,
                group=group,
                key=row["item_id"],
                position=position,
                question=clean_question(row["question"]),
                since=draft.number,
            )
        )
        position += STEP
    Item.objects.bulk_create(new, batch_size=1000)
    record(by=by, project=task.project, action="items.import", on=task, file=name, new=len(new))
    return len(new)


def problems(task: Task, draft: TaskVersion) -> list[str]:
    """What stands in the way of publishing, as sentences; empty when nothing does."""
    found = []
    items = list(task.items.in_version(draft.number).values_list("key", "question"))  # type: ignore[attr-defined]
    if not items:
        found.append("The task has no question.")
    empty = [key for key, question in items if not question.strip()]
    if empty:
        shown = ", ".join(empty[:3]) + (" and more" if len(empty) > 3 else "")
        found.append(f"Question {shown} has no text.")
    if not draft.title.strip():
        found.append("The task has no title.")
    return found


@transaction.atomic
def publish(*, by: User, task: Task) -> TaskVersion:
    """Freeze the draft and open the task with it; leases in work keep their version."""
    task = Task.objects.select_for_update().get(pk=task.pk)
    draft = task.versions.select_for_update().filter(published_at__isnull=True).first()
    if draft is None:
        raise Conflict("There is no draft to publish.")
    found = problems(task, draft)
    if found:
        raise Invalid(found[0], fields={"task": " ".join(found)})
    draft.published_at, draft.published_by = timezone.now(), by
    draft.save()
    # A lower redundancy never takes away what is already held.
    task.items.in_version(draft.number).update(  # type: ignore[attr-defined]
        redundancy=Greatest(F("held"), draft.redundancy)
    )
    # Questions that this version no longer shows are not handed out again.
    task.items.filter(until__lte=draft.number).update(redundancy=F("held"))
    task.current, task.state = draft, TaskState.OPEN
    task.save(update_fields=["current", "state"])
    record(by=by, project=task.project, action="version.publish", on=draft, number=draft.number)
    return draft


MOVES = {
    "pause": ({TaskState.OPEN}, TaskState.PAUSED),
    "resume": ({TaskState.PAUSED}, TaskState.OPEN),
    "close": ({TaskState.OPEN, TaskState.PAUSED}, TaskState.CLOSED),
    "reopen": ({TaskState.CLOSED}, TaskState.OPEN),
}


@transaction.atomic
def move(*, by: User, task: Task, to: str) -> Task:
    """Pause, resume, close or reopen; leases in work may be finished in every state."""
    if to not in MOVES:
        raise Invalid("There is no such step.", fields={"to": ", ".join(MOVES)})
    task = Task.objects.select_for_update().get(pk=task.pk)
    sources, target = MOVES[to]
    if task.state == target:
        return task
    if task.state not in sources:
        raise Conflict(f"A task that is {task.get_state_display().lower()} cannot {to}.")
    task.state = target
    task.save(update_fields=["state"])
    record(by=by, project=task.project, action=f"task.{to}", on=task)
    return task


@transaction.atomic
def set_priority(*, by: User | None, item: Item, priority: int) -> None:
    """Hand a question out sooner (above 0) or in its turn (0)."""
    Item.objects.filter(pk=item.pk).update(priority=priority)
    record(
        by=by, project=item.task.project, action="item.priority", on=item, priority=priority
    )
