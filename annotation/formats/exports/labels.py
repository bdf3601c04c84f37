"""Labels out: a row a value, in the columns that the importer of labels reads; and the items."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from annotation.chats.messages import as_messages
from annotation.chats.storage import chat_of
from annotation.files.writing.tables import Table
from annotation.formats.exports.answered import HEADER, WHETHER, WHO, Authors, authors_of
from annotation.models import Answer, ChoiceValue, Item, SpanValue, Task, TextValue
from annotation.task_types.known import as_cell

CHUNK = 2000
LABELS = ("item_id", *WHO, "field", "label", "ordinal", "start", "end", "gold", *WHETHER, "meta")
ITEMS = ("item_id", "text", "gold")
FILES = ("file", "sha256", "type")  # of what an item shows, in tasks of images and recordings
ABOUT = (
    "answer__item__key",
    "answer__item__expected",
    "answer__meta",
    "field",
    *(f"answer__{name}" for name in HEADER),
)
Row = dict[str, Any]


def label_table(task: Task, form: str, dimension: str = "") -> Table:
    """Every value of every answer, counting or not: choices, then texts, then spans.

    ``label`` is a code, a text, or the label of a span, whose ``start`` and ``end`` count
    characters of the item's text, the end outside. ``meta`` has further columns of the file that
    an answer was imported from, as JSON.
    """
    return Table(LABELS, _labels(task))


def item_table(task: Task, form: str, dimension: str = "") -> Table:
    """The items in force with their known answers and all that was kept with them."""
    version = task.version_or_draft()
    items = task.items.in_version(version.number).order_by("position", "pk")
    shown = FILES if items.filter(media__isnull=False).exists() else ()
    kept: dict[str, None] = {}
    for meta in items.values_list("settings__meta", flat=True).iterator(CHUNK):
        kept |= dict.fromkeys(name for name in meta or {} if name not in (*ITEMS, *shown))
    messages = ("messages",) if items.filter(chat__isnull=False).exists() else ()
    columns = (*ITEMS, *shown, *messages, *kept)
    return Table(columns, _items(items.select_related("media", "chat"), list(kept), form))


def _items(items: Any, kept: list[str], form: str) -> Iterator[Row]:
    for item in items.iterator(CHUNK):
        meta = item.settings.get("meta", {})
        yield {
            "item_id": item.key,
            "text": item.question,
            "gold": as_cell(next(iter((item.expected or {}).values()), "")),
            **_file_of(item),
            **_messages_of(item, form),
            **{name: meta.get(name, "") for name in kept},
        }


def _messages_of(item: Item, form: str) -> Row:
    """The messages of the conversation that an item shows; as JSON where cells are texts."""
    if item.chat is None:
        return {"messages": ""}
    found = as_messages(chat_of(item.chat).turns)
    return {"messages": found if form == "jsonl" else json.dumps(found, ensure_ascii=False)}


def _file_of(item: Item) -> Row:
    """The file that an item shows: its name here, and the hash and type of what was served."""
    if item.media is None:
        return {}
    return {"file": item.media.name, "sha256": item.media.sha256, "type": item.media.type}


def _labels(task: Task) -> Iterator[tuple[Any, ...]]:
    own = {"answer__item__task": task, "answer__stage": Answer.Stage.MAIN}
    whose = authors_of(task)
    choices = ChoiceValue.objects.filter(**own).order_by("answer_id", "pk")
    for *about, code, ordinal in choices.values_list(*ABOUT, "code", "ordinal").iterator(CHUNK):
        yield _row(whose, *about, said=(code, ordinal, None, None))
    texts = TextValue.objects.filter(**own).order_by("answer_id", "pk")
    for *about, text in texts.values_list(*ABOUT, "text").iterator(CHUNK):
        yield _row(whose, *about, said=(text, None, None, None))
    spans = SpanValue.objects.filter(**own).order_by("answer_id", "field", "index")
    for *about, target, start, end in spans.values_list(*ABOUT, "target", "start", "end").iterator(
        CHUNK
    ):
        yield _row(whose, *about, said=(target, None, start, end))


def _row(
    whose: Authors,
    key: str,
    expected: Any,
    meta: Any,
    field: str,
    *header: Any,
    said: tuple[Any, ...],
) -> tuple[Any, ...]:
    """The values of LABELS; ``said`` are label, ordinal, start and end."""
    who, whether = whose(header)
    known = as_cell((expected or {}).get(field, ""))
    further = json.dumps(meta, ensure_ascii=False) if meta else ""
    return key, *who, field, *said, known, *whether, further
