"""Measures of one text's history that the signals rest on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from crowdqc.web.words import spaced
from evaluation.methods.writing.origins import characters, units
from evaluation.methods.writing.presence import Change, Process
from evaluation.methods.writing.texts import JUMP

NEAR_MS = 2000  # between two snapshots of one stretch of typing


@dataclass(frozen=True)
class Pace:
    """Characters a second while typing, over how many, and when the fastest stretch began."""

    speed: float
    characters: int
    time: int


@dataclass(frozen=True)
class Rhythm:
    """The most even row of keys: its first time, its median interval (ms) and its spread."""

    time: int
    median: float
    spread: float


def word_count(text: str) -> int:
    """Count the words of a text: runs without spaces that hold a letter or digit."""
    return sum(any(c.isalnum() for c in word) for word in spaced(text).split())


def part_text(change: Change, source: str) -> str:
    """Return the parts of a change that came from a source; "" if there are none."""
    if not change.parts or not any(part.source == source for part in change.parts):
        return ""
    text = units(change.inserted)
    kept = (text[part.start : part.end] for part in change.parts if part.source == source)
    return characters(" ".join(kept))


def rhythm(process: Process, keys: int) -> Rhythm | None:
    """The row of ``keys`` intervals with the smallest spread; None with fewer intervals.

    The spread is the distance of the quartiles over the median. Intervals after a break, of
    corrections and of a character repeated (a key held down) are left out.
    """
    kept = [
        (key.time, key.gap)
        for key in process.keys
        if key.gap is not None and not key.correction and not key.repeat
    ]
    if len(kept) < keys or keys < 4:
        return None
    gaps = np.array([gap for _, gap in kept], dtype=np.float64)
    # Rows that overlap by nine tenths are enough to find the most even one.
    starts = np.arange(0, len(gaps) - keys + 1, max(1, keys // 10))
    rows = np.lib.stride_tricks.sliding_window_view(gaps, keys)[starts]
    least, low, median, high, most = np.quantile(rows, (0.05, 0.25, 0.5, 0.75, 0.95), axis=1)
    spread = (high - low) / np.maximum(median, 1.0)
    # Of rows alike in their middle half, the one that is even to its ends.
    at = int(np.lexsort((most - least, spread))[0])
    return Rhythm(kept[int(starts[at])][0], float(median[at]), float(spread[at]))


def corrections(process: Process) -> tuple[int, int]:
    """(what changed the text by hand, what of it took something away): keys, else changes."""
    if not process.snapshots:
        return len(process.keys), sum(key.correction for key in process.keys)
    made = [change for change in process.changes if change.kind in ("typed", "deleted")]
    return len(made), sum(change.deleted > 0 for change in made)


def _typed(process: Process) -> Iterator[tuple[int, int, int]]:
    """(time, characters, milliseconds they took), breaks left out."""
    if not process.snapshots:
        for key in process.keys:
            if key.gap is not None and not key.correction and not key.repeat:
                yield key.time, 1, key.gap
        return
    for before, change in pairwise(process.changes):
        took = change.time - before.time
        size = len(change.inserted)
        on = before.kind == "typed" and change.position == before.position + len(before.inserted)
        if on and change.kind == "typed" and not change.deleted and took <= NEAR_MS and size < JUMP:
            yield change.time, size, took


def speed(process: Process) -> Pace | None:
    """Measure the typing speed; None if nothing was typed with times."""
    rows = np.array(list(_typed(process)), dtype=np.float64).reshape(-1, 3)
    size, took = rows[:, 1].sum(), rows[:, 2].sum()
    if not size or not took:
        return None
    width = min(len(rows), 30)
    sizes = np.convolve(rows[:, 1], np.ones(width), "valid")
    times = np.convolve(rows[:, 2], np.ones(width), "valid")
    fastest = int(np.argmax(sizes / np.maximum(times, 1.0)))
    return Pace(float(1000 * size / took), int(size), int(rows[fastest, 0]))


def time_of_words(process: Process, words: int) -> int | None:
    """Return when the text first reached so many words (ms); None if it never did."""
    text = ""
    for change in process.changes:
        end = change.position + change.deleted
        text = text[: change.position] + units(change.inserted) + text[end:]
        least = 2 * words - 1 if text.isascii() else words
        if len(text) >= least and len(spaced(text).split()) >= words <= word_count(text):
            return change.time + sum(change.ms)
    return None


def characters_at(process: Process, kind: str, until: int) -> int:
    """Characters that changes of a kind put in up to a time."""
    return sum(
        len(change.inserted)
        for change in process.changes
        if change.kind == kind and change.time <= until
    )


def seconds_read(process: Process, until: int) -> float:
    """Seconds that passages can have been open or in view before a time, at most.

    Openings are exact; of what was in view, all is taken to have come first.
    """
    opened = sum(max(0, min(opening.end, until) - opening.start) for opening in process.openings)
    viewed = sum(min(view.ms, max(0, until - view.start)) for view in process.views)
    return min(until, max(opened, viewed)) / 1000  # several may be in view at a time
