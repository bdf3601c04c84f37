"""Small charts of pairwise studies: posterior bars, and a worker's votes in the order given.

The same conventions as ``charts``: rows in, safe strings out, colours by class only, every chart
says in a sentence what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.task_types.pairwise.sides import LEFT, NEUTRAL, RIGHT
from crowdqc.numbers import percent, plural
from evaluation.charts.svg import image, line, px, text

BAR, ROW = 12.0, 18.0  # px, heights of a bar and of a line of votes
STEP, GAP, NAMES = 11.0, 9.0, 150.0  # px, a vote, between assignments, room for names
PARTS = ("part-a", "part-n", "part-b")
# As displayed, and in words.
SIDES = (
    (LEFT, gettext_noop("left")),
    (NEUTRAL, gettext_noop("neutral")),
    (RIGHT, gettext_noop("right")),
)


def shares(
    values: Sequence[float], names: Sequence[str], *, width: float = 120.0, what: str = ""
) -> SafeString:
    """Three shares as one bar (first or left, neutral, second or right), a gap between them."""
    total = sum(values)
    said = ", ".join(
        f"{n} {percent(v / total if total else 0)}" for n, v in zip(names, values, strict=True)
    )
    body, x = "", 0.0
    for value, kind in zip(values, PARTS, strict=True):
        wide = width * value / total if total else 0.0
        if wide >= 0.5:
            gap = 1.0 if wide > 2 else 0.0
            body += (
                f'<rect class="{kind}" x="{px(x)}" y="0" width="{px(wide - gap)}" '
                f'height="{px(BAR)}"/>'
            )
        x += wide
    sentence = f"{what}: {said}" if what else said
    return image(body, sentence=sentence, width=width, height=BAR)


def _vote(side: str, x: float, y: float) -> str:
    """A triangle to the side that was chosen, a small ring for neutral."""
    if side == LEFT:
        return f'<path class="vote-left" d="M{px(x - 3.5)} {px(y)}l6-4v8z"/>'
    if side == RIGHT:
        return f'<path class="vote-right" d="M{px(x + 3.5)} {px(y)}l-6-4v8z"/>'
    if side == NEUTRAL:
        return f'<circle class="vote-neutral" cx="{px(x)}" cy="{px(y)}" r="2.2"/>'
    return ""


def vote_strip(
    lines: Sequence[tuple[str, Sequence[str]]], breaks: Sequence[int] = ()
) -> SafeString:
    """Draw a worker's votes as displayed, a line per dimension, in order.

    ``lines`` are (name, side of each vote, "" where none was given); ``breaks`` the places at which
    another assignment begins.
    """
    n = max((len(sides) for _, sides in lines), default=0)
    begins = sorted(set(breaks))
    where, x = [], NAMES + STEP / 2
    for k in range(n):
        x += GAP if k in begins and k else 0.0
        where.append(x)
        x += STEP
    height = ROW * len(lines) + 14
    between = [px(where[k] - (STEP + GAP) / 2) for k in begins if 0 < k < n]
    body = "".join(line(at, 0, at, height - 14, "grid") for at in between)
    every: list[str] = []
    for number, (name, sides) in enumerate(lines):
        y = ROW * number + ROW / 2
        body += text("0", y + 4, name, "word")
        body += "".join(_vote(side, where[k], y) for k, side in enumerate(sides))
        every += [side for side in sides if side]
    for k in range(9, n, 10):
        body += text(px(where[k]), height - 2, str(k + 1), "mid")
    said = ", ".join(f"{every.count(side)} {_(words)}" for side, words in SIDES)
    sentence = _("%(pairs)s in the order judged, votes as displayed: %(votes)s") % {
        "pairs": plural(n, "pair"),
        "votes": said,
    }
    return image(body, sentence=sentence, width=max(x, NAMES + 40), height=height)
