"""Expert grading as its pages show it: what is left to mark, where two marks lie apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import F
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from annotation.models import Answer, Membership, Role, Task, TextValue, User
from crowdqc.numbers import interval, plural, score
from crowdqc.web.markdown import render_markdown
from evaluation.charts import boards as charts
from evaluation.charts import writing as charts_writing
from evaluation.charts.boards import Estimate, Scale
from evaluation.charts.svg import Axis, correlation_axis
from evaluation.charts.writing import Curve
from evaluation.grading.actions import Marks, marks_of, order_for
from evaluation.grading.measures import measures_table
from evaluation.grading.study_run import JUDGE, SLUG
from evaluation.methods.core.units import fisher
from evaluation.models import Grading, Run, RunState
from evaluation.results.cells import Cell as TableCell
from evaluation.results.cells import beside, bold
from evaluation.results.columns import Column, Format
from evaluation.results.matrices import MatrixRow, matrix_table
from evaluation.results.stored_texts import translate_stored
from evaluation.results.tables import Group, ResultTable

LEAST = 10  # answers marked by both, below which no agreement is told


def newest(task: Task) -> Grading | None:
    """The task's open grading, else the one closed last."""
    gradings = task.gradings.select_related("first", "second", "task__project")
    return gradings.order_by(F("closed_at").desc(nulls_first=True), "-id").first()


def newest_of_systems(task: Task) -> Grading | None:
    """The task's newest grading of answers that language models gave."""
    gradings = task.gradings.select_related("first", "second", "task__project")
    return next(
        (
            one
            for one in gradings.order_by("-id")
            if Answer.objects.filter(pk__in=one.answer_ids[:1], system__isnull=False).exists()
        ),
        None,
    )


def staff(task: Task) -> list[User]:
    """List the people who may grade: requesters and managers of the project."""
    rows = (
        Membership.objects.filter(
            project=task.project_id,
            removed_at__isnull=True,
            user__isnull=False,
            role__in=(Role.REQUESTER, Role.MANAGER),
        )
        .select_related("user")
        .order_by("user__username")
    )
    return list({row.user_id: row.user for row in rows if row.user}.values())


def grading_progress(grading: Grading) -> dict[str, Any]:
    """Return the progress of a grading, and the two graders' Pearson correlation."""
    marks = marks_of(grading)
    both = [
        (m.first, m.second) for m in marks.values() if m.first is not None and m.second is not None
    ]
    r, low, high = _agreement(both)
    # How far a grading is, and how well the two agree.
    return {
        "total": len(grading.answer_ids),
        "first": sum(m.first is not None for m in marks.values()),
        "second": sum(m.second is not None for m in marks.values()),
        "both": len(both),
        "apart": sum(m.apart(grading.gap) for m in marks.values()),
        # apart and not settled yet
        "open": sum(m.apart(grading.gap) and m.agreed is None for m in marks.values()),
        "final": sum(m.final(grading.gap) is not None for m in marks.values()),
        "r": r,
        "low": low,
        "high": high,
        # mean of second less first
        "difference": float(np.mean([b - a for a, b in both])) if both else None,
    }


def _agreement(
    both: Sequence[tuple[int, int]], level: float = 0.95
) -> tuple[float | None, float | None, float | None]:
    """Pearson's r of pairs of marks, by Fisher's z; None where it is not defined."""
    if len(both) < LEAST:
        return None, None, None
    x, y = np.array(both, dtype=float).T
    if not x.std() or not y.std():
        return None, None, None
    r, n = float(np.corrcoef(x, y)[0, 1]), len(both)
    return r, *fisher(r, n, level)


def next_answer(grading: Grading, grader: User) -> int | None:
    """The next answer in this grader's own order that they have not marked."""
    done = set(grading.grades.filter(grader=grader).values_list("answer_id", flat=True))
    return next((pk for pk in order_for(grading, grader.pk) if pk not in done), None)


def place_of(grading: Grading, grader: User, answer_id: int) -> tuple[int, int | None, int | None]:
    """Return an answer's number in the grader's order (from 1), and its neighbours."""
    order = order_for(grading, grader.pk)
    at = order.index(answer_id)
    before = order[at - 1] if at else None
    return at + 1, before, order[at + 1] if at + 1 < len(order) else None


