"""The replay strip: four lanes of what happened while a text was written, and a playhead.

Pure: times in seconds since the start, in; a safe SVG string out. Long pauses are folded where the
``Timeline`` says so. A script may move the playhead by setting ``x1``, ``x2`` and ``cx`` of the
children of ``[data-playhead]`` and ``x`` and ``width`` of ``[data-not-yet]`` (all in percent of the
strip's width, which is folded time).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crowdqc.numbers import clock, duration, plural
from evaluation.charts.folded import Timeline
from evaluation.charts.svg import percent_at, px, stretched, text, wide_image

LANES = (
    gettext_noop("typing"),
    gettext_noop("deleting"),
    gettext_noop("pasting"),
    gettext_noop("away"),
)
TOP, STEP, LANE, BINS = 10.0, 16.0, 13.0, 240
TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 7200, 14400)
# Rooms of words, as shares of a strip of some 1,100 px: one character, and one label of the axis.
CHARACTER, AXIS_ROOM = 0.0062, 0.055
SOURCES = ("passage", "own", "outside", "unexplained")


@dataclass(frozen=True)
class Paste:
    """Words that came in at once: when, how many, and from where (one of ``SOURCES``)."""

    time: float
    words: int
    source: str = "passage"


@dataclass(frozen=True)
class Writing:
    """What a strip shows: times of typed and deleted characters, pastes and absences."""

    length: float
    typing: Sequence[tuple[float, int]] = ()
    deleting: Sequence[tuple[float, int]] = ()
    pastes: Sequence[Paste] = ()
    absences: Sequence[tuple[float, float]] = field(default=())
    timeline: Timeline | None = None


def replay_strip(writing: Writing, *, now: float = 0.0) -> SafeString:
    """Draw the four lanes of a replay with the playhead at ``now``.

    Raises ValueError for a strip without length.
    """
    if writing.length <= 0:
        raise ValueError("A replay strip needs a length above 0 s.")
    line = writing.timeline or Timeline(writing.length)
    here = line.share(now)
    height = TOP + STEP * len(LANES)
    body = "".join(_lane(k, name) for k, name in enumerate(LANES))
    shapes = "".join(_fold(fold.start, fold.end, line) for fold in line.folds)
    shapes += _columns(writing.typing, line, 0, "typing")
    shapes += _columns(writing.deleting, line, 1, "deleting")
    shapes += "".join(_absence(a, b, line) for a, b in writing.absences)
    body += stretched(shapes, height)
    body += _pastes(sorted(writing.pastes, key=lambda paste: paste.time), line)
    body += _lengths(writing, line)
    body += (
        f'<rect data-not-yet="" class="not-yet" x="{percent_at(here)}" y="{px(TOP)}" '
        f'width="{percent_at(1 - here)}" height="{px(STEP * len(LANES))}"/>'
    )
    body += _time_axis(line, height + 14)
    body += (
        f'<g data-playhead="" class="playhead">'
        f'<line x1="{percent_at(here)}" x2="{percent_at(here)}" y1="4" '
        f'y2="{px(height)}"/><circle cx="{percent_at(here)}" cy="4" r="3.5"/></g>'
    )
    return wide_image(body, sentence=_sentence(writing), height=height + 18, classes="wide lanes")


def _sentence(writing: Writing) -> str:
    pasted = [p for p in writing.pastes if p.source != "unexplained"]
    outside = sum(p.source == "outside" for p in pasted)
    jumps = len(writing.pastes) - len(pasted)
    said = [
        _("%(pastes)s, %(n)s from outside") % {"pastes": plural(len(pasted), "paste"), "n": outside}
    ]
    if jumps:
        said.append(plural(jumps, "jump that no paste explains", "jumps that no paste explains"))
    said.append(plural(len(writing.absences), "absence"))
    if writing.timeline and writing.timeline.folds:
        said.append(plural(len(writing.timeline.folds), "long pause folded", "long pauses folded"))
    return _("Writing of %(duration)s: %(parts)s") % {
        "duration": duration(writing.length),
        "parts": "; ".join(said),
    }


def _lane(index: int, name: str) -> str:
    y = TOP + STEP * index
    ground = f'<rect class="lane" x="0" y="{px(y)}" width="100%" height="{px(LANE)}"/>'
    return ground + text("-64", y + 10.5, _(name), "lane-name")


def _fold(start: float, end: float, line: Timeline) -> str:
    """A pause without a change, cut out of all lanes: the paper shows through."""
    left, right = 1000 * line.share(start), 1000 * line.share(end)
    return (
        f'<rect class="fold" x="{left:.2f}" y="{px(TOP)}" width="{max(2.0, right - left):.2f}" '
        f'height="{px(STEP * 3 - 3)}"/>'
    )


def _columns(events: Sequence[tuple[float, int]], line: Timeline, lane: int, kind: str) -> str:
    """Characters a bin as thin columns, square-root scaled so that single keys stay visible."""
    bins = [0] * BINS
    for time, characters in events:
        bins[min(BINS - 1, max(0, int(BINS * line.share(time))))] += characters
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


def _pastes(pastes: Sequence[Paste], line: Timeline) -> str:
    """Marks, and the number of words beside each where the next mark leaves room."""
    shares = [line.share(paste.time) for paste in pastes]
    drawn, taken = [], -1.0
    for k, paste in enumerate(pastes):
        share, y = shares[k], TOP + 2 * STEP
        width = min(14.0, 5.0 + paste.words / 5)
        drawn.append(_paste_mark(paste, share, y, width))
        label = plural(paste.words, "word")
        room = (len(label) + 2) * CHARACTER
        ends = share > 0.9
        start, end = (share - room, share) if ends else (share, share + width / 1100 + room)
        following = shares[k + 1] if k + 1 < len(pastes) and not ends else 2.0
        if start < taken or end > following:
            continue
        taken = end
        drawn.append(
            f'<text class="word paste-words{" end" if ends else ""}" x="{percent_at(share)}" '
            f'dx="{px(-5 if ends else width + 5)}" y="{px(y + 10.5)}">{label}</text>'
        )
    return "".join(drawn)


def _paste_mark(paste: Paste, share: float, y: float, width: float) -> str:
    """A filled box; hollow for the own text, and a standing bar for a jump."""
    if paste.source == "unexplained":
        return (
            f'<rect class="paste-unexplained" x="{percent_at(share)}" '
            f'y="{px(y + 0.5)}" width="2.5" '
            f'height="{px(LANE - 1)}"/>'
        )
    return (
        f'<rect class="paste-{paste.source}" x="{percent_at(share)}" '
        f'y="{px(y + 1)}" width="{px(width)}" '
        f'height="{px(LANE - 2)}"/>'
    )


def _absence(start: float, end: float, line: Timeline) -> str:
    """Slanted hatching, drawn line by line: a pattern's url would need an id of its own."""
    left, right = 1000 * line.share(start), 1000 * line.share(end)
    y, lines, x = TOP + 3 * STEP, [], left
    while x < right:
        reach = min(x + 6, right)
        lines.append(f"M{px(x)} {px(y + LANE - 1)}L{px(reach)} {px(y + 1)}")
        x += 6
    return f'<path class="away" vector-effect="non-scaling-stroke" d="{"".join(lines)}"/>'


