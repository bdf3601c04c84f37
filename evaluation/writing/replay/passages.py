"""The passages beside a replay: when each was open, and which stretches of it were used."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crowdqc.numbers import duration
from evaluation.methods.writing.origins import RUN, characters, units, words
from evaluation.methods.writing.presence import Change, Process

AROUND, OPENING = 90, 170  # UTF-16 units shown around a stretch that was used, or of one that none


@dataclass(frozen=True)
class PassagePart:
    """Some of a passage; ``since`` ms it has been used in the text, None where it has not."""

    text: str
    since: int | None = None


@dataclass(frozen=True)
class PassageUse:
    """A passage that was opened, used or cited. ``number`` is how the text cites it."""

    rank: int
    number: int
    title: str
    text: str
    excerpt: tuple[PassagePart, ...]
    opened_at: str  # JSON: [[start, end], ...] in ms
    told: str  # how often it was opened and for how long
    first: int  # ms of the first thing that happened with it

    @property
    def cut(self) -> bool:
        """Whether the excerpt leaves something out."""
        return "".join(piece.text for piece in self.excerpt) != self.text


def passages_of(
    process: Process, listed: Sequence[Mapping[str, Any]], cited: Iterable[int], first_number: int
) -> dict[str, Any]:
    """``listed`` are the topic's passages in rank order; ``cited`` the ranks cited by the text."""
    cited = set(cited)
    spans: dict[int, list[tuple[int, int]]] = {}
    for opening in process.openings:
        spans.setdefault(opening.passage, []).append((opening.start, opening.end))
    used = _used(process.changes)
    read, rest = [], []
    for rank, passage in enumerate(listed, 1):
        number, title = rank - 1 + first_number, str(passage.get("title", ""))
        if not (rank in spans or rank in used or rank in cited):
            rest.append((number, title))
            continue
        places = _places(str(passage["text"]), used.get(rank, ()))
        moments = [start for start, _ in spans.get(rank, ())] + [at for at, _ in used.get(rank, ())]
        read.append(
            PassageUse(
                rank=rank,
                number=number,
                title=title,
                text=str(passage["text"]),
                excerpt=tuple(_excerpt(str(passage["text"]), places)),
                opened_at=json.dumps(spans.get(rank, [])),
                told=_read_words(
                    process, rank, len(spans.get(rank, ())), rank in cited, bool(places)
                ),
                first=min(moments, default=process.length),
            )
        )
    read.sort(key=lambda one: (one.first, one.rank))
    # All of a topic's: those that played a part, in the order in which they did, and the rest.
    return {
        "read": tuple(read),
        # number and title
        "rest": tuple(rest),
        "opened": len(spans),
        "total": len(listed),
    }


def _read_words(process: Process, rank: int, times: int, cited: bool, used: bool) -> str:
    said = []
    if "passages" in process.recorded:
        often = ngettext("opened once", "opened %(times)s times", times) % {"times": times}
        said.append(often if times else _("never opened"))
        if process.dwell.get(rank):
            seen = duration(round(process.dwell[rank] / 1000))
            said.append(_("%(time)s in view") % {"time": seen})
    if not used:
        said.append(_("cited, nothing taken word for word") if cited else _("not used"))
    return ", ".join(said)


def _used(changes: Iterable[Change]) -> dict[int, list[tuple[int, str]]]:
    """Return for each passage the stretches that came from it, with when."""
    found: dict[int, list[tuple[int, str]]] = {}
    for change in changes:
        put = units(change.inserted)
        for part in change.parts:
            if part.source == "passage" and part.passage and change.kind != "shown":
                found.setdefault(part.passage, []).append((change.time, put[part.start : part.end]))
    return found


def _places(passage: str, used: Iterable[tuple[int, str]]) -> list[tuple[int, int, int]]:
    """Where the stretches stand in the passage: (start, end, since) apart from each other."""
    whole = words(units(passage))
    there = [word for word, _, _ in whole]
    places = []
    for since, stretch in used:
        listed = [word for word, _, _ in words(stretch)]
        match = SequenceMatcher(None, there, listed, autojunk=False)
        for block in match.get_matching_blocks():
            if block.size >= min(RUN, max(1, len(listed))):
                last = whole[block.a + block.size - 1]
                places.append((whole[block.a][1], last[2], since))
    apart: list[tuple[int, int, int]] = []
    for start, end, since in sorted(places):
        if apart and start <= apart[-1][1]:
            begin, reach, before = apart[-1]
            apart[-1] = (begin, max(reach, end), min(before, since))
        else:
            apart.append((start, end, since))
    return apart


def _excerpt(passage: str, places: Sequence[tuple[int, int, int]]) -> list[PassagePart]:
    """The stretches with some words around them; without one, how the passage begins."""
    whole = units(passage)
    if not places:
        end = _word_end(whole, OPENING)
        return [PassagePart(characters(whole[:end]) + ("…" if end < len(whole) else ""))]
    pieces: list[PassagePart] = []
    reached = 0
    for k, (start, end, since) in enumerate(places):
        after = places[k + 1][0] if k + 1 < len(places) else len(whole)
        begin = max(reached, _word_start(whole, start - AROUND))
        cut = "…" if begin > reached or (not pieces and begin > 0) else ""
        pieces.append(PassagePart(cut + characters(whole[begin:start])))
        pieces.append(PassagePart(characters(whole[start:end]), since))
        reached = min(after, _word_end(whole, end + AROUND))
        pieces.append(PassagePart(characters(whole[end:reached])))
    if reached < len(whole):
        pieces.append(PassagePart("…"))
    return [piece for piece in pieces if piece.text]


def _word_start(text: str, place: int) -> int:
    if place <= 0:
        return 0
    found = text.find(" ", place)
    return place if found < 0 else found + 1


def _word_end(text: str, place: int) -> int:
    if place >= len(text):
        return len(text)
    found = text.rfind(" ", 0, place)
    return place if found <= 0 else found