def answers_for_grader(answer_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Answers by id as a grader sees them; two queries."""
    texts = dict(
        TextValue.objects.filter(answer__in=answer_ids, field="answer", index=0).values_list(
            "answer_id", "text"
        )
    )
    rows = Answer.objects.filter(pk__in=answer_ids).values_list(
        "pk", "item__question", "item__group__passage"
    )
    # One answer as a grader sees it: nothing says whose it is or what a method thinks of it.
    return {
        pk: {
            "answer_id": pk,
            "question": question,
            "passage": render_markdown(passage),
            "text": texts.get(pk, ""),
        }
        for pk, question, passage in rows
    }


def own_mark(grading: Grading, grader: User, answer_id: int) -> tuple[int | None, str]:
    """Return the mark and note that the grader gave an answer; (None, "") if none yet."""
    found = grading.grades.filter(grader=grader, answer=answer_id).first()
    return (found.value, found.note) if found else (None, "")


def disagreements(
    grading: Grading, marks: Mapping[int, Marks] | None = None
) -> list[dict[str, Any]]:
    """List answers whose marks lie too far apart: unsettled ones first, then by the gap."""
    marks = marks_of(grading) if marks is None else marks
    wide = [pk for pk, both in marks.items() if both.apart(grading.gap)]
    notes: dict[int, list[str]] = {}
    rows = grading.grades.filter(answer__in=wide, grader__isnull=False).exclude(note="")
    for pk, note in rows.order_by("grader_id").values_list("answer_id", "note"):
        notes.setdefault(pk, []).append(note)
    texts = answers_for_grader(wide)
    # An answer whose two marks lie too far apart, with what both noted.
    found: list[dict[str, Any]] = [
        {
            "shown": texts[pk],
            "first": marks[pk].first or 0,
            "second": marks[pk].second or 0,
            "notes": notes.get(pk, []),
            "agreed": marks[pk].agreed,
        }
        for pk in wide
        if pk in texts
    ]
    found.sort(key=lambda one: (one["agreed"] is not None, -abs(one["first"] - one["second"])))
    return found


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


def shown_run(task: Task, number: int | None = None) -> Run | None:
    """Return the task's newest finished study, or the one of this number."""
    found = task.runs.filter(method=SLUG, state=RunState.DONE).select_related("snapshot")
    found = found.defer("snapshot__answer_ids")
    return (found.filter(number=number) if number else found).order_by("-id").first()


def judges(task: Task) -> list[Run]:
    """Finished runs in which a model graded the answers, the newest first."""
    return list(task.runs.filter(method=JUDGE, state=RunState.DONE).order_by("-id")[:20])


def page(run: Run, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context of the page of a finished study."""
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
    # Everything on the page.
    return {
        "sizes": sizes,
        "table": _method_table(lines, sizes, params["draw"], charts.forest_axis(scale)),
        "measures": measures_table(told.get("measures", []), titles, AQER),
        "systems": systems,
        "system_table": _system_table(systems, sizes, params["draw"]),
        "legend": _legend(titles),
        "sentence": _sentence(frame, len(systems), params["repetitions"]),
        "left_out": list(frame["left_out"]),
        "there": frame["there"],
        "draw": params["draw"],
        "repetitions": params["repetitions"],
        # comparisons with AQER that hold all at once; 0: a run from before these
        "family": max((row.get("family", 0) for row in told["against"]), default=0),
    }


def _sentence(frame: Mapping[str, Any], systems: int, repetitions: int) -> str:
    """Say how much was graded, and how often workers were drawn."""
    bare = len(frame["systems"]) - systems
    said = (
        gettext(
            "%(answers)s of %(systems)s (%(bare)s more without a grade), %(repetitions)s draws of "
            "each size."
        )
        if bare
        else gettext("%(answers)s of %(systems)s, %(repetitions)s draws of each size.")
    )
    return said % {
        "answers": plural(frame["graded"], "graded answer"),
        "systems": plural(systems, "system"),
        "bare": bare,
        "repetitions": repetitions,
    }


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
    """Say how a method compares with AQER on the same draws."""
    if slug == AQER or row is None:
        return ""
    if row["low"] is None:
        return (
            gettext("no interval: %(reason)s") % {"reason": row["reason"]}
            if row.get("reason")
            else ""
        )
    if row["low"] <= 0 <= row["high"]:
        return gettext("cannot be separated")
    return (
        gettext("closer to the experts") if row["low"] > 0 else gettext("further from the experts")
    )


def _figure(value: float | None, text: str, span: str = "") -> SafeString:
    if value is None:
        return format_html('<span class="zero">{}</span>', gettext("none"))
    return beside(text, span)


def _by_size(line: Line, draw: str) -> list[TableCell]:
    """The cell of each number of workers."""
    return [
        TableCell(
            _figure(cell.r, score(cell.r, 2), interval(cell.low, cell.high, 2)),
            "num nowrap",
            translate_stored(f"{cell.size} {draw}"),
        )
        for cell in line.cells
    ]


def _method_table(
    lines: Sequence[Line], sizes: Sequence[int], draw: str, axis: SafeString
) -> ResultTable:
    beside_aqer = gettext("Beside AQER")
    plot = Column("plot", gettext("Interval at the largest number"), Format.PLOT)
    rows = [
        MatrixRow(
            bold(line.title),
            [
                *_by_size(line, draw),
                TableCell(line.plot, "plot"),
                TableCell(line.against, label=beside_aqer),
            ],
        )
        for line in lines
    ]
    return matrix_table(
        gettext("Correlation with the experts by method and number of workers"),
        gettext("Method"),
        [
            *(Column.number("", translate_stored(f"{size} {draw}")) for size in sizes),
            plot,
            Column.text("", beside_aqer),
        ],
        rows,
        name_classes="nowrap",
        classes="data two-line board",
        axis=axis,
    )


def _system_table(
    systems: Sequence[Mapping[str, Any]], sizes: Sequence[int], draw: str
) -> ResultTable:
    groups = []
    for one in systems:
        rows = []
        for line in one["rows"]:
            last = line.cells[-1]
            span = interval(last.draw_low, last.draw_high, 2)
            over = TableCell(_figure(last.draw_low, span), "num nowrap", gettext("Over draws"))
            rows.append(MatrixRow(line.title, [*_by_size(line, draw), over]))
        groups.append(Group(_system_heading(one), rows))
    return matrix_table(
        gettext("Correlation by system at each number"),
        gettext("Method"),
        [*(translate_stored(f"{size} {draw}") for size in sizes), gettext("Over draws alone")],
        groups,
        format=Format.NUMBER,
        name_classes="nowrap",
        classes="data two-line",
    )


def _system_heading(one: Mapping[str, Any]) -> str:
    told = {
        "name": f"{one['name']}, {one['strategy']}" if one["strategy"] else one["name"],
        "grade": score(one["grade"], 1),
        "error": score(one["error"], 1),
        "answers": plural(one["n"], "answer"),
    }
    if one["error"] is None:
        return gettext("%(name)s: mean grade %(grade)s, %(answers)s") % told
    said = gettext("%(name)s: mean grade %(grade)s (standard error %(error)s), %(answers)s")
    return said % told


def _system(one: Row, lines: list[Line], sizes: Sequence[int]) -> dict[str, Any]:
    # A language model under one prompt strategy: its mean grade and each method's correlation.
    return {
        "name": one["name"],
        "strategy": one["strategy"],
        "grade": one["grade"],
        "error": one["error"],
        "n": one["n"],
        "panel": _panel(one["name"], {line.slug: line for line in lines}, sizes),
        "rows": lines,
    }


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
    return charts_writing.panel(
        curves,
        Axis(min(sizes) - 1, max(sizes) + 1, sizes, name="workers"),
        correlation_axis(min((y for c in curves for _, y in c.points), default=0.0)),
        sentence=gettext("%(name)s: correlation with the experts by number of workers")
        % {"name": name},
    )


def _legend(titles: Mapping[str, str]) -> list[tuple[SafeString, str]]:
    return [
        (charts_writing.sign(kind), titles[slug])
        for kind, slug in zip(KINDS, LINES, strict=True)
        if slug in titles
    ]
