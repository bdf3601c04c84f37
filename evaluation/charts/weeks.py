"""Rates by week as a narrow chart: a dot on its interval each, and all weeks as a dashed line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crowdqc.numbers import interval, percent
from evaluation.charts.svg import Axis, line, nice_ticks, percent_at, px, text, wide_image

ROW, TOP = 24.0, 18.0  # px, of a row and of the axis above the first
LEFT, RIGHT = 0.36, 0.95  # between which shares of the width the axis lies


@dataclass(frozen=True)
class WeekRow:
    """A week with its rate (0 to 1) and interval; without them it is not shown."""

    label: str
    rate: float | None = None
    low: float = 0.0
    high: float = 0.0

    @property
    def sentence(self) -> str:
        """The week in words."""
        if self.rate is None:
            return _("%(week)s: not shown") % {"week": self.label}
        span = interval(100 * self.low, 100 * self.high, 1)
        words = {"week": self.label, "rate": percent(self.rate, 1), "span": span}
        return _("%(week)s: %(rate)s, 95%% CI %(span)s") % words


def rates_by_week(rows: Sequence[WeekRow], *, whole: float) -> SafeString:
    """Draw the rates of weeks, and that of all traces as a dashed line."""
    top = max([whole, *(row.high for row in rows)])
    ticks = nice_ticks(0.0, top, 2)
    axis = Axis(0.0, max(top, ticks[-1]), ticks)
    height = TOP + ROW * len(rows)

    def x(value: float) -> str:
        return percent_at(LEFT + (RIGHT - LEFT) * axis.share(value))

    digits = 0 if all(round(100 * one, 6).is_integer() for one in ticks) else 1
    parts = [text(x(one), 10, percent(one, digits), "mid") for one in ticks]
    parts += [line(x(one), TOP, x(one), height, "grid") for one in ticks]
    parts.append(line(x(whole), TOP, x(whole), height, "reference"))
    for number, row in enumerate(rows):
        y = TOP + ROW * (number + 0.5)
        parts.append(text("0", y + 4, row.label, "word"))
        if row.rate is None:
            parts.append(text(percent_at(LEFT + 0.02), y + 4, _("not shown"), "halo"))
            continue
        parts.append(line(x(row.low), y, x(row.high), y, "interval"))
        parts.append(f'<circle class="dot" cx="{x(row.rate)}" cy="{px(y)}" r="4"/>')
    sentence = "; ".join(row.sentence for row in rows)
    return wide_image("".join(parts), sentence=sentence, height=height, classes="wide flush")
