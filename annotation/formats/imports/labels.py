"""Labels: items with their metadata (key, text), and labels of people and models, a row each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from annotation.files.reading.importer import (
    Field,
    FirstSeen,
    Importer,
    Reader,
    Refused,
    Row,
    closest_name,
)
from annotation.formats.imports.authors import AFTER, AUTHOR, Authors, KnownAnswers, facts
from annotation.formats.imports.items import made_id
from annotation.task_types.labels.fields import CHOOSE_ONE, SINGLE_CODES, SPANS, code_of, codes_of
from annotation.task_types.labels.rules import PREFIX, Span, read_answer
from crowdqc.errors import Invalid
from crowdqc.numbers import plural

MAX_META, MAX_COLUMNS = 2000, 100  # characters of a value that is kept, and columns
GOLD = ("gold_label", "truth", "true_label", "ground_truth", "expected")


@dataclass(frozen=True)
class KnownItems:
    """What the draft holds: key -> text; and what it asks."""

    texts: Mapping[str, str] = field(default_factory=dict)
    fields: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class KnownLabels(KnownAnswers):
    """What a task asks, and what was said: ``there`` is (author, key) -> code by field.

    ``gold``: the known answers of items, by key and field.
    """

    fields: Sequence[Mapping[str, Any]] = ()
    lengths: Mapping[str, int] = field(default_factory=dict)  # characters of each item's text
    gold: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Gold:
    """Reads the known answers of items: of the first field that chooses one, once an item."""

    def __init__(
        self,
        reader: Reader,
        fields: Sequence[Mapping[str, Any]],
        there: Mapping[str, Mapping[str, str]],
    ) -> None:
        self.reader = reader
        self.field = next((row for row in fields if row["kind"] == CHOOSE_ONE), None)
        name = self.field["name"] if self.field else ""
        self.first = {key: (0, known[name]) for key, known in there.items() if name in known}

    def read(self, row: Row, key: str) -> dict[str, str]:
        """The known answer that a row gives an item, by field. Raises Refused."""
        reader = self.reader
        said = reader.value(row, "gold")
        if not said:
            return {}
        if self.field is None:
            wrong = "No field of the task chooses one option."
            reader.refuse(row, "gold", wrong, "Leave the column out.")
        code = code_of(self.field, said)
        offered = [option["value"] for option in self.field["options"]]
        if code not in offered:
            refuse_label(reader, row, "gold", said, offered)
        line, known = self.first.setdefault(key, (row.line, code))
        if known != code:
            where = f"on line {line:,}" if line else "in the task"
            wrong = f"This item has the known answer {known} {where}."
            reader.refuse(row, "gold", wrong, "Give each item one known answer.")
        return {self.field["name"]: code}


def refuse_label(reader: Reader, row: Row, name: str, said: str, offered: Sequence[str]) -> None:
    """Refuse a label that no option has, naming the nearest one."""
    near = closest_name(said, offered)
    mend = f"Did you mean {near}?" if near else f"Use {', '.join(offered[:12])}."
    reader.refuse(row, name, "The field has no such option.", mend)


class LabelItems(Importer):
    """Items to be labeled; every further column is kept with its item."""

    slug = "label_items"
    title = "Items to label"
    fields = (
        Field(
            "key",
            "Item id",
            False,
            ("item_id", "id", "item", "task", "uid", "question_id", "nr", "number"),
        ),
        Field(
            "text",
            "Text",
            True,
            ("question", "content", "sentence", "document", "body", "message", "tweet", "review"),
        ),
        Field("gold", "Known answer", False, GOLD),
    )
    limits = (("key", 80, "an id"), ("text", 20_000, "a text"))
    note = (
        "Every other column is kept with its item. An item without an id gets one made of its "
        "text. An item with a known answer is mixed in among the others and never counts."
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownItems) -> None:
        """Items with their metadata; an id once."""
        checked, first, made = reader.checked, FirstSeen(), 0
        gold = Gold(reader, known.fields, {})
        mapped = set(reader.mapping.values())
        for row in rows:
            with reader:
                values = reader.values(row, self.fields)
                wrong, mend = "An item needs a text.", "Write it, or delete the row."
                reader.needed(row, "text", wrong, mend)
                reader.limit(row, self.limits)
                key = values["key"]
                if not key:
                    key = made_id({"topic": "", "context": "", "question": values["text"]})
                    made += 1
                expected = gold.read(row, key)
                line, same = first.setdefault(key, row.line, values["text"])
                if line != row.line:
                    if not same:
                        wrong = f"Given twice, first on line {line:,}, with another text."
                        reader.refuse(row, "key", wrong, "Give this item another id.")
                    reader.repeated(row, "key", line, "text")
                    continue
                if key in known.texts:
                    if known.texts[key].strip() != values["text"]:
                        wrong = "The task has this id with another text."
                        reader.refuse(row, "key", wrong, "Give this item another id.")
                    checked.there += 1
                    continue
                meta = _metadata(row, mapped)
                checked.good.append(
                    {"key": key, "text": values["text"], "expected": expected, "meta": meta}
                )
        if made:
            checked.notes.append(f"{plural(made, 'item')} without an id: one is made of the text.")
        columns = {name for one in checked.good for name in one["meta"]}
        if columns:
            checked.facts.append(f"kept with the items: {', '.join(sorted(columns)[:12])}")


def _metadata(row: Row, mapped: set[str]) -> dict[str, str]:
    others = [name for name in row.values if name and name not in mapped][:MAX_COLUMNS]
    return {name: row.values[name][:MAX_META] for name in others if row.values[name].strip()}


@dataclass
class ReadLabels:
    """One author's answer to one item as far as the file has told it."""

    about: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    draft: dict[str, str] = field(default_factory=dict)  # as the type's drafts
    spans: dict[str, list[Span]] = field(default_factory=dict)  # the same, by the draft's keys
    lines: dict[tuple[Any, ...], int] = field(default_factory=dict)  # where each was told

    def take(self, reader: Reader, row: Row, key: str, said: str, span: Span | None) -> None:
        """What one more row tells; Raises Refused where an earlier one tells otherwise."""
        what = (key, *span) if span else (key,)
        line = self.lines.setdefault(what, row.line)
        if line == row.line:
            self.rows.append(row)
            if span:
                self.spans.setdefault(key, []).append(span)
            else:
                self.draft[key] = said
        elif span or self.draft[key] == said:
            reader.repeated(row, ["worker", "system", "item"], line, "label")
        else:
            wrong = f"This author labeled the item on line {line:,}, with another label."
            names = ["worker", "system", "item", "label"]
            reader.refuse(row, names, wrong, "Keep one of the two.")

    def whole(self) -> dict[str, str]:
        """The draft with its spans."""
        return self.draft | {key: json.dumps(rows) for key, rows in self.spans.items()}


