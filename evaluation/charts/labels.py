"""Charts of labelled items: votes as shapes, a posterior as a line, prevalence and majority."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from crowdqc.numbers import percent, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate
from evaluation.charts.svg import (
    Scale,
    image,
    line,
    nice_ticks,
    path,
    percent_at,
    px,
    stretched,
    text,
    wide_image,
)

SHAPES = 5  # classes that a shape and a colour tell apart
MOST_VOTES = 12  # that are drawn one by one
STEP, HEIGHT = 13.0, 14.0
LINE = 44.0


def drawn_votes(counts: Sequence[int]) -> bool:
    """Whether votes can be shapes: else their counts are printed."""
    return len(counts) <= SHAPES and sum(counts) <= MOST_VOTES


def vote_shapes(counts: Sequence[int], labels: Sequence[str]) -> SafeString:
    """Draw one shape per vote, in the order of the classes: circle, square, diamond, ..."""
    body, at = "", 0
    for place, n in enumerate(counts):
        for _vote in range(n):
            body += _shape(place, STEP * at + STEP / 2, HEIGHT / 2)
            at += 1
    said = ", ".join(f"{label} {n}" for label, n in zip(labels, counts, strict=True) if n)
    return image(
        body,
        sentence=f"{plural(sum(counts), 'vote')}: {said}",
        width=STEP * max(1, at),
        height=HEIGHT,
    )


def class_key(place: int) -> SafeString:
    """Draw the shape of a class for the legend."""
    return mark_safe(  # noqa: S308 - constants and numbers only
        f'<svg class="chart" width="{px(STEP)}" height="{px(HEIGHT)}" aria-hidden="true">'
        f"{_shape(place, STEP / 2, HEIGHT / 2)}</svg>"
    )


def _shape(place: int, x: float, y: float) -> str:
    kind = f"c{place + 1}"
    if place == 0:
        return f'<circle class="shape {kind}" cx="{px(x)}" cy="{px(y)}" r="4"/>'
    if place == 1:
        return f'<rect class="shape {kind}" x="{px(x - 4)}" y="{px(y - 4)}" width="8" height="8"/>'
    if place == 2:
        d = f"M{px(x)} {px(y - 5)}l5 5-5 5-5-5z"
        return f'<path class="shape {kind}" d="{d}"/>'
    if place == 3:
        d = f"M{px(x)} {px(y - 4.6)}l5 9h-10z"
        return f'<path class="shape {kind}" d="{d}"/>'
    return f'<circle class="stroke {kind}" cx="{px(x)}" cy="{px(y)}" r="3.6"/>'


def posterior_line(value: float) -> SafeString:
    """A probability as the filled part of a short line."""
    body = line("0", 6, px(LINE), 6, "base")
    body += line("0", 6, px(LINE * min(1.0, max(0.0, value))), 6, "interval")
    return image(
        body, sentence=_("Posterior %(value)s") % {"value": score(value, 2)}, width=LINE, height=12
    )


def share_axis(scale: Scale) -> SafeString:
    """Tick labels in per cent, for the head of the plot column."""
    labels = "".join(text(px(scale.x(t)), 10, percent(t), "mid") for t in scale.ticks)
    ends = {"low": percent(scale.ticks[0]), "high": percent(scale.ticks[-1])}
    sentence = _("Scale above the rows, %(low)s to %(high)s") % ends
    return image(labels, sentence=sentence, width=scale.width, height=13)


def prevalence_cell(
    scale: Scale, estimate: Estimate, majority: float | None, *, name: str
) -> SafeString:
    """The share of a class with its interval, and the share by majority vote as a diamond."""
    said = None if majority is None else _("majority vote %(share)s") % {"share": percent(majority)}
    return charts.forest_cell(scale, estimate, secondary=majority, secondary_said=said, name=name)


@dataclass(frozen=True)
class Block:
    """A worker's labels from the ``first`` to the ``last``: the share that agrees, with bounds."""

    first: int
    last: int
    share: float
    low: float
    high: float


def agreement_over_time(blocks: Sequence[Block], *, height: float = 116.0) -> SafeString:
    """Draw the share of labels that agree with others', block by block, with intervals.

    ``blocks`` are in order and not empty; below each stands its last label's number.
    """
    foot = height - 20

    def y(value: float) -> float:
        return 8 + (foot - 8) * (1 - value)

    body = ""
    for tick in (0.0, 0.5, 1.0):
        body += line("0", y(tick), "100%", y(tick), "grid")
        body += text("0", y(tick) - 3 if tick < 1 else y(tick) + 10, percent(tick))
    for at, block in enumerate(blocks):
        where = percent_at(0.18 + 0.8 * (at + 0.5) / len(blocks))
        body += line(where, y(block.low), where, y(block.high), "interval thin")
        body += f'<circle class="dot" cx="{where}" cy="{px(y(block.share))}" r="3.5"/>'
        body += text(where, foot + 15, str(block.last), "mid")
    said = "; ".join(
        _("labels %(first)s to %(last)s: %(share)s, %(low)s to %(high)s")
        % {
            "first": block.first,
            "last": block.last,
            **{name: percent(getattr(block, name)) for name in ("share", "low", "high")},
        }
        for block in blocks
    )
    return wide_image(
        body,
        sentence=_("Agreement with the others’ labels. %(said)s") % {"said": said},
        height=height,
        classes="wide flush",
    )


@dataclass(frozen=True)
class Reached:
    """What a planned study reaches with so many votes per item, with its range."""

    votes: int
    share: float
    low: float
    high: float


def reached_curves(
    ranged: Sequence[Reached],
    beside: Sequence[Reached] = (),
    *,
    target: float,
    axis: str,
    sentence: str,
    words: Callable[[float], str] = percent,
    height: float = 260.0,
) -> SafeString:
    """A share from 0 to 1 by votes per item: a dot with its range, beside it a diamond.

    ``target`` is dashed. The places of both are in order; those of ``ranged`` are not empty.
    """
    places = (*beside, *ranged)
    bottom = max(0.0, min([target, *(one.low for one in places)]) - 0.02)
    foot, most = height - 34, max(one.votes for one in places)

    def x(votes: int) -> float:
        return 0.02 + 0.96 * (votes - 0.5) / most

    def y(value: float) -> float:
        return 10 + (foot - 10) * (1 - value) / (1 - bottom)

    body = ""
    for tick in nice_ticks(bottom, 1.0, 5):
        body += line("0", y(tick), "100%", y(tick), "grid")
        body += text("-8", y(tick) + 4, words(tick), "end")
    body += line("0", y(target), "100%", y(target), "reference")
    curves = "".join(
        f'<path class="curve {kind}" d="{path((1000 * x(p.votes), y(p.share)) for p in given)}"/>'
        for kind, given in (("c2", beside), ("c1", ranged))
        if given
    )
    body += stretched(curves, height)
    for one in ranged:
        where = percent_at(x(one.votes))
        body += line(where, y(one.low), where, y(one.high), "interval thin")
        body += f'<circle class="dot" cx="{where}" cy="{px(y(one.share))}" r="3.5"/>'
    for one in beside:
        body += (
            f'<svg x="{percent_at(x(one.votes))}" y="{px(y(one.share))}" overflow="visible">'
            '<path class="diamond" d="M0 -4l4 4-4 4-4-4z"/></svg>'
        )
    for votes in sorted({one.votes for one in places}):
        body += text(percent_at(x(votes)), foot + 16, str(votes), "mid")
    body += text("100%", height - 2, axis, "end")
    return wide_image(body, sentence=sentence, height=height)
