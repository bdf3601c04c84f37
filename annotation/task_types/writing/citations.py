"""Citation marks in a text: ``[3]``, ``[1, 2]`` and ``[1,2,]`` point at numbered passages.

Pure. Positions are code points of the text. What is no list of whole numbers (``[0.7]``, ``[...]``)
is text; a mark of a year or larger number is one too, and its number is then reported as unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

MARK = re.compile(r"\[\s*(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\s*[,;]?\s*\]")


@dataclass(frozen=True)
class Marker:
    """One mark in a text: where it stands, brackets included, and the numbers in it."""

    start: int
    end: int
    numbers: tuple[int, ...]


def parse(text: str) -> list[Marker]:
    """Find all citation marks in a text, in order; each mark holds a number only once."""
    return [
        Marker(found.start(), found.end(), _numbers(found.group(1)))
        for found in MARK.finditer(text)
    ]


def strip(text: str) -> str:
    """Remove citation marks, and spaces before them, from a text."""
    return re.sub(rf"[ \t]*{MARK.pattern}", "", text)


def cited_numbers(text: str) -> list[int]:
    """List the cited passage numbers in order of first citation, each once."""
    return list(dict.fromkeys(number for mark in parse(text) for number in mark.numbers))


@dataclass(frozen=True)
class Statement:
    """A stretch of text and the numbers of the marks that end it; none for the last stretch."""

    start: int
    end: int
    text: str
    numbers: tuple[int, ...]


def statements(text: str) -> list[Statement]:
    """Split a text at its citation marks into statements, each with what it cites.

    Marks with no word between them belong to one stretch, also behind its full stop, and marks
    before the first word to the first.
    """
    found: list[Statement] = []
    early: tuple[int, ...] = ()
    start = 0
    for mark in [*parse(text), Marker(len(text), len(text), ())]:
        part = text[start : mark.start]
        if any(character.isalnum() for character in part):
            found.append(Statement(start, mark.start, part, (*early, *mark.numbers)))
            early = ()
        elif found:
            found[-1] = replace(found[-1], numbers=(*found[-1].numbers, *mark.numbers))
        else:
            early = (*early, *mark.numbers)
        start = mark.end
    return [replace(one, numbers=tuple(dict.fromkeys(one.numbers))) for one in found]


def _numbers(listed: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(number) for number in re.findall(r"\d+", listed)))
