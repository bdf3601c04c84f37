"""The demo's writing task: two questions with six passages each, and who wrote what from them.

Written for this project like the rest of the demo; passages, people and the system are invented,
the facts are common knowledge. Some people paste, from passages and from elsewhere, on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.demo.dataset import KINDS
from annotation.demo.reading import HERE, PSEUDONYM, json_file, key_of, once, rows_of
from annotation.task_types.writing.citations import cited
from annotation.task_types.writing.type import STYLES
from crowdqc.errors import Invalid

FILE = "writing.json"
USED_STYLES = ("bullet", "essay")
FORM = 4  # questions before, and after


@dataclass(frozen=True)
class Passage:
    """One passage; its rank is its place."""

    title: str
    text: str


@dataclass(frozen=True)
class Topic:
    """A query and what may be cited."""

    id: str
    query: str
    passages: tuple[Passage, ...]

    def rows(self) -> list[dict[str, str]]:
        """The passages as they are stored."""
        return [
            {"key": f"{self.id}-{rank}", "title": one.title, "text": one.text}
            for rank, one in enumerate(self.passages, 1)
        ]


@dataclass(frozen=True)
class Part:
    """A stretch of a response: typed, or pasted from a passage (its number) or from elsewhere."""

    text: str
    passage: int = 0
    outside: bool = False


@dataclass(frozen=True)
class Response:
    """What somebody wrote; ``entry`` and ``exit`` are the points chosen, ``reads`` the passages
    that they read, in that order."""

    worker: str
    kind: str
    topic: str
    style: str
    entry: tuple[int, ...]
    exit: tuple[int, ...]
    reads: tuple[int, ...]
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The whole response."""
        return "".join(part.text for part in self.parts)

    @property
    def item(self) -> str:
        """The key of the item that it answers."""
        return f"{self.topic}-{self.style}"


@dataclass(frozen=True)
class SystemResponse:
    """What the system wrote."""

    topic: str
    style: str
    text: str


@dataclass(frozen=True)
class Writing:
    """Everything that the task is loaded from, responses in the order in which they are taken."""

    title: str
    instructions: str
    tools_note: str
    system: Mapping[str, str]
    topics: tuple[Topic, ...]
    responses: tuple[Response, ...]
    system_responses: tuple[SystemResponse, ...]

    def topic(self, key: str) -> Topic:
        """The topic of this id."""
        return next(topic for topic in self.topics if topic.id == key)

    def styles(self) -> list[dict[str, str]]:
        """The styles that the task asks for, with their instructions."""
        return [row for row in STYLES if row["name"] in USED_STYLES]


def load(folder: Path = HERE) -> Writing:
    """Read and check the file beside this module; Invalid names what does not fit."""
    content = json_file(folder, FILE)
    data = Writing(
        title=key_of(content, "title", FILE),
        instructions=key_of(content, "instructions", FILE),
        tools_note=key_of(content, "tools_note", FILE),
        system=key_of(content, "system", FILE),
        topics=tuple(_topic(row) for row in key_of(content, "topics", FILE)),
        responses=tuple(_response(row) for row in key_of(content, "responses", FILE)),
        system_responses=rows_of(content, "system_responses", SystemResponse, FILE),
    )
    _check(data)
    return data


def _topic(row: Mapping[str, Any]) -> Topic:
    try:
        return Topic(row["id"], row["query"], tuple(Passage(**one) for one in row["passages"]))
    except (KeyError, TypeError) as error:
        raise Invalid(f"{FILE}, topic {row.get('id')}: {error}") from error


def _response(row: Mapping[str, Any]) -> Response:
    try:
        lists = {name: tuple(row[name]) for name in ("entry", "exit", "reads")}
        parts = tuple(Part(**one) for one in row["parts"])
        return Response(**{**row, **lists, "parts": parts})
    except (KeyError, TypeError) as error:
        raise Invalid(f"{FILE}, {row.get('worker')}: {error}") from error


def _check(data: Writing) -> None:
    once(f"{FILE}, topic", (topic.id for topic in data.topics))
    once(f"{FILE}, response", ((one.worker, one.topic) for one in data.responses))
    known = {topic.id: topic for topic in data.topics}
    written: tuple[Response | SystemResponse, ...] = (*data.responses, *data.system_responses)
    for row in written:
        where = f"{FILE}, {row.topic}, {row.style}"
        if row.topic not in known or row.style not in USED_STYLES:
            raise Invalid(f"{where}: unknown topic or style.")
        if not set(cited(row.text)) <= set(range(1, len(known[row.topic].passages) + 1)):
            raise Invalid(f"{where}: a passage is cited that is not there.")
        if row.text != row.text.strip():
            raise Invalid(f"{where}: there is space around the text.")
    for one in data.responses:
        where, topic = f"{FILE}, {one.worker}, {one.item}", known[one.topic]
        if one.kind not in KINDS or not PSEUDONYM.fullmatch(one.worker):
            raise Invalid(f"{where}: unknown kind or form of name.")
        if len(one.entry) != FORM or len(one.exit) != FORM:
            raise Invalid(f"{where}: {FORM} points before and after.")
        for part in one.parts:
            if part.passage and part.text not in topic.passages[part.passage - 1].text:
                raise Invalid(f"{where}: what is pasted is not in passage {part.passage}.")
