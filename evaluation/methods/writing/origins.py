"""Where a stretch of text came from, decided by its words: a passage, what was written before, or
neither.

Words are compared, so that case, spaces, quotation marks, bullets and citations do not matter. A
stretch comes from a passage when the passage contains it, or when half of its words stand in runs
of ``RUN`` words that passages have too; from the own text by the same rule. What neither explains
keeps the word that the caller has for it (``fallback``).

Texts here are *unit strings*: one character for each UTF-16 code unit, so that positions are those
of the log.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

RUN = 5  # words in a row that two texts share only where one was taken from the other
SHARE = 0.5  # of the words, in such runs
ISLAND = 8  # words without a known source between such runs are told apart from this many on
_WORD = re.compile(r"[^\W_]+")
_MARKER = re.compile(r"\[\s*\d+(?:\s*,\s*\d+)*\s*,?\s*\]")

Word = tuple[str, int, int]  # folded, start, end


@dataclass(frozen=True)
class Segment:
    """``[start, end)`` in UTF-16 units; source "" is what was typed; passage from 1, 0 is none."""

    start: int
    end: int
    source: str
    passage: int = 0


@dataclass(frozen=True)
class Origin:
    """The source of most of a stretch, and of its parts (relative to its beginning)."""

    source: str
    passage: int
    parts: tuple[Segment, ...]


def units(text: str) -> str:
    """The text as a unit string."""
    if text.isascii() or max(text) < "\U00010000":
        return text
    return "".join(map(chr, array("H", text.encode("utf-16-le", "surrogatepass"))))


def characters(unit_string: str) -> str:
    """Convert a unit string (UTF-16 code units) to text; half characters become U+FFFD."""
    if unit_string.isascii():
        return unit_string
    return unit_string.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def words(text: str) -> list[Word]:
    """The words of a text with their places, folded; citations such as [1, 2] are none."""
    if "[" in text:
        text = _MARKER.sub(lambda found: " " * len(found[0]), text)
    return [(found[0].casefold(), *found.span()) for found in _WORD.finditer(text)]


def _runs(listed: Sequence[str]) -> list[str]:
    return [" ".join(listed[k : k + RUN]) for k in range(len(listed) - RUN + 1)]


class KnownText:
    """A text that stretches can come from: its words as one line, and its runs of words."""

    def __init__(self, text: str) -> None:
        text = units(text)
        self.listed = _WORD.findall((_MARKER.sub(" ", text) if "[" in text else text).casefold())
        self.line = f" {' '.join(self.listed)} "

    @cached_property
    def runs(self) -> frozenset[str]:
        """Return all runs of ``RUN`` words in the text."""
        return frozenset(_runs(self.listed))

    def contains(self, listed: Sequence[str]) -> bool:
        """Return whether these words occur in a row.

        With three or more the outer two may be cut.
        """
        line = " ".join(listed)
        return (line if len(listed) > 2 else f" {line} ") in self.line

    def covers(self, listed: Sequence[str]) -> list[bool]:
        """Return for each word whether it belongs to a run that this text has too."""
        covered = [False] * len(listed)
        for k, run in enumerate(_runs(listed)):
            if run in self.runs:
                covered[k : k + RUN] = [True] * RUN
        return covered


class Sources:
    """The passages of a topic, prepared once for any number of texts; the first is number 1.

    ``also`` are texts that were on the page, too, such as the question: what comes from them counts
    as from a passage without a number (0). A passage is best given with its title.
    """

    def __init__(self, passages: Sequence[str], *, also: Sequence[str] = ()) -> None:
        self.numbered = {n: KnownText(text) for n, text in enumerate(passages, 1)}
        self.page = tuple(KnownText(text) for text in also)

    @classmethod
    def of_page(
        cls, titles: Sequence[str], passages: Sequence[str], also: Sequence[str]
    ) -> Sources:
        """Make the sources of a page: passages with their titles, and other texts."""
        known = zip(titles, passages, strict=True)
        return cls([f"{title}\n{text}" for title, text in known], also=also)

    def __len__(self) -> int:
        return len(self.numbered)

    def containing(self, listed: Sequence[str]) -> list[int]:
        """The numbers of the passages that contain these words in a row; last 0 for the page."""
        found = [n for n, known in self.numbered.items() if known.contains(listed)]
        return found + [0] * any(known.contains(listed) for known in self.page)

    def covers(self, listed: Sequence[str]) -> dict[int, list[bool]]:
        """Return by passage number (0: the page) which words belong to runs that it has too."""
        found = {n: known.covers(listed) for n, known in self.numbered.items()}
        if self.page:
            columns = zip(*(known.covers(listed) for known in self.page), strict=True)
            found[0] = [any(column) for column in columns]
        return found


def origin(
    stretch: str,
    sources: Sources,
    own: Sequence[KnownText],
    *,
    fallback: str,
    claim: str = "",
    number: int = 0,
) -> Origin:
    """Find the source of a stretch of text.

    ``own`` is what was written before, ``claim`` (passage, own) and ``number`` what the page said:
    they decide only between sources that the words allow. A stretch without words has the claim.
    """
    found = words(stretch)
    listed = [word for word, _, _ in found]
    if not listed:
        return _single_origin(stretch, claim or fallback, number if claim == "passage" else 0)
    holders = sources.containing(listed)
    mine = any(known.contains(listed) for known in own)
    if holders and (claim == "passage" or not mine):
        return _single_origin(stretch, "passage", number if number in holders else holders[0])
    if mine:
        return _single_origin(stretch, "own", 0)
    return _by_runs(stretch, found, sources, own, fallback)


def _single_origin(stretch: str, source: str, passage: int) -> Origin:
    return Origin(source, passage, (Segment(0, len(stretch), source, passage),))


def _by_runs(
    stretch: str, found: Sequence[Word], sources: Sources, own: Sequence[KnownText], fallback: str
) -> Origin:
    """The origin of a stretch that nothing contains whole, by the runs of words it shares."""
    listed = [word for word, _, _ in found]
    covers = sources.covers(listed)
    order = sorted(covers, key=lambda n: (-sum(covers[n]), not n, n))
    mine = [any(column) for column in zip(*(known.covers(listed) for known in own), strict=True)]
    labels: list[tuple[str, int]] = []
    for k in range(len(listed)):
        passage = next((n for n in order if covers[n][k]), None)
        if passage is not None:
            labels.append(("passage", passage))
        else:
            labels.append(("own", 0) if mine and mine[k] else (fallback, 0))
    _join_islands(labels, fallback)
    shares = {
        source: sum(label[0] == source for label in labels) / len(labels)
        for source in ("passage", "own")
    }
    source = next((name for name, share in shares.items() if share >= SHARE), fallback)
    passage = order[0] if source == "passage" else 0
    return Origin(source, passage, _segments(stretch, found, labels))


def _join_islands(labels: list[tuple[str, int]], fallback: str) -> None:
    """Fewer than ``ISLAND`` unknown words beside known ones belong to them."""
    k = 0
    while k < len(labels):
        end = k
        while end < len(labels) and labels[end] == labels[k]:
            end += 1
        unknown = labels[k][0] == fallback
        if unknown and end - k < ISLAND and end - k < len(labels):
            labels[k:end] = [labels[k - 1] if k else labels[end]] * (end - k)
        k = end


def _segments(
    stretch: str, found: Sequence[Word], labels: Sequence[tuple[str, int]]
) -> tuple[Segment, ...]:
    """Neighbouring words of one label as one segment; what lies between belongs to the former."""
    bounds = [0, *(start for _, start, _ in found[1:]), len(stretch)]
    parts: list[Segment] = []
    for k, label in enumerate(labels):
        if parts and (parts[-1].source, parts[-1].passage) == label:
            parts[-1] = Segment(parts[-1].start, bounds[k + 1], *label)
        else:
            parts.append(Segment(bounds[k], bounds[k + 1], *label))
    return tuple(parts)
