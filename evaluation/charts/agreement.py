"""Charts of agreement, order effects and judges: rows of numbers in, SVG out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crowdqc.numbers import NBSP, interval, percent, score
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate
from evaluation.charts.svg import Scale, image, line, nice_ticks, percent_at, px, text, wide_image

STEPS = 6
PLOT, WIDE = 270.0, 220.0  # px
LEFT, SPAN = 0.02, 0.95  # of the width, for the places of a sequence


def heat_top(values: Sequence[float | None]) -> float:
    """Return the value of the darkest heat step: .5, or 1 if a value exceeds .55."""
    return 1.0 if max((v for v in values if v is not None), default=0.0) > 0.55 else 0.5


def heat_step(value: float | None, top: float) -> str:
    """Return the class of a heat map's cell: ``h0`` to ``h5`` from 0 to ``top``."""
    if value is None:
        return "h0"
    return f"h{min(STEPS - 1, max(0, int(STEPS * value / top)))}"


def heat_between(value: float | None, low: float, high: float) -> str:
    """Return the heat class of a value in the range ``low`` to ``high``."""
    if value is None or high <= low:
        return "h0"
    return heat_step(value - low, high - low)


def agreement_scale(values: Sequence[float | None]) -> Scale:
    """Return the scale shared by the four values of agreement; it includes 0."""
    return Scale.around(values, width=PLOT, count=6, include=[0.0])


def four_estimates(
    scale: Scale,
    *,
    raw: float | None,
    corrected: float | None,
    null: float | None,
    crossfit: Estimate | None,
    name: str,
) -> SafeString:
    """Draw the four values of agreement in a row; an empty row without a raw value."""
    if raw is None:
        return charts.forest_cell(scale, None, name=name)
    return charts.agreement_cell(
        scale, raw=raw, corrected=corrected, null=null, crossfit=crossfit, name=name
    )


@dataclass(frozen=True)
class Place:
    """The neutral answers at one place of the sequence; bounds None without an interval."""

    number: int
    share: float
    low: float | None
    high: float | None


def drift(
    places: Sequence[Place],
    *,
    split: int,
    early: float | None,
    late: float | None,
    height: float = 216.0,
) -> SafeString:
    """Share of neutral answers by place, with intervals; dashed: the mean up to ``split``, after.

    ``places`` ascend and are not empty.
    """
    first, last = places[0].number, places[-1].number
    values = [v for p in places for v in (p.share, p.low, p.high) if v is not None]
    values += [v for v in (early, late) if v is not None]
    low, high = max(0.0, min(values) - 0.02), min(1.0, max(values) + 0.02)
    foot = height - 34

    def x(number: float) -> float:
        return LEFT + SPAN * (number - first + 0.5) / (last - first + 1)

    def y(value: float) -> float:
        share = (min(high, max(low, value)) - low) / ((high - low) or 1.0)
        return 24 + (foot - 24) * (1 - share)

    body = ""
    for tick in nice_ticks(low, high, 4):
        body += line("0", y(tick), "100%", y(tick), "grid")
        body += text("-8", y(tick) + 4, percent(tick), "end")
    before, after = (early, first, min(split, last)), (late, max(first, split + 1), last)
    body += _means(((_("to %(place)s:") % {"place": split}, *before), (_("later:"), *after)), x, y)
    if first <= split < last:
        body += line(percent_at(x(split + 0.5)), 0, percent_at(x(split + 0.5)), foot, "grid")
    step = max(1, -(-(last - first + 1) // 16))
    for place in places:
        where = percent_at(x(place.number))
        if place.low is not None and place.high is not None:
            body += line(where, y(place.low), where, y(place.high), "interval thin")
        body += f'<circle class="dot" cx="{where}" cy="{px(y(place.share))}" r="3.5"/>'
        if (place.number - first) % step == 0:
            body += text(where, foot + 16, str(place.number), "mid")
    body += text("100%", height - 2, _("place in the worker’s sequence"), "end")
    said = _("Share of neutral answers from place %(first)s (%(begin)s) to %(last)s (%(end)s)")
    told = {
        "first": first,
        "begin": percent(places[0].share),
        "last": last,
        "end": percent(places[-1].share),
    }
    if early is not None and late is not None:
        said = _(
            "Share of neutral answers from place %(first)s (%(begin)s) to %(last)s (%(end)s); "
            "%(early)s up to place %(split)s, %(late)s after"
        )
        told |= {"early": percent(early, 1), "split": split, "late": percent(late, 1)}
    return wide_image(body, sentence=said % told, height=height)


def _means(
    spans: Sequence[tuple[str, float | None, int, int]],
    x: Callable[[float], float],
    y: Callable[[float], float],
) -> str:
    """Dashed levels from place to place; their names and numbers stand on top, off the dots."""
    body = ""
    for name, value, start, end in spans:
        if value is None or start > end:
            continue
        left, right = percent_at(x(start - 0.5)), percent_at(x(end + 0.5))
        body += line(left, y(value), right, y(value), "reference")
        body += text(percent_at(x(start - 0.25)), 10, f"{name} {percent(value, 1)}", "word")
    return body


def share_cell(
    scale: Scale,
    estimate: Estimate | None,
    *,
    against: Estimate | None = None,
    middle: float | None = None,
    name: str = "",
) -> SafeString:
    """A share with its interval (dot), and another one to hold it against (square above it).

    ``middle`` is drawn dashed: what no effect would give.
    """
    height = charts.ROW
    half = height / 2
    body = "".join(line(px(scale.x(t)), 0, px(scale.x(t)), height + 1, "grid") for t in scale.ticks)
    if middle is not None:
        body += line(px(scale.x(middle)), 0, px(scale.x(middle)), height, "reference")
    said = []
    if against is not None:
        y = half - 6 if estimate is not None else half
        body += _bar(scale, against, y, "interval thin")
        x = scale.x(against.value)
        body += f'<rect class="square" x="{px(x - 3.5)}" y="{px(y - 3.5)}" width="7" height="7"/>'
        said.append(_("one person %(share)s") % {"share": _estimate_text(against)})
    if estimate is not None:
        y = half + 6 if against is not None else half
        body += _bar(scale, estimate, y, "interval")
        body += f'<circle class="dot" cx="{px(scale.x(estimate.value))}" cy="{px(y)}" r="4"/>'
        said.insert(0, _estimate_text(estimate))
    sentence = f"{name}: " if name else ""
    return image(
        body,
        sentence=sentence + ("; ".join(said) or _("not known")),
        width=scale.width,
        height=height,
    )


def _bar(scale: Scale, found: Estimate, y: float, classes: str) -> str:
    if found.low is None or found.high is None:
        return ""
    return line(px(scale.x(found.low)), y, px(scale.x(found.high)), y, classes)


def _estimate_text(found: Estimate) -> str:
    return f"{score(found.value, 2)}{NBSP}({interval(found.low, found.high, 2)})"


def known_estimate(value: float | None, low: float | None, high: float | None) -> Estimate | None:
    """Make an estimate; None if there is no value."""
    return None if value is None else Estimate(value, low, high)
