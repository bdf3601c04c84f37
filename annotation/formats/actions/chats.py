"""Conversations written as items to be labeled, or as texts under judgment."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.authoring.actions.drafts import edit_draft
from annotation.formats.actions.answers import Rows
from annotation.formats.actions.labels import import_label_items
from annotation.models import Task, User
from annotation.pairs.actions.topics import add_pairs, add_texts
from annotation.task_types import get_type
from annotation.task_types.labels.content import CONVERSATION
from crowdqc.errors import Conflict


@transaction.atomic
def import_chat_items(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows of ``Chats`` to the draft, which then shows conversations.

    Returns how many are new. Raises Conflict where the draft has items of another content.
    """
    shown = task.versions.order_by("-number").first()
    if shown is None or shown.settings["content"] != CONVERSATION:
        number = shown.number if shown else 1
        if task.items.in_version(number).filter(chat__isnull=True).exists():
            raise Conflict(
                _("The items of this task are no conversations: make a task of its own for them.")
            )
        edit_draft(by=by, task=task, fields={"settings": {"content": CONVERSATION}})
    return import_label_items(by=by, task=task, rows=rows, name=name)


@transaction.atomic
def import_chat_texts(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows of ``ChatTexts``: as pairs where the task takes pairs, else each by itself.

    Returns how many rows are new.
    """
    paired = get_type(task.type).pairs_texts
    pairs = [row for row in rows if paired and len(row["texts"]) == 2]
    others = [
        text for row in rows if not (paired and len(row["texts"]) == 2) for text in row["texts"]
    ]
    new = add_pairs(by=by, task=task, rows=pairs, name=name) if pairs else 0
    if others:
        add_texts(by=by, task=task, rows=others, name=name)
        new += len(rows) - len(pairs)
    return new
