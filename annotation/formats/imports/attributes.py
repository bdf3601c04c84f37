"""Attributes thought aloud, by people and by models: the columns of our own export.

A row is one attribute. Rows of one author on one dimension make one answer; ``index`` says their
order, else the order of the rows does. ``transcript`` stands on one of them, and ``start`` and
``end`` (characters, the end outside) point at a stretch of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.files.reading.importer import Checked, Field, Importer, Reader, Row
from annotation.formats.imports.authors import AFTER, AUTHOR, WHAT, Authors, KnownAnswers, facts

MAX_ATTRIBUTES, MAX_ATTRIBUTE, MAX_TRANSCRIPT = 200, 1000, 50_000


@dataclass
class Found:
    """One author's attributes of one dimension as far as the file has told them."""

    row: Row
    about: dict[str, Any]
    attributes: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    transcript: str = ""
    lines: list[int] = field(default_factory=list)

    @property
    def ordered(self) -> list[dict[str, Any]]:
        return [one for _, one in sorted(self.attributes, key=lambda pair: pair[0])]


class Attributes(Importer):
    """The format; ``check`` gives one row for each answer."""

    slug = "attributes"
    title = "Attributes"
    note = (
        "A row is one attribute of a worker or of a system. Rows of one author on one dimension "
        "go together. A transcript stands on one of them; start and end point at a stretch of it."
    )
    fields = (
        Field("item_id", "Dimension’s id", False, ("item", "topic_id"), WHAT),
        Field("dimension", "Dimension", False, ("name", "topic", "criterion"), WHAT),
        *AUTHOR,
        Field("index", "Place in the list", False, ("number", "position", "rank")),
        Field("attribute", "Attribute", True, ("text", "thought")),
        Field("start", "Start in the transcript", False, ("from",)),
        Field("end", "End in the transcript", False, ("to",)),
        Field("transcript", "Transcript", False, ("said", "verbalization")),
        *AFTER,
    )

    def check(
        self, rows: Iterable[Row], mapping: Mapping[str, str], known: KnownAnswers
    ) -> Checked:
        """Answers to add, those that are there already, and what is wrong with rows."""
        checked = Checked(rows=0)
        reader = Reader(mapping, checked)
        authors = Authors(reader, known, ("item_id", "dimension"))
        found: dict[Any, Found] = {}
        spoilt: set[Any] = set()
        for row in rows:
            self._take(reader, authors, row, found, spoilt)
        for key, one in found.items():
            if key in spoilt or not self._marks_fit(reader, one):
                reader.spoil(one.lines, "answer")
                continue
            texts = [attribute["text"] for attribute in one.ordered]
            there = known.there.get(key)
            if there is None:
                checked.good.append(
                    {**one.about, "attributes": one.ordered, "transcript": one.transcript}
                )
                checked.rows = checked.used + len(one.lines)
            elif there == texts:
                checked.there += len(one.lines)
            else:
                reader.bad(
                    one.row,
                    ["worker", "system", "dimension"],
                    "The task has other attributes of this author for it.",
                    "Leave these rows out: answers are not overwritten.",
                )
                reader.spoil(one.lines, "answer")
        checked.facts += facts(checked.good)
        number = sum(len(one["attributes"]) for one in checked.good)
        if number:
            checked.facts.append(f"{number:,} {'attribute' if number == 1 else 'attributes'}")
        return checked

    def _take(
        self, reader: Reader, authors: Authors, row: Row, found: dict[Any, Found], spoilt: set[Any]
    ) -> None:
        """Put a row with the others of its answer; a bad one spoils them all."""
        item, author = authors.item(row), authors.author(row)
        if item is None or author is None:
            return
        key = (authors.key(author), item)
        uncounted = authors.uncounted(row)
        one = self._attribute(reader, row)
        transcript = _raw(reader, row, "transcript")
        if uncounted is None or one is None:
            spoilt.add(key)
            return
        about = {**author, "item": item, "uncounted": uncounted}
        mine = found.setdefault(key, Found(row, about))
        mine.lines.append(row.line)
        if transcript and mine.transcript and transcript != mine.transcript:
            reader.bad(
                row,
                "transcript",
                "This author has another transcript above.",
                "One author has one transcript a dimension.",
            )
            spoilt.add(key)
        mine.transcript = mine.transcript or transcript
        if len(mine.transcript) > MAX_TRANSCRIPT or len(mine.lines) > MAX_ATTRIBUTES:
            reader.bad(
                row,
                "attribute",
                "There is more than one answer can hold.",
                f"{MAX_ATTRIBUTES} attributes, a transcript of {MAX_TRANSCRIPT:,} "
                "characters at most.",
            )
            spoilt.add(key)
        place, attribute = one
        mine.attributes.append((len(mine.attributes) if place is None else place, attribute))

    @staticmethod
    def _attribute(reader: Reader, row: Row) -> tuple[int | None, dict[str, Any]] | None:
        if not reader.value(row, "attribute"):
            reader.bad(row, "attribute", "There is no attribute.", "Write it, or delete the row.")
            return None
        if not reader.fits(row, "attribute", MAX_ATTRIBUTE, "an attribute"):
            return None
        numbers: dict[str, int | None] = {}
        for name in ("index", "start", "end"):
            raw = reader.value(row, name)
            if raw and not (raw.isascii() and raw.isdigit() and len(raw) < 9):
                reader.bad(row, name, "This is not a whole number from 0.", "Count from 0.")
                return None
            numbers[name] = int(raw) if raw else None
        start, end = numbers["start"], numbers["end"]
        if (start is None) != (end is None) or (
            start is not None and end is not None and start >= end
        ):
            wrong = "A stretch has a start before its end."
            reader.bad(row, ["start", "end"], wrong, "Write both, or leave both empty.")
            return None
        text = reader.value(row, "attribute")
        return numbers["index"], {"text": text, "start": start, "end": end}

    @staticmethod
    def _marks_fit(reader: Reader, one: Found) -> bool:
        last = max((attribute["end"] or 0 for _, attribute in one.attributes), default=0)
        if last <= len(one.transcript):
            return True
        reader.bad(
            one.row,
            ["start", "end"],
            f"A stretch ends at {last:,}; the transcript has {len(one.transcript):,} characters.",
            "Give the transcript on one of the author’s rows, or leave start and end empty.",
        )
        return False


def _raw(reader: Reader, row: Row, name: str) -> str:
    """A value as it is in the file: stretches count its characters from the first one on."""
    column = reader.mapping.get(name)
    value = row.values.get(column, "") if column else ""
    return value.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
