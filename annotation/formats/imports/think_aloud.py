"""Think-aloud tasks in: the scored samples to think over, and the attributes that were found.

A sample's row has dimension, rubric, sample_id, title, source, text and score. Rows of one
dimension go together; the rubric may stand on one of them.

An attribute's row has the columns of our own export. Rows of one author on one dimension make one
answer; ``index`` says their order, else the order of the rows does. ``transcript`` stands on one of
them, and ``start`` and ``end`` (characters, the end outside) point at a stretch of it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import (
    ConsistentTexts,
    Field,
    Importer,
    Reader,
    Refused,
    Row,
    UniqueRows,
)
from annotation.formats.imports.authors import AFTER, AUTHOR, WHAT, Authors, KnownAnswers, facts
from crowdqc.numbers import count, plural

MAX_SAMPLES = 20  # of a dimension
MAX_ATTRIBUTES, MAX_ATTRIBUTE, MAX_TRANSCRIPT = 200, 1000, 50_000


@dataclass(frozen=True)
class KnownSamples:
    """What the draft holds: dimension -> rubric, and (dimension, sample id) -> its content."""

    rubrics: Mapping[str, str] = field(default_factory=dict)
    samples: Mapping[tuple[str, str], str] = field(default_factory=dict)


def content_of(text: str, source: str, score: str) -> str:
    """Return a sample's content as one string, for comparing with a stored one."""
    return "\0".join((text.strip(), source.strip(), score.strip()))


class Samples(Importer):
    """The samples of a think-aloud task."""

    slug = "samples"
    title = gettext_lazy("Dimensions with scored samples")
    note = gettext_lazy(
        "A row is one sample with its score. Rows of one dimension go together, "
        "and its rubric may stand on any of them. A sample without an id gets one."
    )
    fields = (
        Field("dimension", gettext_lazy("Dimension"), True, ("name", "topic", "criterion")),
        Field(
            "text",
            gettext_lazy("Text that was scored"),
            True,
            ("summary", "sample", "output", "response"),
        ),
        Field("score", gettext_lazy("Score"), True, ("rating", "grade", "label")),
        Field("rubric", gettext_lazy("Rubric"), False, ("definition", "description", "guideline")),
        Field("sample_id", gettext_lazy("Sample id"), False, ("id", "key", "text_id")),
        Field(
            "source",
            gettext_lazy("Source"),
            False,
            ("article", "document", "context", "source_text"),
        ),
        Field("title", gettext_lazy("Title"), False, ("headline",)),
    )
    limits = (
        ("dimension", 80, gettext_noop("a dimension's name")),
        ("text", 20_000, gettext_noop("a sample")),
        ("score", 20, gettext_noop("a score")),
        ("rubric", 20_000, gettext_noop("a rubric")),
        ("sample_id", 80, gettext_noop("an id")),
        ("source", 100_000, gettext_noop("a source")),
        ("title", 160, gettext_noop("a title")),
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownSamples) -> None:
        """Samples under their dimensions, 20 of each at most; a dimension has one rubric."""
        checked = reader.checked
        once = UniqueRows(
            reader,
            ["dimension", "sample_id"],
            known.samples,
            twice=gettext_noop("Give each sample of a dimension an id of its own."),
            differs=gettext_noop(
                "The dimension has this sample with another text, source or score."
            ),
            leave=gettext_noop("Give it another id, or change it in the builder."),
            what="content",
        )
        one_rubric = ConsistentTexts(
            reader,
            {name: (None, text.strip()) for name, text in known.rubrics.items() if text},
            _("the task"),
            _("This dimension has another rubric in {where}."),
            _("A dimension has one rubric; leave this one out, or name another dimension."),
        )
        counts = Counter(name for name, _ in known.samples)
        for row in rows:
            with reader:
                values = reader.values(row, self.fields)
                values["dimension"] = name = " ".join(values["dimension"].split())
                self._complete(reader, row)
                if values["rubric"]:
                    one_rubric.check(row, ["dimension", "rubric"], name, values["rubric"])
                content = content_of(values["text"], values["source"], values["score"])
                # Without an id the same content is the same sample.
                key = values["sample_id"] or self._key(content, name, known)
                if not once.is_new(row, (name, key), content):
                    continue
                counts[name] += 1
                if counts[name] > MAX_SAMPLES:
                    wrong = _("The dimension has more than %(max_samples)s samples.") % {
                        "max_samples": MAX_SAMPLES
                    }
                    reader.refuse(row, "dimension", wrong, _("Leave some of them out."))
                checked.good.append({**values, "key": key})
        names = {values["dimension"] for values in checked.good}
        if names:
            checked.facts.append(plural(len(names), "dimension"))

    def _complete(self, reader: Reader, row: Row) -> None:
        reader.needed(
            row,
            "dimension",
            gettext_noop("A sample needs a dimension."),
            gettext_noop("Name what was scored."),
        )
        mend = gettext_noop("Write what was scored, or delete the row.")
        reader.needed(row, "text", gettext_noop("There is no text."), mend)
        mend = gettext_noop("Write it as a number, or delete the row.")
        if not is_number(reader.needed(row, "score", gettext_noop("There is no score."), mend)):
            reader.refuse(row, "score", _("This is no number."), _("Write the score as 3 or 2.5."))
        reader.limit(row, self.limits)

    @staticmethod
    def _key(content: str, dimension: str, known: KnownSamples) -> str:
        for (name, key), there in known.samples.items():
            if name == dimension and there == content:
                return key
        return f"sample-{digest(content)}"


