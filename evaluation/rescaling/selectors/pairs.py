"""Agreement of every two people before and after rescaling: Table 7, Table 11 and its matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from django.core.paginator import Page, Paginator
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from crowdqc.numbers import format_signed, general, plural, score
from evaluation.charts.agreement import heat_step
from evaluation.charts.scatter import Point, scatter
from evaluation.charts.svg import Axis
from evaluation.models import AnswerScore
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
OFFERED, DRAWN = 300, 500  # pairs to choose from; points of a chart
JITTER = 0.012  # of the axis, to each side
FIGURE = {"all": "pair", "incomplete": "pair_incomplete"}


def chosen_setting(wanted: Mapping[str, str]) -> dict[str, str]:
    """Read the setting and the matrix's content from a query, with defaults."""
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
        **_chart(told, ordered[:OFFERED], kept["setting"], wanted.get("pair", "")),
    }


@dataclass(frozen=True)
class SharedItem:
    """What two people gave one item: the labels' values before, and the scores after."""

    item: str
    first: float
    second: float
    first_after: float
    second_after: float


SHARED = (
    head_column("item", _("Item")),
    Column.number("first", _("First before"), html=lambda row: general(row.first)),
    Column.number("second", _("Second before"), html=lambda row: general(row.second)),
    Column.number("first_after", _("First after"), html=lambda row: general(row.first_after)),
    Column.number("second_after", _("Second after"), html=lambda row: general(row.second_after)),
)


@dataclass(frozen=True)
class SharedCounts:
    """On how many shared items two people say the same, and both less than the highest value."""

    when: str
    items: int
    same: int
    below: int

    @classmethod
    def of(cls, when: str, values: Sequence[tuple[float, float]], best: float) -> SharedCounts:
        """Of pairs of values whose highest is ``best``."""
        same = sum(one == other for one, other in values)
        return cls(when, len(values), same, sum(max(pair) < best for pair in values))


COUNTS = (
    head_column("when", _("Ratings")),
    Column.count("items", _("Items")),
    Column.count("same", _("Both the same")),
    Column.count("below", _("Both below the highest")),
)


def _chart(told: NamedFigures, rows: Sequence[Row], setting: str, wanted: str) -> dict[str, Any]:
    """Ratings of two people before and after, and the pairs to choose from (Figure 5)."""
    if not rows:
        return {}
    choices = {f"{row['first']}-{row['second']}": _names(told, row) for row in rows}
    keys = list(choices)
    key = wanted if wanted in choices else keys[0]
    row, names = rows[keys.index(key)], choices[key]
    every = _shared_items(told, row, setting)
    items, best = every[:DRAWN], told.frame["points"][-1][0]
    counts = [
        SharedCounts.of(gettext("Before"), [(one.first, one.second) for one in every], best),
        SharedCounts.of(
            gettext("After"), [(one.first_after, one.second_after) for one in every], 100.0
        ),
    ]
    return {
        "choices": [(key, " · ".join(both)) for key, both in choices.items()],
        "pair": key,
        "pair_names": names,
        "counts": plain_table(gettext("Items on which both say the same"), COUNTS, counts),
        "panels": _panels(told, row, names, items),
        "shared": plain_table(gettext("Ratings of both people"), SHARED, items, classes="data"),
        "drawn": len(items),
        "total": row["n"],
    }


def _names(told: NamedFigures, row: Row) -> tuple[str, str]:
    first, second = (told.names.get(row[side], str(row[side])) for side in ("first", "second"))
    return first, second


def _panels(
    told: NamedFigures, row: Row, names: tuple[str, str], items: Sequence[SharedItem]
) -> list[tuple[str, SafeString]]:
    """A chart of the labels and one of the scores; dots are shifted across, not up."""
    points = [float(value) for value, _label in told.frame["points"]]
    room = 0.08 * (points[-1] - points[0])
    before = Axis(points[0] - room, points[-1] + room, points)
    after = Axis(-8.0, 108.0, (0, 25, 50, 75, 100))
    rng = np.random.default_rng([told.run.seed, row["first"], row["second"]])
    panels = []
    for title, axis, values in (
        (gettext("Before"), before, [(one.first, one.second) for one in items]),
        (gettext("After"), after, [(one.first_after, one.second_after) for one in items]),
    ):
        shift = (rng.uniform(-1, 1, len(values)) * JITTER * (axis.high - axis.low)).tolist()
        words = {"when": title, "items": plural(len(items), "item")}
        words |= {"first": names[0], "second": names[1]}
        chart = scatter(
            [Point(x + by, y) for (x, y), by in zip(values, shift, strict=True)],
            across=replace(axis, name=names[0]),
            up=replace(axis, name=names[1]),
            sentence=gettext("%(when)s: ratings of %(items)s by %(first)s and %(second)s") % words,
        )
        panels.append((title, chart))
    return panels


def _shared_items(told: NamedFigures, row: Row, setting: str) -> list[SharedItem]:
    """Every combination of two people's ratings of one item; one query."""
    scores = AnswerScore.objects.filter(
        run=told.run, answer__worker__in=(row["first"], row["second"])
    ).order_by("answer__item_id", "answer_id")
    given: dict[tuple[int, str], dict[int, list[tuple[float, float]]]] = {}
    for item, key, worker, after, extra in scores.values_list(
        *("answer__item_id", "answer__item__key", "answer__worker_id", "estimate", "extra")
    ):
        pair = (float(extra["value"]), float(after or 0.0))
        given.setdefault((item, key), {}).setdefault(worker, []).append(pair)
    best = told.frame["points"][-1][0]
    return [
        SharedItem(key, one[0], other[0], one[1], other[1])
        for (_item, key), by in given.items()
        for one in by.get(row["first"], ())
        for other in by.get(row["second"], ())
        if setting == "all" or (one[0], other[0]) != (best, best)
    ]


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
        """Make the directions from a row of the setting's figure."""
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
    first, second = _names(told, row)
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
    """Return the table of every two people; None beyond MATRIX people."""
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
