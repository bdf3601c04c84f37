"""The demo's writing task: two questions with six passages each, and who wrote what from them.

Written for this project like the rest of the demo; passages, people and the system are invented,
the facts are common knowledge. Some people paste, from passages and from elsewhere, on purpose.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.demo.dataset import KINDS
from annotation.demo.logs import MANNERS, SCREENS, Event, Manner, Page
from annotation.demo.reading import HERE, PSEUDONYM, json_file, key_of, refuse_duplicates, rows_of
from annotation.task_types.writing.citations import MARK, cited_numbers
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
    refuse_duplicates(f"{FILE}, topic", (topic.id for topic in data.topics))
    refuse_duplicates(f"{FILE}, response", ((one.worker, one.topic) for one in data.responses))
    known = {topic.id: topic for topic in data.topics}
    written: tuple[Response | SystemResponse, ...] = (*data.responses, *data.system_responses)
    for row in written:
        where = f"{FILE}, {row.topic}, {row.style}"
        if row.topic not in known or row.style not in USED_STYLES:
            raise Invalid(f"{where}: unknown topic or style.")
        if not set(cited_numbers(row.text)) <= set(range(1, len(known[row.topic].passages) + 1)):
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


TOLD_MS = 5000  # how often the page tells what was in view
# Everything up to the marks that end a statement, or the rest.
STATEMENT = re.compile(rf".*?(?:{MARK.pattern})+|.+", re.DOTALL)
AGAIN = 0.3  # of passages that were read, those looked at again before they are cited


def writing_log(
    response: Response,
    passages: Sequence[str],
    fields: tuple[Sequence[str], Sequence[str]],
    rng: random.Random,
    *,
    target: str,
) -> list[Event]:
    """The events of one response, from the questions before it to those after it.

    ``passages`` are the texts in rank order, ``fields`` the names of the questions before and
    after (``entry.NAME``).
    """
    page = _Desk(target, MANNERS[response.kind], rng)
    width, height = rng.choice(SCREENS)
    page.add("open", target="window", name="visible", screenWidth=width, screenHeight=height)
    page.answer(fields[0], response.entry)
    page.add("show", delta=[int(page.time), 0, 0, ""])
    waiting = list(response.reads)
    for number in waiting[: max(1, len(waiting) // 2)]:
        page.read(number, passages)
        waiting.remove(number)
    page.add("focus")
    page.think()
    for part in response.parts:
        _write(page, part, passages, waiting)
    page.wait(4e3, 20e3)
    if rng.random() < page.manner.leave:
        page.leave((5e3, 60e3))
    page.add("blur")
    page.answer(fields[1], response.exit)
    page.add("click", target="page", x=rng.randint(700, 800), y=rng.randint(400, 600))
    return page.events


def _write(page: _Desk, part: Part, passages: Sequence[str], waiting: list[int]) -> None:
    """Write one part: pasted whole, or typed by statements, after reading what they cite."""
    if part.passage or part.outside:
        page.paste(part, passages)
        return
    for found in STATEMENT.finditer(part.text):
        said = found.group()
        for number in cited_numbers(said):
            if number in waiting:
                waiting.remove(number)
                page.read(number, passages)
            elif number in page.seen and page.rng.random() < AGAIN:
                page.read(number, passages, again=True)
        page.type(said)
        page.think()


class _Desk(Page):
    """The writing page: what ``Page`` does with a text, and forms, passages and citations."""

    def __init__(self, target: str, manner: Manner, rng: random.Random) -> None:
        super().__init__(target, 0, manner, rng)
        self.seen: set[int] = set()

    def think(self) -> None:
        """Stop for a moment."""
        self.wait(*self.manner.think)

    def answer(self, names: Sequence[str], values: Sequence[int]) -> None:
        """Answer a form, question by question."""
        for name, value in zip(names, values, strict=True):
            self.wait(1500, 6500)
            self.add("change", name=name, comment=str(value))
        self.wait(800, 3000)

    def read(self, number: int, passages: Sequence[str], *, again: bool = False) -> None:
        """Unfold a passage and read it; how long it was in view is told every few seconds."""
        self.wait(500, 2500)
        fold = not again and self.rng.random() < 0.6
        if fold:
            self.add("passage", name="open", comment=str(number))
        words = len(passages[number - 1].split()) * (0.3 if again else 1)
        left = words * self.manner.read_word * self.rng.uniform(0.7, 1.3)
        while left > 300:
            span = min(left, TOLD_MS)
            self.time += span
            left -= span
            self.add("dwell", name=f"passage-{number}", comment=str(int(span)))
        if fold and self.rng.random() < 0.5:
            self.wait(200, 900)
            self.add("passage", name="close", comment=str(number))
        self.seen.add(number)

    def paste(self, part: Part, passages: Sequence[str]) -> None:
        """Fetch a text from a passage or from elsewhere, and put it in at the end."""
        more = {"comment": "outside"}
        if part.passage:
            self.read(part.passage, passages, again=part.passage in self.seen)
            self.add("copy", target="passage", length=len(part.text))
            self.wait(600, 2500)
            more = {"comment": "passage", "name": str(part.passage)}
        else:
            self.leave((15e3, 70e3))
        self.add("keydown", name="other")
        self.wait(5, 30)
        self.add("paste", length=len(part.text), **more)
        self.change(self.length, 0, part.text, "insertFromPaste")
        self.events[-1]["comment"] = more["comment"]
        self.wait(600, 4000)

    def type(self, text: str) -> None:
        """Type a text word by word, and cite its marks, with slips, pauses and second thoughts."""
        at = 0
        for mark in MARK.finditer(text):
            self._words(text[at : mark.start()])
            self._cite(mark.group())
            at = mark.end()
        self._words(text[at:])

    def _words(self, text: str) -> None:
        words = re.findall(r"\s*\S+|\s+$", text)
        for place, word in enumerate(words):
            self._word(word)
            if self.rng.random() < self.manner.pause:
                self.wait(*self.manner.pause_ms)
            if place > 2 and self.rng.random() < self.manner.rethink:
                self._again("".join(words[place - 1 : place + 1]))
            if self.rng.random() < self.manner.leave / 25:
                self.leave((4e3, 40e3))

    def _cite(self, mark: str) -> None:
        """Cite each number of a mark from its passage: the second goes into the brackets."""
        for place, number in enumerate(re.findall(r"\d+", mark)):
            self.wait(400, 1800)
            self.add("cite", name=number)
            if place:
                self.change(self.length - 1, 0, f", {number}", "cite")
            else:
                self.change(self.length, 0, f"[{number}]", "cite")
