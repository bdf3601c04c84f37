"""The topics of a writing task: a query, its ranked passages, and one item for each style."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext

from annotation.authoring.actions.drafts import as_stored, as_title, lock_draft
from annotation.authoring.actions.items import (
    STEP,
    clean_question,
    free_key,
    remove_group,
    save_group,
    supersede,
)
from annotation.authoring.actions.rows import (
    Change,
    change_listed,
    check_lengths,
    clean_listed,
    live_group,
    move_group,
)
from annotation.models import Item, ItemGroup, Task, TaskVersion, User
from annotation.records.actions.audit import record
from annotation.task_types import get_type
from annotation.task_types.scales import MAX_ASKED
from annotation.task_types.writing.ranking import rank_passages
from annotation.task_types.writing.type import with_passages
from crowdqc.errors import Conflict, Invalid

MAX_PASSAGES, MAX_CHARACTERS = 200, 20_000  # of a topic, of a passage
MAX_KEY, MAX_DOCUMENT, MAX_TITLE = 39, 80, 300  # a style's name and a hyphen follow a topic's key
SEARCHED = 20  # passages of a topic that a collection gives, as in Gienapp et al. (2025), 3.1.2
LIMITS = (("key", MAX_DOCUMENT), ("title", MAX_TITLE), ("text", MAX_CHARACTERS))
TOPIC, PASSAGE = "topic", "passage"  # what messages call them
Passage = dict[str, str]


def require(task: Task) -> None:
    """Invalid for a task of another type."""
    if not get_type(task.type).has_styles:
        raise Invalid(gettext("This type of task has no passages to cite."))


def clean_key(raw: str) -> str:
    """A topic's id as given, or Invalid."""
    key = as_stored(raw).strip()
    if len(key) > MAX_KEY:
        raise Invalid(
            gettext("The topic's id has %(key)s characters; %(most)s is the most.")
            % {"key": len(key), "most": MAX_KEY},
            fields={"key": gettext("%(most)s characters at most.") % {"most": MAX_KEY}},
        )
    return key


def clean_passages(raw: Sequence[Mapping[str, Any]], where: str = "") -> list[Passage]:
    """Passages as stored, each with an id of its own; Invalid names the one that is wrong."""
    return clean_listed(
        raw,
        where=where or gettext("The topic"),
        noun=PASSAGE,
        most=MAX_PASSAGES,
        limits=LIMITS,
        check=_check_passage,
    )


def _check_passage(one: Passage, where: str) -> None:
    if not one["text"]:
        raise Invalid(
            gettext("%(where)s has no text.") % {"where": where},
            fields={"text": gettext("Write the passage.")},
        )
    check_lengths(one, where, LIMITS)


# Items -----------------------------------------------------------------------------------------


def query_of(group: ItemGroup, version: TaskVersion) -> str:
    """Return the query of a topic: its first item's question, or its title if it has no items."""
    said = group.items.in_version(version.number).order_by("pk").values_list("question", flat=True)
    first = said.first()
    return group.title if first is None else first