def _lengths(writing: Writing, line: Timeline) -> str:
    """Write the real lengths of absences and folded pauses, each where the words fit.

    The longest are written first; a pause that an absence fills is not written twice.
    """
    spans = [(a, b, False) for a, b in writing.absences]
    for fold in line.folds:
        away = sum(
            min(b, fold.end) - max(a, fold.start)
            for a, b in writing.absences
            if a < fold.end and b > fold.start
        )
        if away < 0.8 * (fold.end - fold.start):
            spans.append((fold.start, fold.end, True))
    taken: list[tuple[float, float]] = [(line.share(a), line.share(b)) for a, b in writing.absences]
    drawn: list[str] = []
    for start, end, paused in sorted(spans, key=lambda span: span[0] - span[1]):
        words = duration(end - start)
        if paused:
            words = _("pause %(duration)s") % {"duration": words}
        left, right = line.share(start), line.share(end)
        room = (len(words) + 1) * CHARACTER
        late = right > 0.9
        place = (left - room, left) if late else (right, right + room)
        if any(place[0] < b and place[1] > a for a, b in taken):
            continue
        taken.append(place)
        drawn.append(
            f'<text class="word{" end" if late else ""}{" odd" if drawn else ""}" '
            f'x="{percent_at(left if late else right)}" dx="{-5 if late else 5}" '
            f'y="{px(TOP + 3 * STEP + 10.5)}">{words}</text>'
        )
    return "".join(drawn)


def _time_axis(line: Timeline, y: float) -> str:
    """Round times where they stand; where folds swallow most of them, the times of even places."""
    places: list[tuple[float, float]] = []
    for most in (7, 12, 20):
        step = _step(line.length, most)
        round_times = [k * step for k in range(math.ceil(line.length / step))]
        places = _apart([(line.share(t), t) for t in round_times if not line.inside(t)])
        if len(places) >= 4:
            break
    else:
        step = _step(line.total, 7)
        even = [k * step for k in range(math.ceil(line.total / step))]
        places = _apart([(t / line.total, line.real(t)) for t in even])
    marks = [
        text(percent_at(share), y, clock(time), _axis_class(k, share))
        for k, (share, time) in enumerate(places)
    ]
    return "".join(marks) + text("100%", y, clock(line.length), "axis end")


def _axis_class(index: int, share: float) -> str:
    """A phone leaves out every second one, and what would touch the end's."""
    if index == 0:
        return "axis"
    return "axis mid odd" if index % 2 or share > 1 - 3 * AXIS_ROOM else "axis mid"


def _step(span: float, most: int) -> float:
    """The round step that gives ``most`` marks at most."""
    found = next((s for s in TIME_STEPS if span / s <= most), None)
    return float(found) if found else 3600.0 * math.ceil(span / 3600 / most)


def _apart(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the places that leave room for each other and for the end."""
    kept: list[tuple[float, float]] = []
    for share, time in places:
        if share <= 1 - 1.5 * AXIS_ROOM and (not kept or share - kept[-1][0] >= AXIS_ROOM):
            kept.append((share, time))
    return kept
