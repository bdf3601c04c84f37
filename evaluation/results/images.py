"""Tables as one SVG document, to be embedded as an image anywhere: its own colours, no script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from django.utils.html import escape
from django.utils.translation import gettext as _

from crowdqc.numbers import interval, plural, score
from evaluation.charts.boards import ROW
from evaluation.charts.svg import px, text
from evaluation.results.tables import ResultTable

WIDTH, PLOT, SCORES, NUMBERS = 720.0, 236.0, 584.0, 704.0
MOST = 40  # rows; a longer board is read on its page
NAME, LINE, LINES = 30, 92, 3  # characters that fit, lines of a note
STYLE = """
svg{--paper:#fbfaf7;--ink:#1b1d20;--ink3:#686c71;--line:#e5e2da;--accent:#0b6470;--band:#dde7e6;
font:12px system-ui,"Segoe UI",Roboto,Arial,sans-serif}
@media(prefers-color-scheme:dark){svg{--paper:#131517;--ink:#e8e6e1;--ink3:#8f9498;--line:#2a2e32;
--accent:#6fcad4;--band:#1c2c2e}}
.paper{fill:var(--paper)}text{fill:var(--ink);font-variant-numeric:tabular-nums}
.chart{overflow:visible}
.title{font-size:17px;font-weight:600}.dim,.chart text{fill:var(--ink3)}.chart text{font-size:11px}
.end{text-anchor:end}.mid{text-anchor:middle}.group{font-weight:600}
.grid{stroke:var(--line)}.reference{stroke:var(--ink3);stroke-dasharray:2 3}.band{fill:var(--band)}
.interval{stroke:var(--accent);stroke-width:2}.dot{fill:var(--accent)}
.diamond{fill:var(--paper);stroke:var(--accent)}
"""
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
# What the document may do where it is opened by itself: be styled by the sheet above.
POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'"


def image(tables: Sequence[ResultTable], *, title: str, notes: Sequence[str], measure: str) -> str:
    """The names, plots, estimates and intervals of tables as a document.

    ``notes`` are the lines below the title. Rows past MOST are counted only.
    """
    parts = [text("16", 30, _cut(title, 66), "title")]
    y = 30.0
    for part in (part for note in notes for part in wrap(note, LINE)[:LINES]):
        y += 20
        parts.append(text("16", y, part, "dim"))
    y += 24
    every = (row for table in tables for group in table.groups for row in group.rows)
    head = _("%(measure)s, 95%% CI")
    if any(_line(row) != (row.low, row.high) for row in every):
        head = _("%(measure)s, interval for comparison")
    parts.append(text(px(NUMBERS), y, head % {"measure": measure}, "dim end"))
    shown = left = 0
    for table in tables:
        if table.heading:
            y += 24
            parts.append(text("16", y, str(table.heading), "group"))
        parts.append(_translate(PLOT, y - 10, table.axis))
        y += 8
        for group in table.groups:
            rows = group.rows[: MOST - shown]
            left += len(group.rows) - len(rows)
            if rows and group.heading:
                y += 22
                parts.append(text("16", y, _cut(str(group.heading), LINE), "group"))
                y += 6
            for row in rows:
                parts.append(_row(row, y))
                y += ROW + 1
            shown += len(rows)
        y += 12
    if left:
        y += 8
        parts.append(
            text(
                "16", y, _("And %(rows)s on the page.") % {"rows": plural(left, "more row")}, "dim"
            )
        )
    height = px(y + 14)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="t d" '
        f'width="{px(WIDTH)}" height="{height}" viewBox="0 0 {px(WIDTH)} {height}">'
        f'<title id="t">{escape(title)}</title><desc id="d">{escape(" ".join(notes))}</desc>'
        f"<style>{STYLE}</style>"
        f'<rect class="paper" width="100%" height="100%"/>{"".join(parts)}</svg>'
    )


def _row(row: Any, y: float) -> str:
    middle = y + ROW / 2 + 4
    detail = getattr(row, "detail", "")
    name = text("16", middle, _cut(f"{row.name}, {detail}" if detail else row.name, NAME))
    parts = [name]
    if row.plot:
        parts.append(_translate(PLOT, y, row.plot))
    if row.plot and row.estimate is not None:
        parts.append(text(px(SCORES), middle, score(row.estimate, 2), "end"))
    low, high = _line(row)
    told = _("no interval") if low is None or high is None else interval(low, high, 2)
    return "".join([*parts, text(px(NUMBERS), middle, told, "dim end")])


def _line(row: Any) -> tuple[float | None, float | None]:
    """The ends of the row's line, which are told beside it."""
    line: tuple[float | None, float | None] = getattr(row, "line", (row.low, row.high))
    return line


def _translate(x: float, y: float, drawn: str) -> str:
    return f'<g transform="translate({px(x)} {px(y)})">{drawn}</g>'


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"