def sync_items(task: Task, draft: TaskVersion, queries: Mapping[str, str] | None = None) -> None:
    """Make the draft's items one for each topic and style, in their order.

    ``queries``: topic -> its query, where it is new. Items that stay as they are keep their rows,
    and with them their answers; one that the draft took out comes back where it is wanted again.
    """
    styles = [row["name"] for row in draft.settings["styles"]]
    rows = task.groups.in_version(draft.number).order_by("position", "pk")
    groups = list(with_passages(rows))
    live: dict[tuple[int, str], Item] = {}
    asked: dict[int, str] = {group.pk: group.title for group in groups}
    for item in task.items.in_version(draft.number).order_by("-pk"):
        live[item.group_id, item.settings.get("style", "")] = item
        asked[item.group_id] = item.question
    _remove_items([item for (_, style), item in live.items() if style not in styles], draft)
    told = queries or {}
    asked |= {group.pk: told[group.key] for group in groups if group.key in told}
    ended = {_content(item): item for item in task.items.filter(until=draft.number)}
    new, moved = list[Item](), list[Item]()
    # As far apart as if each topic had all styles there can be: one more moves no other item.
    places = [
        (at * MAX_ASKED + n, g, s) for at, g in enumerate(groups) for n, s in enumerate(styles, 1)
    ]
    for at, group, style in places:
        wanted = Item(
            task=task,
            group=group,
            key=f"{group.key}-{style}",
            position=at * STEP,
            question=asked[group.pk],
            since=draft.number,
            settings={"style": style, "passages": group.passages_there},
        )
        item = live.get((group.pk, style)) or ended.get(_content(wanted))
        if item is None:
            new.append(wanted)
            continue
        if _content(item) != _content(wanted):
            item = supersede(item, draft, question=wanted.question, settings=wanted.settings)
        if item.until is not None or item.position != wanted.position:
            item.until, item.position = None, wanted.position
            moved.append(item)
    Item.objects.bulk_update(moved, ["position", "until"], batch_size=1000)
    Item.objects.bulk_create(new, batch_size=1000)


def _content(item: Item) -> tuple[Any, ...]:
    own = item.settings
    return item.key, item.group_id, item.question, own.get("style"), own.get("passages")


def _remove_items(items: Iterable[Item], draft: TaskVersion) -> None:
    rows = list(items)
    Item.objects.filter(pk__in=[i.pk for i in rows if i.since == draft.number]).delete()
    Item.objects.filter(pk__in=[i.pk for i in rows if i.since != draft.number]).update(
        until=draft.number
    )


# Topics ----------------------------------------------------------------------------------------


@transaction.atomic
def add_topics(*, by: User, task: Task, rows: Iterable[Mapping[str, Any]], name: str = "") -> int:
    """Add topics to the draft in one go; returns how many are new.

    ``rows`` hold ``topic`` (its id), ``query`` and ``passages``: rows of key, title and text, the
    best first. Topics whose id is there stay as they are. Invalid names what cannot be stored.
    """
    require(task)
    wanted = {
        clean_key(row["topic"]): (
            clean_question(row["query"]),
            clean_passages(row["passages"], gettext("Topic %(topic)s") % {"topic": row["topic"]}),
        )
        for row in rows
    }
    shown = task.versions.latest("number")
    there = set(task.groups.in_version(shown.number).values_list("key", flat=True))
    fresh = {key: one for key, one in wanted.items() if key not in there}
    if not fresh:
        return 0
    draft = lock_draft(task, by=by)
    last = task.groups.aggregate(m=Max("position"))["m"] or 0
    ended = {group.key: group for group in task.groups.filter(until=draft.number, key__in=fresh)}
    back, new = [], []
    for number, (key, (query, passages)) in enumerate(fresh.items(), 1):
        group = ItemGroup(
            task=task,
            key=key,
            position=last + STEP * number,
            since=draft.number,
            title=as_title(query),
            passages=passages,
        )
        old = ended.get(key)
        if old is not None and (old.title, old.passages) == (group.title, passages):
            back.append(old.pk)
        else:
            new.append(group)
    ItemGroup.objects.filter(pk__in=back).update(until=None)
    ItemGroup.objects.bulk_create(new, batch_size=200)
    sync_items(task, draft, {key: query for key, (query, _) in fresh.items()})
    record(by=by, project=task.project, action="topics.add", on=task, file=name, new=len(fresh))
    return len(fresh)


