"""Labels: items with their metadata (key, text), and labels of people and models, a row each."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import (
    MAX_ID,
    Field,
    Importer,
    Reader,
    Refused,
    Row,
    closest_name,
)
from annotation.files.reading.keys import FirstSeen, Keys
from annotation.files.reading.recognise import NUMBERED, fill_by_values
from annotation.files.reading.remembered import Remembered
from annotation.files.reading.spool import Spool
from annotation.formats.imports.authors import (
    AFTER,
    AUTHOR,
    TEXTS,
    AuthorCounts,
    Authors,
    KnownAnswers,
)
from annotation.formats.imports.items import made_id
from annotation.task_types.labels.fields import CHOOSE_ONE, SINGLE_CODES, SPANS, code_of, codes_of
from annotation.task_types.labels.rules import PREFIX, Span, read_answer
from crowdqc.errors import Invalid
from crowdqc.numbers import count, plural
from crowdqc.outbound import addresses

MAX_META, MAX_COLUMNS = 2000, 100  # characters of a value that is kept, and columns
MOST_OPEN = 20_000  # answers of which some rows are read
MOST_SEEN = 10_000  # drafts whose values are remembered
WHAT = gettext_lazy("a text, or a file")
SAID = ("label", "field", "start", "end")
GOLD = ("gold_label", "truth", "true_label", "ground_truth", "expected")


@dataclass(frozen=True)
class KnownItems:
    """What the draft holds: key -> text; and what it asks.

    ``files``: name -> id of the project's files that its items can show; None where they show none.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    fields: Sequence[Mapping[str, Any]] = ()
    files: Mapping[str, int] | None = None
    shown: Mapping[str, int] = field(default_factory=dict)  # key -> id of the file of an item


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
            wrong = gettext_noop("No field of the task chooses one option.")
            reader.refuse(row, "gold", wrong, _("Leave the column out."))
        code = code_of(self.field, said)
        offered = [option["value"] for option in self.field["options"]]
        if code not in offered:
            refuse_label(reader, row, "gold", said, offered)
        line, known = self.first.setdefault(key, (row.line, code))
        if known != code:
            wrong = _("This item has the known answer %(known)s in the task.")
            if line:
                wrong = _("This item has the known answer %(known)s on line %(line)s.")
            wrong %= {"known": known, "line": count(line)}
            reader.refuse(row, "gold", wrong, _("Give each item one known answer."))
        return {self.field["name"]: code}


def refuse_label(reader: Reader, row: Row, name: str, said: str, offered: Sequence[str]) -> None:
    """Refuse a label that no option has, naming the nearest one."""
    near = closest_name(said, offered)
    mend = (
        _("Did you mean %(near)s?") % {"near": near}
        if near
        else _("Use %(offered)s.") % {"offered": ", ".join(offered[:12])}
    )
    reader.refuse(row, name, _("The field has no such option."), mend)


