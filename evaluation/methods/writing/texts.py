"""The text of each opening of a page followed through its log, with where every unit came from."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise
from typing import Any

from evaluation.methods.writing.origins import (
    KnownText,
    Segment,
    Sources,
    characters,
    origin,
    units,
)
from evaluation.methods.writing.presence import Change, rank_of

PASTED = frozenset({"insertFromPaste", "insertFromDrop", "insertFromYank", "paste", "drop"})
JUMP = 40  # units put in at once; nobody's single key does that
UNITS_A_SECOND = 15  # faster than people type: what may come between two snapshots,
# of which one is taken soon after every change, so that a longer time between them was no typing.
SNAPSHOT_MS = 5000
REMEMBERED = 20  # units taken away in a row after which the text before is kept in mind
MEMORY = 60  # such texts
_PIECE = re.compile(r"\w+\W*|\W+")


@dataclass
class Page:
    """One opening of the page: its text as a unit string, and a source's number for each unit."""

    text: str = ""
    codes: list[int] = field(default_factory=list)
    written: float = -1.0  # when last, other than from another tab
    begun: bool = False
    shown: bool = False  # its text has not been before the reader of the process yet
    before: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Past:
    """A text as it was before something was taken away."""

    text: str
    codes: list[int]

    @cached_property
    def known(self) -> KnownText:
        return KnownText(characters(self.text))