def digest(content: str) -> str:
    """Return a short hash of a content."""
    return hashlib.sha256(content.encode()).hexdigest()[:10]


def is_number(raw: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return abs(float(raw)) < 1e6
    except ValueError:
        return False


@dataclass
class ReadAttributes:
    """One author's attributes of one dimension as far as the file has told them."""

    row: Row
    about: dict[str, Any]
    attributes: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    transcript: str = ""
    lines: list[int] = field(default_factory=list)

    @property
    def ordered(self) -> list[dict[str, Any]]:
        """Return the attributes in the order of the file's numbers."""
        return [one for _, one in sorted(self.attributes, key=lambda pair: pair[0])]


class Attributes(Importer):
    """What was thought aloud; one good row for each answer."""

    slug = "attributes"
    title = gettext_lazy("Attributes")
    note = gettext_lazy(
        "A row is one attribute of a worker or of a system. Rows of one author on "
        "one dimension go together. A transcript stands on one of them; start and "
        "end point at a stretch of it."
    )
    fields = (
        Field("item_id", gettext_lazy("Dimension’s id"), False, ("item", "topic_id"), WHAT),
        Field("dimension", gettext_lazy("Dimension"), False, ("name", "topic", "criterion"), WHAT),
        *AUTHOR,
        Field("index", gettext_lazy("Place in the list"), False, ("number", "position", "rank")),
        Field("attribute", gettext_lazy("Attribute"), True, ("text", "thought")),
        Field("start", gettext_lazy("Start in the transcript"), False, ("from",)),
        Field("end", gettext_lazy("End in the transcript"), False, ("to",)),
        Field("transcript", gettext_lazy("Transcript"), False, ("said", "verbalization")),
        *AFTER,
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownAnswers) -> None:
        """Answers with their attributes in order; a bad row spoils those of its answer."""
        checked, authors = reader.checked, Authors(reader, known)
        found: dict[Any, ReadAttributes] = {}
        spoilt: set[Any] = set()
        for row in rows:
            with reader:
                item, (author, about) = reader.read_all(
                    partial(known.item, reader, row, ("item_id", "dimension")),
                    partial(authors.author, row),
                )
                key = (author, item)
                try:
                    uncounted, (place, attribute) = reader.read_all(
                        partial(authors.uncounted, row), partial(self._attribute, reader, row)
                    )
                    about |= {"item": item, "uncounted": uncounted}
                    mine = found.setdefault(key, ReadAttributes(row, about))
                    mine.lines.append(row.line)
                    self._add_transcript(reader, row, mine)
                except Refused:
                    spoilt.add(key)
                    continue
                at = len(mine.attributes) if place is None else place
                mine.attributes.append((at, attribute))
        for key, one in found.items():
            with reader.together(one.lines, "answer"):
                if key in spoilt:
                    raise Refused
                self._settle(reader, one, known.there.get(key))
        checked.facts += facts(checked.good)
        number = sum(len(one["attributes"]) for one in checked.good)
        if number:
            checked.facts.append(plural(number, "attribute"))

    @staticmethod
    def _attribute(reader: Reader, row: Row) -> tuple[int | None, dict[str, Any]]:
        wrong, mend = (
            gettext_noop("There is no attribute."),
            gettext_noop("Write it, or delete the row."),
        )
        reader.needed(row, "attribute", wrong, mend)
        text = reader.fit(row, "attribute", MAX_ATTRIBUTE, gettext_noop("an attribute"))
        index, start, end = (
            reader.number(row, name, gettext_noop("Count from 0."), 10**8 - 1)
            for name in ("index", "start", "end")
        )
        if (start is None) != (end is None) or (
            start is not None and end is not None and start >= end
        ):
            wrong = gettext_noop("A stretch has a start before its end.")
            reader.refuse(row, ["start", "end"], wrong, _("Write both, or leave both empty."))
        return index, {"text": text, "start": start, "end": end}

    @staticmethod
    def _add_transcript(reader: Reader, row: Row, mine: ReadAttributes) -> None:
        """Take the transcript in. Raises Refused where there is another, or too much of all."""
        transcript = _raw(reader, row, "transcript")
        if transcript and mine.transcript and transcript != mine.transcript:
            wrong = gettext_noop("This author has another transcript above.")
            reader.refuse(row, "transcript", wrong, _("One author has one transcript a dimension."))
        mine.transcript = mine.transcript or transcript
        if len(mine.transcript) > MAX_TRANSCRIPT or len(mine.lines) > MAX_ATTRIBUTES:
            most = _("a transcript of %(max_transcript)s characters at most.") % {
                "max_transcript": count(MAX_TRANSCRIPT)
            }
            wrong = gettext_noop("There is more than one answer can hold.")
            reader.refuse(
                row,
                "attribute",
                wrong,
                _("%(max_attributes)s attributes, %(most)s")
                % {"max_attributes": MAX_ATTRIBUTES, "most": most},
            )

    @staticmethod
    def _settle(reader: Reader, one: ReadAttributes, there: list[str] | None) -> None:
        """Whether an answer is new, or as the task has it. Raises Refused."""
        last = max((attribute["end"] or 0 for _, attribute in one.attributes), default=0)
        if last > len(one.transcript):
            long = _("%(transcript)s characters.") % {"transcript": count(len(one.transcript))}
            reader.refuse(
                one.row,
                ["start", "end"],
                _("A stretch ends at %(last)s; the transcript has %(long)s")
                % {"last": count(last), "long": long},
                _("Give the transcript on one of the author’s rows, or leave start and end empty."),
            )
        if there is not None and there != [attribute["text"] for attribute in one.ordered]:
            wrong = gettext_noop("The task has other attributes of this author for it.")
            mend = gettext_noop("Leave these rows out: answers are not overwritten.")
            reader.refuse(one.row, ["worker", "system", "dimension"], wrong, mend)
        made = {**one.about, "attributes": one.ordered, "transcript": one.transcript}
        reader.checked.add(made, len(one.lines), there=there is not None)


def _raw(reader: Reader, row: Row, name: str) -> str:
    """A value as it is in the file: stretches count its characters from the first one on."""
    column = reader.mapping.get(name)
    value = row.values.get(column, "") if column else ""
    return value.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
