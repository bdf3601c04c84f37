"""Responses of a writing task, by people and by systems: the columns of our own export.

A row names its topic and style, and one author: ``worker`` (their id, or pseudonym) or ``system``
with ``prompt_strategy`` and ``replicate``. What it cites stands in its text. Rows that do not count
where they come from, or whose author is ``excluded`` there, are taken and do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import Field, Importer, Reader, Row, UniqueRows
from annotation.formats.imports.answers import MAX_ANSWER, REPLICATE, STRATEGY, SYSTEM
from annotation.formats.imports.authors import AFTER, WHO, Authors, KnownAuthors, facts


@dataclass(frozen=True)
class KnownResponses(KnownAuthors):
    """What a task asks and holds: its items, who is known by which name, texts by author."""

    keys: Sequence[str] = ()
    texts: Mapping[Any, str] = field(default_factory=dict)  # (author, item) -> text


class Responses(Importer):
    """Texts of people and of systems, one a row."""

    slug = "responses"
    title = gettext_lazy("Responses")
    note = gettext_lazy(
        "A row is one response, of a worker or of a system, with its topic and "
        "style. Passages are cited in the text by their numbers, as the task has "
        "it."
    )
    fields = (
        Field("topic", gettext_lazy("Topic"), True, ("topic_id", "query_id", "qid")),
        Field("style", gettext_lazy("Style"), True, ("kind",)),
        Field(
            "text", gettext_lazy("Text"), True, ("response_text", "answer", "output", "completion")
        ),
        Field(
            "worker",
            gettext_lazy("Worker id"),
            False,
            ("worker_id", "participant", "author", "user"),
            WHO,
        ),
        Field("system", gettext_lazy("System"), False, SYSTEM.also, WHO),
        STRATEGY,
        REPLICATE,
        Field(
            "answered_at",
            gettext_lazy("Time of the response"),
            False,
            ("submitted_at", "timestamp", "time", "date", "created_at"),
        ),
        *AFTER,
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownResponses) -> None:
        """Rows under the keys of the task's items, each author's text once."""
        authors, keys = Authors(reader, known, _("where it was written")), set(known.keys)
        once = UniqueRows(
            reader,
            ["worker", "system", "topic", "style"],
            {key: text.strip() for key, text in known.texts.items()},
            twice=gettext_noop("Keep one, or number a system’s responses in the column replicate."),
            differs=gettext_noop("The task has another response of this author to it."),
            leave=gettext_noop("Leave the row out: responses are not overwritten."),
        )
        for row in rows:
            with reader:
                item = f"{reader.value(row, 'topic')}-{reader.value(row, 'style')}"
                if item not in keys:
                    wrong, order = (
                        gettext_noop("The task asks for no such topic and style."),
                        known.keys,
                    )
                    reader.refuse_unknown(
                        row, ["topic", "style"], wrong, near=item, known=order, order=order
                    )
                wrong, mend = (
                    gettext_noop("A response needs text."),
                    gettext_noop("Write it, or delete the row."),
                )
                reader.needed(row, "text", wrong, mend)
                text = reader.fit(row, "text", MAX_ANSWER, gettext_noop("a response"))
                author, about = authors.author(row)
                found = {**about, "item": item, "text": text}
                found |= {"at": reader.moment(row, "answered_at")}
                found |= {"uncounted": authors.uncounted(row)}
                if once.is_new(row, (author, item), text):
                    reader.checked.good.append(found)
        reader.checked.facts += facts(reader.checked.good)
