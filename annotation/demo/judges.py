"""How the demo's invented judges vote and what their log holds: seeded and pure.

A judge compares the marks of the two texts, more or less exactly; some do something else. As in
``logs``, this shows what the pages do with such votes and says nothing about real people.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.demo.logs import SCREENS, Event, Span
from annotation.task_types.pairwise.sides import LEFT, NEUTRAL, RIGHT, SHOWN
from annotation.task_types.pairwise.type import PREFIX, TEMPLATE

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
    """What somebody says of two texts with these marks, by dimension, as displayed."""
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
    """One assignment's events in order; ``entries`` are (target, what was said) as shown.

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
    """What the page tells every few seconds: first the left response is read, then the right."""
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