@transaction.atomic
def save_topic(
    *,
    by: User,
    task: Task,
    group: ItemGroup | None = None,
    key: str = "",
    query: str | None = None,
    passages: Sequence[Mapping[str, Any]] | None = None,
) -> ItemGroup:
    """Add a topic, or change the query or the passages of one, with its items.

    A published topic is replaced in the draft: its answers stay with the version that asked for
    them. Invalid names the field.
    """
    require(task)
    kept = None if passages is None else clean_passages(passages)
    asked = None if query is None else clean_question(query)
    shown = task.versions.latest("number")
    if group is None:
        draft = lock_draft(task, by=by)
        group = save_group(
            by=by,
            task=task,
            key=clean_key(key) or free_key(task.groups, "topic-{}"),
            title=as_title(asked or ""),
            passages=kept or [],
        )
        sync_items(task, draft, {group.key: asked or ""})
        return group
    before = query_of(group, shown)
    asked = before if asked is None else asked
    if asked == before and kept in (None, group.passages):
        return group
    draft = lock_draft(task, by=by)
    group = live_group(task, group.key, TOPIC)  # its passages may have been saved meanwhile
    group = save_group(
        by=by,
        task=task,
        group=group,
        title=as_title(asked),
        passage=group.passage,
        passages=kept,
        look_back=group.look_back,
    )
    sync_items(task, draft, {group.key: asked})
    return group


@transaction.atomic
def move_topic(*, by: User, task: Task, group: ItemGroup, step: int) -> None:
    """Move a topic up (-1) or down (1), and its items with it; at the end it stays."""
    draft = move_group(by=by, task=task, group=group, step=step, noun=TOPIC)
    sync_items(task, draft)


@transaction.atomic
def remove_topic(*, by: User, task: Task, group: ItemGroup) -> None:
    """Take a topic and its items out of the draft; what was written stays with older versions."""
    require(task)
    remove_group(by=by, task=task, group=group)


@transaction.atomic
def fill_topics(*, by: User, task: Task, rows: Iterable[Mapping[str, Any]], name: str = "") -> int:
    """Give each topic of the draft that has no passages the best of a collection, by BM25.

    ``rows`` hold key, title and text. Returns how many passages were searched. A topic whose query
    shares no word with any passage stays empty. Raises Conflict where every topic has some, and
    where none gets any.
    """
    require(task)
    shown = task.versions.latest("number")
    empty = topics_without_passages(task, shown)
    if not empty:
        raise Conflict(gettext("Every topic has passages, so none are searched."))
    found = [{field: str(row.get(field, "")) for field, _most in LIMITS} for row in rows]
    queries = {group.key: query_of(group, shown) for group in empty}
    places = rank_passages(
        list(queries.values()),
        [f"{one['title']}\n{one['text']}" for one in found],
        most=SEARCHED,
    )
    filled = {key: own for key, own in zip(queries, places, strict=True) if own}
    if not filled:
        raise Conflict(gettext("No passage shares a word with the query of a topic without any."))
    draft = lock_draft(task, by=by)
    for key, own in filled.items():
        group = live_group(task, key, TOPIC)
        save_group(
            by=by,
            task=task,
            group=group,
            title=group.title,
            passage=group.passage,
            passages=clean_passages([found[at] for at in own]),
            look_back=group.look_back,
        )
    sync_items(task, draft, {key: queries[key] for key in filled})
    record(by=by, project=task.project, action="topics.fill", on=task, file=name, new=len(filled))
    return len(found)


def topics_without_passages(task: Task, version: TaskVersion) -> list[ItemGroup]:
    """The topics of a version that have nothing to cite, in their order."""
    rows = task.groups.in_version(version.number).order_by("position", "pk")
    return list(rows.filter(passages=[]))


# Passages of one topic -------------------------------------------------------------------------


def blocks(pasted: str) -> list[Passage]:
    """Split a pasted text into passages at blank lines."""
    parts: list[list[str]] = [[]]
    for line in as_stored(pasted).split("\n"):
        if line.strip():
            parts[-1].append(line.rstrip())
        elif parts[-1]:
            parts.append([])
    return [{"key": "", "title": "", "text": "\n".join(part)} for part in parts if part]


@transaction.atomic
def change_passages(*, by: User, task: Task, key: str, change: Change) -> ItemGroup:
    """Change the passages of the topic ``key``; two changes at once stand in line."""
    return change_listed(
        by=by,
        task=task,
        group=lambda: live_group(task, key, TOPIC),
        change=change,
        clean=clean_passages,
        save=lambda group, rows: save_topic(by=by, task=task, group=group, passages=rows),
    )
