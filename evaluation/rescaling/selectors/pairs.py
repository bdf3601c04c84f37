"""Agreement of every two people before and after rescaling: Table 7, Table 11 and its matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.utils.translation import gettext, gettext_noop

from crowdqc.numbers import format_signed, interval, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.agreement import heat_step
from evaluation.charts.boards import Estimate, Scale
from evaluation.rescaling.selectors.boards import SETTINGS, NamedFigures, Row

SHOWS = {
    "difference": gettext_noop("Change"),
    "before": gettext_noop("Before"),
    "after": gettext_noop("After"),
}
MATRIX, PER_PAGE = 20, 40
FIGURE = {"all": "pair", "incomplete": "pair_incomplete"}


def chosen_setting(wanted: Mapping[str, str]) -> dict[str, str]:
    """The setting and what the matrix shows, as asked for or by default."""
    setting, show = wanted.get("setting", ""), wanted.get("show", "")
    return {
        "setting": setting if setting in FIGURE else "incomplete",
        "show": show if show in SHOWS else "difference",
    }


def pairs(told: NamedFigures, wanted: Mapping[str, str], page: str | None) -> dict[str, Any]:
    """The matrix and the list of pairs, those that rise most first."""
    kept = chosen_setting(wanted)
    rows = told.rows(FIGURE[kept["setting"]])
    known = [row for row in rows if row["difference"] is not None]
    ordered = sorted(known, key=lambda row: -row["difference"])
    ordered += [row for row in rows if row["difference"] is None]
    shown: Page[Row] = Paginator(ordered, PER_PAGE).get_page(page)
    scale = Scale.around(
        [value for row in rows for value in (row["difference"], row["low"], row["high"])],
        include=[0.0],
    )
    # Table 7 of one setting.
    return {
        **kept,
        "shows": {name: gettext(label) for name, label in SHOWS.items()},
        "settings": {name: gettext(SETTINGS[name]) for name in FIGURE},
        "summaries": [
            {"label": gettext(SETTINGS[name]), "row": row}
            for name, row in told.figures.get("changes", {}).items()
        ],
        "page": shown,
        "axis": charts.forest_axis(scale),
        "list": [_row(told, row, scale) for row in shown.object_list],
        "people": _people(told, rows),
        "lines": _matrix(told, rows, kept["show"]),
        "most": MATRIX,
    }


def _people(told: NamedFigures, rows: Sequence[Row]) -> list[tuple[int, str]]:
    ids = {row[side] for row in rows for side in ("first", "second")}
    return sorted(((pk, told.names.get(pk, str(pk))) for pk in ids), key=lambda one: one[1])


def _row(told: NamedFigures, row: Row, scale: Scale) -> dict[str, Any]:
    low, high, difference = row["low"], row["high"], row["difference"]
    sure = low is not None and high is not None
    one, two = (told.names.get(row[side], str(row[side])) for side in ("first", "second"))
    least = told.figures["recipe"]["params"]["min_items"]
    why = (
        ""
        if sure
        else (
            gettext("one rating never changes")
            if difference is None
            else gettext("%(ratings)s; an interval needs %(least)s items")
            % {"ratings": plural(row["n"], "shared rating"), "least": least}
            if row["n"] < least
            else gettext("it rests on a single item")
        )
    )
    # Two people: what they shared, and their agreement before and after.
    return {
        "first": one,
        "second": two,
        "n": row["n"],
        "before": row["before"],
        "after": row["after"],
        "difference": difference,
        "interval": interval(low, high, 2) if sure else "",
        "reason": why,
        "plot": charts.forest_cell(
            scale,
            None if difference is None else Estimate(difference, low, high),
            reference=0.0,
            name=gettext("%(first)s and %(second)s") % {"first": one, "second": two},
        ),
    }


def _matrix(
    told: NamedFigures, rows: Sequence[Row], show: str
) -> list[tuple[str, list[dict[str, Any] | None]]]:
    """A line a person; None where the person meets themself. Empty beyond MATRIX people."""
    people = _people(told, rows)
    if len(people) > MATRIX:
        return []
    by_pair = {}
    for row in rows:
        by_pair[row["first"], row["second"]] = by_pair[row["second"], row["first"]] = row
    values = [abs(row[show]) for row in rows if row[show] is not None]
    top = 1.0 if max(values, default=0.0) > 0.55 else 0.5
    return [
        (
            name,
            [
                None if pk == other else _cell(by_pair.get((pk, other)), show, top)
                for other, _ in people
            ],
        )
        for pk, name in people
    ]


def _cell(row: Row | None, show: str, top: float) -> dict[str, Any]:
    if row is None:
        return {"text": "", "css": "zero", "sentence": gettext("nothing in common")}
    value = row[show]
    if value is None:
        return {
            "text": gettext("none"),
            "css": "zero",
            "sentence": gettext("%(ratings)s, no τ-b")
            % {"ratings": plural(row["n"], "shared rating")},
        }
    text = format_signed(value, 2) if show == "difference" else score(value, 2)
    css = f"heat {heat_step(value, top)}" if value > 0 else "heat below"
    # A cell of the matrix: the number, its step of the heat, and the sentence behind it.
    return {
        "text": text,
        "css": css,
        "sentence": gettext("%(ratings)s: %(before)s before, %(after)s after")
        % {
            "ratings": plural(row["n"], "shared rating"),
            "before": score(row["before"], 2),
            "after": score(row["after"], 2),
        },
    }