class Labels(Importer):
    """Labels from elsewhere; one good row for each author and item."""

    slug = "labels"
    title = "Labels"
    note = (
        "A row is one label of one item. Where a task has several fields, the column field names "
        "the one that is meant, and NAME.VALUE an option of several, with yes or no."
    )
    fields = (
        *AUTHOR,
        Field("item", "Item id", True, ("item_id", "key", "task", "task_id", "id", "question")),
        Field("label", "Label", True, ("code", "value", "answer", "class", "vote", "annotation")),
        Field("field", "Field", False, ("name", "dimension", "question_name")),
        Field("start", "Start of a span", False, ("begin",)),
        Field("end", "End of a span"),
        Field("gold", "Known answer", False, GOLD),
        Field("time", "Time", False, ("answered_at", "submitted_at", "timestamp", "created_at")),
        *AFTER,
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownLabels) -> None:
        """Labels by author and item; a bad row spoils those that stand with it."""
        authors, gold = Authors(reader, known), Gold(reader, known.fields, known.gold)
        asked = {row["name"]: row for row in known.fields}
        usual = next((row["name"] for row in known.fields if row["kind"] == CHOOSE_ONE), "")
        found: dict[Any, ReadLabels] = {}
        spoilt: set[Any] = set()
        for row in rows:
            with reader:
                item, (author, about) = reader.every(
                    partial(known.item, reader, row, ("item",)), partial(authors.author, row)
                )
                key = (author, item)
                try:
                    uncounted, at, expected, (name, said, span) = reader.every(
                        partial(authors.uncounted, row),
                        partial(reader.moment, row, "time"),
                        partial(gold.read, row, item),
                        partial(_said, reader, row, asked, usual),
                    )
                except Refused:
                    spoilt.add(key)
                    continue
                about |= {"item": item, "uncounted": uncounted, "at": at, "expected": expected}
                mine = found.setdefault(key, ReadLabels(about))
                mine.about["expected"] = mine.about["expected"] or expected
                mine.take(reader, row, name, said, span)
        for key, one in found.items():
            with reader.together([row.line for row in one.rows], "answer"):
                if key in spoilt:
                    raise Refused
                _settle(reader, one, known, known.there.get(key))
        reader.checked.facts += facts(reader.checked.good)


