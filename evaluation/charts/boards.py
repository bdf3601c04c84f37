"""Charts as SVG made on the server: rows in, safe strings out, colours by class only.

Conventions (one place, so that every page draws alike): an estimate is a dot on its interval, the
first-round score a hollow diamond, a reference a dashed line, the overlap of a group a pale band.
Each chart says in a sentence what it shows; forest cells also stand in a table of the same numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crowdqc.numbers import count, decimal, money, percent, power_of_ten, score, short_date
from crowdqc.numbers import interval as interval_text
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

ROW = 35.0  # px, the height of a table row without its hairline
TWO_LINES = 53.0  # px, of one whose heading has a second line
HEAT_ROW = 40.0  # px, the height of a heat map's row
CLOSE = 10.0  # px, nearer than this a second sign is lifted off the dot
LIFT = 8.5

__all__ = [
    "Estimate",
    "Scale",
    "agreement_cell",
    "convergence",
    "cost_by_day",
    "forest_axis",
    "forest_cell",
    "histogram",
    "overlap_band",
]


@dataclass(frozen=True)
class Estimate:
    """A point with its interval; ``low`` and ``high`` are None where there is no interval.

    ``line`` is what is drawn where it is not the interval.
    """

    value: float
    low: float | None = None
    high: float | None = None
    line: tuple[float | None, float | None] | None = None

    def sentence(self) -> str:
        """The estimate with its interval as text."""
        if self.low is None or self.high is None:
            return _("%(value)s without an interval") % {"value": score(self.value)}
        return _("%(value)s, 95%% CI %(interval)s") % {
            "value": score(self.value),
            "interval": interval_text(self.low, self.high),
        }


def overlap_band(intervals: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the range in which all intervals overlap; None if there is none."""
    if len(intervals) < 2:
        return None
    low, high = max(i[0] for i in intervals), min(i[1] for i in intervals)
    return (low, high) if low < high else None


def _ground(
    scale: Scale,
    band: tuple[float, float] | None = None,
    reference: float | None = None,
    height: float = ROW,
) -> str:
    """Band, grid and reference of one row; one pixel longer, to run through the hairline."""
    parts = []
    if band is not None:
        left, right = scale.x(band[0]), scale.x(band[1])
        parts.append(
            f'<rect class="band" x="{px(left)}" y="0" width="{px(right - left)}" '
            f'height="{px(height + 1)}"/>'
        )
    parts += [line(px(scale.x(t)), 0, px(scale.x(t)), height + 1, "grid") for t in scale.ticks]
    if reference is not None:
        parts.append(line(px(scale.x(reference)), 0, px(scale.x(reference)), height, "reference"))
    return "".join(parts)


def _bar(scale: Scale, low: float | None, high: float | None, y: float, classes: str) -> str:
    if low is None or high is None:
        return ""
    return line(px(scale.x(low)), y, px(scale.x(high)), y, classes)


def _sign(kind: str, x: float, y: float) -> str:
    """Draw one centred sign."""
    if kind == "dot":
        return f'<circle class="dot" cx="{px(x)}" cy="{px(y)}" r="4"/>'
    if kind == "ring":
        return f'<circle class="ringed" cx="{px(x)}" cy="{px(y)}" r="4.4"/>'
    if kind == "square":
        return f'<rect class="square" x="{px(x - 4)}" y="{px(y - 4)}" width="8" height="8"/>'
    if kind == "cross":
        return f'<path class="cross" d="M{px(x - 3.8)} {px(y - 3.8)}l7.6 7.6m0-7.6-7.6 7.6"/>'
    return f'<path class="diamond" d="M{px(x)} {px(y - 4.2)}l4.2 4.2-4.2 4.2-4.2-4.2z"/>'


def _tick(value: float, scale: Scale) -> str:
    return score(value, scale.digits) if value else "0"


