"""The demo's pairwise study: ten questions with four answers each, and invented people who judge.

Written for this project like the rest of the demo; sources, people and models are invented, the
facts are common knowledge. Some answers are wrong, thin or beside the point on purpose. ``marks``
(0 to 4 on each dimension) are the authors' own; from them come the votes, and no method sees them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from annotation.demo.judges import DIMENSIONS, MANNERS
from annotation.demo.reading import HERE, PSEUDONYM, json_file, key_of, once, rows_of
from crowdqc.errors import Invalid

FILE = "judging.json"
TOP_MARK = 4
WORDS = range(50, 101)  # of an answer


@dataclass(frozen=True)
class Source:
    """Whose answers are ranked as one: a model under a prompt strategy, or people in one style."""

    id: str
    system: str
    prompt_strategy: str
    origin: str
    style: str


@dataclass(frozen=True)
class Judged:
    """One answer under judgment; ``author`` is the worker who wrote it, "" for a model's."""

    source: str
    author: str
    marks: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Topic:
    """A question, what the answers may cite, and one answer of each source."""

    id: str
    query: str
    sources: tuple[str, ...]
    texts: tuple[Judged, ...]

    @property
    def passage(self) -> str:
        """The sources as workers see them, numbered as the answers cite them."""
        return "\n\n".join(f"[{n}] {text}" for n, text in enumerate(self.sources, 1))


@dataclass(frozen=True)
class Attention:
    """A text that answers another question, shown beside the answer of the source ``against``."""

    topic: str
    key: str
    against: str
    text: str


@dataclass(frozen=True)
class Judge:
    """Who judges, in which manner (judges.MANNERS), and as the how many-th they take something.

    ``turns`` count all assignments of the study from 0; an expert takes what there is.
    """

    worker: str
    manner: str
    turns: tuple[int, ...] = ()


@dataclass(frozen=True)
class Study:
    """Everything that the study is loaded from; ``instructions`` are Markdown."""

    title: str
    instructions: str
    sources: tuple[Source, ...]
    topics: tuple[Topic, ...]
    attention: tuple[Attention, ...]
    judges: tuple[Judge, ...]
    experts: tuple[Judge, ...]

    def marks(self) -> dict[str, tuple[int, ...]]:
        """The marks of every text by its key; a text beside the point has none but for style."""
        beside = tuple(TOP_MARK if name == "coherence_stylistic" else 0 for name in DIMENSIONS)
        found = {text_key(t, one): one.marks for t in self.topics for one in t.texts}
        return found | {one.key: beside for one in self.attention}


def text_key(topic: Topic, text: Judged) -> str:
    """The id of an answer: its topic and its source."""
    return f"{topic.id}-{text.source}"


def load(folder: Path = HERE) -> Study:
    """Read and check the file beside this module; Invalid names what does not fit."""
    content = json_file(folder, FILE)
    study = Study(
        title=key_of(content, "title", FILE),
        instructions=key_of(content, "instructions", FILE),
        sources=rows_of(content, "sources", Source, FILE),
        topics=tuple(_topic(row) for row in key_of(content, "topics", FILE)),
        attention=rows_of(content, "attention", Attention, FILE),
        judges=tuple(
            replace(one, turns=tuple(one.turns)) for one in rows_of(content, "judges", Judge, FILE)
        ),
        experts=rows_of(content, "experts", Judge, FILE),
    )
    _check(study)
    return study


def _topic(row: Mapping[str, Any]) -> Topic:
    try:
        texts = tuple(Judged(**{**one, "marks": tuple(one["marks"])}) for one in row["texts"])
        return Topic(row["id"], row["query"], tuple(row["sources"]), texts)
    except (KeyError, TypeError) as error:
        raise Invalid(f"{FILE}, topic {row.get('id')}: {error}") from error


def _check(study: Study) -> None:
    once(f"{FILE}, topic", (topic.id for topic in study.topics))
    once(f"{FILE}, judge", (one.worker for one in (*study.judges, *study.experts)))
    ids = [source.id for source in study.sources]
    for topic in study.topics:
        if [text.source for text in topic.texts] != ids:
            raise Invalid(f"{FILE}, {topic.id}: one answer of each source, in their order.")
        for text in topic.texts:
            _check_text(f"{FILE}, {text_key(topic, text)}", text)
    known = {topic.id for topic in study.topics}
    for decoy in study.attention:
        if decoy.topic not in known or decoy.against not in ids:
            raise Invalid(f"{FILE}, {decoy.key}: unknown topic or source.")
    turns = sorted(turn for judge in study.judges for turn in judge.turns)
    if turns != list(range(len(turns))):
        raise Invalid(f"{FILE}, judges: each turn once, from 0.")
    for judge in (*study.judges, *study.experts):
        if judge.manner not in MANNERS or not PSEUDONYM.fullmatch(judge.worker):
            raise Invalid(f"{FILE}, judge {judge.worker}: unknown manner or form of name.")


def _check_text(where: str, text: Judged) -> None:
    marks: Sequence[int] = text.marks
    if len(marks) != len(DIMENSIONS) or not all(0 <= mark <= TOP_MARK for mark in marks):
        raise Invalid(f"{where}: a mark from 0 to {TOP_MARK} for each dimension.")
    if len(text.text.split()) not in WORDS:
        raise Invalid(f"{where}: {len(text.text.split())} words.")
