"""The study against experts as its page shows it: by number of workers, system and strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from annotation.models import Task
from crowdqc.numbers import plural, score
from evaluation.charts import boards as charts
from evaluation.charts import writing as charts_writing
from evaluation.charts.boards import Estimate, Scale
from evaluation.charts.writing import Axis, Curve
from evaluation.grading.study_run import JUDGE, SLUG
from evaluation.models import Run, RunState

POOLED = -1
AQER, LLM = "aqer", "judge"
LINES = ("aqer", "aqer_uniterated", LLM)  # what the small panels draw, in this order
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """Mean correlation of one method at one number of workers."""

    size: int
    r: float | None
    low: float | None
    high: float | None
    draw_low: float | None
    draw_high: float | None
    defined: int


@dataclass(frozen=True)
class Line:
    """One method: a cell a size, and how it stands to AQER at the largest one."""

    slug: str
    title: str
    cells: list[Cell]
    plot: SafeString
    against: str


@dataclass(frozen=True)
class System:
    """A language model under one prompt strategy: its mean grade and each method's correlation."""

    name: str
    strategy: str
    grade: float | None
    error: float | None
    n: int
    panel: SafeString
    rows: list[Line]


@dataclass(frozen=True)
class StudyPage:
    """Everything on the page."""

    sizes: list[int]
    lines: list[Line]
    axis: SafeString
    systems: list[System]
    legend: list[tuple[SafeString, str]]
    sentence: str
    left_out: list[int]
    there: int
    draw: str
    repetitions: int
    family: int  # comparisons with AQER that hold all at once; 0: a run from before these


def shown_run(task: Task, number: int | None = None) -> Run | None:
    """The newest finished study of the task, or the one of this number."""
    found = task.runs.filter(method=SLUG, state=RunState.DONE).select_related("snapshot")
    found = found.defer("snapshot__answer_ids")
    return (found.filter(number=number) if number else found).order_by("-id").first()


def judges(task: Task) -> list[Run]:
    """Finished runs in which a model graded the answers, the newest first."""
    return list(task.runs.filter(method=JUDGE, state=RunState.DONE).order_by("-id")[:20])


def page(run: Run, told: Mapping[str, Any]) -> StudyPage:
    """The page of a finished study, from its figures alone."""
    frame, params = told["frame"], run.params
    sizes, titles = list(frame["sizes"]), frame["titles"]
    rows = {(row["method"], row["system"], row["size"]): row for row in told["study"]}
    against = {(row["method"], row["size"]): row for row in told["against"]}
    ends = [
        value
        for row in told["study"]
        if row["system"] == POOLED
        for value in (row["low"], row["high"], row["r"])
    ]
    scale = Scale.around(ends, include=[0.0])
    lines = [
        _line(
            slug,
            titles[slug],
            _cells(rows, slug, POOLED, sizes),
            scale,
            _against(slug, against.get((slug, sizes[-1]))),
        )
        for slug in titles
    ]
    lines.sort(key=lambda one: -(one.cells[-1].r if one.cells[-1].r is not None else -9.0))
    systems = [
        _system(
            one,
            [
                _line(line.slug, line.title, _cells(rows, line.slug, at, sizes), scale, "")
                for line in lines
            ],
            sizes,
        )
        for at, one in enumerate(frame["systems"])
        if one["n"]
    ]
    counts = f"{plural(frame['graded'], 'graded answer')} of {plural(len(systems), 'system')}"
    if bare := len(frame["systems"]) - len(systems):
        counts += f" ({bare} more without a grade)"
    return StudyPage(
        sizes=sizes,
        lines=lines,
        axis=charts.forest_axis(scale),
        systems=systems,
        legend=_legend(titles),
        sentence=f"{counts}, {params['repetitions']} draws of each size.",
        left_out=list(frame["left_out"]),
        there=frame["there"],
        draw=params["draw"],
        repetitions=params["repetitions"],
        family=max((row.get("family", 0) for row in told["against"]), default=0),
    )


def _cells(rows: Mapping[Any, Row], slug: str, system: int, sizes: Sequence[int]) -> list[Cell]:
    names = ("r", "low", "high", "draw_low", "draw_high")
    found = []
    for size in sizes:
        row = rows.get((slug, system, size), {})
        told: dict[str, Any] = {name: row.get(name) for name in names}
        found.append(Cell(size=size, defined=row.get("defined", 0), **told))
    return found


def _line(slug: str, title: str, cells: list[Cell], scale: Scale, against: str) -> Line:
    last = cells[-1]
    estimate = None if last.r is None else Estimate(last.r, last.low, last.high)
    return Line(slug, title, cells, charts.forest_cell(scale, estimate, name=title), against)


def _against(slug: str, row: Row | None) -> str:
    """How a method stands to AQER on the same draws."""
    if slug == AQER or row is None:
        return ""
    if row["low"] is None:
        return f"no interval: {row['reason']}" if row.get("reason") else ""
    if row["low"] <= 0 <= row["high"]:
        return "cannot be separated"
    return "closer to the experts" if row["low"] > 0 else "further from the experts"


def _system(one: Row, lines: list[Line], sizes: Sequence[int]) -> System:
    return System(
        one["name"],
        one["strategy"],
        one["grade"],
        one["error"],
        one["n"],
        _panel(one["name"], {line.slug: line for line in lines}, sizes),
        lines,
    )


KINDS = (charts_writing.PEOPLE, charts_writing.MODELS, charts_writing.SOURCES)


def _panel(name: str, lines: Mapping[str, Line], sizes: Sequence[int]) -> SafeString:
    curves = []
    for kind, slug in zip(KINDS, LINES, strict=True):
        cells = [cell for cell in lines[slug].cells if cell.r is not None] if slug in lines else []
        points = [(float(cell.size), float(cell.r or 0)) for cell in cells]
        band = (
            [
                (float(c.size), c.low, c.high)
                for c in cells
                if c.low is not None and c.high is not None
            ]
            if slug == AQER
            else []
        )
        curves.append(Curve(kind, points, points, band))
    lowest = min((y for c in curves for _, y in c.points), default=0.0)
    foot = min(0.0, lowest)
    return charts_writing.panel(
        curves,
        Axis(min(sizes) - 1, max(sizes) + 1, sizes, name="workers"),
        Axis(foot, 1.0, [0, 0.5, 1] if foot > -0.2 else [-0.5, 0, 0.5, 1], write=_tick),
        sentence=f"{name}: correlation with the experts by number of workers",
    )


def _tick(value: float) -> str:
    """A correlation as other charts write it: .5, but 0 and 1 as they are."""
    return f"{value:g}" if value in (0, 1) else score(value, 1)


def _legend(titles: Mapping[str, str]) -> list[tuple[SafeString, str]]:
    return [
        (charts_writing.sign(kind), titles[slug])
        for kind, slug in zip(KINDS, LINES, strict=True)
        if slug in titles
    ]
