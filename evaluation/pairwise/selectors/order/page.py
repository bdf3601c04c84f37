"""Order effects: sides, positions, one answer throughout, repeats; and how dimensions go together.

CrowdRAG's Tables 5 and 6, and beside them what alpha is nearly blind to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.work.snapshots.answers import pseudonyms
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.numbers import percent, plural
from evaluation.charts import agreement as drawn
from evaluation.charts import boards as charts
from evaluation.models import Run
from evaluation.pairwise.selectors.order.effects import (
    Drift,
    Side,
    correction_in_words,
    drift_note,
    joined,
    sentence_of,
    share_points,
    side_note,
    verdict_of,
)
from evaluation.pairwise.selectors.trust import within_shares
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
    workers: list[tuple[int, str, float, int]]  # id, pseudonym, share, judgments
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
class Cell:
    """Kendall's tau-b between two dimensions; ``value`` None on the diagonal."""

    value: float | None
    low: float | None
    high: float | None
    heat: str
    itself: bool


def order(run: Run, asked: Sequence[AskedDimension]) -> dict[str, Any] | None:
    """Everything on the page; None where the run shown holds none of it."""
    told = figures_of(run, *FIGURES)
    if "side" not in told:
        return None
    labels = {one.name: one.label for one in asked}
    split = told["recipe"]["params"].get("early", 7)
    sides, axis = _sides(told["side"], labels)
    drifts = [_drift(row, labels) for row in told["drift"]]
    chart, left_out = _chart(told.get("position", []), drifts[0] if drifts else None, split)
    straight = _straight(told)
    taus, heads = _taus(told, labels)
    repeats = [_repeat(row, labels) for row in told["repeat"] if row["n"]]
    units = next((row.get("unit", "pairs") for row in told["agreement"]), "pairs")
    # The page.
    return {
        "sides": sides,
        "side_axis": axis,
        "side_pairs": told["side"][0]["pairs"] if told["side"] else 0,
        "drifts": drifts,
        "chart": chart,
        # places that too few reached
        "left_out": left_out,
        "split": split,
        "within": _within(told, labels),
        "within_pairs": told["within_item"][0]["pairs"] if told["within_item"] else 0,
        "straight": straight,
        "repeats": repeats,
        "repeaters": told["repeat"][0]["workers"] if told["repeat"] else 0,
        "taus": taus,
        "heads": heads,
        "sentence": sentence_of(sides, drifts, split),
        "verdict": verdict_of(run, sides, drifts),
        "notes": _notes(sides, drifts, straight),
        # what intervals draw anew, one and many
        "unit": units[:-1],
        "units": units,
        # the correction of the dimensions' intervals, or ""
        "side_how": correction_in_words(sides),
        "drift_how": correction_in_words(drifts),
        # why no tau has an interval, or ""
        "no_tau": _no_tau(told["interdependence"]),
        "no_alpha": next((row["reason"] for row in told["within_item"] if row["reason"]), ""),
        "recipe": recipe_pairs(run, told["recipe"]),
    }


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
            Side(
                label,
                row["right"],
                row["low"],
                row["high"],
                row["n"],
                row["reason"] or "",
                plot,
                row.get("family", 0),
            )
        )
    return made, charts.forest_axis(scale)


def _share_span(row: Row) -> tuple[float | None, float | None]:
    if row["low"] is None or row["high"] is None:
        return None, None
    return within_shares(row["low"], row["high"])


def _drift(row: Row, labels: Mapping[str, str]) -> Drift:
    return Drift(
        _label(row["dimension"], labels),
        row["early"],
        row["late"],
        row["difference"],
        row["low"],
        row["high"],
        row["slope"],
        row["reason"] or "",
        row.get("family", 0),
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


def _within(told: Mapping[str, Any], labels: Mapping[str, str]) -> list[dict[str, Any]]:
    later = {row["dimension"]: row for row in told["across_item"]}
    made = []
    for row in told["within_item"]:
        across = later.get(row["dimension"], {})
        # Table 5: alpha one way round, the other, both; early and late.
        made.append(
            {
                "label": _label(row["dimension"], labels),
                "forward": row["forward"],
                "backward": row["backward"],
                "both": row["both"],
                "delta": row["delta"],
                "excess": row["excess"],
                "excess_low": row["low"],
                "excess_high": row["high"],
                "early": across.get("early"),
                "late": across.get("late"),
                "apart": across.get("delta"),
                "change": across.get("change"),
                "change_low": across.get("low"),
                "change_high": across.get("high"),
            }
        )
    return made


def _straight(told: Mapping[str, Any]) -> Straight | None:
    row = next(iter(told["straight"]), None)
    if row is None or row["share"] is None:
        return None
    many = [one for one in told["straight_worker"] if one["n"] >= STRAIGHT_LEAST]
    most = sorted(many, key=lambda one: (-one["share"], -one["n"], one["worker"]))[:STRAIGHT_SHOWN]
    names = pseudonyms([one["worker"] for one in most])
    return Straight(
        row["share"],
        row["low"],
        row["high"],
        row["chance"],
        row["n"],
        [(o["worker"], names.get(o["worker"], ""), o["share"], o["n"]) for o in most if o["share"]],
        row["reason"] or "",
    )


def _repeat(row: Row, labels: Mapping[str, str]) -> Repeat:
    return Repeat(
        _label(row["dimension"], labels),
        row["same"],
        row["low"],
        row["high"],
        row["chance"],
        row["others"],
        row["n"],
        row["reason"] or "",
    )


def _taus(
    told: Mapping[str, Any], labels: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Table 6; the figure names dimensions by their number in the order of the agreement."""
    names = [row["dimension"] for row in told["agreement"] if row["dimension"]]
    found = {(row["first"], row["second"]): row for row in told["interdependence"]}
    if not found:
        return [], []
    values = [row["tau_b"] for row in found.values() if row["tau_b"] is not None]
    top = drawn.heat_top(values)
    lines = []
    for a, name in enumerate(names):
        cells, own = [], []
        for b in range(len(names)):
            row = found.get((a, b), {})
            value = row.get("tau_b")
            own += [value] if value is not None else []
            cells.append(
                Cell(value, row.get("low"), row.get("high"), drawn.heat_step(value, top), a == b)
            )
        # A line of Table 6.
        lines.append(
            {
                "label": labels.get(name, name),
                "cells": cells,
                "mean": sum(own) / len(own) if own else None,
            }
        )
    return lines, [labels.get(name, name) for name in names]


def _no_tau(rows: Sequence[Row]) -> str:
    """Why no correlation of dimensions has an interval, "" where one has."""
    if any(row["low"] is not None for row in rows):
        return ""
    return next((row["reason"] for row in rows if row["reason"]), "")


def _notes(sides: Sequence[Side], drifts: Sequence[Drift], straight: Straight | None) -> list[str]:
    """What the effects mean, one statement each; it is about the same intervals as the rows."""
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