class LabelItems(Importer):
    """Items to be labeled; every further column is kept with its item."""

    slug = "label_items"
    id_field = "key"
    keeps_columns = True
    title = gettext_lazy("Items to label")
    fields = (
        Field(
            "key",
            gettext_lazy("Item id"),
            False,
            ("item_id", "id", "item", "task", "uid", "question_id", *NUMBERED),
        ),
        Field(
            "text",
            gettext_lazy("Text"),
            False,
            ("question", *TEXTS[1:]),
            either=WHAT,
        ),
        Field("gold", gettext_lazy("Known answer"), False, GOLD),
        Field(
            "file",
            gettext_lazy("File"),
            False,
            ("image", "audio", "picture", "photo", "filename", "file_name", "path", "url"),
            WHAT,
        ),
    )
    limits = (("key", MAX_ID, gettext_noop("an id")), ("text", 20_000, gettext_noop("a text")))
    note = gettext_lazy(
        "Every other column is kept with its item. An item without an id gets one "
        "made of its text. An item with a known answer is mixed in among the "
        "others; its answers do not count towards the labels wanted. Where items are "
        "images or recordings, File names one that was uploaded, before or with the "
        "table, or is the address of one, and Text describes it."
    )

    def guess(self, columns: Sequence[str], rows: Iterable[Row]) -> dict[str, str]:
        """Map fields to columns by name; the only column of a file holds the texts."""
        named = super().guess(columns, rows)
        return named if named or len(columns) != 1 else {"text": columns[0]}

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownItems) -> None:
        """Items with their metadata; an id once."""
        checked, first, made = reader.checked, FirstSeen(), 0
        gold = Gold(reader, known.fields, {})
        noun = _("text") if known.files is None else _("file or description")
        mapped = set(reader.mapping.values())
        if known.files is None:  # a column that is called so is kept with its item
            mapped -= {reader.mapping.get("file")}
        for row in rows:
            with reader:
                values = reader.values(row, self.fields)
                reader.limit(row, self.limits)
                file, address = _file_of(reader, row, known)
                what = "\0".join(filter(None, (values["text"], str(file or address))))
                key = values["key"]
                if not key:
                    key = made_id({"topic": "", "context": "", "question": what})
                    made += 1
                expected = gold.read(row, key)
                line, same = first.setdefault(key, row.line, what)
                if line != row.line:
                    if not same:
                        wrong = _("Given twice, first on line %(line)s, with another %(noun)s.") % {
                            "line": count(line),
                            "noun": noun,
                        }
                        reader.refuse(row, "key", wrong, _("Give this item another id."))
                    reader.repeated(row, "key", line, noun)
                    continue
                if key in known.texts:
                    other = known.files is not None and known.shown.get(key) != file
                    if known.texts[key].strip() != values["text"] or other:
                        wrong = _("The task has this id with another %(noun)s.") % {"noun": noun}
                        reader.refuse(row, "key", wrong, _("Give this item another id."))
                    checked.there += 1
                    continue
                meta = _metadata(row, mapped)
                checked.good.append(
                    {
                        "key": key,
                        "text": values["text"],
                        "expected": expected,
                        "meta": meta,
                        "file": file,
                        "address": address,
                    }
                )
        if made:
            checked.notes.append(
                _("%(items)s without an id: one is made of the text.")
                % {"items": plural(made, "item")}
            )
        columns = {name for one in checked.good for name in one["meta"]}
        if columns:
            checked.facts.append(
                _("kept with the items: %(sorted)s") % {"sorted": ", ".join(sorted(columns)[:12])}
            )


def _file_of(reader: Reader, row: Row, known: KnownItems) -> tuple[int | None, str]:
    """The file that a row's item shows, or the address of one. Raises Refused."""
    if known.files is None:
        reader.needed(
            row,
            "text",
            gettext_noop("An item needs a text."),
            gettext_noop("Write it, or delete the row."),
        )
        return None, ""
    said = reader.needed(
        row, "file", gettext_noop("An item needs a file."), gettext_noop("Name an uploaded file.")
    )
    if said.startswith(("http://", "https://")):
        try:
            return None, addresses.clean(said, query=True)
        except Invalid as error:
            return reader.refuse(
                row, "file", _("This address cannot be used."), *error.fields.values()
            )
    bare = PurePosixPath(said.replace("\\", "/")).name
    if said not in known.files and bare in known.files:
        said = bare  # with the folder that it is in elsewhere
    if said not in known.files:
        near = closest_name(said, known.files)
        mend = (
            _("Did you mean %(near)s?") % {"near": near}
            if near
            else gettext_noop("Upload it first, or with the table.")
        )
        reader.refuse(row, "file", _("The project has no file of this name."), mend)
    return known.files[said], ""


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
        """Add a further row to the answer. Raises Refused where it contradicts an earlier row."""
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
            wrong = _("This author labeled the item on line %(line)s, with another label.") % {
                "line": count(line)
            }
            names = ["worker", "system", "item", "label"]
            reader.refuse(row, names, wrong, _("Keep one of the two."))

    def full_draft(self) -> dict[str, str]:
        """The draft with its spans."""
        return self.draft | {key: json.dumps(rows) for key, rows in self.spans.items()}


