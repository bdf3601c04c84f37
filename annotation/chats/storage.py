"""Conversations as rows: each content once a project."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.utils.translation import gettext as _

from annotation.chats.judges import hide_judges
from annotation.chats.model import MAX_DOCUMENT, MAX_TURNS, Chat, dump_chat, load_chat
from annotation.chats.text import plain_text
from annotation.chats.units import units_of
from annotation.models import ChatContent, Item, Project
from crowdqc.errors import Invalid
from crowdqc.numbers import count

MAX_QUESTION = 20_000  # characters of an item's plain text
TRACE_KEY = "trace-"  # how keys of items of a queue of traces begin
UNITS = "units"  # the setting of an item that lists the units of its conversation


def keep_chat(project: Project, chat: Chat) -> ChatContent:
    """Store a conversation, or return the row that holds the same; Invalid if it is too large."""
    return keep_chats(project, [chat])[0]


def keep_chats(project: Project, chats: Sequence[Chat]) -> list[ChatContent]:
    """Store conversations in two queries; rows in the order of ``chats``."""
    dumped = [_checked(chat) for chat in chats]
    digests = [chat.digest() for chat in chats]
    rows = {
        digest: ChatContent(
            project=project, digest=digest, document=json.loads(text), turns=len(chat.turns)
        )
        for digest, text, chat in zip(digests, dumped, chats, strict=True)
    }
    ChatContent.objects.bulk_create(rows.values(), ignore_conflicts=True, batch_size=200)
    kept = ChatContent.objects.filter(project=project, digest__in=rows).defer("document")
    by_digest = {row.digest: row for row in kept}
    return [by_digest[digest] for digest in digests]


def _checked(chat: Chat) -> str:
    if not chat.turns:
        raise Invalid(
            _("The conversation has no turns."), fields={"conversation": _("Add messages.")}
        )
    if len(chat.turns) > MAX_TURNS:
        raise Invalid(
            _("The conversation has %(turns)s turns.") % {"turns": count(len(chat.turns))},
            fields={"conversation": _("%(most)s at most.") % {"most": count(MAX_TURNS)}},
        )
    text = dump_chat(chat)
    if len(text) > MAX_DOCUMENT:
        raise Invalid(
            _("The conversation has %(size)s characters.") % {"size": count(len(text))},
            fields={"conversation": _("%(most)s at most.") % {"most": count(MAX_DOCUMENT)}},
        )
    return text


def chat_of(row: ChatContent) -> Chat:
    """Read the conversation of a row."""
    return load_chat(row.document)


def chat_for_workers(item: Item) -> Chat:
    """Read the conversation of an item; one of a queue of traces without what judges say."""
    chat = chat_of(cast(ChatContent, item.chat))
    return hide_judges(chat) if item.key.startswith(TRACE_KEY) else chat


def keep_rows(
    project: Project, rows: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[ChatContent, Chat]]:
    """Store the conversations in the ``chat`` of rows (JSON of ``dump_chat``), by that JSON."""
    texts = list(dict.fromkeys(row["chat"] for row in rows if row.get("chat")))
    if not texts:
        return {}
    chats = [load_chat(json.loads(text)) for text in texts]
    kept = keep_chats(project, chats)
    return dict(zip(texts, zip(kept, chats, strict=True), strict=True))


def item_content(row: ChatContent, chat: Chat) -> dict[str, Any]:
    """Return the columns of an item that shows this conversation: chat, question and settings."""
    return {
        "chat": row,
        "question": plain_text(chat, most=MAX_QUESTION),
        "settings": {UNITS: units_of(chat)},
    }
