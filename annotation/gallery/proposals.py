"""What task a file of texts, pairs, questions or files could become, told from its first rows."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from annotation.chats.readers.base import dict_of, list_of
from annotation.chats.readers.files import holds_chats
from annotation.files.reading.importer import Row, guess, missing
from annotation.files.reading.sources import Source
from annotation.formats.imports.candidates import Candidates
from annotation.formats.imports.chats import CHAT_B, Chats, ChatTexts, open_table
from annotation.formats.imports.items import Items
from annotation.formats.imports.labels import LabelItems
from annotation.formats.imports.pairs import Pairs
from annotation.formats.registry import recognise_texts
from annotation.task_types.labels.content import AUDIO, CONVERSATION, IMAGE

# Endings of names and addresses of files that an item can show.
ENDINGS = {
    IMAGE: (".png", ".jpg", ".jpeg", ".gif", ".webp"),
    AUDIO: (".mp3", ".wav", ".ogg", ".m4a", ".flac"),
}
# Names of columns that hold a class of each row.
CLASSES = (
    *("label", "class", "category", "sentiment", "topic", "emotion", "stance", "intent", "type"),
    *("gold", "gold_label", "truth", "true_label", "expected"),
)
LOOKED_AT = 20  # records of a file of conversations
MOST_OPTIONS = 12
SHORTEST = 15  # characters that a column of texts has on average


@dataclass(frozen=True)
class Proposal:
    """A task for a file: its type, the format of the file, rules of the draft, and the columns.

    ``mapping`` (field -> column) is empty where the names of the columns say it.
    """

    type: str
    format: str
    rules: Mapping[str, Any] = field(default_factory=dict)
    mapping: Mapping[str, str] = field(default_factory=dict)


def propose_chats(content: Source, name: str) -> Proposal | None:
    """The task that a file of conversations could become; None where it is another file."""
    if not holds_chats(content, name):
        return None
    table = open_table(content, name)
    rows = [row for row in itertools.islice(table.events, LOOKED_AT) if isinstance(row, Row)]
    if any(row.values.get(CHAT_B) for row in rows):
        return Proposal("pairwise", ChatTexts.slug)
    return Proposal("labels", Chats.slug, {"settings": {"content": CONVERSATION}})


def propose_media(names: Sequence[str]) -> Proposal:
    """The task that files of these names could become: a label for each of them."""
    sounds = sum(name.casefold().endswith(ENDINGS[AUDIO]) for name in names)
    content = AUDIO if 2 * sounds > len(names) else IMAGE
    return Proposal("labels", LabelItems.slug, {"settings": {"content": content}})


def propose(columns: Sequence[str], rows: Sequence[Row]) -> Proposal:
    """The task that a file with these columns and first rows could become: labels where unsure."""
    if recognise_texts(columns, rows) == Pairs.slug:
        return Proposal("pairwise", Pairs.slug)
    if _has_rival_texts(columns, rows):
        return Proposal("pairwise", Candidates.slug)
    found = guess(columns, Items.fields)
    if found.keys() >= {"question", "context"}:
        return Proposal("free_text", Items.slug)
    return _labels(columns, rows)


def _has_rival_texts(columns: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether several systems or origins have a text on one topic."""
    found = guess(columns, Candidates.fields)
    if missing(found, Candidates.fields):
        return False
    about = found.get("topic") or found["query"]
    source = found.get("system") or found["origin"]
    sources: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        sources[row.values.get(about, "")].add(row.values.get(source, ""))
    return any(len(own) > 1 for own in sources.values())


def _labels(columns: Sequence[str], rows: Sequence[Row]) -> Proposal:
    mapping = guess(columns, LabelItems.fields)
    settings: dict[str, Any] = {}
    if content := _content_of(mapping, rows):
        settings["content"] = content
    else:
        mapping.pop("file", None)
        text = mapping.get("text") or _column_of_texts(columns, rows)
        if text:
            mapping = {name: one for name, one in mapping.items() if one != text} | {"text": text}
    if "gold" in mapping and 2 * sum(map(bool, _values(mapping["gold"], rows))) > len(rows):
        del mapping["gold"]  # else nobody would be asked: known answers are mixed in among others
    taken = {one for name, one in mapping.items() if name != "gold"}
    classes = _column_of_classes([one for one in columns if one not in taken], rows)
    if classes:
        settings["fields"] = [_field(classes, _values(classes, rows))]
    return Proposal("labels", LabelItems.slug, {"settings": settings}, mapping)


def _values(column: str, rows: Sequence[Row]) -> list[str]:
    return [row.values.get(column, "").strip() for row in rows]


def _content_of(mapping: Mapping[str, str], rows: Sequence[Row]) -> str:
    """Whether the column of files names images or sounds; empty where it names neither."""
    names = [one.casefold() for one in _values(mapping.get("file", ""), rows) if one]
    for content, endings in ENDINGS.items():
        fits = sum(name.partition("?")[0].endswith(endings) for name in names)
        if names and 2 * fits > len(names):
            return content
    return ""


def _column_of_texts(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The column with the longest values; empty where none holds texts."""
    texts = [one for one in columns if not _holds_trees(one, rows)]
    lengths = {one: sum(map(len, _values(one, rows))) / max(1, len(rows)) for one in texts}
    longest = max(texts, key=lambda one: lengths[one], default="")
    return longest if longest and lengths[longest] >= SHORTEST else ""


def _holds_trees(column: str, rows: Sequence[Row]) -> bool:
    """Whether a column holds objects as JSON, such as messages, which nobody reads as a text."""
    values = list(filter(None, _values(column, rows)))
    objects = [one for one in values if any(map(dict_of, [one, *list_of(one)[:1]]))]
    return 2 * len(objects) > len(values)


def _column_of_classes(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The first column that is called as classes are and holds a few values."""
    for column in columns:
        values = set(_values(column, rows)) - {""}
        named = column.strip().casefold().replace(" ", "_") in CLASSES
        if named and 2 <= len(values) <= MOST_OPTIONS and all(len(one) <= 40 for one in values):
            return column
    return ""


def _field(column: str, values: Sequence[str]) -> dict[str, Any]:
    """A field whose options are the values of a column, in the order of their names."""
    name = column.strip().replace("_", " ")
    options = sorted(set(values) - {""}, key=str.casefold)
    return {
        "label": name.capitalize(),
        "question": _("Which %(class)s fits best?") % {"class": name.casefold()},
        "kind": "choose_one",
        "options": [{"value": one, "label": one.capitalize()} for one in options],
    }
