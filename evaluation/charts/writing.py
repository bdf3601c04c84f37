"""Charts of written responses: distributions, shares by rank, cumulated scores. Pure.

People are a solid line with dots, models a dashed line with squares, sources a dotted line with
rings: told apart by shape and by the legend, with or without colour. Each panel stands beside a
table of the same numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crowdqc.numbers import general, percent
from evaluation.charts.svg import (
    Axis,
    image,
    line,
    nice_ticks,
    path,
    percent_at,
    px,
    short_tick,
    stretched,
    text,
    wide_image,
)

PEOPLE, MODELS, SOURCES = "people", "models", "sources"
TOP, FOOT = 8.0, 20.0  # px above the plot, and below it for the labels of the axis
KINDS = {
    PEOPLE: gettext_noop("people"),
    MODELS: gettext_noop("models"),
    SOURCES: gettext_noop("sources"),
}
Point = tuple[float, float]


def kind_words(kind: str) -> str:
    """What the chart's sentence calls a kind."""
    return _(KINDS.get(kind, kind))


@dataclass(frozen=True)
class Curve:
    """A line of one kind (people, models, sources), x ascending; ``band`` is (x, low, high).

    ``marks`` are places at which the kind's shape stands; a ``filled`` curve has its area shaded.
    """

    kind: str
    points: Sequence[Point]
    marks: Sequence[Point] = ()
    band: Sequence[tuple[float, float, float]] = ()
    filled: bool = False


def _chart_sentence(what: str, parts: Sequence[str], none: str) -> str:
    """A chart's sentence: what it shows, and its parts; ``none`` where it has none."""
    return f"{what}: {'; '.join(parts) or none}"


def steps(edges: Sequence[float], heights: Sequence[float]) -> list[Point]:
    """Return the outline of a histogram from b + 1 edges and b heights."""
    points: list[Point] = [(edges[0], 0.0)]
    for k, height in enumerate(heights):
        points += [(edges[k], height), (edges[k + 1], height)]
    return [*points, (edges[-1], 0.0)]


def bin_centres(edges: Sequence[float]) -> list[float]:
    """Return the centre of each bin."""
    return [(low + high) / 2 for low, high in itertools.pairwise(edges)]


def shares(counts: Sequence[float]) -> list[float]:
    """Convert counts to shares of their sum; all 0 if the sum is 0."""
    total = sum(counts)
    return [n / total for n in counts] if total else [0.0 for _ in counts]


def panel(
    curves: Sequence[Curve],
    x: Axis,
    y: Axis,
    *,
    sentence: str,
    height: float = 150.0,
    references: Sequence[tuple[float, str]] = (),
) -> SafeString:
    """Draw several curves in one plot; without ticks of ``y`` it takes the whole width."""
    foot = height - FOOT - (12 if x.name else 0)

    def up(value: float) -> float:
        return TOP + (foot - TOP) * (1 - y.share(value))

    body = ""
    for tick in y.ticks:
        body += line("0", up(tick), "100%", up(tick), "grid")
        body += text("-8", up(tick) + 4, y.write(tick), "end")
    for value, label in references:
        where, side = x.share(value), "end" if x.share(value) > 0.7 else ""
        body += line(percent_at(where), 0, percent_at(where), foot, "reference")
        if label:
            body += text(
                percent_at(where + (-0.01 if side else 0.01)), TOP + 2, label, f"word {side}"
            )
    body += line("0", foot, "100%", foot, "base")
    body += stretched("".join(_shapes(curve, x, up, foot) for curve in curves), height)
    body += "".join(_marks(curve, x, up) for curve in curves)
    for tick in x.ticks:
        where = x.share(tick)
        anchor = "" if where < 0.02 else "end" if where > 0.98 else "mid"
        body += text(percent_at(where), foot + 15, x.write(tick), anchor)
    if x.name:
        body += text("100%", height - 3, x.name, "end")
    classes = "wide" if y.ticks else "wide flush"
    return wide_image(body, sentence=sentence, height=height, classes=classes)


