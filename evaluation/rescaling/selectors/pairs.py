"""Agreement of every two people before and after rescaling: Table 7, Table 11 and its matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.core.paginator import Page, Paginator
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from crowdqc.numbers import format_signed, plural, score
from evaluation.charts.agreement import heat_step
from evaluation.rescaling.selectors.boards import (
    SETTINGS,
    Change,
    NamedFigures,
    Row,
    change_columns,
    change_scale,
    change_table,
)
from evaluation.results.cells import Cell, hidden
from evaluation.results.columns import Column, Format, head_column
from evaluation.results.rows import typed
from evaluation.results.tables import ResultTable, plain_table

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
    shared = Column.count("n", gettext("Shared ratings"), gettext("Shared"))
    name = head_column("label", gettext("Two people"), classes="nowrap")
    first, *rest = change_columns(name, told.level, 2)
    people = _people(told, rows)
    # Table 7 of one setting.
    return {
        **kept,
        "shows": {name: gettext(label) for name, label in SHOWS.items()},
        "settings": {name: gettext(SETTINGS[name]) for name in FIGURE},
        "directions": plain_table(
            gettext("How many pairs rise and fall, and by how much"),
            DIRECTIONS,
            [Directions.of(*one) for one in told.figures.get("changes", {}).items()],
        ),
        "page": shown,
        "list": change_table(
            gettext("Agreement of each two people before and after"),
            [first, shared, *rest],
            [_change(told, row) for row in shown.object_list],
            change_scale([_change(told, row) for row in rows]),
        ),
        "people": people,
        "matrix": _matrix(people, rows, kept["show"]),
        "most": MATRIX,
    }


@dataclass(frozen=True)
class Directions:
    """How many pairs agree more and less after rescaling, and by how much."""

    label: str
    up: int
    mean_up: float | None
    down: int
    mean_down: float | None
    much_up: int
    much_down: int
    undefined: int

    @classmethod
    def of(cls, setting: str, row: Row) -> Directions:
        """Of a setting's figure."""
        return cls(
            gettext(SETTINGS[setting]), *(row[name] for name in list(cls.__annotations__)[1:])
        )


DIRECTIONS = (
    head_column("label", _("Items")),
    Column.count("up", _("Rise")),
    Column.signed("mean_up", _("Mean rise"), digits=3),
    Column.count("down", _("Fall")),
    Column.signed("mean_down", _("Mean fall"), digits=3),
    Column.count("much_up", _("By more than .1"), _("Over .1")),
    Column.count("much_down", _("By less than −.1"), _("Under −.1")),
    Column.count("undefined", _("No τ-b"), term="tau"),
)


def _people(told: NamedFigures, rows: Sequence[Row]) -> list[tuple[int, str]]:
    ids = {row[side] for row in rows for side in ("first", "second")}
    return sorted(((pk, told.names.get(pk, str(pk))) for pk in ids), key=lambda one: one[1])


def _change(told: NamedFigures, row: Row) -> Change:
    """Two people: what they shared, and their agreement before and after."""
    least = told.figures["recipe"]["params"]["min_items"]
    if row["difference"] is None:
        why = gettext("one rating never changes")
    elif row["n"] < least:
        ratings = plural(row["n"], "shared rating")
        why = gettext("%(ratings)s; an interval needs %(least)s items") % {
            "ratings": ratings,
            "least": least,
        }
    else:
        why = gettext("it rests on a single item")
    first, second = (told.names.get(row[side], str(row[side])) for side in ("first", "second"))
    label = gettext("%(first)s and %(second)s") % {"first": first, "second": second}
    return typed(Change, row, label=label, why=why)


@dataclass(frozen=True)
class MatrixRow:
    """A person of the matrix, with the pair that the person makes with each other one."""

    pk: int
    name: str
    pairs: Mapping[int, Row]


def _matrix(
    people: Sequence[tuple[int, str]], rows: Sequence[Row], show: str
) -> ResultTable | None:
    """Every two people; None beyond MATRIX people."""
    if len(people) > MATRIX:
        return None
    pairs: dict[int, dict[int, Row]] = {pk: {} for pk, _ in people}
    for row in rows:
        pairs[row["first"]][row["second"]] = pairs[row["second"]][row["first"]] = row
    values = [abs(row[show]) for row in rows if row[show] is not None]
    top = 1.0 if max(values, default=0.0) > 0.55 else 0.5
    columns = [
        Column.text(
            "name",
            hidden(gettext("Person")),
            names_row=True,
            cell=lambda row: Cell(row.name, "nowrap", is_head=True),
        )
    ]
    columns += [
        Column(str(pk), name, Format.HEAT, cell=partial(_cell, other=pk, show=show, top=top))
        for pk, name in people
    ]
    return plain_table(
        gettext("Agreement of each two people"),
        columns,
        [MatrixRow(pk, name, pairs[pk]) for pk, name in people],
        classes="data heat pair-matrix",
    )


def _cell(line: MatrixRow, *, other: int, show: str, top: float) -> Cell:
    """The number, its step of the heat, and the sentence behind it."""
    if line.pk == other:
        return Cell(hidden(gettext("themself")), "c self")
    row = line.pairs.get(other)
    if row is None:
        sentence = gettext("nothing in common")
        return Cell(hidden(sentence), "zero", title=sentence)
    ratings, value = plural(row["n"], "shared rating"), row[show]
    if value is None:
        title = gettext("%(ratings)s, no τ-b") % {"ratings": ratings}
        return Cell(gettext("none"), "zero", title=title)
    text = format_signed(value, 2) if show == "difference" else score(value, 2)
    title = gettext("%(ratings)s: %(before)s before, %(after)s after") % {
        "ratings": ratings,
        "before": score(row["before"], 2),
        "after": score(row["after"], 2),
    }
    return Cell(text, f"heat {heat_step(value, top) if value > 0 else 'below'}", title=title)
