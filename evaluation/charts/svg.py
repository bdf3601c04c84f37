"""What every chart is drawn with: a scale with round ticks, and small SVG pieces.

Pure: numbers in, strings out. Colours are classes, never values; text is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from crowdqc.numbers import general, score

NICE_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def px(value: float) -> str:
    """A coordinate with one decimal at most."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def percent_at(share: float) -> str:
    """Format a horizontal position (0 to 1) as a percentage."""
    return f"{100 * share:.2f}%"


def text(x: str, y: float, words: str, classes: str = "") -> str:
    """Render a line of text as SVG."""
    kind = f' class="{classes}"' if classes else ""
    return f'<text x="{x}" y="{px(y)}"{kind}>{escape(words)}</text>'


def line(x1: str, y1: float, x2: str, y2: float, classes: str) -> str:
    """A straight line."""
    return f'<line class="{classes}" x1="{x1}" y1="{px(y1)}" x2="{x2}" y2="{px(y2)}"/>'


def path(points: Iterable[tuple[float, float]]) -> str:
    """The ``d`` of a polyline."""
    return "M" + " ".join(f"{px(x)} {px(y)}" for x, y in points)


def image(
    body: str, *, sentence: str, width: float, height: float, classes: str = "chart"
) -> SafeString:
    """Wrap SVG elements into a chart of fixed size; ``sentence`` is read by screen readers."""
    return mark_safe(  # noqa: S308 - body is built from escaped pieces
        f'<svg class="{classes}" role="img" aria-label="{escape(sentence)}" '
        f'width="{px(width)}" height="{px(height)}" '
        f'viewBox="0 0 {px(width)} {px(height)}">{body}</svg>'
    )


def wide_image(body: str, *, sentence: str, height: float, classes: str = "wide") -> SafeString:
    """Wrap SVG elements into a chart as wide as its container; x values are percentages."""
    return mark_safe(  # noqa: S308 - body is built from escaped pieces
        f'<svg class="chart {classes}" role="img" aria-label="{escape(sentence)}" '
        f'height="{px(height)}">{body}</svg>'
    )


def stretched(body: str, height: float) -> str:
    """Wrap shapes on a ground of 1000 units so that they stretch to the chart's width."""
    return (
        f'<svg x="0" y="0" width="100%" height="{px(height)}" viewBox="0 0 1000 {px(height)}" '
        f'preserveAspectRatio="none">{body}</svg>'
    )


def nice_step(span: float, count: int) -> float:
    """The round step (1, 2, 2.5 or 5 times a power of ten) giving about ``count`` ticks."""
    if not (math.isfinite(span) and span > 0):
        return 1.0
    raw = span / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    return min((step * power for step in NICE_STEPS), key=lambda step: abs(math.log(step / raw)))


def nice_ticks(low: float, high: float, count: int = 5) -> tuple[float, ...]:
    """Round numbers between ``low`` and ``high``, both included where they are round."""
    step = nice_step(high - low, count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(round(step * k, 12) for k in range(first, last + 1))


def short_tick(value: float) -> str:
    """``.5``, but whole numbers as they are."""
    return score(value, 0 if value == round(value) else 1)


@dataclass(frozen=True)
class Axis:
    """The range of an axis, its ticks, and how they are written; ``name`` stands at its end."""

    low: float
    high: float
    ticks: Sequence[float] = ()
    write: Callable[[float], str] = general
    name: str = ""

    def share(self, value: float) -> float:
        """Where a value lies, 0 to 1; what is outside is held at the edge."""
        span = (self.high - self.low) or 1.0
        return min(1.0, max(0.0, (value - self.low) / span))


def correlation_axis(lowest: float) -> Axis:
    """An axis of correlations: up to 1, and down to 0 or to the lowest."""
    low = max(-1.0, min(0.0, lowest))
    return Axis(low, 1.0, [tick for tick in (-1, -0.5, 0, 0.5, 1) if tick >= low], short_tick)


@dataclass(frozen=True)
class Scale:
    """A shared horizontal scale: values from ``low`` to ``high`` on ``width`` pixels."""

    low: float
    high: float
    width: float = 280.0
    ticks: tuple[float, ...] = ()

    @classmethod
    def around(
        cls,
        values: Sequence[float | None],
        *,
        width: float = 280.0,
        count: int = 5,
        include: Sequence[float] = (),
    ) -> Scale:
        """Make a scale that holds all values (None is ignored) with room for dots at both ends."""
        known = [float(v) for v in (*values, *include) if v is not None and math.isfinite(v)]
        if not known:
            return cls(0.0, 1.0, width, nice_ticks(0.0, 1.0, count))
        low, high = min(known), max(known)
        if high - low < 1e-9:
            low, high = low - 0.05, high + 0.05
        step = nice_step(high - low, count)
        # A round number just outside is worth the room; one far outside is not.
        above, below = math.ceil(high / step) * step, math.floor(low / step) * step
        high = above if above - high < step / 2 else high
        low = below if low - below < step / 2 else low
        room = (high - low) * 8.0 / max(1.0, width - 16.0)
        low, high = low - room, high + room
        return cls(low, high, width, nice_ticks(low, high, count))

    def x(self, value: float) -> float:
        """Horizontal pixel of a value; values outside the scale are drawn at its edge."""
        share = (float(value) - self.low) / (self.high - self.low)
        return self.width * min(1.0, max(0.0, share))

    @property
    def digits(self) -> int:
        """Number of decimals that the ticks need."""
        if len(self.ticks) < 2:
            return 2
        step = self.ticks[1] - self.ticks[0]
        return next((d for d in range(9) if abs(round(step, d) - step) < 1e-12), 3)