def _shapes(curve: Curve, x: Axis, up: Callable[[float], float], foot: float) -> str:
    """Band, area and line of a curve on a ground 1000 units wide."""
    points = [(1000 * x.share(value), up(height)) for value, height in curve.points]
    made = ""
    if curve.band:
        upper = [(1000 * x.share(value), up(high)) for value, _, high in curve.band]
        lower = [(1000 * x.share(value), up(low)) for value, low, _ in reversed(curve.band)]
        made += f'<path class="zone {curve.kind}" d="{path([*upper, *lower])}z"/>'
    if curve.filled and points:
        closed = [*points, (points[-1][0], foot), (points[0][0], foot)]
        made += f'<path class="zone {curve.kind}" d="{path(closed)}z"/>'
    if len(points) > 1:
        made += (
            f'<path class="trace {curve.kind}" vector-effect="non-scaling-stroke" '
            f'd="{path(points)}"/>'
        )
    return made


def _marks(curve: Curve, x: Axis, up: Callable[[float], float]) -> str:
    return "".join(_sign(curve.kind, percent_at(x.share(value)), up(h)) for value, h in curve.marks)


def _sign(kind: str, where: str, y: float) -> str:
    """Dot, square or ring at a place whose x may be a percentage."""
    if kind == MODELS:
        return (
            f'<svg class="sign" x="{where}" y="{px(y)}"><rect class="mark-of {kind}" x="-3.5" '
            'y="-3.5" width="7" height="7"/></svg>'
        )
    radius = 3.6 if kind == PEOPLE else 3.4
    return f'<circle class="mark-of {kind}" cx="{where}" cy="{px(y)}" r="{radius}"/>'


def sign(kind: str) -> SafeString:
    """The legend's sign of a kind: its line with its shape."""
    body = f'<path class="trace {kind}" d="M0 6h28"/>' + _sign(kind, "14", 6)
    return image(body, sentence=kind_words(kind), width=28, height=12)


def distribution(
    named: Sequence[tuple[str, Sequence[int], float | None]],
    edges: Sequence[float],
    *,
    what: str,
    height: float = 118.0,
) -> SafeString:
    """Histograms of (kind, counts, median) over shared edges, as shares; a shape is a median."""
    heights = {kind: shares(counts) for kind, counts, _ in named}
    top = max((max(values, default=0.0) for values in heights.values()), default=0.0) or 1.0
    curves = [
        Curve(
            kind,
            steps(edges, heights[kind]) if any(heights[kind]) else [],
            marks=[(median, 0.0)] if median is not None else [],
            filled=kind == PEOPLE,
        )
        for kind, _, median in named
    ]
    said = "; ".join(
        _("%(kind)s: median %(median)s of %(n)s")
        % {"kind": kind_words(kind), "median": f"{median:.0f}", "n": sum(counts)}
        for kind, counts, median in named
        if median is not None
    )
    x = Axis(edges[0], edges[-1], nice_ticks(edges[0], edges[-1], 4))
    return panel(
        curves,
        x,
        Axis(0, 1.05 * top),
        height=height,
        sentence=_("Distribution of %(what)s. %(said)s")
        % {"what": what, "said": said or _("Nothing to show")},
    )


@dataclass(frozen=True)
class ByRank:
    """How often each rank, from 1, is cited; ``low`` and ``high`` where there is an interval."""

    kind: str
    value: Sequence[float | None]
    low: Sequence[float | None]
    high: Sequence[float | None]


def by_rank(rows: Sequence[ByRank], *, what: str, height: float = 280.0) -> SafeString:
    """Draw the share of citations by rank of the passage, with bands for intervals."""
    most = max((len(row.value) for row in rows), default=1)
    known = [v for row in rows for v in (*row.value, *row.high) if v is not None]
    top = min(1.0, max(known, default=1.0) * 1.08) or 1.0
    curves, said = [], []
    for row in rows:
        points = [(k, v) for k, v in enumerate(row.value, 1) if v is not None]
        band = [
            (k, low, high)
            for k, (low, high) in enumerate(zip(row.low, row.high, strict=True), 1)
            if low is not None and high is not None
        ]
        curves.append(Curve(row.kind, points, marks=points if most <= 30 else (), band=band))
        if points:
            first, last = points[0], points[-1]
            said.append(
                _("%(kind)s cite rank %(first)s in %(share)s and rank %(last)s in %(end)s")
                % {
                    "kind": kind_words(row.kind),
                    "first": first[0],
                    "share": percent(first[1]),
                    "last": last[0],
                    "end": percent(last[1]),
                }
            )
    ticks = [1, *(t for t in nice_ticks(1, most, 4) if t > 1 and t == round(t))]
    return panel(
        curves,
        Axis(0.5, most + 0.5, ticks, name=_("rank of the passage")),
        Axis(0, top, nice_ticks(0, top, 4), percent),
        height=height,
        sentence=_chart_sentence(what, said, _("nothing cited")),
    )


