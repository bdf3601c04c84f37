"""What the page of a judgment shows: texts with their sources, and a line for each choice.

Left and right are those of the worker before the page; nothing here says which of the two texts
is stored first, whose they are or where they come from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from annotation.chats.page import ChatView, PairView, chat_page, pair_page
from annotation.models import Candidate, ChatContent, Item
from annotation.task_types.pairwise import type as pairwise
from annotation.task_types.pairwise.sides import LEFT, NEUTRAL, RIGHT
from annotation.task_types.rating import type as rating
from annotation.task_types.ready_made import translate_ready_made
from annotation.task_types.rendering import words_in
from crowdqc.web.markdown import render_markdown
from crowdqc.web.terms import Words

TAG = re.compile(r"(<[^>]*>)")
# [3], [1, 2] and [0,4,]: numbers of sources as responses cite them.
CITED = re.compile(r"\s?\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\s*,?\s*\]")
# A source begins a line with its number in brackets: "[3] ...", also as a heading or in bold.
SOURCE = re.compile(r"^[ ]{0,3}(?:#{1,6}[ ]+|\*\*)?\[(\d{1,3})\](?:\*\*)?[ .:]*", re.MULTILINE)
WIDE_LABEL = 14  # characters beyond which the points of a scale stand below one another
MANY_POINTS = 7


@dataclass(frozen=True)
class Source:
    """One passage that responses may cite; ``number`` is None where the passage has no numbers."""

    number: int | None
    html: SafeString


@dataclass(frozen=True)
class CandidateText:
    """A text under judgment as it stands on the page."""

    side: str  # left, right; "text" for one alone
    html: SafeString
    words: int
    cited: int  # different sources
    chat: ChatView | None = None  # the conversation that it is

    @property
    def name(self) -> str:
        """Heading of the text, "Left" or "Right"."""
        return _("Left") if self.side == LEFT else _("Right")


@dataclass(frozen=True)
class Option:
    """One choice of a line; ``key`` is the key that makes it."""

    value: str
    label: Words
    key: str
    chosen: bool


@dataclass(frozen=True)
class Line:
    """One dimension or scale with its choices in the order of the page."""

    number: int
    field: str
    label: str
    question: str
    description: str
    options: tuple[Option, ...]
    stacked: bool = False

    @property
    def answered(self) -> bool:
        """Whether an option of the line is chosen."""
        return any(option.chosen for option in self.options)


def sources_of(passage: str) -> list[Source]:
    """The sources of a passage: one for each line that begins with "[n]", or the whole of it."""
    starts = list(SOURCE.finditer(passage))
    if not starts:
        return [Source(None, render_markdown(passage))] if passage.strip() else []
    ends = [*(match.start() for match in starts[1:]), len(passage)]
    before = passage[: starts[0].start()].strip()
    return [
        *([Source(None, render_markdown(before))] if before else []),
        *(
            Source(int(match[1]), render_markdown(passage[match.end() : end].strip()))
            for match, end in zip(starts, ends, strict=True)
        ),
    ]


def as_sources(passages: Sequence[Mapping[str, str]], first_number: int = 1) -> str:
    """Write ranked passages as one text, each under the number that cites it."""
    return "\n\n".join(
        "\n\n".join(
            filter(None, (f"[{number}] {_bold(one['title'])}".rstrip(), _plain(one["text"])))
        )
        for number, one in enumerate(passages, first_number)
    )


def _bold(title: str) -> str:
    return f"**{' '.join(title.replace('*', ' ').split())}**" if title.strip() else ""


def _plain(text: str) -> str:
    """A text whose lines begin no source, heading or list of their own."""
    return re.sub(r"^([ ]{0,3})(?=[\[#>*+-])", r"\1\\", text, flags=re.MULTILINE)


def _mark(html: str, known: set[int]) -> tuple[SafeString, int]:
    """Citation marks as small superscripts, linked where the source is on the page."""
    cited: set[int] = set()

    def sup(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match[1].split(",")]
        cited.update(numbers)
        marks = (
            f'<a href="#source-{n}" data-cite="{n}">[{n}]</a>' if n in known else f"[{n}]"
            for n in numbers
        )
        return f"&NoBreak;<sup>{''.join(marks)}</sup>"

    parts = TAG.split(html)
    parts[::2] = [CITED.sub(sup, part) for part in parts[::2]]  # never within a tag
    return mark_safe("".join(parts)), len(cited)  # noqa: S308 (cleaned, and numbers alone added)


def candidate_context(text: Candidate, side: str, known: set[int]) -> CandidateText:
    """A candidate as the page shows it; ``known``: the numbers of sources that are on the page."""
    words = text.words or words_in(text.text)
    if text.chat is not None:
        return CandidateText(side, SafeString(""), words, 0, chat_page(text.chat))
    html, cited = _mark(render_markdown(text.text, breaks=True), known)
    return CandidateText(side, html, words, cited)


def texts(item: Item, *, flipped: bool, known: set[int]) -> list[CandidateText]:
    """Return the item's texts in displayed order."""
    found = [text for text in (item.first, item.second) if text is not None]
    sides = (LEFT, RIGHT) if len(found) == 2 else ("text",)
    ordered = found[::-1] if flipped else found
    return [candidate_context(text, side, known) for text, side in zip(ordered, sides, strict=True)]


