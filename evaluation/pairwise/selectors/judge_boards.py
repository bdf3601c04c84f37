"""The board of systems that each judging model makes, beside the one that people make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from crowdqc.numbers import interval, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.agreement import WIDE
from evaluation.charts.boards import Estimate
from evaluation.free_text.selectors.leaderboard import rank_words
from evaluation.models import Run, SystemScore

FIGURES = ("judge_system", "judge_tau")
NONE = "not compared"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Side:
    """A system on one of the two boards."""

    rank: str
    plot: SafeString


@dataclass(frozen=True)
class Line:
    """A system on both boards; ``apart``: no rank is possible on both."""

    name: str
    people: Side
    judge: Side
    apart: bool


@dataclass(frozen=True)
class Beside:
    """A judge's board beside people's, on one dimension."""

    lines: list[Line]
    people_axis: SafeString
    judge_axis: SafeString
    sentence: str


def beside(run: Run, told: Row, dimension: str) -> dict[int, Beside]:
    """The boards of each judge on one dimension ("" for all together), by the judge's id."""
    rows = [row for row in told.get("judge_system", []) if row["dimension"] == dimension]
    if not rows:
        return {}
    people = {
        row["system_id"]: row
        for row in SystemScore.objects.filter(run=run, dimension=dimension)
        .order_by("component", "-estimate")
        .values(
            "system_id",
            "system__name",
            "system__prompt_strategy",
            "component",
            "estimate",
            "low",
            "high",
            "rank_low",
            "rank_high",
        )
    }
    taus = {
        row["machine"]: row for row in told.get("judge_tau", []) if row["dimension"] == dimension
    }
    found = {}
    for machine in dict.fromkeys(row["machine"] for row in rows):
        own = {row["system"]: row for row in rows if row["machine"] == machine}
        found[machine] = _beside(people, own, taus.get(machine, {}))
    return found


def _beside(people: Mapping[int, Row], own: Mapping[int, Row], tau: Row) -> Beside:
    scales = [_scale(side.values()) for side in (people, own)]
    lines = []
    for pk, row in people.items():
        name = ", ".join(filter(None, (row["system__name"], row["system__prompt_strategy"])))
        theirs = own.get(pk, {})
        ends = [row.get("rank_low"), row.get("rank_high")]
        others = [theirs.get("rank_low"), theirs.get("rank_high")]
        known = all((*ends, *others))
        lines.append(
            Line(
                name,
                _side(row, scales[0], name),
                _side(theirs, scales[1], name),
                known and (ends[1] < others[0] or others[1] < ends[0]),  # type: ignore[operator]
            )
        )
    axes = [charts.forest_axis(scale) for scale in scales]
    return Beside(lines, axes[0], axes[1], _sentence(tau))


def _scale(rows: Any) -> charts.Scale:
    values: list[float | None] = [0.0]
    for row in rows:
        values += [row["low"], row["high"], row["estimate"]]
    return charts.Scale.around(values, width=WIDE, count=4)


def _side(row: Row, scale: charts.Scale, name: str) -> Side:
    estimate = None
    if row.get("component") and row.get("estimate") is not None:
        estimate = Estimate(row["estimate"], row["low"], row["high"])
    rank = rank_words(row.get("rank_low") or None, row.get("rank_high") or None)
    board = f", board {row['component']}" if row.get("component", 0) > 1 else ""
    plot = charts.forest_cell(scale, estimate, reference=0.0, name=name)
    return Side(f"{rank}{board}" if estimate else NONE, plot)


def _sentence(tau: Row) -> str:
    """How far the two boards agree, with the interval or the reason why there is none."""
    over = f"over {plural(tau.get('systems', 0), 'system')}"
    if tau.get("tau") is None:
        return f"No Kendall’s τ with people’s board: {tau.get('reason', 'nothing to compare')}."
    head = f"Kendall’s τ with people’s board {score(tau['tau'], 2)}"
    if tau.get("low") is None:
        return f"{head}, {over}; no interval: {tau['reason']}."
    bounds = interval(tau["low"], tau["high"], 2)
    return f"{head} (95%: {bounds}), {over} and {plural(tau['topics'], 'topic')}."
