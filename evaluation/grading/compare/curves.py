"""How many questions and workers it takes: charts and their table, from a run's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crowdqc.numbers import interval, mid_sentence, score
from evaluation.charts.svg import Axis, correlation_axis, nice_ticks
from evaluation.charts.writing import MODELS, PEOPLE, Curve, panel, sign
from evaluation.grading.messages import MESSAGES
from evaluation.methods.aqer_study.curves import QUESTIONS, WORKERS
from evaluation.results.columns import Column, head_column
from evaluation.results.tables import Group, ResultTable

DIGITS = 2
WANTED = 0.9  # the mean r that the sentence looks for
Row = Mapping[str, Any]
HEADINGS = {QUESTIONS: gettext_lazy("Questions"), WORKERS: gettext_lazy("Workers")}


@dataclass(frozen=True)
class SizeRow:
    """What random subsets of one size gave."""

    size: str
    r: str
    span: str
    r_all: str
    shown: str


def curves_part(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Charts, table and sentence; None without graded questions or of an older run."""
    known = {kind: [one for one in rows if one["kind"] == kind] for kind in HEADINGS}
    known = {kind: some for kind, some in known.items() if some}
    if not known:
        return None
    return {
        "charts": [(HEADINGS[kind], _chart(kind, some)) for kind, some in known.items()],
        "legend": [
            (sign(PEOPLE), _("mean of the subsets, grades of the same answers")),
            (sign(MODELS), _("with the grades of all answers of these workers")),
        ],
        "table": _table(known),
        "sentence": _sentence(known.get(QUESTIONS, [])),
    }


def _chart(kind: str, rows: Sequence[Row]) -> SafeString:
    made = []
    for shape, key in ((PEOPLE, "r"), (MODELS, "r_all")):
        points = [(float(one["size"]), one[key]) for one in rows if one[key] is not None]
        band = [
            (float(one["size"]), one["low"], one["high"])
            for one in rows
            if key == "r" and one["low"] is not None
        ]
        if kind == QUESTIONS or key == "r":
            made.append(Curve(shape, points, points, band))
    last = rows[-1]["size"]
    ticks = [tick for tick in nice_ticks(0, last, 5) if tick == round(tick)]
    return panel(
        made,
        Axis(0, last, ticks, name=mid_sentence(str(HEADINGS[kind]))),
        correlation_axis(min((one["low"] for one in rows if one["low"] is not None), default=0)),
        sentence=_("%(kind)s: correlation with the experts by number") % {"kind": HEADINGS[kind]},
    )


def _table(known: Mapping[str, Sequence[Row]]) -> ResultTable:
    columns = (
        head_column("size", _("Number")),
        Column.number("r", _("Mean r"), term="pearson"),
        Column.number("span", _("95% of the subsets")),
        Column.number("r_all", _("With the grades of all answers")),
        Column.number("shown", _("Subsets with p < .05")),
    )
    groups = [
        Group(str(HEADINGS[kind]), [_size_row(one) for one in rows]) for kind, rows in known.items()
    ]
    return ResultTable(
        _("Correlation with the experts by number of questions and workers"), columns, groups
    )


def _size_row(row: Row) -> SizeRow:
    size = _("%(n)s (all)") % {"n": row["size"]} if row["whole"] else str(row["size"])
    return SizeRow(
        size,
        score(row["r"], DIGITS),
        "" if row["whole"] else interval(row["low"], row["high"], DIGITS),
        score(row["r_all"], DIGITS),
        _("%(n)s of %(all)s") % {"n": row["shown"], "all": row["subsets"]},
    )


def _sentence(rows: Sequence[Row]) -> str:
    if not rows or rows[-1]["r"] is None:
        return ""
    total, wanted = rows[-1]["size"], score(WANTED, DIGITS)
    reached = next((one for one in rows if one["r"] is not None and one["r"] >= WANTED), None)
    if reached is None:
        told = {"total": total, "r": score(rows[-1]["r"], DIGITS), "wanted": wanted}
        return MESSAGES.text("questions_not_enough", **told)
    told = {"size": reached["size"], "total": total, "r": score(reached["r"], DIGITS)}
    return MESSAGES.text("questions_enough", wanted=wanted, **told)
