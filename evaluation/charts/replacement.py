"""The chart of a model that is tested as a replacement: its winning rate by what may be lost."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crowdqc.numbers import percent, score
from evaluation.charts.svg import (
    line,
    nice_ticks,
    path,
    percent_at,
    px,
    stretched,
    text,
    wide_image,
)

HEIGHT = 180.0


def winning_curve(
    epsilons: Sequence[float], rates: Sequence[float], at: int, *, half: float, name: str
) -> SafeString:
    """Draw the winning rate at every epsilon as steps, with a dot at the ``at``-th.

    ``half`` is dashed: from there on the model passes.
    """
    foot, last = HEIGHT - 34, max(epsilons)

    def x(epsilon: float) -> float:
        return 0.02 + 0.96 * epsilon / last

    def y(rate: float) -> float:
        return 10 + (foot - 10) * (1 - rate)

    body = ""
    for tick in nice_ticks(0.0, 1.0, 4):
        body += line("0", y(tick), "100%", y(tick), "grid")
        body += text("-8", y(tick) + 4, percent(tick), "end")
    body += line("0", y(half), "100%", y(half), "reference")
    corners = [(x(epsilons[0]), rates[0])]
    for epsilon, before, rate in zip(epsilons[1:], rates, rates[1:], strict=False):
        corners += [(x(epsilon), before), (x(epsilon), rate)]
    drawn = path((1000 * place, y(rate)) for place, rate in corners)
    body += stretched(f'<path class="line" d="{drawn}"/>', HEIGHT)
    body += (
        f'<circle class="dot" cx="{percent_at(x(epsilons[at]))}" cy="{px(y(rates[at]))}" r="4"/>'
    )
    for tick in nice_ticks(0.0, last, 6):
        body += text(percent_at(x(tick)), foot + 16, score(tick, 2), "mid")
    body += text("100%", HEIGHT - 2, "ε", "end")
    sentence = _(
        "%(name)s: winning rate from %(first)s at ε = 0 to %(last)s at ε = %(end)s; %(rate)s at "
        "ε = %(epsilon)s"
    ) % {
        "name": name,
        "first": percent(rates[0]),
        "last": percent(rates[-1]),
        "end": score(last, 2),
        "rate": percent(rates[at]),
        "epsilon": score(epsilons[at], 2),
    }
    return wide_image(body, sentence=sentence, height=HEIGHT)
