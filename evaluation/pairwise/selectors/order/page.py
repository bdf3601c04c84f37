"""Order effects: sides, positions, one answer throughout, repeats; and how dimensions go together.

CrowdRAG's Tables 5 and 6, and beside them what alpha is nearly blind to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.work.snapshots.answers import pseudonyms
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.numbers import count, interval, percent, plural
from evaluation.charts import agreement as drawn
from evaluation.charts import boards as charts
from evaluation.methods.pairwise.order.effects import NO_ORDER, NO_SIDES
from evaluation.models import Run
from evaluation.pairwise.selectors.order.effects import (
    Drift,
    Side,
    correction_in_words,
    drift_note,
    joined,
    order_findings,
    sentence_of,
    share_points,
    side_note,
)
from evaluation.pairwise.selectors.order.taus import taus
from evaluation.pairwise.selectors.trust import within_shares
from evaluation.results.cells import bold, link
from evaluation.results.columns import PLOT, Column, head_column, interval_column
from evaluation.results.rows import typed
from evaluation.results.stored_texts import translate_stored
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.selectors.lists import figures_of
from evaluation.runs.selectors.recipes import recipe_pairs

FIGURES = (
    "agreement",
    "position",
    "drift",
    "side",
    "within_item",
    "across_item",
    "straight",
    "straight_worker",
    "repeat",
    "interdependence",
    "recipe",
)
ONE_ROW = ("side", "drift", "repeat")
STRAIGHT_SHOWN, STRAIGHT_LEAST = 5, 5  # workers, and judgments that they must have
FEWEST_AT_PLACE, SHARE_AT_PLACE = 10, 0.1  # workers, and share of them, for a place to be drawn
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Straight:
    """Judgments with one answer on every dimension."""

    share: float
    low: float | None
    high: float | None
    chance: float
    n: int
    table: ResultTable | None  # of the workers with most of them
    reason: str  # why there is no interval

    @property
    def points(self) -> tuple[float, float] | None:
        return share_points(self.low, self.high)


@dataclass(frozen=True)
class Repeat:
    """How often a worker says the same of a pair met again."""

    label: str
    same: float | None
    low: float | None
    high: float | None
    chance: float | None
    others: float | None
    n: int
    reason: str

    @property
    def points(self) -> tuple[float, float] | None:
        return share_points(self.low, self.high)


@dataclass(frozen=True)
class StraightWorker:
    """A worker with many judgments of one answer throughout."""

    name: str
    url: str
    share: float
    n: int


@dataclass(frozen=True)
class Directions:
    """Table 5: alpha one way round, the other, both; early and late."""

    label: str
    forward: float | None
    backward: float | None
    both: float | None
    delta: float | None
    excess_low: float | None
    excess_high: float | None
    early: float | None
    late: float | None
    apart: float | None
    change_low: float | None
    change_high: float | None


def order(run: Run, asked: Sequence[AskedDimension]) -> dict[str, Any] | None:
    """Return the content of the page on order effects; None if the run has none."""
    told = figures_of(run, *FIGURES)
    if "side" not in told:
        return None
    labels = {one.name: one.label for one in asked}
    split = told["recipe"]["params"].get("early", 7)
    if len(asked) == 1:  # all together is the one dimension
        told = {**told, **{name: _only_row(told[name], asked[0].name) for name in ONE_ROW}}
    sides, axis = _sides(told["side"], labels)
    drifts = [_drift(row, labels) for row in told["drift"]]
    chart, left_out = _chart(told.get("position", []), drifts[0] if drifts else None, split)
    straight = _straight(run, told)
    repeats = [_repeat(row, labels) for row in told["repeat"] if row["n"]]
    pairs = told["within_item"][0]["pairs"] if told["within_item"] else 0
    units = next((row.get("unit", "pairs") for row in told["agreement"]), "pairs")
    # The page.
    return {
        "sides": sides,
        "side_table": _side_table(sides, axis),
        "sides_unknown": bool(sides) and sides[0].reason == translate_stored(NO_SIDES),
        "order_unknown": bool(drifts) and drifts[0].reason == translate_stored(NO_ORDER),
        "side_pairs": told["side"][0]["pairs"] if told["side"] else 0,
        "drifts": drifts,
        "drift_table": _drift_table(drifts, split),
        "chart": chart,
        # places that too few reached
        "left_out": left_out,
        "directions": _direction_table(_directions(told, labels), pairs, split),
        "straight": straight,
        "repeats": repeats,
        "repeat_table": _repeat_table(repeats),
        "repeaters": told["repeat"][0]["workers"] if told["repeat"] else 0,
        "taus": taus(told, labels),
        "sentence": sentence_of(sides, drifts, split),
        "findings": order_findings(run, sides, drifts),
        "notes": _notes(sides, drifts, straight),
        # what intervals draw anew, one and many
        "unit": units[:-1],
        # the correction of the dimensions' intervals, or ""
        "side_how": correction_in_words(sides),
        "drift_how": correction_in_words(drifts),
        "no_alpha": next((row["reason"] for row in told["within_item"] if row["reason"]), ""),
        "recipe": recipe_pairs(run, told["recipe"]),
    }


def _only_row(rows: Sequence[Row], name: str) -> list[Row]:
    """The first row of two that are the same, by the name of the dimension."""
    return [{**row, "dimension": name} for row in rows[:1]]


def _label(name: str, labels: Mapping[str, str], every: str = "") -> str:
    return labels.get(name, name) if name else every or _("All together")


def _sides(rows: Sequence[Row], labels: Mapping[str, str]) -> tuple[list[Side], SafeString]:
    spans = [_share_span(row) for row in rows]
    values = [v for row, span in zip(rows, spans, strict=True) for v in (row["right"], *span)]
    scale = drawn.Scale.around(values, width=drawn.WIDE, count=4, include=[0.5])
    made = []
    for row, span in zip(rows, spans, strict=True):
        label = _label(row["dimension"], labels)
        plot = drawn.share_cell(
            scale, drawn.known_estimate(row["right"], *span), middle=0.5, name=label
        )
        made.append(
            typed(
                Side,
                row,
                label=label,
                reason=row["reason"] or "",
                plot=plot,
                family=row.get("family", 0),
            )
        )
    return made, charts.forest_axis(scale)


def _share_span(row: Row) -> tuple[float | None, float | None]:
    if row["low"] is None or row["high"] is None:
        return None, None
    return within_shares(row["low"], row["high"])


def _drift(row: Row, labels: Mapping[str, str]) -> Drift:
    return typed(
        Drift,
        row,
        label=_label(row["dimension"], labels),
        reason=row["reason"] or "",
        family=row.get("family", 0),
    )


def _chart(rows: Sequence[Row], every: Drift | None, split: int) -> tuple[SafeString | None, int]:
    """The plot by place, and how many places too few workers reached to be drawn."""
    most = max((row["workers"] for row in rows), default=0)
    least = max(min(FEWEST_AT_PLACE, most), SHARE_AT_PLACE * most)
    enough = [row for row in rows if row["workers"] >= least]
    places = [
        drawn.Place(row["position"], row["neutral"], row["low"], row["high"])
        for row in enough
        if row["neutral"] is not None
    ]
    if len(places) < 2:
        return None, 0
    early, late = (every.early, every.late) if every else (None, None)
    return drawn.drift(places, split=split, early=early, late=late), len(rows) - len(places)


def _directions(told: Mapping[str, Any], labels: Mapping[str, str]) -> list[Directions]:
    later = {row["dimension"]: row for row in told["across_item"]}
    made = []
    for row in told["within_item"]:
        across = later.get(row["dimension"], {})
        made.append(
            typed(
                Directions,
                row,
                label=_label(row["dimension"], labels),
                excess_low=row["low"],
                excess_high=row["high"],
                early=across.get("early"),
                late=across.get("late"),
                apart=across.get("delta"),
                change_low=across.get("low"),
                change_high=across.get("high"),
            )
        )
    return made


def _straight(run: Run, told: Mapping[str, Any]) -> Straight | None:
    row = next(iter(told["straight"]), None)
    if row is None or row["share"] is None:
        return None
    many = [one for one in told["straight_worker"] if one["n"] >= STRAIGHT_LEAST]
    most = sorted(many, key=lambda one: (-one["share"], -one["n"], one["worker"]))[:STRAIGHT_SHOWN]
    names = pseudonyms([one["worker"] for one in most])
    workers = [
        StraightWorker(
            names.get(one["worker"], ""),
            reverse("pair_worker", args=[run.project_id, run.task_id, one["worker"]]),
            one["share"],
            one["n"],
        )
        for one in most
        if one["share"]
    ]
    return typed(
        Straight,
        row,
        table=_straight_table(workers) if workers else None,
        reason=row["reason"] or "",
    )


def _repeat(row: Row, labels: Mapping[str, str]) -> Repeat:
    return typed(Repeat, row, label=_label(row["dimension"], labels), reason=row["reason"] or "")


# Tables ----------------------------------------------------------------------------------------


def _points_column(digits: int = 1) -> Column:
    """The interval of a share, in per cent or points."""
    return Column.number(
        "points",
        _("95% CI"),
        _("95%"),
        term="interval",
        html=lambda row: (
            interval(row.points[0], row.points[1], digits) if row.points else _("none")
        ),
        classes="nowrap dim",
    )


def _dimension_table(
    title: str, columns: Sequence[Column], rows: Sequence[Any], **more: Any
) -> ResultTable:
    """A row a dimension, of which the first is all together."""
    columns = [head_column("label", _("Dimension")), *columns]
    every = rows[:1]
    return plain_table(
        title,
        columns,
        rows,
        row_class=lambda row: "every" if row in every else "",
        **more,
    )


def _drift_table(rows: Sequence[Drift], split: int) -> ResultTable:
    columns = [
        Column.share("early", _("First %(n)s") % {"n": split}, digits=1),
        Column.share("late", _("Later"), digits=1),
        Column.number("words", _("Change, points"), "", classes="nowrap l1r"),
        _points_column(),
        Column.text("excludes_half", _("Beyond chance"), html=_beyond_chance, classes="dim"),
    ]
    return _dimension_table(_("Neutral answers early and late, by dimension"), columns, rows)


def _beyond_chance(row: Drift) -> str:
    if not row.points:
        return ""
    return _("yes") if row.excludes_half else _("no")


def _side_table(rows: Sequence[Side], axis: SafeString) -> ResultTable:
    columns = [
        PLOT,
        Column.number("right", _("Right wins"), "", html=_right, classes="l1r"),
        _points_column(),
        Column.count("n", _("Decisive votes"), _("Votes")),
    ]
    title = _("Share of the right side, by dimension")
    return _dimension_table(title, columns, rows, axis=axis, classes="data board-like two-line")


def _right(row: Side) -> SafeString | str:
    return bold(percent(row.right, 1)) if row.excludes_half else percent(row.right, 1)


def _direction_table(rows: Sequence[Directions], pairs: int, split: int) -> ResultTable:
    within = _("Within pairs, %(n)s shown both ways") % {"n": count(pairs)}
    across = _("Across pairs")
    columns = [head_column("label", _("Dimension"), classes="nowrap")]
    for key, label, group in (
        ("forward", _("As stored"), within),
        ("backward", _("Turned"), within),
        ("both", _("Both"), within),
        ("delta", _("Largest gap"), within),
        ("excess", _("Side bias, 95%"), within),
        ("early", _("First %(n)s") % {"n": split}, across),
        ("late", _("Later"), across),
        ("apart", _("Gap"), across),
        ("change", _("Change, 95%"), across),
    ):
        column = Column.score(key, label, "", group=group)
        if key in ("excess", "change"):
            ends = interval_column(low=f"{key}_low", high=f"{key}_high", needs_interval=False)
            column = replace(ends, label=label, short="", term="", group=group)
        columns.append(column)
    title = _("Agreement one way round and the other, early and late")
    return plain_table(title, columns, rows, classes="data tight")


def _straight_table(rows: Sequence[StraightWorker]) -> ResultTable:
    columns = [
        head_column("name", _("Most often"), html=lambda row: link(row.url, row.name)),
        Column.share("share", _("Share")),
        Column.count("n", _("Judgments")),
    ]
    return plain_table(_("Workers with most of these"), columns, rows, classes="data")


def _repeat_table(rows: Sequence[Repeat]) -> ResultTable:
    columns = [
        Column.share("same", _("Same")),
        _points_column(0),
        Column.share("others", _("Two people")),
        Column.share("chance", _("Chance")),
    ]
    title = _("Do workers say the same of a pair met again")
    return _dimension_table(title, columns, rows, classes="data")


def _notes(sides: Sequence[Side], drifts: Sequence[Drift], straight: Straight | None) -> list[str]:
    """Say what the effects mean, a sentence each, on the same intervals as the rows."""
    said = []
    if sides:
        said.append(side_note(sides))
    if drifts and drifts[0].difference is not None:
        said.append(drift_note(drifts))
    if straight is not None:
        times = straight.share / straight.chance if straight.chance else 0
        told = {
            "share": percent(straight.share),
            "judgments": plural(straight.n, "judgment"),
            "times": f"{times:.0f}",
        }
        one = _("%(share)s of %(judgments)s carry one answer throughout.")
        if times >= 2:
            one = _(
                "%(share)s of %(judgments)s carry one answer throughout, %(times)s times what "
                "independent answers would give."
            )
        rest = _(
            "A clearly better text is better on every dimension, so this is nothing to reject work "
            "for."
        )
        said.append(joined(one % told, rest))
    return said
