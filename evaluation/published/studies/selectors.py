"""The tables of a published study: as printed, as measured from the database, and by our own run.

The rows are those of ``reproduce crowdrag``, kept by the run that imported what was published and
by the checks that follow it. Ours are looked up in the figures of the core run and its checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from annotation.models import System, Task
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.numbers import count, plural, score
from evaluation.models import Run, RunFigure, RunState
from evaluation.pairwise.selectors import hard as pair_hard
from evaluation.pairwise.selectors.runs import ShownRun
from evaluation.pairwise.selectors.tables import grades as pair_tables
from evaluation.published.reproduce.crowdrag.data import DIMENSIONS
from evaluation.published.reproduce.crowdrag.published import SHORT
from evaluation.results.columns import Column, head_column
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.engine import ACTIVE
from evaluation.runs.selectors.lists import figures_of
from evaluation.runs.selectors.shell import percent

TABLES = "tables"  # the figure of both runs
FOLLOWING = "published_checks"
MEAN = "mean"
TITLES = {
    "Table 4": "Agreement between judges",
    "Table 5": "Agreement by direction and position",
    "Table 6": "How dimensions hang together",
    "Table 7": "Mean grades by style and origin",
    "Table 8": "Similarity to the best text",
    "Table 9": "Language models as judges",
    "order": "Order effects that Table 5 does not show",
    "MACE": "MACE fitted again",
}
DIGITS = {"Table 8": 3}  # of what is measured; else 2
PRINTED = {"Table 7": 1, "Table 8": 3}  # of what was printed; else 2
WORDS = (("alpha", "α"), ("tau-b", "τ-b"), ("mean rho", "mean ρ"))
CORE_FIGURES = (
    "agreement",
    "within_item",
    "across_item",
    "interdependence",
    "drift",
    "side",
    "straight",
    "judge",
    "judge_pair",
    "person",
    "diagnostics",
)
CHECK_FIGURES = ("corrected", "split", "overlap")
Row = Mapping[str, Any]
# Series -> dimension ("" is the mean, or the one figure of a line) -> our value.
Ours = dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class Figure:
    """A figure thrice; ``apart``: printed and measured differ by more than rounding."""

    printed: str
    measured: str
    ours: str
    apart: bool


@dataclass(frozen=True)
class LoneFigure:
    """A figure that belongs to no dimension."""

    name: str
    protocol: str
    figure: Figure
    note: str


@dataclass(frozen=True)
class Series:
    """A line of a table in its three forms, with what explains the differences."""

    name: str
    protocol: str
    cells: list[Figure]
    notes: list[str]

    @property
    def has_printed(self) -> bool:
        return any(cell.printed for cell in self.cells)

    @property
    def has_ours(self) -> bool:
        return any(cell.ours for cell in self.cells)


@dataclass(frozen=True)
class Section:
    """One printed table, or what it should have said."""

    slug: str
    title: str
    name: str
    corrected: bool
    heads: list[str]
    series: list[Series]
    lines: list[LoneFigure]
    ours: str  # the head of what our run gives

    def table(self) -> ResultTable:
        """The figures that belong to no dimension."""
        columns = [
            head_column("name", _("Figure"), note="" if self.shared else "protocol"),
            Column.number("figure.printed", _("Printed")),
            Column.number(
                "figure.measured", _("From the database"), "", html=_measured, classes="l1r"
            ),
            Column.number("figure.ours", self.ours, _("Our run"), classes="ours"),
        ]
        if not self.shared:
            why = _("Why they differ, or how it was measured")
            columns.append(Column.text("note", why, html=_note, classes="dim why"))
        title = _("%(name)s %(title)s, further figures") % {"name": self.name, "title": self.title}
        plain = " plain-lines" if self.shared else ""
        return plain_table(title, columns, self.lines, classes=f"data two-line lines{plain}")

    @property
    def shared(self) -> str:
        """The protocol of every line, where they have one and nothing needs an explanation."""
        protocols = {line.protocol for line in self.lines}
        plain = not any(line.note for line in self.lines)
        return next(iter(protocols)) if plain and len(protocols) == 1 else ""


def _measured(row: LoneFigure) -> SafeString | str:
    if not row.figure.apart:
        return row.figure.measured
    return format_html('<b class="apart">{}</b>', row.figure.measured)


def _note(row: LoneFigure) -> str:
    return capfirst(row.note)


def published(task: Task, runs: ShownRun, asked: Sequence[AskedDimension]) -> dict[str, Any] | None:
    """Everything on the page; None where nothing published was imported beside the task."""
    run = runs.published
    if run is None:
        return None
    following = list(
        Run.objects.filter(source=run, method=FOLLOWING).defer("snapshot").order_by("-id")
    )
    done = next((one for one in following if one.state == RunState.DONE), None)
    checking = next((one for one in following if one.state in ACTIVE), None)
    figures = RunFigure.objects.filter(run__in=[run, *([done] if done else [])], name=TABLES)
    rows = [row for figure in figures.order_by("run_id") for row in figure.data]
    core = runs.core if runs.core is not None and runs.core.pk != run.pk else None
    mine = computed_series(task, runs, core, asked) if core is not None else {}
    order = {name: place for place, name in enumerate(TITLES)}
    tables = sorted(
        dict.fromkeys(row["table"] for row in rows),
        key=lambda name: (order.get(name.partition(",")[0], len(order)), name),
    )
    ours = _("Our run %(number)s") % {"number": core.number} if core else _("Our run")
    sections = [
        _section(name, [r for r in rows if r["table"] == name], mine, ours) for name in tables
    ]
    printed = [
        row for row in rows if row["published"] is not None and "corrected" not in row["table"]
    ]
    equal = sum(not _apart(row, row["table"]) for row in printed)
    # The page.
    return {
        "run": run,
        "checking": checking,
        "percent": percent(checking) if checking else 0,
        "sections": sections,
        "sentence": f"{count(equal)} of {plural(len(printed), 'printed figure')} come out of the "
        "database as printed; the others have the reason beside them.",
        "ours": core,
    }


def _section(table: str, rows: Sequence[Row], mine: Ours, ours: str) -> Section:
    base = table.partition(",")[0]
    series: dict[tuple[str, str], dict[str, Row]] = {}
    lines = []
    for row in rows:
        name, tail = _split(row["quantity"])
        if tail is None:
            cell = _cell(base, row, _own(row, mine), whole=True)
            lines.append(LoneFigure(_worded(name), row["protocol"], cell, row["note"]))
        else:
            series.setdefault((name, row["protocol"]), {})[tail] = row
    return Section(
        slug=table.lower().replace(",", "").replace(" ", "-"),
        title=TITLES.get(base, base),
        name=base if base.startswith("Table") else "",
        corrected="corrected" in table,
        heads=[*SHORT, MEAN],
        series=[
            _series(base, name, protocol, found=found, mine=mine.get(name, {}))
            for (name, protocol), found in series.items()
        ],
        lines=lines,
        ours=ours,
    )


def _split(quantity: str) -> tuple[str, str | None]:
    """The series and the dimension (or "mean") of a quantity; None where it has neither."""
    name, _, tail = quantity.rpartition(", ")
    return (name, tail) if name and (tail in SHORT or tail == MEAN) else (quantity, None)


def _worded(name: str) -> str:
    """Write a name with Greek letters, as tables have them; others begin with a capital."""
    for word, letter in WORDS:
        name = name.replace(word, letter)
    return f"{name[:1].upper()}{name[1:]}" if name.isascii() else name


def _own(row: Row, mine: Ours) -> float | None:
    """Ours beside a line; our graph is that of pairs, whichever way they were shown."""
    if "ordered pair" in row["protocol"] and "components" in row["quantity"]:
        return None
    return mine.get(row["quantity"], {}).get("")


def _series(
    base: str,
    name: str,
    protocol: str,
    *,
    found: Mapping[str, Row],
    mine: Mapping[str, float | None],
) -> Series:
    cells = []
    for column in (*SHORT, MEAN):
        key = "" if column == MEAN else DIMENSIONS[SHORT.index(column)]
        cells.append(_cell(base, found.get(column), mine.get(key)))
    said: dict[str, list[str]] = {}
    for column, row in found.items():
        if row["note"]:
            said.setdefault(row["note"], []).append(column)
    notes = [
        note if len(where) == len(found) else f"{', '.join(where)}: {note}"
        for note, where in said.items()
    ]
    return Series(_worded(name), protocol, cells, notes)


def _cell(base: str, row: Row | None, mine: float | None, *, whole: bool = False) -> Figure:
    """A figure thrice; ``whole``: it may be a count, which has no decimals."""
    digits = DIGITS.get(base, 2)
    return Figure(
        _figure(row["published"], PRINTED.get(base, 2), whole) if row else "",
        _figure(row["measured"], digits, whole) if row else "",
        _figure(mine, digits, whole),
        apart=row is not None and _apart(row, base),
    )


def _apart(row: Row, base: str) -> bool:
    """Whether a measured figure is another than the printed one, rounding aside."""
    if None in (row["published"], row["measured"]) or "rounding" in row["note"]:
        return False
    return bool(round(row["measured"], PRINTED.get(base, 2)) != row["published"])


def _figure(value: float | None, digits: int, whole: bool) -> str:
    if value is None:
        return ""
    counted = whole and value == int(value) and abs(value) >= 2
    return count(value) if counted else score(value, digits)


# Our own run -----------------------------------------------------------------------------------


def computed_series(task: Task, runs: ShownRun, core: Run, asked: Sequence[AskedDimension]) -> Ours:
    """Our value of each series, under the name that the reproduction gives it."""
    told = figures_of(core, *CORE_FIGURES)
    checks = figures_of(runs.checks, *CHECK_FIGURES) if runs.checks else {}
    found = _agreement(told, checks)
    found |= _order(told)
    found |= _grades(core, asked)
    found |= _similarity(checks.get("overlap", []))
    found |= _judges(told)
    panels = [one for one in pair_hard.experts(task, core) if one.run is not None]
    if panels:
        found["alpha, minimal difference, C"] = dict(panels[0].crowd)
        found["alpha, minimal difference, experts"] = dict(panels[0].alpha)
    return found


def _column(rows: Sequence[Row], key: str) -> dict[str, float | None]:
    return {row["dimension"]: row[key] for row in rows}


def _agreement(told: Mapping[str, Any], checks: Mapping[str, Any]) -> Ours:
    raw = _column(told.get("agreement", []), "alpha")
    found: Ours = {"alpha, all pairs, C": raw, "alpha, C": raw}
    corrected = checks.get("corrected", [])
    if corrected:
        found["alpha, all pairs, C*"] = found["alpha, C*"] = _column(corrected, "corrected")
        found["alpha, C* of shuffled votes"] = _column(corrected, "shuffled_null")
        found["alpha, C* cross-fitted"] = _column(corrected, "cross_fitted")
        every = next(row for row in corrected if not row["dimension"])
        for name in ("share of votes removed", "C*: share of votes removed"):
            found[name] = {"": every["removed_share"]}
        for what in ("pairs", "items"):
            name = f"share of {what} left with fewer than 3 votes"
            found[name] = found[f"C*: {name}"] = {"": every["thin_share"]}
    easy = [row for row in checks.get("split", []) if row["differentiable"]]
    found["alpha, differentiable, C"] = _column(easy, "alpha")
    return found


def _with_mean(values: dict[str, float | None]) -> dict[str, float | None]:
    known = [value for name, value in values.items() if name and value is not None]
    return {**values, "": sum(known) / len(known) if known else None}


def _order(told: Mapping[str, Any]) -> Ours:
    within, across = told.get("within_item", []), told.get("across_item", [])
    columns = {
        "one direction": (within, "backward"),
        "other direction": (within, "forward"),
        "both directions": (within, "both"),
        "largest difference": (within, "delta"),
        "first 7 items": (across, "early"),
        "later items": (across, "late"),
        "early against late": (across, "delta"),
    }
    found: Ours = {
        f"alpha, {name}": _with_mean(_column(rows, key)) for name, (rows, key) in columns.items()
    }
    names = [row["dimension"] for row in told.get("agreement", []) if row["dimension"]]
    taus: dict[str, list[float]] = {}
    for row in told.get("interdependence", []):
        one, two = names[row["first"]], names[row["second"]]
        if one in DIMENSIONS and two in DIMENSIONS:
            ends = (SHORT[DIMENSIONS.index(name)] for name in (one, two))
            found[f"tau-b, {' and '.join(ends)}"] = {"": row["tau_b"]}
        if row["tau_b"] is not None:
            taus.setdefault(one, []).append(row["tau_b"])
    found["tau-b"] = found["tau-b, mean"] = {
        name: sum(values) / len(values) for name, values in taus.items()
    }
    return found | _hidden(told)


def _hidden(told: Mapping[str, Any]) -> Ours:
    found: Ours = {}
    drift = next((row for row in told.get("drift", []) if not row["dimension"]), None)
    if drift is not None:
        found["neutral share, first 7 items"] = {"": drift["early"]}
        found["neutral share, later items"] = {"": drift["late"]}
        found["neutral share, later - first 7"] = {"": drift["difference"]}
    side = next((row for row in told.get("side", []) if not row["dimension"]), None)
    if side is not None:
        found["right side wins"] = {"": side["right"]}
    straight = next(iter(told.get("straight", [])), None)
    if straight is not None:
        found["one label on all seven dimensions"] = {"": straight["share"]}
    parts = told.get("diagnostics", {}).get("components")
    if parts:
        found["connected components"] = {"": len(parts)}
    return found


def _grades(core: Run, asked: Sequence[AskedDimension]) -> Ours:
    page = pair_tables.grades(core, asked)
    found: Ours = {}
    for block in page["blocks"] if page else []:
        style = block["style"].lower()
        for group in block["groups"]:
            who = "LLM" if group.name.lower() == "llm" else group.name
            values: dict[str, float | None] = {"": group.mean.value}
            for one, mean in zip(asked, group.dimensions, strict=True):
                values[one.name] = mean.value
            found[f"mean grade, {style}, {who}"] = values
    if page is not None:
        name = "dimensions where LLM and human differ over all styles, of 7"
        found[name] = {"": page["blocks"][-1]["differing"]}
    return found


def _similarity(rows: Sequence[Row]) -> Ours:
    found: Ours = {}
    for row in rows:
        for what, key in (("best against worst", "ends"), ("full ranking", "full")):
            name = f"Spearman, {what}, {row['scorer']}"
            found.setdefault(name, {})[row["dimension"]] = row[key]
    return found


def _judges(told: Mapping[str, Any]) -> Ours:
    rows = told.get("judge", [])
    kinds = dict(
        System.objects.filter(pk__in={row["machine"] for row in rows}).values_list(
            "pk", "prompt_strategy"
        )
    )
    found: Ours = {}
    for pk, kind in kinds.items():
        own = [row for row in rows if row["machine"] == pk]
        found[f"alpha of the LLM with itself, {kind}"] = _column(own, "consistency")
        found[f"alpha of the LLM with gold, {kind}"] = _column(own, "alpha")
        found[f"mean rho with other dimensions, {kind}"] = _column(own, "rho")
        if kind == "combined":
            found["decisive labels, LLM agrees with gold"] = _column(own, "decisive")
    if len(kinds) == 2:
        pairs = told.get("judge_pair", [])
        found["alpha of combined with individual"] = _column(pairs, "alpha")
    people = _column(told.get("person", []), "majority")
    found["decisive votes, a worker agrees with the others"] = people
    return found
