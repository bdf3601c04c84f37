"""Points by two quantities, on one square. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import escape
from django.utils.safestring import SafeString

from evaluation.charts.svg import Axis, image, line, px, text

SIZE, LEFT, FOOT, EDGE = 220.0, 60.0, 40.0, 12.0
TICK = 8  # characters of a tick's label


@dataclass(frozen=True)
class Point:
    """A point, where its label stands beside it if it has one."""

    x: float
    y: float
    label: str = ""


def scatter(
    points: Sequence[Point], *, across: Axis, up: Axis, sentence: str, diagonal: bool = False
) -> SafeString:
    """Draw points as dots; ``diagonal`` adds a dashed line where both values are equal."""

    def x(value: float) -> float:
        return LEFT + SIZE * across.share(value)

    def y(value: float) -> float:
        return EDGE + SIZE - SIZE * up.share(value)

    body = ""
    for value in up.ticks:
        body += line(px(LEFT), y(value), px(LEFT + SIZE), y(value), "grid")
        body += text(px(LEFT - 6), y(value) + 4, _cut(up.write(value)), "end")
    for value in across.ticks:
        body += line(px(x(value)), EDGE, px(x(value)), EDGE + SIZE, "grid")
        body += text(px(x(value)), EDGE + SIZE + 14, _cut(across.write(value)), "mid")
    if diagonal:
        body += line(px(LEFT), EDGE + SIZE, px(LEFT + SIZE), EDGE, "reference")
    for one in points:
        tip = f"<title>{escape(one.label)}</title>" if one.label else ""
        body += f'<circle class="dot faint" cx="{px(x(one.x))}" cy="{px(y(one.y))}" r="3">'
        body += f"{tip}</circle>"
        if one.label:
            left = across.share(one.x) < 0.6
            place = px(x(one.x) + (6 if left else -6))
            body += text(place, y(one.y) - 5, one.label, "halo" if left else "end halo")
    body += text(px(LEFT + SIZE), EDGE + SIZE + FOOT - 8, across.name, "end")
    return image(body, sentence=sentence, width=LEFT + SIZE + EDGE + 12, height=EDGE + SIZE + FOOT)


def _cut(label: str) -> str:
    return label if len(label) <= TICK else f"{label[: TICK - 1]}…"