def forest_axis(scale: Scale, *, bottom: bool = False) -> SafeString:
    """Draw the axis of a forest plot with its ticks, above the rows or at the ``bottom``."""
    labels = "".join(text(px(scale.x(t)), 10, _tick(t, scale), "mid") for t in scale.ticks)
    said = (
        _("Scale below the rows, %(low)s to %(high)s")
        if bottom
        else _("Scale above the rows, %(low)s to %(high)s")
    )
    ends = {"low": _tick(scale.ticks[0], scale), "high": _tick(scale.ticks[-1], scale)}
    return image(labels, sentence=said % ends, width=scale.width, height=13)


def forest_cell(
    scale: Scale,
    estimate: Estimate | None,
    *,
    secondary: float | None = None,
    secondary_said: str | None = None,
    reference: float | None = None,
    band: tuple[float, float] | None = None,
    name: str = "",
    height: float = ROW,
) -> SafeString:
    """Draw one row of a forest plot: interval, dot, diamond of a second estimate, reference, band.

    A diamond closer than ten pixels to the dot is lifted above the line, so that both are seen;
    ``secondary_said`` says what it is, where it is not the first-round score.
    ``estimate`` is None for a row that is not scored: then only the ground is drawn.
    """
    middle = height / 2
    body = _ground(scale, band, reference, height)
    if estimate is None:
        said = _("%(name)s: not scored") % {"name": name} if name else _("not scored")
        return image(body, sentence=said, width=scale.width, height=height)
    body += _bar(scale, *(estimate.line or (estimate.low, estimate.high)), middle, "interval")
    body += _sign("dot", scale.x(estimate.value), middle)
    sentence = estimate.sentence()
    if secondary is not None:
        near = abs(scale.x(secondary) - scale.x(estimate.value)) < CLOSE
        body += _sign("diamond", scale.x(secondary), middle - (LIFT if near else 0))
        said = secondary_said or _("first-round %(score)s") % {"score": score(secondary)}
        sentence = f"{sentence}, {said}"
    if name:
        sentence = f"{name}: {sentence}"
    return image(body, sentence=sentence, width=scale.width, height=height)


def agreement_cell(
    scale: Scale,
    *,
    raw: float,
    corrected: float | None = None,
    null: float | None = None,
    crossfit: Estimate | None = None,
    name: str = "",
) -> SafeString:
    """Draw four values of agreement in a row: raw, null, corrected and cross-fitted."""
    middle, said = HEAT_ROW / 2, [_("raw %(score)s") % {"score": score(raw, 2)}]
    body = _ground(scale, height=HEAT_ROW)
    if crossfit is not None:
        body += _bar(scale, crossfit.low, crossfit.high, middle, "interval thin")
    body += _sign("square", scale.x(raw), middle)
    if null is not None:
        body += _sign("cross", scale.x(null), middle)
        said.append(_("shuffled null %(score)s") % {"score": score(null, 2)})
    if corrected is not None:
        body += _sign("ring", scale.x(corrected), middle)
        said.append(_("corrected %(score)s") % {"score": score(corrected, 2)})
    if crossfit is not None:
        body += _sign("dot", scale.x(crossfit.value), middle)
        said.append(_("cross-fit %(score)s") % {"score": score(crossfit.value, 2)})
    sentence = (f"{name}: " if name else "") + ", ".join(said)
    return image(body, sentence=sentence, width=scale.width, height=HEAT_ROW)