class Texts:
    """All pages of one text; what was changed is told in ``changes``, in the order of time."""

    def __init__(self, sources: Sources, first_number: int = 1) -> None:
        self.sources = sources
        self.first_number = first_number
        self.changes: list[Change] = []
        self.pages: dict[Any, Page] = {}
        self.front: Page | None = None  # the page whose text the changes tell
        self.table: list[tuple[str, int]] = [("", 0)]
        self.past: deque[Past] = deque(maxlen=MEMORY)
        self.removed = 0  # units in a row
        self.candidate = Past("", [])  # the text before that row
        self.snapshot_at: int | None = None

    def take(self, time: int, event: Mapping[str, Any], *, leads: bool) -> None:
        """Apply the next event of the text; ``leads``: no other page is written to next."""
        page = self.pages.setdefault(event.get("stream", 0), Page())
        if event.get("delta"):
            _, position, deleted, raw = event["delta"]
            inserted = units(str(raw))
            if event["method"] == "show":
                self._show(page, time, inserted, leads)
            else:
                self._write(page, time, event, (position, deleted, inserted))
            if event.get("comment") != "sync":
                page.written = max(page.written, event["time"])
        page.before = event

    def finish(self) -> tuple[str, tuple[Segment, ...]]:
        """The final text and its sources: of the page written to last."""
        if not self.pages:
            return "", ()
        _, last = max(self.pages.items(), key=lambda item: (item[1].written, item[0]))
        if self.front is not last:
            self._turn(last, self.changes[-1].time if self.changes else 0)
        return characters(last.text), self._segments(last.codes)

    def _show(self, page: Page, time: int, text: str, leads: bool) -> None:
        if page is self.front:  # a page begun anew: what was told is the text it had
            self.front = Page(page.text, page.codes)
        base = self.front or Page()
        change = _differ(base.text, text)
        codes = list(base.codes)
        if change is not None:
            position, deleted, new = change
            codes[position : position + deleted] = self._sourced(
                new, base, "unexplained" if len(new) >= JUMP else ""
            )
        page.text, page.codes = text, codes
        page.begun = page.shown = True
        if leads:
            self._turn(page, time)

    def _turn(self, page: Page, time: int) -> None:
        """Put a page in front: what its text differs by is a change, too."""
        old, kind = self.front or Page(), "shown" if page.shown else "sync"
        self.front, page.shown = page, False
        change = _differ(old.text, page.text)
        if change is None:
            if kind == "shown":
                self.changes.append(Change(time, 0, 0, "", kind))
            return
        position, deleted, new = change
        codes = page.codes[position : position + len(new)]
        self._add_change(Change(time, position, deleted, characters(new), kind), codes)

    def _write(
        self, page: Page, time: int, event: Mapping[str, Any], delta: tuple[int, int, str]
    ) -> None:
        position, deleted, inserted = delta
        end = position + deleted
        if not page.begun and self.front:  # its beginning was lost: it goes on with what there was
            page.text, page.codes = self.front.text, list(self.front.codes)
        page.begun = True
        if end > len(page.text):
            raise ValueError(
                f"A delta at {position} deletes {deleted} of a text of {len(page.text)} units."
            )
        synced = event.get("comment") == "sync"
        if page is not self.front and not synced:
            self._turn(page, time)
        self._remember(page, deleted, inserted)
        if synced:
            kind, codes = "sync", self._from_pages(page, delta)
        else:
            kind, codes = self._sort(page, time, event, delta)
        if page is self.front:
            number = 0
            if kind == "cited":
                number = self._number(page.before if page.before.get("method") == "cite" else event)
            ms, raw = tuple(event.get("ms", ())), characters(inserted)
            self._add_change(
                Change(time, position, deleted, raw, kind, passage=number, ms=ms), codes
            )
        page.text = page.text[:position] + inserted + page.text[end:]
        page.codes[position:end] = codes

    def _remember(self, page: Page, deleted: int, inserted: str) -> None:
        """Keep the text before a row of deletions, from which it may be put in again."""
        if not deleted:
            self.removed = 0
            return
        if not self.removed:
            self.candidate = Past(page.text, list(page.codes))
        if self.removed < REMEMBERED <= self.removed + deleted:
            self.past.append(self.candidate)
        self.removed = 0 if inserted else self.removed + deleted

    def _sort(
        self, page: Page, time: int, event: Mapping[str, Any], delta: tuple[int, int, str]
    ) -> tuple[str, list[int]]:
        """Return the kind of a change, and where its units came from."""
        position, deleted, inserted = delta
        name, before = event.get("name"), page.before
        gap = None
        if name == "snapshot":
            gap = time - (self.snapshot_at or 0)
            self.snapshot_at = time
        after_paste = before.get("method") in ("paste", "drop")
        if not inserted:
            return "deleted", []
        if name in PASTED or (after_paste and not name):
            return "pasted", self._pasted(page, event, inserted)
        if name == "cite" or (before.get("method") == "cite" and not name):
            return "cited", [0] * len(inserted)
        if len(inserted) < JUMP or len(event.get("ms", ())) == len(inserted):
            return "typed", [0] * len(inserted)
        pieces = _kept_pieces(page.text[position : position + deleted], inserted)
        fresh = len(inserted) - sum(length for _, _, length in pieces)
        fits = gap is not None and fresh <= UNITS_A_SECOND * min(gap, SNAPSHOT_MS) / 1000
        if fresh < JUMP or fits:
            return "typed", _copy_kept([0] * len(inserted), pieces, page.codes, position)
        codes = [0] * len(inserted)
        for start, end in _between_pieces(pieces, len(inserted)):
            if end - start >= REMEMBERED:
                codes[start:end] = self._sourced(inserted[start:end], page, "unexplained")
        return "jump", _copy_kept(codes, pieces, page.codes, position)

    def _pasted(self, page: Page, event: Mapping[str, Any], inserted: str) -> list[int]:
        told = page.before if page.before.get("method") in ("paste", "drop") else event
        claim = told.get("comment") or event.get("comment") or ""
        fallback = "unexplained" if claim in ("passage", "own") else "outside"
        number = self._number(told) or self._number(event)
        return self._sourced(inserted, page, fallback, claim=claim, number=number)

    def _sourced(
        self, stretch: str, page: Page, fallback: str, *, claim: str = "", number: int = 0
    ) -> list[int]:
        """A source's number for each unit of a stretch put in."""
        others = [other for other in self.pages.values() if other.text and other is not page]
        own = [Past(other.text, other.codes) for other in ([page] if page.text else []) + others]
        own += reversed(self.past)
        found = origin(
            stretch,
            self.sources,
            [past.known for past in own],
            fallback=fallback,
            claim=claim if claim in ("passage", "own") else "",
            number=number,
        )
        codes: list[int] = []
        for part in found.parts:
            codes += self._inherited(stretch[part.start : part.end], part, own)
        return codes

    def _inherited(self, stretch: str, part: Segment, own: Sequence[Past]) -> list[int]:
        """Text moved keeps where it came from."""
        if part.source == "own":
            bare = stretch.strip()
            for past in own:
                at = past.text.find(bare)
                if at >= 0:
                    lead = stretch.find(bare)
                    inner = past.codes[at : at + len(bare)]
                    rest = len(stretch) - lead - len(bare)
                    code = self._code("own", 0)
                    return [code] * lead + [kept or code for kept in inner] + [code] * rest
        return [self._code(part.source, part.passage)] * len(stretch)

    def _from_pages(self, page: Page, delta: tuple[int, int, str]) -> list[int]:
        """The sources of what another tab wrote: that tab's, where its text stands here."""
        position, _, inserted = delta
        for other in self.pages.values():
            if other is not page:
                at = position if other.text.startswith(inserted, position) else -1
                at = at if at >= 0 else other.text.find(inserted)
                if at >= 0:
                    return other.codes[at : at + len(inserted)]
        return [0] * len(inserted)

    def _code(self, source: str, passage: int) -> int:
        if (source, passage) not in self.table:
            self.table.append((source, passage))
        return self.table.index((source, passage))

    def _add_change(self, change: Change, codes: Sequence[int]) -> None:
        """Add a change with the sources of what it put in."""
        if any(codes):
            parts = self._segments(codes)
            source, number = "", change.passage
            if change.kind in ("pasted", "jump", "shown", "sync"):
                source, number = _main_source(parts)
            change = replace(change, source=source, passage=number, parts=parts)
        self.changes.append(change)

    def _number(self, event: Mapping[str, Any]) -> int:
        return rank_of(event.get("name", ""), self.first_number)

    def _segments(self, codes: Sequence[int]) -> tuple[Segment, ...]:
        found: list[Segment] = []
        start = 0
        for k in range(1, len(codes) + 1):
            if k == len(codes) or codes[k] != codes[start]:
                found.append(Segment(start, k, *self.table[codes[start]]))
                start = k
        return tuple(found)