def chats(item: Item, *, flipped: bool) -> PairView | None:
    """Return the item's two conversations in displayed order; None unless it has two."""
    rows = [text.chat for text in (item.first, item.second) if text is not None]
    if flipped:
        rows.reverse()
    match rows:
        case [ChatContent() as left, ChatContent() as right]:
            return pair_page(left, right)
    return None


def lines(settings: Mapping[str, Any], draft: Mapping[str, Any]) -> list[Line]:
    """Return the task's dimensions or scales as lines with the draft's choices."""
    if "scales" in settings:
        return [_scale(row, number, draft) for number, row in enumerate(settings["scales"], 1)]
    return [_dimension(row, number, draft) for number, row in enumerate(settings["dimensions"], 1)]


def _dimension(row: Mapping[str, Any], number: int, draft: Mapping[str, Any]) -> Line:
    field = pairwise.PREFIX + row["name"]
    offered = [(LEFT, _("Left"), "ArrowLeft"), (NEUTRAL, _("Neutral"), "ArrowDown")]
    offered.append((RIGHT, _("Right"), "ArrowRight"))
    return Line(
        number=number,
        field=field,
        label=translate_ready_made(row["label"]),
        question=translate_ready_made(row["question"]),
        description=translate_ready_made(row["description"]),
        options=tuple(
            Option(value, label, key, draft.get(field) == value)
            for value, label, key in offered
            if value != NEUTRAL or row["neutral"]
        ),
    )


def _scale(row: Mapping[str, Any], number: int, draft: Mapping[str, Any]) -> Line:
    field, points = rating.PREFIX + row["name"], row["points"]
    # A point's own number is its key where every point has a digit of its own.
    digits = all(0 <= point["value"] <= 9 for point in points)
    keys = [str(point["value"]) if digits else str(at) for at, point in enumerate(points, 1)]
    return Line(
        number=number,
        field=field,
        label=translate_ready_made(row["label"]),
        question=translate_ready_made(row["question"]),
        description=translate_ready_made(row.get("description", "")),
        options=tuple(
            Option(
                str(point["value"]),
                translate_ready_made(point["label"]),
                key if len(key) == 1 else "",
                draft.get(field) == str(point["value"]),
            )
            for point, key in zip(points, keys, strict=True)
        ),
        stacked=len(points) > MANY_POINTS
        or any(len(point["label"]) > WIDE_LABEL for point in points),
    )


def page(
    item: Item,
    settings: Mapping[str, Any],
    draft: Mapping[str, Any],
    *,
    flipped: bool = False,
    sources: bool = True,
) -> dict[str, Any]:
    """Return the context of judge.html for an item whose texts and group are fetched.

    ``sources``: the passage of its group may be shown. Asks the database nothing.
    """
    found = sources_of(item.group.passage) if sources else []
    known = {source.number for source in found if source.number is not None}
    asked = lines(settings, draft)
    still_open = sum(not line.answered for line in asked)
    shown, pair = texts(item, flipped=flipped, known=known), chats(item, flipped=flipped)
    if pair is not None:
        shown = [replace(text, chat=side) for text, side in zip(shown, pair.sides, strict=True)]
    return {
        "shown": shown,
        "pair": pair,
        "sources": found,
        "sources_label": _("Show the %(number)s sources") % {"number": len(known)}
        if len(known) > 1
        else _("Show the source"),
        "lines": asked,
        "answered": len(asked) - still_open,
        "still_open": still_open,
        "explains": any(line.description for line in asked),
        "last_key": asked[0].options[-1].key,
        "current": next((line.number for line in asked if not line.answered), 1),
        # Of all pairs alike: whose side the study fixed is not for its workers to know.
        "drawn": settings.get("sides") != "authored",
    }


def break_is_due(settings: Mapping[str, Any], position: int, total: int) -> bool:
    """Whether a break is suggested before the item at ``position`` (from 0)."""
    every = settings.get("break_after", 0)
    return bool(every) and 0 < position < total and position % every == 0