def convergence(
    changes: Sequence[float],
    resamples: Sequence[Sequence[float]] = (),
    *,
    stop: float = 1e-6,
    height: float = 216.0,
) -> SafeString:
    """Draw the change of weights by round on a log scale, with resamples and the stop line.

    ``changes[k]`` is the change in round k + 1; a change of 0 is drawn at the foot.
    Raises ValueError without a round, or with a negative change.
    """
    every = [*changes, *(value for one in resamples for value in one)]
    if not len(changes) or min(every) < 0:
        raise ValueError("A convergence line needs at least one round and no negative change.")
    positive = [v for v in every if v > 0] or [stop]
    top = math.ceil(math.log10(max(*positive, stop)) - 1e-9)
    foot = math.floor(math.log10(min(stop, max(min(positive), stop / 10))) + 1e-9)
    rounds = max(len(changes), *(len(one) for one in resamples), 2)
    plot = height - 22

    def y(value: float) -> float:
        share = (top - math.log10(max(value, 10.0**foot))) / max(1, top - foot)
        return 8 + (plot - 38) * share  # below the lowest point its label has room

    def points(one: Sequence[float]) -> list[tuple[float, float]]:
        return [(1000 * _place(k, rounds), y(value)) for k, value in enumerate(one)]

    thin = "".join(_curve(points(one), "line thin") for one in resamples if len(one))
    body = _decades(top, foot, y, stop) + stretched(thin + _curve(points(changes), "line"), height)
    body += _rounds_axis(rounds, height)
    last, x = changes[-1], _place(len(changes) - 1, rounds)
    side = "end" if x > 0.7 else ""
    body += f'<circle class="dot" cx="{percent_at(x)}" cy="{px(y(last))}" r="4"/>'
    told = {"n": len(changes), "change": power_of_ten(last), "stop": power_of_ten(stop)}
    label = _("round %(n)s, %(change)s") % told
    body += text(percent_at(x), y(last) + 19, label, f"strong halo {side}")
    if last < stop:
        said = _(
            "Change of the weights after %(n)s rounds: %(change)s, under the stop line of %(stop)s"
        )
    else:
        said = _(
            "Change of the weights after %(n)s rounds: %(change)s, not yet under the stop line of "
            "%(stop)s"
        )
    return wide_image(body, sentence=said % told, height=height)


def _place(index: int, count: int) -> float:
    """Return the x of the index-th of ``count`` points, with room for the axis' name at the end."""
    return 0.03 + 0.84 * index / max(1, count - 1)


def _curve(points: Sequence[tuple[float, float]], classes: str) -> str:
    if len(points) == 1:
        return ""
    return f'<path class="{classes}" vector-effect="non-scaling-stroke" d="{path(points)}"/>'


def _decades(top: int, foot: int, y: Callable[[float], float], stop: float) -> str:
    """Grid lines at even powers of ten, and the stop line."""
    step = max(1, round((top - foot) / 4))
    parts = []
    for exponent in range(top, foot - 1, -step):
        height = y(10.0**exponent)
        if abs(height - y(stop)) > 1:
            parts.append(line("0", height, "100%", height, "grid"))
        parts.append(text("-8", height + 4, power_of_ten(10.0**exponent), "end"))
    parts.append(line("0", y(stop), "100%", y(stop), "reference"))
    parts.append(text("4", y(stop) - 6, _("stops below this line"), "word halo"))
    return "".join(parts)


def _rounds_axis(rounds: int, height: float) -> str:
    step = max(1, math.ceil(rounds / 7))
    labels = [
        text(percent_at(_place(k, rounds)), height - 3, str(k + 1), "mid")
        for k in range(0, rounds, step)
    ]
    return "".join(labels) + text("100%", height - 3, _("round"), "end")


LETTER = 0.027  # the width of a character on the narrowest card, as a share of the card's


