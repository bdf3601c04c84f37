"""Scored samples to think aloud over: dimension, rubric, sample_id, title, source, text, score.

A row is one sample. Rows of one dimension go together; the rubric may stand on one of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.files.reading.importer import Checked, Field, Importer, Once, Reader, Row

MAX_NAME, MAX_RUBRIC, MAX_SAMPLES = 80, 20_000, 20
LIMITS = (
    ("dimension", MAX_NAME, "a dimension's name"),
    ("rubric", MAX_RUBRIC, "a rubric"),
    ("sample_id", 80, "an id"),
    ("title", 160, "a title"),
    ("source", 100_000, "a source"),
    ("text", 20_000, "a sample"),
    ("score", 20, "a score"),
)


@dataclass(frozen=True)
class KnownSamples:
    """What the draft holds: dimension -> rubric, and (dimension, sample id) -> its content."""

    rubrics: Mapping[str, str] = field(default_factory=dict)
    samples: Mapping[tuple[str, str], str] = field(default_factory=dict)


def content_of(text: str, source: str, score: str) -> str:
    """What a sample's id stands for, to be compared."""
    return "\0".join((text.strip(), source.strip(), score.strip()))


class Samples(Importer):
    """The samples of a think-aloud task, from CSV or JSONL."""

    slug = "samples"
    title = "Dimensions with scored samples"
    note = (
        "A row is one sample with its score. Rows of one dimension go together, and its rubric "
        "may stand on any of them. A sample without an id gets one."
    )
    fields = (
        Field("dimension", "Dimension", True, ("name", "topic", "criterion")),
        Field("text", "Text that was scored", True, ("summary", "sample", "output", "response")),
        Field("score", "Score", True, ("rating", "grade", "label")),
        Field("rubric", "Rubric", False, ("definition", "description", "guideline")),
        Field("sample_id", "Sample id", False, ("id", "key", "text_id")),
        Field("source", "Source", False, ("article", "document", "context", "source_text")),
        Field("title", "Title", False, ("headline",)),
    )

    def check(self, rows: Iterable[Row], mapping: Mapping[str, str], known: Any) -> Checked:
        """Rows to add, those that are there already, and what is wrong with the others."""
        checked = Checked()
        reader = Reader(mapping, checked)
        once = Once(
            reader,
            ["dimension", "sample_id"],
            known.samples,
            twice="Give each sample of a dimension an id of its own.",
            differs="The dimension has this sample with another text, source or score.",
            leave="Give it another id, or change it in the builder.",
            what="content",
        )
        rubrics = {name: (0, rubric) for name, rubric in known.rubrics.items() if rubric}
        counts: dict[str, int] = {}
        for name, _ in known.samples:
            counts[name] = counts.get(name, 0) + 1
        for row in rows:
            values = {one.name: reader.value(row, one.name) for one in self.fields}
            values["dimension"] = name = " ".join(values["dimension"].split())
            if not self._complete(reader, row, values) or not _one_rubric(
                reader, row, values, rubrics
            ):
                continue
            content = content_of(values["text"], values["source"], values["score"])
            # Without an id the same content is the same sample.
            key = values["sample_id"] or self._key(content, name, known)
            if not once.takes(row, (name, key), content):
                continue
            counts[name] = counts.get(name, 0) + 1
            if counts[name] > MAX_SAMPLES:
                wrong = f"The dimension has more than {MAX_SAMPLES} samples."
                reader.bad(row, "dimension", wrong, "Leave some of them out.")
                continue
            checked.good.append({**values, "key": key})
        names = {values["dimension"] for values in checked.good}
        if names:
            checked.facts.append(
                f"{len(names):,} {'dimension' if len(names) == 1 else 'dimensions'}"
            )
        return checked

    @staticmethod
    def _complete(reader: Reader, row: Row, values: Mapping[str, str]) -> bool:
        for name, wrong, mend in (
            ("dimension", "A sample needs a dimension.", "Name what was scored."),
            ("text", "There is no text.", "Write what was scored, or delete the row."),
            ("score", "There is no score.", "Write it as a number, or delete the row."),
        ):
            if not values[name]:
                reader.bad(row, name, wrong, mend)
                return False
        if not is_number(values["score"]):
            reader.bad(row, "score", "This is no number.", "Write the score as 3 or 2.5.")
            return False
        return all(reader.fits(row, name, most, noun) for name, most, noun in LIMITS)

    @staticmethod
    def _key(content: str, dimension: str, known: KnownSamples) -> str:
        for (name, key), there in known.samples.items():
            if name == dimension and there == content:
                return key
        return f"sample-{digest(content)}"


def digest(content: str) -> str:
    """A short id of a content."""
    return hashlib.sha256(content.encode()).hexdigest()[:10]


def is_number(raw: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return abs(float(raw)) < 1e6
    except ValueError:
        return False


def _one_rubric(
    reader: Reader, row: Row, values: Mapping[str, str], rubrics: dict[str, tuple[int, str]]
) -> bool:
    if not values["rubric"]:
        return True
    line, rubric = rubrics.setdefault(values["dimension"], (row.line, values["rubric"]))
    if rubric.strip() == values["rubric"]:
        return True
    where = f"line {line:,}" if line else "the task"
    reader.bad(
        row,
        ["dimension", "rubric"],
        f"This dimension has another rubric in {where}.",
        "A dimension has one rubric; leave this one out, or name another dimension.",
    )
    return False
