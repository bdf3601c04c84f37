"""The board by kind of pair, in words: by difficulty, topic, and columns of an imported file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crowdqc.files.cells import csv_text
from crowdqc.numbers import interval, mid_sentence, plural, score, word
from evaluation.charts import boards as charts
from evaluation.methods.pairwise.strata import DIFFICULTY
from evaluation.pairwise.columns import FIRST, VOTES
from evaluation.pairwise.selectors.boards import SystemRow, ordered
from evaluation.pairwise.selectors.facts import verdict
from evaluation.results.columns import interval_column, score_column
from evaluation.results.tables import BOARD, Group, ResultTable

FIGURES = ("stratum", "stratum_system", "shift")
LABELS = {
    "easy": gettext_noop("Easy: the others agree"),
    "medium": gettext_noop("Medium"),
    "hard": gettext_noop("Hard: the others are split"),
}
PLACE = ("component", "estimate", "low", "high", "n")
TABLE = "kinds"
COLUMNS = (
    *("dimension", "column", "kind", "system", "score", "low", "high", "rank_low", "rank_high"),
    *("votes", "level", "reason"),
)
Told = Mapping[str, Any]


KINDS = (
    *FIRST,
    score_column(),
    replace(interval_column(), term=""),
    VOTES,
)


@dataclass(frozen=True)
class KindsBy:
    """The boards by one column of the pairs; ``reason`` where it does not split them."""

    label: str
    table: ResultTable | None
    reason: str = ""
    note: str = ""
    shifts: Sequence[str] = ()


def kinds(told: Told, rows: Sequence[SystemRow], dimension: str) -> list[KindsBy]:
    """The boards of a dimension by every column; none of a run that is older than them.

    ``rows`` are those of the raw board. Reads no database.
    """
    own = [row for row in told.get("stratum") or () if row["dimension"] == dimension]
    columns = dict.fromkeys(row["column"] for row in own)
    return [
        _kinds_by_column(told, name, [row for row in own if row["column"] == name], rows)
        for name in columns
    ]


def answer_of(found: Sequence[KindsBy]) -> str:
    """On which kinds a system is shown to do better, in a few words; "" without any board."""
    if not any(by.table for by in found):
        return found[0].reason if found else ""
    better = [by.label for by in found if by.shifts]
    if not better:
        return _("no system is shown to do better on one kind than on another")
    return _("a system does better on one kind: %(columns)s") % {"columns": ", ".join(better)}


def _kinds_by_column(
    told: Told, column: str, strata: Sequence[Told], rows: Sequence[SystemRow]
) -> KindsBy:
    dimension, label = strata[0]["dimension"], _label(column)

    def mine(name: str) -> list[Told]:
        found = told.get(name) or ()
        return [r for r in found if (r["dimension"], r["column"]) == (dimension, column)]

    scale_of = mine("stratum_system")
    scale = charts.Scale.around(
        [0.0, *(row[end] for row in scale_of for end in ("low", "high") if row["component"])]
    )
    by_id = {row.id: row for row in rows}
    if not strata[0]["stratum"]:
        return KindsBy(label, None, strata[0]["reason"])
    groups = [
        _kind(one, [row for row in scale_of if row["stratum"] == one["stratum"]], by_id, scale)
        for one in strata
    ]
    boards = sum(bool(one.rows) for one in groups)
    shifts = mine("shift")
    said = [_shift(row, by_id) for row in shifts if row["system"] in by_id]
    note = _(
        "Intervals and ranks hold for these %(boards)s boards at once (95%%). Scores "
        "are against the average system of the same kind."
    ) % {"boards": word(boards)}
    title = _("Bradley-Terry score by %(by)s, with 95%% CIs") % {"by": mid_sentence(label)}
    axis = charts.forest_axis(scale)
    table = ResultTable(title, KINDS, groups, axis=axis, classes=f"{BOARD} kinds")
    return KindsBy(label, table, note=note, shifts=said)


def _kind(
    told: Told, merits: Sequence[Told], by_id: Mapping[int, SystemRow], scale: charts.Scale
) -> Group:
    rows = ordered(
        [
            replace(
                by_id[row["system"]],
                **{name: row[name] for name in PLACE},
                best=row["rank_low"] or None,
                worst=row["rank_high"] or None,
                group=row["group"] or None,
                why=_("no ranks were asked for") if row["component"] else _("not compared here"),
                uniterated=None,
                diamond="",
            )
            for row in merits
            if row["system"] in by_id
        ]
    )
    for row in rows:
        known = None
        if row.sure and row.estimate is not None:
            known = charts.Estimate(row.estimate, row.low, row.high)
        row.plot = charts.forest_cell(scale, known, reference=0.0, name=row.name)
    basis = f"{plural(told['pairs'], 'pair')}, {plural(told['votes'], 'vote')}."
    if told["reason"]:
        basis += " " + _("No board: %(why)s.") % {"why": told["reason"]}
    name: str = told["stratum"]
    label = _(LABELS[name]) if name in LABELS else name
    said = verdict(rows, told["votes"]).sentence if rows else ""
    heading = format_html('{}. <span class="dim">{}</span> {}', label, basis, said)
    return Group(heading, rows)


def _shift(row: Told, by_id: Mapping[int, SystemRow]) -> str:
    better, worse = row["stratum_a"], row["stratum_b"]
    low, high = row["low"], row["high"]
    if row["difference"] < 0:
        better, worse, low, high = worse, better, -high, -low
    return _(
        "%(system)s does better on %(better)s than on %(worse)s: %(difference)s "
        "(95%% %(interval)s)."
    ) % {
        "system": by_id[row["system"]].in_sentence,
        "better": better,
        "worse": worse,
        "difference": score(abs(row["difference"]), 2),
        "interval": interval(low, high, 2),
    }


def _label(column: str) -> str:
    return _("Difficulty") if column == DIFFICULTY else column.replace("_", " ").capitalize()


def table(told: Told, rows: Sequence[SystemRow]) -> str:
    """The boards of all dimensions as CSV; a kind without a board is a row with its reason."""
    names = {row.id: row.label for row in rows}
    lines: list[list[Any]] = []
    for one in told.get("stratum") or ():
        key = [one["dimension"], one["column"], one["stratum"]]
        merits = [
            row
            for row in told.get("stratum_system") or ()
            if [row["dimension"], row["column"], row["stratum"]] == key
        ]
        for row in merits:
            score_of = [row[name] for name in ("estimate", "low", "high")]
            ranks = [row[name] or None for name in ("rank_low", "rank_high")]
            system = names.get(row["system"], "")
            lines.append([*key, system, *score_of, *ranks, row["n"], one["level"], ""])
        if not merits:
            lines.append([*key, "", *[None] * 5, one["votes"], None, one["reason"]])
    return csv_text([COLUMNS, *lines])