def histogram(
    counts: Sequence[int],
    low: float,
    high: float,
    *,
    this: float | None = None,
    labels: tuple[str, str] = ("", ""),
    this_label: str = "",
    what: str = "",
) -> SafeString:
    """Draw a histogram of everyone in grey, with a line for one person."""
    if not counts or high <= low:
        raise ValueError("A histogram needs bins and a range that is not empty.")
    most, width, plot = max(counts) or 1, 1000 / len(counts), 26.0
    columns = "".join(
        f'<rect class="column" x="{px(k * width + 4)}" y="{px(plot - plot * n / most)}" '
        f'width="{px(width - 8)}" height="{px(plot * n / most)}"/>'
        for k, n in enumerate(counts)
        if n
    )
    body = stretched(columns, plot) + line("0", plot, "100%", plot, "base")
    share = None if this is None else min(1.0, max(0.0, (this - low) / (high - low)))
    half = LETTER * len(this_label) / 2
    left = right = share
    if share is not None:
        anchor = "" if share <= half else "end" if share >= 1 - half else "mid"
        left, right = {"": (0, 2), "mid": (1, 1), "end": (2, 0)}[anchor]
        left, right = share - left * half, share + right * half
    if left is None or left > LETTER * (len(labels[0]) + 1):
        body += text("0", plot + 11, labels[0])
    if right is None or right < 1 - LETTER * (len(labels[1]) + 1):
        body += text("100%", plot + 11, labels[1], "end")
    if share is not None:
        body += line(percent_at(share), 0, percent_at(share), plot, "this")
        body += text(percent_at(share), plot + 11, this_label, f"strong {anchor}".strip())
    said = _("%(what)s of %(n)s")
    if this_label:
        said = _("%(what)s of %(n)s, from %(low)s to %(high)s; this one: %(this)s")
    told = {
        "what": what or _("Distribution"),
        "n": sum(counts),
        "low": labels[0],
        "high": labels[1],
        "this": this_label,
    }
    return wide_image(body, sentence=said % told, height=plot + 15, classes="wide flush")


def cost_by_day(
    days: Sequence[tuple[date, Decimal]],
    *,
    until: date | None = None,
    cost_limit: Decimal | None = None,
    budget: Decimal | None = None,
    currency: str = "EUR",
    height: float = 150.0,
) -> SafeString:
    """Cumulated cost by day with its area, the way to the cost at most, and the budget.

    ``days`` are (day, cost so far), ascending; the last one is today.
    Raises ValueError on no day, or on days out of order.
    """
    if not days or any(a[0] >= b[0] for a, b in itertools.pairwise(days)):
        raise ValueError("Cost by day needs at least one day, in ascending order.")
    first, (today, spent) = days[0][0], days[-1]
    last = max(until or today, today)
    span = max(1, (last - first).days)
    top = float(max(spent, cost_limit or 0, budget or 0)) * 1.02 or 1.0
    plot = height - 24

    def x(day: date) -> float:
        return (day - first).days / span

    def y(value: Decimal | float) -> float:
        return 12 + (plot - 12) * (1 - float(value) / top)

    body, ceiling = "", float(budget) * 0.86 if budget else top
    ticks = [tick for tick in nice_ticks(0, top, 4) if tick <= ceiling]
    whole = all(tick == round(tick) for tick in ticks)
    for tick in ticks:
        body += line("0", y(tick), "100%", y(tick), "grid" if tick else "base")
        label = count(round(tick)) if whole or not tick else decimal(tick, 2)
        body += text("-8", y(tick) + 4, label, "end")
    points = [(1000 * x(day), y(value)) for day, value in days]
    area = [*points, (points[-1][0], y(0)), (points[0][0], y(0))]
    shapes = f'<path class="area" d="{path(area)}z"/>' + _curve(points, "line")
    if cost_limit is not None and last > today:
        shapes += _curve([points[-1], (1000 * x(last), y(cost_limit))], "line ahead")
        foot = y(cost_limit) + 22
        if budget is not None and -4 < foot - y(budget) < 14:
            foot = y(budget) + 14  # below the line of the budget, which would strike it through
        body += text(
            "100%",
            foot,
            _("%(money)s at most") % {"money": money(cost_limit, currency, whole=True)},
            f"word halo end{_if_wide(x(last) - x(today))}",
        )
    if budget is not None:
        body += line("0", y(budget), "100%", y(budget), "reference")
        body += text(
            "4",
            y(budget) + 13,
            _("budget %(money)s") % {"money": money(budget, currency, whole=True)},
            "word halo",
        )
    body += stretched(shapes, height)
    body += f'<circle class="dot" cx="{percent_at(x(today))}" cy="{px(y(spent))}" r="4"/>'
    body += text(percent_at(x(today)), y(spent) - 10, money(spent, currency), "strong halo end")
    body += _day_labels(first, today, last, height)
    said = _cost_words(first, today, spent, budget, currency)
    return wide_image(body, sentence=said, height=height)


