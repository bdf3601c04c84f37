"""A reliability curve: what is true beside what was said to be, on one square."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crowdqc.numbers import score
from evaluation.charts.boards import Estimate
from evaluation.charts.svg import image, line, nice_ticks, path, px, text

SIZE, LEFT, FOOT, EDGE = 160.0, 40.0, 36.0, 10.0


@dataclass(frozen=True)
class Forecasts:
    """What was said (a probability, or a number), and what turned out, of ``n`` items."""

    value: float
    found: Estimate
    n: int


def reliability_curve(
    points: Sequence[Forecasts], *, name: str, across: str, up: str
) -> SafeString:
    """Draw a reliability curve: forecasts against outcomes, with intervals and the diagonal.

    ``across`` and ``up`` name the axes, which have one scale.
    """
    ends = [
        end
        for one in points
        for end in (one.value, one.found.value, one.found.low, one.found.high)
        if end is not None
    ]
    # Shares have their own square; other numbers the one that holds them.
    low, high = min([0.0, *ends]), max([1.0, *ends])
    ticks = nice_ticks(low, high, 4)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    digits = 2 if ticks[1] - ticks[0] < 1 else 0

    def x(value: float) -> float:
        return LEFT + SIZE * (value - low) / (high - low)

    def y(value: float) -> float:
        return EDGE + SIZE - SIZE * (value - low) / (high - low)

    body = ""
    for tick in ticks:
        body += line(px(LEFT), y(tick), px(LEFT + SIZE), y(tick), "grid")
        body += text(px(LEFT - 8), y(tick) + 4, score(tick, digits), "end")
        body += text(px(x(tick)), EDGE + SIZE + 16, score(tick, digits), "mid")
    body += line(px(x(low)), y(low), px(x(high)), y(high), "reference")
    joined = path((x(one.value), y(one.found.value)) for one in points)
    body += f'<path class="line thin" d="{joined}"/>'
    for one in points:
        if one.found.low is not None and one.found.high is not None:
            at = px(x(one.value))
            body += line(at, y(one.found.low), at, y(one.found.high), "interval")
        body += f'<circle class="dot" cx="{px(x(one.value))}" cy="{px(y(one.found.value))}" r="4"/>'
    body += text(px(LEFT + SIZE), EDGE + SIZE + FOOT - 4, across, "end")
    told = "; ".join(f"{score(one.value, 2)}: {one.found.sentence()}" for one in points)
    return image(
        body,
        sentence=_("%(name)s: %(up)s by %(across)s.") % {"name": name, "up": up, "across": across}
        + f" {told}",
        width=LEFT + SIZE + EDGE,
        height=EDGE + SIZE + FOOT,
    )
