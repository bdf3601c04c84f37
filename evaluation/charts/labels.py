"""Charts of labelled items: votes as shapes, a posterior as a line, prevalence and majority."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.safestring import SafeString, mark_safe

from crowdqc.numbers import percent, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate
from evaluation.charts.svg import Scale, image, line, px, text

SHAPES = 5  # classes that a shape and a colour tell apart
MOST_VOTES = 12  # that are drawn one by one
STEP, HEIGHT = 13.0, 14.0
LINE = 44.0


def drawn_votes(counts: Sequence[int]) -> bool:
    """Whether votes can be shapes: else their counts are printed."""
    return len(counts) <= SHAPES and sum(counts) <= MOST_VOTES


def vote_shapes(counts: Sequence[int], labels: Sequence[str]) -> SafeString:
    """One shape a vote, in the order of the classes: circle, square, diamond, triangle, ring."""
    body, at = "", 0
    for place, n in enumerate(counts):
        for _ in range(n):
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
    """The legend's sign of a class; the word stands beside it."""
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
    return image(body, sentence=f"Posterior {score(value, 2)}", width=LINE, height=12)


def share_axis(scale: Scale) -> SafeString:
    """Tick labels in per cent, for the head of the plot column."""
    labels = "".join(text(px(scale.x(t)), 10, percent(t), "mid") for t in scale.ticks)
    ends = f"{percent(scale.ticks[0])} to {percent(scale.ticks[-1])}"
    return image(labels, sentence=f"Scale above the rows, {ends}", width=scale.width, height=13)


def prevalence_cell(
    scale: Scale, estimate: Estimate, majority: float | None, *, name: str
) -> SafeString:
    """The share of a class with its interval, and the share by majority vote as a diamond."""
    said = None if majority is None else f"majority vote {percent(majority)}"
    return charts.forest_cell(scale, estimate, secondary=majority, secondary_said=said, name=name)
