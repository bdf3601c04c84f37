"""Charts of rescaled ratings: how one scale is used before and after. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crowdqc.numbers import percent, plural
from evaluation.charts.svg import image, line, percent_at, px, text, wide_image

LANE, TOP, FOOT = 44.0, 6.0, 20.0  # px
LEFT, RIGHT = 0.4, 0.96  # of the width: where scores 0 and 100 stand
SHARE = 0.35  # of the width, for the bar of a label that everybody gave
NAME = 20  # characters of a label that a phone has room for; the table has it whole
TICKS = (0, 25, 50, 75, 100)


def scale_use(rows: Sequence[Mapping[str, Any]], *, who: str) -> SafeString:
    """Labels before and scores after (Figures 4 and 5): a lane a label, the best on top.

    ``rows`` ascend by value, each with ``label``, ``n``, ``mean`` and ``scores``, the counts at
    0, 5, ... 100. Left a bar with the share of ratings that got the label, right how the scores
    of these ratings spread, with their mean as a line.
    """
    total = sum(row["n"] for row in rows) or 1
    height = TOP + LANE * len(rows) + FOOT
    foot = height - FOOT
    body = "".join(
        line(percent_at(_x(tick)), TOP, percent_at(_x(tick)), foot, "grid")
        + text(percent_at(_x(tick)), height - 6, str(tick), "mid")
        for tick in TICKS
    )
    said = []
    for k, row in enumerate(reversed(rows)):
        body += _lane(row, TOP + LANE * k, total)
        if row["n"]:
            said.append(
                _("%(label)s %(share)s become %(score)s")
                % {
                    "label": row["label"],
                    "share": percent(row["n"] / total),
                    "score": f"{row['mean']:.0f}",
                }
            )
    sentence = _("%(who)s, %(ratings)s: %(scores)s on average") % {
        "who": who,
        "ratings": plural(total, "rating"),
        "scores": ", ".join(said),
    }
    return wide_image(body, sentence=sentence, height=height, classes="scale-use")


def _x(score: float) -> float:
    return LEFT + (RIGHT - LEFT) * score / 100


def _lane(row: Mapping[str, Any], top: float, total: int) -> str:
    """Draw one label: its name and share, the bar below them, and the scores beside."""
    foot = top + LANE - 4
    share = row["n"] / total
    name = row["label"] if len(row["label"]) <= NAME else f"{row['label'][: NAME - 1]}…"
    body = text("0", top + 12, f"{name}, {percent(share)}", "word halo")
    width = percent_at(SHARE * share)
    body += f'<rect class="before" x="0" y="{px(top + 19)}" width="{width}" height="8"/>'
    body += line(percent_at(LEFT - 0.01), foot, percent_at(RIGHT + 0.01), foot, "base")
    scores = row["scores"]
    most = max(scores, default=0)
    if not most:
        return body
    step = 100 / (len(scores) - 1)
    wide = (RIGHT - LEFT) / len(scores) * 0.72
    for k, n in enumerate(scores):
        if n:
            tall = max(1.5, (LANE - 12) * n / most)
            body += (
                f'<rect class="score" x="{percent_at(_x(step * k) - wide / 2)}" '
                f'y="{px(foot - tall)}" '
                f'width="{percent_at(wide)}" height="{px(tall)}"/>'
            )
    return body + line(
        percent_at(_x(row["mean"])), top + 2, percent_at(_x(row["mean"])), foot, "mean"
    )


def moved_item(before: float, after: float, scores: Sequence[float]) -> SafeString:
    """An item from 0 to 100: square before, dot after, small rings for its ratings' scores."""
    width, middle = 200.0, 14.0

    def x(value: float) -> str:
        return px(8 + (width - 16) * value / 100)

    body = line(x(0), middle, x(100), middle, "base")
    body += "".join(line(x(tick), middle - 5, x(tick), middle + 5, "grid") for tick in TICKS)
    body += "".join(
        f'<circle class="ringed" cx="{x(score)}" cy="{px(middle)}" r="3"/>' for score in scores
    )
    body += line(x(before), middle, x(after), middle, "interval")
    body += (
        f'<rect class="square" x="{px(float(x(before)) - 4)}" y="{px(middle - 4)}" width="8" '
        'height="8"/>'
    )
    body += f'<circle class="dot" cx="{x(after)}" cy="{px(middle)}" r="4"/>'
    sentence = _("From %(before)s before to %(after)s after, of 0 to 100") % {
        "before": f"{before:.0f}",
        "after": f"{after:.0f}",
    }
    return image(body, sentence=sentence, width=width, height=28)
