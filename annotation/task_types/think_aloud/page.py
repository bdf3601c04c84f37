"""What the page of a think-aloud shows: rubric, scored samples, and the attributes so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.models import ItemGroup, Transcript
from annotation.task_types.rendering import words_in
from annotation.task_types.think_aloud.type import (
    RECORDING,
    TRANSCRIPT,
    ThinkAloud,
    attributes_of,
)

SPARE = 3  # empty rows for who works without scripts


@dataclass(frozen=True)
class Sample:
    """One scored text with the source it was written from."""

    number: int
    title: str
    text: str
    source: str
    score: str

    @property
    def words(self) -> int:
        return words_in(self.text)

    @property
    def source_words(self) -> int:
        return words_in(self.source)


@dataclass(frozen=True)
class Row:
    """One attribute on the page; ``mark`` is its stretch of the transcript, "12-40"."""

    number: int
    text: str
    mark: str

    @property
    def place(self) -> int:
        """Index of the row in its form fields, from 0."""
        return self.number - 1


@dataclass(frozen=True)
class Recorder:
    """The part of the page that records speech; ``url`` plays what is kept, "" for nothing."""

    required: bool
    url: str = ""
    transcript: Transcript | None = None


def recorder(
    settings: Mapping[str, Any], url: str = "", transcript: Transcript | None = None
) -> Recorder | None:
    """Return the recorder of a task with what is stored so far; None if it records no speech."""
    if not ThinkAloud().records_speech(settings):
        return None
    return Recorder(settings[RECORDING] == "required", url, transcript)


def samples(group: ItemGroup) -> list[Sample]:
    """The scored samples of a dimension, in their order."""
    return [
        Sample(
            number,
            str(row.get("title", "")),
            str(row.get("text", "")),
            str(row.get("source", "")),
            str(row.get("score", "")),
        )
        for number, row in enumerate(group.passages, 1)
    ]


def rows(draft: Mapping[str, Any]) -> list[Row]:
    """Return a draft's attributes as rows of the page."""
    return [
        Row(number, one["text"], "" if one["start"] is None else f"{one['start']}-{one['end']}")
        for number, one in enumerate(attributes_of(draft), 1)
    ]


def page(
    group: ItemGroup,
    settings: Mapping[str, Any],
    draft: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the context of think.html for a dimension."""
    found = rows(draft)
    spare = [Row(len(found) + n, "", "") for n in range(1, SPARE + 1)]
    return {
        "dimension": group.title,
        "rubric": group.passage,
        "samples": samples(group),
        "rows": found,
        "spare": spare,
        "enough": len(found) >= settings["min_attributes"],
        "transcript": str(draft.get(TRANSCRIPT, "")),
    }
