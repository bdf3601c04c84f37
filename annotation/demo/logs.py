"""Plausible interaction logs for the demo's answers: seeded, pure, replaying to the exact text.

Events are those of the answering page: ``method``, ``time`` (ms since the assignment opened),
``target``, ``name``, ``comment``, ``length`` and, where the text changed, ``delta``
[ms, position, deleted, inserted]; keystrokes that follow one another are one event, a run, with
the time of each in ``ms``. They are invented, as are the people; they show what the pages
do with a log and say nothing about how real people type.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from crowdqc.errors import Invalid

Event = dict[str, Any]
Span = tuple[float, float]
MIN_COPIED = 40  # characters in common with the passage that a copy-paster took from it
MIN_FETCHED = 120  # characters that a copy-paster took from elsewhere rather than typed
SCREENS = ((1920, 1080), (1366, 768), (1536, 864), (2560, 1440), (390, 844))
RUN_KEYS, RUN_MS, RUN_PAUSE_MS = 40, 5000, 1500  # as in static/js/eventlog.js
NEIGHBOURS = dict(zip("abcdefghijklmnopqrstuvwxyz", "svxsdtghokjlnmipwetyihecxu", strict=True))


@dataclass(frozen=True)
class Manner:
    """How somebody of a kind works; times in ms, the rest are probabilities."""

    key: float  # mean time between keys
    think: Span  # before the first key of an answer
    pause: float  # after a word
    pause_ms: Span
    slip: float  # a wrong key, mended
    rethink: float  # after a word: the last words deleted and typed again
    add_word: float  # a word put in afterwards, once an answer
    leave: float  # leaving the page once an answer
    read_word: float  # reading a passage, per word
    pastes: bool = False


MANNERS: Mapping[str, Manner] = {
    "careful": Manner(175, (4e3, 16e3), 0.10, (700, 4200), 0.02, 0.03, 0.25, 0.05, 270),
    "ordinary": Manner(205, (3e3, 12e3), 0.07, (600, 3500), 0.025, 0.015, 0.08, 0.10, 220),
    "hasty": Manner(120, (900, 3500), 0.03, (300, 1200), 0.008, 0.0, 0.0, 0.12, 45),
    "dont_know": Manner(190, (3e3, 15e3), 0.05, (500, 3000), 0.015, 0.01, 0.0, 0.15, 110),
    "copy_paster": Manner(
        180, (1500, 6e3), 0.04, (400, 2000), 0.015, 0.0, 0.0, 0.05, 60, pastes=True
    ),
    "confidently_wrong": Manner(150, (2e3, 8e3), 0.06, (400, 2500), 0.02, 0.02, 0.1, 0.08, 60),
}


def seeded(*parts: object) -> random.Random:
    """Return a random generator that is the same in every run for the same parts."""
    return random.Random("/".join(map(str, parts)))  # noqa: S311 - for demo data, not secrets


def events_for(
    answer_text: str,
    kind: str,
    passage: str,
    rng: random.Random,
    *,
    target: str = "item-0",
    start_ms: int = 0,
) -> list[Event]:
    """The events of writing one answer, from seeing the question to going on.

    ``kind`` is one of MANNERS; ``passage`` is the text a copy-paster copies from. Raises Invalid
    for an unknown kind and for characters outside the basic plane (positions count UTF-16 units).
    """
    manner = _manner(kind)
    if any(ord(character) > 0xFFFF for character in answer_text):
        raise Invalid("The answer has characters that take two UTF-16 units.")
    page = Page(target, start_ms, manner, rng)
    page.begin()
    away = rng.random() < manner.leave
    if away and rng.random() < 0.5:
        page.leave((4e3, 60e3))
        away = False
    if manner.pastes:
        for text, source in split_by_source(answer_text, passage):
            page.insert_text(text, source)
    else:
        page.write(answer_text)
    if away:
        page.leave((3e3, 45e3))
    page.finish()
    return page.events


def assignment_log(
    entries: Sequence[tuple[str, str, str]], kind: str, rng: random.Random
) -> list[Event]:
    """Simulate the events of one assignment; ``entries`` are (target, answer, passage).

    Time runs on from answer to answer; a passage is read before its first question.
    """
    manner = _manner(kind)
    width, height = rng.choice(SCREENS)
    opened = {"method": "open", "time": 0, "target": "window"}
    events: list[Event] = [{**opened, "screenWidth": width, "screenHeight": height}]
    known: list[str] = []
    for target, answer, passage in entries:
        time = events[-1]["time"] + rng.randint(300, 1200)
        if passage not in known:
            known.append(passage)
            events += _reading(passage, manner, rng, time)
            time = events[-1]["time"] + rng.randint(300, 1200)
        events += events_for(answer, kind, "\n\n".join(known), rng, target=target, start_ms=time)
    return events


def seconds(events: Sequence[Mapping[str, Any]]) -> float:
    """Seconds from the first to the last event; 0 without events."""
    return (events[-1]["time"] - events[0]["time"]) / 1000 if events else 0.0


def split_by_source(answer: str, passage: str) -> list[tuple[str, str]]:
    """An answer as (text, source) parts: source "passage", "outside" or "" where typed."""
    if not answer:
        return []
    found = SequenceMatcher(None, answer, passage, autojunk=False).find_longest_match()
    if found.size < MIN_COPIED:
        return [(answer, "outside" if len(answer) >= MIN_FETCHED else "")]
    end = found.a + found.size
    return [
        *split_by_source(answer[: found.a], passage),
        (answer[found.a : end], "passage"),
        *split_by_source(answer[end:], passage),
    ]


def _manner(kind: str) -> Manner:
    if kind not in MANNERS:
        raise Invalid(f"{kind} is not a way of working; there are {', '.join(MANNERS)}.")
    return MANNERS[kind]


def _reading(passage: str, manner: Manner, rng: random.Random, start: int) -> list[Event]:
    """Scrolls through the passage, a paragraph at a time."""
    events: list[Event] = []
    time, y = float(start), 0
    for paragraph in passage.split("\n\n"):
        time += len(paragraph.split()) * manner.read_word * rng.uniform(0.75, 1.3)
        y += rng.randint(60, 180)
        events.append({"method": "scroll", "time": int(time), "target": "passage", "y": y})
    return events


class Page:
    """One answer's field while somebody works in it: the text so far, the clock, the events."""

    def __init__(self, target: str, start: int, manner: Manner, rng: random.Random) -> None:
        self.target, self.manner, self.rng = target, manner, rng
        self.time = float(start)
        self.length = 0  # of the text so far
        self.events: list[Event] = []

    def add(self, method: str, *, target: str = "", **more: Any) -> None:
        """Record an event at the present time."""
        event = {"method": method, "time": int(self.time), "target": target or self.target}
        self.events.append({**event, **more})

    def wait(self, low: float, high: float) -> None:
        """Let time pass."""
        self.time += self.rng.uniform(low, high)

    def change(self, position: int, deleted: int, inserted: str, name: str) -> None:
        """Change the text, as the field's input event tells it."""
        self.add("input", name=name, delta=[int(self.time), position, deleted, inserted])
        self.length += len(inserted) - deleted

    def stroke(self, position: int, inserted: str) -> None:
        """Press one key: insert a character, or delete the one at ``position``."""
        now = int(self.time)
        run = self.events[-1] if self.events and self.events[-1].get("ms") else None
        if run is None or not self._continues_run(run, position, inserted, now):
            delta = [now, position, 0 if inserted else 1, inserted]
            self.add("input", name="run", delta=delta, ms=[0], keys=1)
        else:
            if inserted:
                run["delta"][3] += inserted
            else:
                run["delta"][1:3] = [position, run["delta"][2] + 1]
            run["ms"].append(now - run["time"] - sum(run["ms"]))
            run["keys"] += 1
        self.length += 1 if inserted else -1

    def _continues_run(self, run: Event, position: int, inserted: str, now: int) -> bool:
        _, start, _, so_far = run["delta"]
        place = start + len(so_far) if inserted else start - 1
        spent = now - run["time"]
        return (
            bool(so_far) == bool(inserted)
            and position == place
            and len(run["ms"]) < RUN_KEYS
            and spent <= RUN_MS
            and spent - sum(run["ms"]) <= RUN_PAUSE_MS
        )

    def press(self, character: str, position: int | None = None) -> None:
        """Type one character, at the end unless told otherwise."""
        self.time += max(35.0, self.rng.lognormvariate(0, 0.45) * self.manner.key)
        self.time += self.rng.uniform(1, 6)
        self.stroke(self.length if position is None else position, character)

    def erase(self, count: int) -> None:
        """Delete backwards from the end."""
        for _ in range(count):
            self.time += self.rng.uniform(60, 160)
            self.stroke(self.length - 1, "")

    def begin(self) -> None:
        """See the question, think, look at the passage perhaps, click into the field."""
        self.add("show", delta=[int(self.time), 0, 0, ""])
        self.wait(*self.manner.think)
        if self.rng.random() < 0.5:
            self.add("scroll", target="passage", y=self.rng.randint(0, 600))
            self.wait(0.2 * self.manner.think[0], 0.6 * self.manner.think[1])
        self.add("focus")

    def finish(self) -> None:
        """Read it over and go on."""
        self.wait(0.15 * self.manner.think[0], 0.3 * self.manner.think[1])
        self.add("blur")
        place = {"x": self.rng.randint(720, 800), "y": self.rng.randint(440, 470)}
        self.add("click", target="next", **place)

    def leave(self, span: Span) -> None:
        """Go to another tab or window and come back."""
        self.add("blur", target="window")
        self.add("visibilitychange", target="document", name="hidden")
        self.wait(*span)
        self.add("visibilitychange", target="document", name="visible")
        self.add("focus", target="window")
        self.wait(300, 1500)

    def insert_text(self, text: str, source: str) -> None:
        """Type a part, or paste it from the passage or from outside."""
        if not source:
            self.write(text)
            return
        if source == "passage":
            self.wait(1500, 7000)
            self.add("copy", target="passage", length=len(text))
            self.wait(500, 2500)
        else:
            self.leave((8e3, 50e3))
        self.add("keydown", name="other")
        self.add("paste", comment=source, length=len(text))
        self.change(self.length, 0, text, "insertFromPaste")
        self.wait(400, 2500)

    def write(self, text: str) -> None:
        """Type a text word by word, with slips, pauses and second thoughts."""
        words = text.split(" ")
        late = self._late_word(words)
        kept = [word for number, word in enumerate(words) if number != late]
        base = self.length
        for number, word in enumerate(kept):
            self._word(word if number == 0 else f" {word}")
            if self.rng.random() < self.manner.pause:
                self.wait(*self.manner.pause_ms)
            if number > 2 and self.rng.random() < self.manner.rethink:
                self._again(" " + " ".join(kept[number - 1 : number + 1]))
        if late is not None:
            self._insert_word(words[late], base + len(" ".join(words[:late])))

    def _late_word(self, words: Sequence[str]) -> int | None:
        if len(words) < 6 or self.rng.random() >= self.manner.add_word:
            return None
        return self.rng.randrange(2, len(words) - 2)

    def _word(self, text: str) -> None:
        for number, character in enumerate(text):
            wrong = NEIGHBOURS.get(character)
            if wrong and self.rng.random() < self.manner.slip:
                ahead = text[number + 1 : number + 1 + self.rng.randint(0, 2)]
                for slipped in wrong + ahead:
                    self.press(slipped)
                self.wait(150, 600)
                self.erase(1 + len(ahead))
            self.press(character)

    def _again(self, tail: str) -> None:
        """Delete the tail just written and, after a thought, write it once more."""
        self.wait(800, 2500)
        self.erase(len(tail))
        self.wait(600, 3000)
        for character in tail:
            self.press(character)

    def _insert_word(self, word: str, position: int) -> None:
        """Read it over, click into the text and put a word in."""
        self.wait(1500, 6000)
        self.add("click", x=self.rng.randint(720, 1290), y=self.rng.randint(210, 360))
        for number, character in enumerate(f" {word}"):
            self.press(character, position + number)
