"""The line of a queue over 24 hours, small enough for a cell of a table."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from evaluation.charts.svg import image, line, path, px

WIDTH, HEIGHT, EDGE = 124.0, 28.0, 4.0


def waiting_line(values: Sequence[float | None], queue: str) -> SafeString:
    """Jobs waiting in each half hour; where nothing was measured the line has a gap."""
    known = [value for value in values if value is not None]
    body = line("0", HEIGHT - EDGE, px(WIDTH), HEIGHT - EDGE, "grid")
    if not known:
        return image(
            body,
            sentence=_("Jobs waiting in %(queue)s over 24 hours: not known yet") % {"queue": queue},
            width=WIDTH,
            height=HEIGHT,
        )
    top, step = max(*known, 1.0), (WIDTH - 2 * EDGE) / max(1, len(values) - 1)
    pieces: list[list[tuple[float, float]]] = [[]]
    for number, value in enumerate(values):
        if value is None:
            pieces.append([])
        else:
            y = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * value / top
            pieces[-1].append((EDGE + number * step, y))
    pieces = [piece for piece in pieces if piece]
    body += "".join(f'<path class="line" d="{path(piece)}"/>' for piece in pieces)
    x, y = pieces[-1][-1]
    body += f'<circle class="dot" cx="{px(x)}" cy="{px(y)}" r="2.6"/>'
    sentence = _("Jobs waiting in %(queue)s over 24 hours: %(most)s at most, %(last)s last") % {
        "queue": queue,
        "most": f"{top:.0f}",
        "last": f"{known[-1]:.0f}",
    }
    if max(known) == 0:
        sentence = _("Jobs waiting in %(queue)s over 24 hours: none") % {"queue": queue}
    return image(body, sentence=sentence, width=WIDTH, height=HEIGHT)