def _said(
    reader: Reader, row: Row, asked: Mapping[str, Mapping[str, Any]], usual: str
) -> tuple[str, str, Span | None]:
    """The key of the draft that a row fills, with what, or which span it is. Raises Refused."""
    said = reader.needed(row, "label", "There is no label.", "Write it, or delete the row.")
    field_name = reader.value(row, "field") or usual
    name, _, value = field_name.partition(".")
    if name not in asked:
        near = closest_name(name, asked)
        mend = f"Did you mean {near}?" if near else f"It has {', '.join(asked)}."
        reader.refuse(row, ["field"], "The task has no such field.", mend)
    one, key = asked[name], f"{PREFIX}{field_name}"
    if one["kind"] == SPANS and reader.value(row, "start"):
        mend = "Characters of the text, counted from 0."
        start, end = reader.number(row, "start", mend), reader.number(row, "end", mend)
        if start is None or end is None or start >= end:
            reader.refuse(row, ["start", "end"], "A span has its start before its end.", mend)
        return key, "", (start, end, said)
    code = said if value else code_of(one, said)
    if one["kind"] in SINGLE_CODES and code not in codes_of(one):
        refuse_label(reader, row, "label", said, codes_of(one))
    return key, code, None


def _settle(
    reader: Reader,
    one: ReadLabels,
    known: KnownLabels,
    there: Mapping[str, str] | None,
) -> None:
    """Whether an answer is new, or as the task has it. Raises Refused."""
    values: dict[str, list[Any]] = {"choices": [], "texts": [], "spans": []}
    draft, length = one.whole(), known.lengths.get(one.about["item"])
    first = one.rows[0]
    for asked in known.fields:
        key = PREFIX + asked["name"]
        if not any(name == key or name.startswith(f"{key}.") for name in draft):
            continue
        try:
            found = read_answer(draft, asked, length=length).values
        except Invalid as error:
            reader.refuse(first, "label", error.message, next(iter(error.fields.values()), ""))
        values["choices"] += found.choices
        values["texts"] += found.texts
        values["spans"] += found.spans
    said = {name: code for name, code, _ in values["choices"]}
    if there is not None and any(there.get(name, code) != code for name, code in said.items()):
        wrong, mend = "The task has another label of this author.", "Leave this row out."
        reader.refuse(
            first, ["worker", "system", "item"], wrong, f"{mend} Labels are not replaced."
        )
    made = {**one.about, **values}
    reader.checked.add(made, len(one.rows), there=there is not None)
