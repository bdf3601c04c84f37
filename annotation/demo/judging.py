"""The demo's pairwise study: ten questions with four answers each, and invented people who judge.

Written for this project like the rest of the demo; sources, people and models are invented, the
facts are common knowledge. Some answers are wrong, thin or beside the point on purpose. ``marks``
(0 to 4 on each dimension) are the authors' own; from them come the votes, and no method sees them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from annotation.demo.logs import SCREENS, Event, Span
from annotation.demo.reading import HERE, PSEUDONYM, json_file, key_of, refuse_duplicates, rows_of
from annotation.task_types.pairwise.sides import LEFT, NEUTRAL, RIGHT, SHOWN
from annotation.task_types.pairwise.type import PREFIX, TEMPLATE
from crowdqc.errors import Invalid

DIMENSIONS = tuple(str(row["name"]) for row in TEMPLATE)
FORCED = frozenset(str(row["name"]) for row in TEMPLATE if not row["neutral"])
OVERALL = "quality_overall"
TELL_MS = 5000  # how often the page tells how long it was read
Shown = Mapping[str, str]  # dimension -> left, neutral or right


@dataclass(frozen=True)
class Manner:
    """How somebody judges: spreads are in marks, ``seconds`` are those of one pair."""

    noise: float  # spread of each line's own error
    halo: float  # spread of an error that all lines of a pair share
    tie: float  # what is less apart than this counts as no difference
    guess: float  # chance that a line is drawn by lot
    lean: float  # towards the left
    seconds: Span
    sources: float  # chance of opening the sources
    revise: float  # chance that a line is chosen twice


MANNERS: Mapping[str, Manner] = {
    "expert": Manner(0.5, 0.2, 0.7, 0.0, 0.0, (70, 190), 0.9, 0.10),
    "careful": Manner(0.9, 0.4, 0.7, 0.02, 0.0, (55, 150), 0.5, 0.08),
    "ordinary": Manner(1.3, 0.6, 0.8, 0.08, 0.1, (35, 100), 0.2, 0.05),
    "hasty": Manner(2.0, 1.0, 0.4, 0.45, 0.5, (14, 34), 0.0, 0.01),
    "guessing": Manner(2.0, 1.0, 0.4, 0.8, 0.0, (9, 18), 0.0, 0.0),
    "one_label": Manner(1.6, 0.0, 0.0, 0.0, 0.0, (12, 26), 0.0, 0.0),
    "always_left": Manner(0.0, 0.0, 0.0, 0.0, 0.0, (7, 11), 0.0, 0.0),
    "model": Manner(0.7, 0.6, 0.3, 0.0, 0.5, (1, 2), 0.0, 0.0),
}


def vote(left: Sequence[int], right: Sequence[int], manner: str, rng: random.Random) -> Shown:
    """Simulate a worker's vote on two texts with these marks: a side by dimension, as displayed."""
    how = MANNERS[manner]
    if manner == "always_left":
        return dict.fromkeys(DIMENSIONS, LEFT)
    if manner == "one_label":  # the overall impression on every line
        at = DIMENSIONS.index(OVERALL)
        gap = left[at] - right[at] + rng.gauss(0, how.noise)
        return dict.fromkeys(DIMENSIONS, LEFT if gap > 0 else RIGHT)
    halo = rng.gauss(0, how.halo) + how.lean
    said = {}
    for name, one, other in zip(DIMENSIONS, left, right, strict=True):
        gap = one - other + halo + rng.gauss(0, how.noise)
        forced = name in FORCED
        if rng.random() < how.guess:
            said[name] = rng.choice((LEFT, RIGHT) if forced else SHOWN)
        elif abs(gap) < how.tie and not forced:
            said[name] = NEUTRAL
        else:
            said[name] = LEFT if gap > 0 else RIGHT
    return said


