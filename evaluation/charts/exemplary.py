"""Charts of the exemplary answer: how far it may be off, and how it moves. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from evaluation.charts.svg import Axis, nice_ticks, percent_at, px, short_tick, text, wide_image
from evaluation.charts.writing import MODELS, PEOPLE, SOURCES, Curve, panel

KINDS = (PEOPLE, MODELS, SOURCES)
Point = tuple[float, float]


def error_curves(
    curves: Sequence[Sequence[Point]], own: Point, *, most: int, sentence: str
) -> SafeString:
    """Errors by number of workers of up to three qualities; ``own`` is marked on the first.

    An error above 1, which says nothing, is held at the edge.
    """
    made = [
        Curve(kind, points, marks=[own] if kind == PEOPLE else [points[-1]])
        for kind, points in zip(KINDS, curves, strict=False)
    ]
    x = Axis(0, most, nice_ticks(0, most, 4), name=_("answers per question"))
    y = Axis(0, 1, (0, 0.5, 1), short_tick)
    return panel(made, x, y, sentence=sentence, references=[(own[0], "")])


@dataclass(frozen=True)
class Dot:
    """An answer in the plane; ``share`` of the vote, 0 to 1, is its area."""

    at: Point
    share: float
    name: str


def movement(
    dots: Sequence[Dot], path: Sequence[Point], labels: Sequence[str], *, height: float = 320.0
) -> SafeString:
    """Answers as circles by their weight, and the exemplary answer from round to round."""
    xs, ys = ([dot.at[k] for dot in dots] + [place[k] for place in path] for k in (0, 1))
    room = [0.08 * ((max(values) - min(values)) or 1.0) for values in (xs, ys)]
    x = Axis(min(xs) - room[0], max(xs) + room[0])
    y = Axis(min(ys) - room[1], max(ys) + room[1])
    largest = max((dot.share for dot in dots), default=0.0) or 1.0

    def place(point: Point) -> tuple[str, float]:
        return percent_at(x.share(point[0])), 8 + (height - 16) * (1 - y.share(point[1]))

    body = ""
    for dot in dots:
        where, up = place(dot.at)
        radius = 2.5 + 11 * (dot.share / largest) ** 0.5
        body += (
            f'<circle class="zone people" cx="{where}" cy="{px(up)}" r="{px(radius)}"/>'
            f'<circle class="trace people" cx="{where}" cy="{px(up)}" r="{px(radius)}"/>'
        )
    for before, after in itertools.pairwise(path):
        (x1, y1), (x2, y2) = place(before), place(after)
        body += f'<line class="trace models" x1="{x1}" y1="{px(y1)}" x2="{x2}" y2="{px(y2)}"/>'
    signs = ""
    for at, label in zip(path, labels, strict=True):
        where, up = place(at)
        signs += (
            f'<svg class="sign" x="{where}" y="{px(up)}"><rect class="mark-of models" x="-3.5" '
            'y="-3.5" width="7" height="7"/></svg>'
        )
        side = "end" if x.share(at[0]) > 0.7 else ""
        offset = -0.012 if side else 0.012
        body += text(percent_at(x.share(at[0]) + offset), up - 6, label, f"strong halo {side}")
    body += signs
    sentence = _("Answers to the question by their likeness, and the exemplary answer after: ")
    return wide_image(
        body, sentence=sentence + ", ".join(labels), height=height, classes="wide flush"
    )