class Labels(Importer):
    """Labels from elsewhere; one good row for each author and item."""

    slug = "labels"
    title = gettext_lazy("Labels")
    note = gettext_lazy(
        "A row is one label of one item. Where a task has several fields, the "
        "column field names the one that is meant, and NAME.VALUE an option of "
        "several, with yes or no. Spans also come in as CoNLL: the exported "
        "archive, or a file whose comments name item and worker."
    )
    fields = (
        *AUTHOR,
        Field(
            "item",
            gettext_lazy("Item id"),
            True,
            ("item_id", "key", "task", "task_id", "id", "question", *NUMBERED, *TEXTS),
        ),
        Field(
            "label",
            gettext_lazy("Label"),
            True,
            ("code", "value", "answer", "class", "vote", "annotation"),
        ),
        Field("field", gettext_lazy("Field"), False, ("name", "dimension", "question_name")),
        Field("start", gettext_lazy("Start of a span"), False, ("begin",)),
        Field("end", gettext_lazy("End of a span")),
        Field("gold", gettext_lazy("Known answer"), False, GOLD),
        Field(
            "time",
            gettext_lazy("Time"),
            False,
            ("answered_at", "submitted_at", "timestamp", "created_at"),
        ),
        *AFTER,
    )

    def guess(self, columns: Sequence[str], rows: Iterable[Row]) -> dict[str, str]:
        """Map fields to columns by name, else author, item and label by the first rows."""
        named = super().guess(columns, rows)
        if {"field", "start", "end"} & named.keys():
            return named
        return fill_by_values(
            named, columns, rows, "label", "system" if "system" in named else "worker"
        )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownLabels) -> None:
        """Read labels by author and item; a bad row rejects all rows of the same answer."""
        authors, gold = Authors(reader, known), Gold(reader, known.fields, known.gold)
        author_of = Remembered(reader, [one.name for one in AUTHOR], authors.author)
        uncounted_of = Remembered(reader, [one.name for one in AFTER], authors.uncounted)
        item_of = Remembered(reader, ["item"], partial(known.item, reader, names=["item"]))
        asked = {row["name"]: row for row in known.fields}
        usual = next((row["name"] for row in known.fields if row["kind"] == CHOOSE_ONE), "")
        usual = usual or next((row["name"] for row in known.fields if row["kind"] == SPANS), "")
        said_of = Remembered(reader, SAID, partial(_read_value, reader, asked=asked, usual=usual))
        said_in, mapped = _Grouped(), reader.mapping
        names = [*(one.name for one in (*AUTHOR, *AFTER)), *SAID]
        usual_cells = {"time", "gold"}.isdisjoint(mapped)
        rest_of = Remembered[Any](reader, names)  # what rows say but for their item
        for row in rows:
            rest = rest_of.known(row) if usual_cells else None
            if rest is not None and (item := item_of.known(row)) is not None:
                (author, about), uncounted, said = rest
                key = (author, item)
                said_in.add(key, (row, key, about, (uncounted, None, {}), said))
                continue
            with reader:
                item, (author, about) = reader.read_all(
                    partial(item_of, row), partial(author_of, row)
                )
                key = (author, item)
                try:
                    uncounted, at, expected, said = reader.read_all(
                        partial(uncounted_of, row),
                        partial(reader.moment, row, "time"),
                        partial(gold.read, row, item),
                        partial(said_of, row),
                    )
                except Refused:
                    said_in.spoil(key)
                    continue
                rest_of.remember(row, ((author, about), uncounted, said))
                said_in.add(key, (row, key, about, (uncounted, at, expected), said))
        settle, counts = _Settling(reader, known), AuthorCounts()
        for place, key, one in said_in.answers(reader):
            with reader.together([row.line for row in one.rows], "answer"):
                if place in said_in.spoilt:
                    raise Refused
                if made := settle(one, known.there.get(key)):
                    counts.add(made)
        reader.checked.facts += counts.facts()


# Row, key, about its author, (uncounted, at, expected), what is said.
Line = tuple[Row, Any, dict[str, Any], tuple[Any, ...], tuple[str, str, Span | None]]


class _Grouped:
    """Rows by the answer that they tell, of which only those lie in memory that are not complete.

    Where more answers than ``MOST_OPEN`` are open at once, as in a file that gives all of one field
    before the next, the rows are gone through several times, each time for a part of the answers.
    """

    def __init__(self) -> None:
        self.keys, self.counts = Keys(), array("I")
        self.lines: Spool[tuple[int, Line]] = Spool()
        self.places = array("I")  # the answer of each line
        self.spoilt: set[int] = set()  # answers of which a row was refused

    def _place(self, key: Any) -> int:
        place, new = self.keys.add(key)
        if new:
            self.counts.append(0)
        return place

    def spoil(self, key: Any) -> None:
        """Note that a row of this answer was refused."""
        self.spoilt.add(self._place(key))

    def add(self, key: Any, line: Line) -> None:
        """Add a line to the answer that it tells."""
        place = self._place(key)
        self.counts[place] += 1
        self.places.append(place)
        self.lines.append((place, line))

    def answers(self, reader: Reader) -> Iterator[tuple[int, Any, ReadLabels]]:
        """Place, key and what was read of each answer, in the order in which they are complete."""
        parts = 1 + self._most_open() // MOST_OPEN
        for part in range(parts):
            left, found = array("I", self.counts), dict[int, ReadLabels]()
            for place, (row, key, author, (uncounted, at, expected), what) in self.lines:
                if place % parts != part:
                    continue
                with reader:
                    if (mine := found.get(place)) is None:
                        about = {**author, "item": key[1], "uncounted": uncounted, "at": at}
                        mine = found[place] = ReadLabels({**about, "expected": expected})
                    mine.about["expected"] = mine.about["expected"] or expected
                    mine.take(reader, row, *what)
                left[place] -= 1
                if not left[place]:
                    yield place, key, found.pop(place)

    def _most_open(self) -> int:
        """Return the most answers that are incomplete at any line of the file."""
        left, still, most = array("I", self.counts), 0, 0
        for place in self.places:
            still += left[place] == self.counts[place]
            most = max(most, still)
            left[place] -= 1
            still -= not left[place]
        return most