AHEAD = 14  # days of the expected end that are drawn at most


def work_by_day(
    days: Sequence[tuple[date, int]],
    *,
    left: int = 0,
    until: date | None = None,
    height: float = 130.0,
) -> SafeString:
    """Bars of what was submitted each day, and dashed ones until the expected end.

    ``days`` are (day, number), ascending without gaps; the last one is today. ``left`` is spread
    evenly over the days until ``until``. Raises ValueError on no day.
    """
    if not days:
        raise ValueError("Work by day needs at least one day.")
    today = days[-1][0]
    to_come = (until - today).days if until is not None and left else 0
    coming = left / to_come if to_come else 0.0
    shown = min(to_come, AHEAD)
    bars = [(day, float(number), "column day") for day, number in days]
    bars += [(today + timedelta(days=n), coming, "column day ahead") for n in range(1, shown + 1)]
    top = max(1.0, *(number for _day, number, _kind in bars))
    plot, foot = height - 24, height - 24
    body = ""
    for tick in (t for t in nice_ticks(0, top, 2) if t == round(t)):
        y = foot - (plot - 8) * tick / top
        body += line("0", y, "100%", y, "grid" if tick else "base")
        body += text("-8", y + 4, count(round(tick)), "end")
    width = 1000 / len(bars)
    body += stretched(
        "".join(
            f'<rect class="{kind}" x="{px(at * width + width / 5)}" '
            f'y="{px(foot - (plot - 8) * number / top)}" width="{px(width * 0.6)}" '
            f'height="{px((plot - 8) * number / top)}"/>'
            for at, (_day, number, kind) in enumerate(bars)
            if number
        ),
        height,
    )
    every = max(1, round(len(bars) / 6))
    for at, (day, _number, _kind) in enumerate(bars):
        if at % every == 0:
            body += text(percent_at((at + 0.5) / len(bars)), height - 4, short_date(day), "mid")
    said = _("Submitted from %(first)s to %(today)s: %(number)s; most on a day: %(most)s")
    told = {
        "first": short_date(days[0][0]),
        "today": short_date(today),
        "number": sum(number for _day, number in days),
        "most": max(number for _day, number in days),
    }
    return wide_image(body, sentence=said % told, height=height)


def _cost_words(
    first: date, today: date, spent: Decimal, budget: Decimal | None, currency: str
) -> str:
    told = {
        "first": short_date(first),
        "today": short_date(today),
        "spent": money(spent, currency),
    }
    if not budget:
        return _("Cost from %(first)s to %(today)s: %(spent)s") % told
    return _("Cost from %(first)s to %(today)s: %(spent)s, %(share)s of %(budget)s") % {
        **told,
        "share": percent(spent / budget),
        "budget": money(budget, currency, whole=True),
    }


def _if_wide(share: float) -> str:
    """A label that has only this share of the chart leaves it on a phone."""
    return " wide-only" if share < 0.35 else ""


def _day_labels(first: date, today: date, last: date, height: float) -> str:
    """First day, weeks, today and last day; what would touch is left out."""
    span = max(1, (last - first).days)
    wanted = [(0, short_date(first), "")]
    wanted += [(d, "", "mid") for d in range(7, span, 7 * max(1, round(span / 35)))]
    fixed = [((today - first).days, _("today"), "mid" if first < today < last else "end")]
    if last > today:
        fixed.append((span, short_date(last), "end" + _if_wide((last - today).days / span)))
    room = span * 0.13
    kept = [w for w in wanted if all(abs(w[0] - f[0]) > room for f in fixed)]
    kept = [kept[0], *(w for w in kept[1:] if w[0] > room)] if kept else []
    return "".join(
        text(
            percent_at(d / span),
            height - 4,
            words or short_date(first + timedelta(days=d)),
            kind,
        )
        for d, words, kind in [*kept, *fixed]
    )