def judging_log(
    entries: Sequence[tuple[str, Shown]], manner: str, rng: random.Random
) -> list[Event]:
    """Simulate the event log of a judging assignment; ``entries`` are (target, votes) as shown.

    As the judging page sends them: the pair is shown, each response and the page are before the
    worker for a while, each line is chosen, some twice; sources are opened or not.
    """
    width, height = rng.choice(SCREENS)
    events: list[Event] = [
        {
            "method": "open",
            "time": 0,
            "target": "window",
            "screenWidth": width,
            "screenHeight": height,
        }
    ]
    for target, said in entries:
        events += _pair(target, said, MANNERS[manner], rng, events[-1]["time"] + 600)
    return events


def _pair(target: str, said: Shown, how: Manner, rng: random.Random, start: int) -> list[Event]:
    """A pair from its showing to the next: reading first, then line after line."""
    end = start + int(1000 * rng.uniform(*how.seconds))
    read = start + int((end - start) * rng.uniform(0.45, 0.7))
    events: list[Event] = [
        {"method": "show", "time": start, "target": target, "delta": [start, 0, 0, ""]},
        *_dwell(target, start, read, end, rng),
        *_choices(target, said, how, rng, (read, end)),
    ]
    if rng.random() < how.sources:
        opened = rng.randint(start + (read - start) // 3, read)
        for name, time in (
            ("open", opened),
            ("close", min(end, opened + rng.randint(4000, 16000))),
        ):
            events.append({"method": "sources", "time": time, "target": target, "name": name})
    events.append({"method": "click", "time": end, "target": "next"})
    return sorted(events, key=lambda event: event["time"])


def _dwell(target: str, start: int, read: int, end: int, rng: random.Random) -> list[Event]:
    """Return the events of reading: first the left response, then the right, every few seconds."""
    turn = start + int((read - start) * rng.uniform(0.42, 0.6))
    events: list[Event] = []
    for since in range(start, end, TELL_MS):
        until = min(end, since + TELL_MS)
        spans = {"page": (start, end), LEFT: (start, turn), RIGHT: (turn, read)}
        for name, (first, last) in spans.items():
            ms = min(until, last) - max(since, first)
            if ms >= 100:
                events.append(
                    {
                        "method": "dwell",
                        "time": until,
                        "target": target,
                        "name": name,
                        "comment": str(ms),
                    }
                )
    return events


def _choices(
    target: str, said: Shown, how: Manner, rng: random.Random, span: tuple[int, int]
) -> list[Event]:
    """A choice on each line, in order; some lines are chosen otherwise at first."""
    read, end = span
    times = sorted(rng.randint(read, end - 200) for _ in said)
    events: list[Event] = []
    for time, (name, side) in zip(times, said.items(), strict=True):
        chosen = [side]
        if rng.random() < how.revise:
            chosen.insert(0, rng.choice([other for other in (LEFT, RIGHT) if other != side]))
        for place, value in enumerate(chosen):
            at = min(end, time + 150 * place)
            events.append(
                {
                    "method": "change",
                    "time": at,
                    "target": target,
                    "name": PREFIX + name,
                    "comment": value,
                }
            )
    return events


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
class JudgedAnswer:
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
    texts: tuple[JudgedAnswer, ...]

    @property
    def passage(self) -> str:
        """The sources as workers see them, numbered as in citations."""
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


def text_key(topic: Topic, text: JudgedAnswer) -> str:
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
        texts = tuple(JudgedAnswer(**{**one, "marks": tuple(one["marks"])}) for one in row["texts"])
        return Topic(row["id"], row["query"], tuple(row["sources"]), texts)
    except (KeyError, TypeError) as error:
        raise Invalid(f"{FILE}, topic {row.get('id')}: {error}") from error


def _check(study: Study) -> None:
    refuse_duplicates(f"{FILE}, topic", (topic.id for topic in study.topics))
    refuse_duplicates(f"{FILE}, judge", (one.worker for one in (*study.judges, *study.experts)))
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


def _check_text(where: str, text: JudgedAnswer) -> None:
    marks: Sequence[int] = text.marks
    if len(marks) != len(DIMENSIONS) or not all(0 <= mark <= TOP_MARK for mark in marks):
        raise Invalid(f"{where}: a mark from 0 to {TOP_MARK} for each dimension.")
    if len(text.text.split()) not in WORDS:
        raise Invalid(f"{where}: {len(text.text.split())} words.")
