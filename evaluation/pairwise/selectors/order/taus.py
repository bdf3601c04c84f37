"""How dimensions go together: Kendall's tau-b between their labels, CrowdRAG's Table 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html
from django.utils.translation import gettext as _

from crowdqc.numbers import count, interval, plural, score
from evaluation.charts import agreement as drawn
from evaluation.results.cells import Cell, bold, hidden
from evaluation.results.matrices import MatrixRow, matrix_table
from evaluation.results.tables import ResultTable

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Taus:
    """The table; ``pairs``: on how many pairs of texts; ``reason``: why none has an interval."""

    table: ResultTable
    pairs: str
    reason: str


def taus(told: Mapping[str, Any], labels: Mapping[str, str]) -> Taus | None:
    """Return Kendall's tau between every two dimensions; None if there are fewer than two.

    The figure names dimensions by their number in the order of the agreement.
    """
    rows = told.get("interdependence") or []
    if not rows:
        return None
    names = [row["dimension"] for row in told["agreement"] if row["dimension"]]
    return Taus(
        _table(rows, [labels.get(name, name) for name in names]),
        _pairs(rows),
        _missing_reason(rows),
    )


def _table(rows: Sequence[Row], labels: Sequence[str]) -> ResultTable:
    found = {(row["first"], row["second"]): row for row in rows}
    top = drawn.heat_top([row["tau_b"] for row in rows if row["tau_b"] is not None])
    lines = []
    for a, label in enumerate(labels):
        own = [found.get((a, b), {}) for b in range(len(labels))]
        known = [row["tau_b"] for row in own if row.get("tau_b") is not None]
        cells = [_cell(row, top, itself=a == b) for b, row in enumerate(own)]
        mean = Cell(bold(score(sum(known) / len(known) if known else None, 2)), "c")
        lines.append(MatrixRow(label, [*cells, mean]))
    mean_head = format_html('<span class="read">{}</span>{}', _("Mean"), _("of the others"))
    return matrix_table(
        _("Kendall’s tau-b between the estimated labels of every two dimensions"),
        _("Dimension"),
        [*labels, mean_head],
        lines,
        classes="heat tau",
    )


def _cell(row: Row, top: float, *, itself: bool) -> Cell:
    if itself:
        return Cell(hidden(_("itself")), "heat itself")
    value, title = row.get("tau_b"), interval(row.get("low"), row.get("high"), 2)
    if row.get("n"):
        title = ", ".join(filter(None, (title, plural(row["n"], "pair"))))
    return Cell(score(value, 2), f"heat {drawn.heat_step(value, top)}", title=title)


def _pairs(rows: Sequence[Row]) -> str:
    """Say on how many pairs of texts both dimensions have a label; "" of a run without them."""
    sizes = [row["n"] for row in rows if row.get("n") is not None]
    if not sizes:
        return ""
    if min(sizes) == max(sizes):
        return plural(sizes[0], "pair")
    return _("%(least)s to %(most)s pairs") % {
        "least": count(min(sizes)),
        "most": count(max(sizes)),
    }


def _missing_reason(rows: Sequence[Row]) -> str:
    """Why no correlation has an interval, "" where one has."""
    if any(row["low"] is not None for row in rows):
        return ""
    return next((row["reason"] for row in rows if row["reason"]), "")
