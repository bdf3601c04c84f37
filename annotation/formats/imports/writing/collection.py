"""A collection of passages, in which those of each topic are searched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import Field, Importer, Reader, Row, UniqueRows
from annotation.formats.imports.writing.topics import (
    KEYS,
    MAX_DOCUMENT,
    MAX_TEXT,
    MAX_TITLE,
    TEXTS,
    TITLES,
)
from crowdqc.numbers import plural


@dataclass(frozen=True)
class TopicsToFill:
    """How many topics of the draft have no passages yet."""

    topics: int = 0


class Collection(Importer):
    """Passages to search, one a row: ``key``, ``title`` and ``text``."""

    slug = "collection"
    title = gettext_lazy("Collection of passages")
    note = gettext_lazy(
        "One passage a row. Each topic that has none gets the 20 that match its query best by "
        "their words (BM25); the others stay as they are."
    )
    fields = (
        Field("key", gettext_lazy("Passage id"), True, KEYS[1:]),
        Field("text", gettext_lazy("Text"), True, TEXTS[1:]),
        Field("title", gettext_lazy("Title"), False, TITLES[1:]),
    )
    limits = (
        ("key", MAX_DOCUMENT, gettext_noop("an id")),
        ("title", MAX_TITLE, gettext_noop("a title")),
        ("text", MAX_TEXT, gettext_noop("a passage")),
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: Any) -> None:
        """Passages with a text, each id once."""
        once = UniqueRows(
            reader,
            ["key", "text"],
            {},
            twice=gettext_noop("Give each passage an id of its own."),
            differs="",
            leave="",
        )
        mend = gettext_noop("Write it, or delete the row.")
        for row in rows:
            with reader:
                key = reader.needed(row, "key", gettext_noop("A passage needs an id."), mend)
                text = reader.needed(row, "text", gettext_noop("The passage has no text."), mend)
                reader.limit(row, self.limits)
                if once.is_new(row, key, text):
                    title = reader.value(row, "title")
                    reader.checked.good.append({"key": key, "title": title, "text": text})
        good = reader.checked.good
        if good:
            reader.checked.facts += [
                plural(len(good), "passage"),
                _("searched for %(topics)s") % {"topics": plural(known.topics, "topic")},
            ]