def _differ(old: str, new: str) -> tuple[int, int, str] | None:
    """(position, deleted, inserted) that turns one unit string into another; None: they are equal.

    A character of two units is never cut apart.
    """
    if old == new:
        return None
    head = _alike(old, new)
    if head and "\ud800" <= old[head - 1] <= "\udbff":
        head -= 1
    tail = _alike(old[head:][::-1], new[head:][::-1])
    if tail and "\udc00" <= old[-tail] <= "\udfff":
        tail -= 1
    return head, len(old) - tail - head, new[head : len(new) - tail]


def _alike(one: str, other: str) -> int:
    """Count the units that both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(one), len(other)))


def _main_source(parts: Sequence[Segment]) -> tuple[str, int]:
    """The source, and its passage, that most of the units with a known source have."""
    shares: dict[tuple[str, int], int] = {}
    for part in parts:
        if part.source:
            key = (part.source, part.passage)
            shares[key] = shares.get(key, 0) + part.end - part.start
    return max(shares, key=lambda key: shares[key])


Piece = tuple[int, int, int]  # place in the deleted text, in the inserted one, length


def _kept_pieces(deleted: str, inserted: str) -> list[Piece]:
    """Return what stays of a text replaced at once, as between two distant snapshots."""
    if len(deleted) < REMEMBERED:
        return []
    old, new = _PIECE.findall(deleted), _PIECE.findall(inserted)
    starts = [[0], [0]]
    for listed, places in zip((old, new), starts, strict=True):
        for piece in listed:
            places.append(places[-1] + len(piece))
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [
        (starts[0][a], starts[1][b], starts[1][b + size] - starts[1][b])
        for a, b, size in blocks
        if size
    ]


def _copy_kept(
    codes: list[int], pieces: Sequence[Piece], old: Sequence[int], offset: int
) -> list[int]:
    for a, b, length in pieces:
        codes[b : b + length] = old[offset + a : offset + a + length]
    return codes


def _between_pieces(pieces: Sequence[Piece], length: int) -> list[tuple[int, int]]:
    bounds = [(0, 0), *((b, b + size) for _, b, size in pieces), (length, length)]
    return [(a[1], b[0]) for a, b in pairwise(bounds) if b[0] > a[1]]
