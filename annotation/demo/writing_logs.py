"""Plausible logs of writing with sources for the demo: seeded, pure, replaying to the exact text.

Events are those of the writing page: keystrokes come as runs, passages are opened and read, cited
with a key, pasted from. They are invented, as are the people.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from annotation.demo.logs import MANNERS, SCREENS, Event, Manner, Page
from annotation.demo.writing import Part, Response
from annotation.task_types.writing.citations import MARK, cited

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
    """One part: pasted whole, or typed statement by statement, with what is cited read before."""
    if part.passage or part.outside:
        page.paste(part, passages)
        return
    for found in STATEMENT.finditer(part.text):
        said = found.group()
        for number in cited(said):
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
