"""Items to be labeled and labels from elsewhere: written in bulk, added once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import F, Max
from django.utils.translation import gettext as _

from annotation.authoring.actions.drafts import draft_of, lock_draft
from annotation.authoring.actions.items import STEP, clean_question, default_group
from annotation.authoring.actions.media import to_fetch
from annotation.chats.model import Chat
from annotation.chats.storage import item_content, keep_rows
from annotation.formats.actions.answers import Rows
from annotation.formats.actions.judgment_rows import store_rows
from annotation.formats.actions.judgments import Vote
from annotation.models import ChatContent, Item, Task, User
from annotation.records.actions.audit import record
from annotation.records.actions.bulk import refresh_plans
from crowdqc import queue
from crowdqc.errors import Conflict

LABELS_IMPORTED = "labels.import"
BATCH = 2000


@transaction.atomic
def import_label_items(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows (key, text, expected, meta) to the draft; returns how many are new.

    Keys that are there already are skipped, so that a file taken in twice adds nothing. Rows may
    name a ``file`` of the project, or the ``address`` of one, which a job fetches; or hold a
    ``chat`` (``annotation.chats.model.dump_chat``), whose plain text is then the item's.
    """
    shown = task.versions.order_by("-number").first() or draft_of(task, by=by)
    there = set(task.items.in_version(shown.number).values_list("key", flat=True))
    new = [row for row in rows if row["key"] not in there]
    if not new:
        return 0
    draft, group = lock_draft(task, by=by), default_group(task, by=by)
    named = {row["file"] for row in new if row.get("file")}
    if task.project.media_files.select_for_update().filter(pk__in=named).count() < len(named):
        raise Conflict(_("A file that the table names was deleted meanwhile. Upload it again."))
    last = task.items.aggregate(m=Max("position"))["m"] or 0
    chats = keep_rows(task.project, new)
    Item.objects.bulk_create(
        [
            Item(
                task=task,
                group=group,
                key=row["key"],
                position=last + STEP * number,
                **_content_of(row, by, chats),
                media_id=row.get("file"),
                expected=row["expected"] or None,
                since=draft.number,
            )
            for number, row in enumerate(new, 1)
        ],
        batch_size=BATCH,
    )
    if any(row.get("address") for row in new):
        queue.enqueue("annotation.jobs.fetch_media")
    refresh_plans(len(new))
    record(by=by, project=task.project, action="items.import", on=task, file=name, new=len(new))
    return len(new)


def _content_of(
    row: Mapping[str, Any], by: User, chats: Mapping[str, tuple[ChatContent, Chat]]
) -> dict[str, Any]:
    """The columns of a row's item: its text or conversation, and its settings."""
    settings = _settings_of(row, by)
    if not row.get("chat"):
        return {"question": clean_question(row["text"]), "settings": settings}
    found = item_content(*chats[row["chat"]])
    return {**found, "settings": {**settings, **found["settings"]}}


def _settings_of(row: Mapping[str, Any], by: User) -> dict[str, Any]:
    found: dict[str, Any] = {"meta": row["meta"]} if row["meta"] else {}
    return found | (to_fetch(row["address"], by) if row.get("address") else {})


def import_labels(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows of ``imports.labels``; returns how many answers are new.

    Labels of items with a known answer count, too: they were given without being mixed in.
    """
    assert task.current is not None  # noqa: S101 (Format.known_of refuses others)
    items = dict(task.items.in_version(task.current.number).values_list("key", "pk"))
    expected: dict[int, dict[str, str]] = {}  # known answers that the rows tell along the way

    def vote(row: Mapping[str, Any], author: int) -> Vote:
        item = items[row["item"]]
        if row["expected"]:
            expected[item] = row["expected"]
        return Vote(
            author,
            item,
            tuple(map(tuple, row["choices"])),
            uncounted=row["uncounted"],
            replicate=row["replicate"],
            texts=tuple(map(tuple, row["texts"])),
            spans=tuple(map(tuple, row["spans"])),
            at=row["at"],
            meta=row.get("meta"),
        )

    with transaction.atomic():
        new = store_rows(by=by, task=task, rows=rows, name=name, action=LABELS_IMPORTED, vote=vote)
        changed = []
        for item in Item.objects.filter(pk__in=expected):
            known = {**(item.expected or {}), **expected[item.pk]}
            if known != item.expected:
                item.expected = known
                changed.append(item)
        Item.objects.bulk_update(changed, ["expected"], batch_size=BATCH)
        # What is known is not asked any more.
        Item.objects.filter(pk__in=[item.pk for item in changed]).update(redundancy=F("held"))
        return new