def _read_value(
    reader: Reader, row: Row, asked: Mapping[str, Mapping[str, Any]], usual: str
) -> tuple[str, str, Span | None]:
    """The key of the draft that a row fills, with what, or which span it is. Raises Refused."""
    said = reader.needed(
        row,
        "label",
        gettext_noop("There is no label."),
        gettext_noop("Write it, or delete the row."),
    )
    field_name = reader.value(row, "field") or usual
    name, _dot, value = field_name.partition(".")
    if name not in asked:
        near = closest_name(name, asked)
        mend = (
            _("Did you mean %(near)s?") % {"near": near}
            if near
            else _("It has %(asked)s.") % {"asked": ", ".join(asked)}
        )
        reader.refuse(row, ["field"], _("The task has no such field."), mend)
    one, key = asked[name], f"{PREFIX}{field_name}"
    if one["kind"] == SPANS and reader.value(row, "start"):
        mend = gettext_noop("Characters of the text, counted from 0.")
        start, end = reader.number(row, "start", mend), reader.number(row, "end", mend)
        if start is None or end is None or start >= end:
            reader.refuse(row, ["start", "end"], _("A span has its start before its end."), mend)
        return key, "", (start, end, said)
    code = said if value else code_of(one, said)
    if one["kind"] in SINGLE_CODES and code not in codes_of(one):
        refuse_label(reader, row, "label", said, codes_of(one))
    return key, code, None


class _Settling:
    """Whether an answer is new, or as the task has it.

    What a draft of short codes comes to is remembered: a file says the same few things again.
    """

    def __init__(self, reader: Reader, known: KnownLabels) -> None:
        self.reader, self.known = reader, known
        self.seen: dict[tuple[tuple[str, str], ...], dict[str, list[Any]]] = {}

    def __call__(self, one: ReadLabels, there: Mapping[str, str] | None) -> dict[str, Any] | None:
        """The row to import; None where it is there. Raises Refused."""
        first, values = one.rows[0], self._values(one)
        said = {name: code for name, code, _ in values["choices"]}
        if there is not None and any(there.get(name, code) != code for name, code in said.items()):
            wrong, mend = (
                gettext_noop("The task has another label of this author."),
                gettext_noop("Leave this row out."),
            )
            names = ["worker", "system", "item"]
            kept = _("Labels are not replaced.")
            self.reader.refuse(first, names, wrong, f"{_(mend)} {kept}")
        made = {**one.about, **values}
        self.reader.checked.add(made, len(one.rows), there=there is not None)
        return None if there is not None else made

    def _values(self, one: ReadLabels) -> dict[str, list[Any]]:
        """Choices, texts and spans as they are stored. Raises Refused."""
        draft = one.full_draft()
        key = () if one.spans else tuple(draft.items())
        if key in self.seen:
            return self.seen[key]
        values: dict[str, list[Any]] = {"choices": [], "texts": [], "spans": []}
        length = self.known.lengths.get(one.about["item"])
        for asked in self.known.fields:
            field_key = PREFIX + asked["name"]
            if not any(name == field_key or name.startswith(f"{field_key}.") for name in draft):
                continue
            try:
                found = read_answer(draft, asked, length=length).values
            except Invalid as error:
                mend = next(iter(error.fields.values()), "")
                self.reader.refuse(one.rows[0], "label", error.message, mend)
            values["choices"] += found.choices
            values["texts"] += found.texts
            values["spans"] += found.spans
        if key and not values["texts"] and len(self.seen) < MOST_SEEN:
            self.seen[key] = values
        return values