def cumulative(
    rows: Sequence[tuple[str, Sequence[float | None]]],
    edges: Sequence[float],
    *,
    threshold: float,
    what: str,
    height: float = 170.0,
) -> SafeString:
    """Draw cumulative shares of several kinds, with the threshold as a dashed line."""
    curves, said = [], []
    for kind, values in rows:
        points = [(edges[k + 1], v) for k, v in enumerate(values) if v is not None]
        if not points:
            continue
        below = next((v for edge, v in points if edge >= threshold), points[-1][1])
        curves.append(Curve(kind, [(edges[0], 0.0), *points], marks=[(threshold, below)]))
        said.append(
            _("%(kind)s %(share)s below %(threshold)s")
            % {
                "kind": kind_words(kind),
                "share": percent(below),
                "threshold": general(threshold),
            }
        )
    return panel(
        curves,
        Axis(edges[0], edges[-1], nice_ticks(edges[0], edges[-1], 4), name="BLEU"),
        Axis(0, 1, (0, 0.5, 1), short_tick),
        height=height,
        sentence=_chart_sentence(what, said, _("no statement cites a passage")),
        references=[(threshold, "")],
    )


def density(
    rows: Sequence[tuple[str, Sequence[float | None], float | None]],
    *,
    top: float,
    what: str,
    height: float = 150.0,
) -> SafeString:
    """Draw the density of citations over the text, with the mean place of the first one."""
    curves, said = [], []
    for kind, values, first in rows:
        known = [0.0 if v is None else v for v in values]
        if not any(known):
            continue
        edges = [k / len(known) for k in range(len(known) + 1)]
        curves.append(
            Curve(
                kind,
                list(zip(bin_centres(edges), known, strict=True)),
                filled=kind == PEOPLE,
                marks=[(first, 0.0)] if first is not None else [],
            )
        )
        if first is not None:
            said.append(
                _("%(kind)s cite first at %(place)s of the text")
                % {"kind": kind_words(kind), "place": percent(first)}
            )
    ticks = [t for t in nice_ticks(0, top, 3) if t <= top]
    return panel(
        curves,
        Axis(0, 1, (0, 0.5, 1), percent, name=_("place in the text")),
        Axis(0, top, ticks),
        height=height,
        sentence=_chart_sentence(what, said, _("no citation")),
    )


def readability(
    rows: Sequence[tuple[str, Sequence[int], float | None]],
    edges: Sequence[float],
    *,
    what: str,
    top: float,
    height: float = 170.0,
) -> SafeString:
    """Smooth outlines of (kind, counts, median) of texts and of their sources; dashed: levels."""
    curves, said = [], []
    for kind, counts, median in rows:
        if not sum(counts):
            continue
        points = list(zip(bin_centres(edges), shares(counts), strict=True))
        curves.append(
            Curve(
                kind,
                [(edges[0], 0.0), *points, (edges[-1], 0.0)],
                filled=kind != SOURCES,
                marks=[(median, 0.0)] if median is not None else [],
            )
        )
        if median is not None:
            sources = _("sources median %(median)s")
            texts = _("texts median %(median)s")
            said.append((sources if kind == SOURCES else texts) % {"median": f"{median:.0f}"})
    inside = [
        (value, label)
        for value, label in ((30.0, ""), (50.0, _("college to the left")))
        if edges[0] < value < edges[-1]
    ]
    return panel(
        curves,
        Axis(edges[0], edges[-1], nice_ticks(edges[0], edges[-1], 5), name=_("Flesch index")),
        Axis(0, 1.05 * top),
        height=height,
        sentence=_chart_sentence(what, said, _("nothing to show")),
        references=inside,
    )


def points_bar(counts: Sequence[int], *, most: int, width: float = 120.0) -> SafeString:
    """Columns of how often each point was chosen; ``most`` is the highest there is."""
    height, step = 30.0, width / max(1, len(counts))
    body = line("0", height, px(width), height, "base")
    for k, n in enumerate(counts):
        tall = (height - 2) * n / (most or 1)
        body += (
            f'<rect class="points" x="{px(k * step + 2)}" y="{px(height - tall)}" '
            f'width="{px(step - 4)}" height="{px(tall)}"/>'
        )
    return image(body, sentence=", ".join(map(str, counts)), width=width, height=height + 1)
