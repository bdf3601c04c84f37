"""The replay strip: four lanes of what happened while a text was written, and a playhead.

Pure: times in seconds since the start, in; a safe SVG string out. A script may move the playhead by
setting ``x1``, ``x2`` and ``cx`` of the children of ``[data-playhead]`` and ``x`` and ``width`` of
``[data-not-yet]`` (all in percent of the strip's width).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils.safestring import SafeString

from crowdqc.numbers import clock, duration, plural
from evaluation.svg import at, px, stretched, text, wide_image

LANES = ("typing", "deleting", "pasting", "away")
TOP, STEP, LANE, BINS = 10.0, 16.0, 13.0, 240
TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 300, 600, 900, 1800, 3600)


@dataclass(frozen=True)
class Paste:
    """A paste: when, how many words, and whether from outside the page's passages."""

    time: float
    words: int
    outside: bool = False


@dataclass(frozen=True)
class Writing:
    """What a strip shows: times of typed and deleted characters, pastes and absences."""

    length: float
    typing: Sequence[tuple[float, int]] = ()
    deleting: Sequence[tuple[float, int]] = ()
    pastes: Sequence[Paste] = ()
    absences: Sequence[tuple[float, float]] = field(default=())


def replay_strip(writing: Writing, *, now: float = 0.0) -> SafeString:
    """The four lanes with the playhead at ``now``; what is not yet played is dimmed.

    Raises ValueError for a strip without length.
    """
    if writing.length <= 0:
        raise ValueError("A replay strip needs a length above 0 s.")
    total = writing.length
    here = min(1.0, max(0.0, now / total))
    height = TOP + STEP * len(LANES)
    body = "".join(_lane(k, name) for k, name in enumerate(LANES))
    shapes = _columns(writing.typing, total, 0, "typing")
    shapes += _columns(writing.deleting, total, 1, "deleting")
    shapes += "".join(_absence(a, b, total) for a, b in writing.absences)
    body += stretched(shapes, height)
    body += "".join(_paste(p, total) for p in writing.pastes)
    body += "".join(_away(a, b, total) for a, b in writing.absences)
    body += (
        f'<rect data-not-yet="" class="not-yet" x="{at(here)}" y="{px(TOP)}" '
        f'width="{at(1 - here)}" height="{px(STEP * len(LANES))}"/>'
    )
    body += _time_axis(total, height + 14)
    body += (
        f'<g data-playhead="" class="playhead"><line x1="{at(here)}" x2="{at(here)}" y1="4" '
        f'y2="{px(height)}"/><circle cx="{at(here)}" cy="4" r="3.5"/></g>'
    )
    return wide_image(body, sentence=_sentence(writing), height=height + 18, classes="wide lanes")


def _sentence(writing: Writing) -> str:
    outside = sum(p.outside for p in writing.pastes)
    return (
        f"Writing of {duration(writing.length)}: {plural(len(writing.pastes), 'paste')}, "
        f"{outside} from outside; {plural(len(writing.absences), 'absence')}"
    )


def _lane(index: int, name: str) -> str:
    y = TOP + STEP * index
    ground = f'<rect class="lane" x="0" y="{px(y)}" width="100%" height="{px(LANE)}"/>'
    return ground + text("-64", y + 10.5, name, "lane-name")


def _columns(events: Sequence[tuple[float, int]], total: float, lane: int, kind: str) -> str:
    """Characters a bin as thin columns, square-root scaled so that single keys stay visible."""
    bins = [0] * BINS
    for time, characters in events:
        bins[min(BINS - 1, max(0, int(BINS * time / total)))] += characters
    most, width, foot = max(bins) or 1, 1000 / BINS, TOP + STEP * lane + LANE
    shapes = []
    for k, characters in enumerate(bins):
        if characters:
            tall = 3 + (LANE - 3.5) * (characters / most) ** 0.5
            shapes.append(
                f'<rect class="{kind}" x="{k * width:.2f}" y="{px(foot - tall)}" '
                f'width="{width * 0.62:.2f}" height="{px(tall)}"/>'
            )
    return "".join(shapes)


def _paste(paste: Paste, total: float) -> str:
    y = TOP + 2 * STEP
    width = min(14.0, 5.0 + paste.words / 5)
    kind = "paste-outside" if paste.outside else "paste-passage"
    share = min(1.0, paste.time / total)
    label = plural(paste.words, "word")
    near_end = share > 0.9
    words = (
        f'<text class="word paste-words{" end" if near_end else ""}" x="{at(share)}" '
        f'dx="{px(-5 if near_end else width + 5)}" y="{px(y + 10.5)}">{label}</text>'
    )
    return (
        f'<rect class="{kind}" x="{at(share)}" y="{px(y + 1)}" width="{px(width)}" '
        f'height="{px(LANE - 2)}"/>{words}'
    )


def _absence(start: float, end: float, total: float) -> str:
    """Slanted hatching, drawn line by line: a pattern's url would need an id of its own."""
    left, right = 1000 * start / total, 1000 * min(end, total) / total
    y, lines, x = TOP + 3 * STEP, [], left
    while x < right:
        reach = min(x + 6, right)
        lines.append(f"M{px(x)} {px(y + LANE - 1)}L{px(reach)} {px(y + 1)}")
        x += 6
    return f'<path class="away" vector-effect="non-scaling-stroke" d="{"".join(lines)}"/>'


def _away(start: float, end: float, total: float) -> str:
    """How long the person was away, after the hatching or, near the end, before it."""
    late = end / total > 0.9
    share, kind, shift = (start, " end", -5) if late else (end, "", 5)
    return (
        f'<text class="word{kind}" x="{at(min(1.0, share / total))}" dx="{shift}" '
        f'y="{px(TOP + 3 * STEP + 10.5)}">{duration(end - start)}</text>'
    )


def _time_axis(total: float, y: float) -> str:
    step = next((s for s in TIME_STEPS if total / s <= 7), 3600.0 * max(1, round(total / 21600)))
    marks = []
    for k in range(math.ceil((total - 0.6 * step) / step)):
        classes = "axis" if k == 0 else "axis mid odd" if k % 2 else "axis mid"
        marks.append(text(at(k * step / total), y, clock(k * step), classes))
    return "".join(marks) + text("100%", y, clock(total), "axis end")
