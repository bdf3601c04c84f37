"""What every page of a writing task's results shares: the run, names, cells of a figure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop, ngettext
from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.task_types.ready_made import translate_ready_made
from crowdqc.numbers import count, interval, percent, percent_interval, plural, score, word
from evaluation.charts import writing as charts_writing
from evaluation.methods.core.units import RESAMPLED, too_few_units
from evaluation.models import Run, RunFigure
from evaluation.results.cells import Cell, bold, note_below
from evaluation.results.columns import Format
from evaluation.results.findings import Action, Finding
from evaluation.results.matrices import MatrixRow, matrix_table
from evaluation.results.stored_texts import translate_figures, translate_stored
from evaluation.results.tables import Group, ResultTable
from evaluation.runs.adapters import FirstRun
from evaluation.writing.dataset import MODELS, PEOPLE
from evaluation.writing.messages import MESSAGES

ALL = ""  # the style of rows over all styles
FRAME = "frame"
GROUPS = {PEOPLE: gettext_noop("People"), MODELS: gettext_noop("Models")}
# View -> its label and the figures that it needs.
VIEWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "overview": (gettext_noop("Overview"), ("general",)),
    "passages": (gettext_noop("Passages"), ("overlap", "order", "ranks")),
    "reuse": (gettext_noop("Reuse"), ("reuse",)),
    "citations": (gettext_noop("Citations"), ("position",)),
    "readability": (gettext_noop("Readability"), ("readability",)),
    "signals": (gettext_noop("Signals"), ("signals", "logs")),
    "forms": (gettext_noop("Questionnaires"), ("forms",)),
    "responses": (gettext_noop("Responses"), ()),
}
Row = Mapping[str, Any]


@dataclass(frozen=True)
class EstimateInWords:
    """An estimate as a table says it; without an interval the reason stands in its place."""

    value: str
    interval: str = ""
    reason: str = ""

    def html(self, few: str = "") -> SafeString | str:
        """Value with its interval, or the reason for none, unless it is ``few``."""
        if self.value == "none":
            return format_html('<span class="zero">{}</span>', gettext("none"))
        if not self.value:
            return ""
        if self.interval:
            ends = format_html('<span class="dim ends">{}</span>', self.interval)
            return format_html("{} {}", bold(self.value), ends)
        return note_below(bold(self.value), self.reason if self.reason != few else "")


@dataclass(frozen=True)
class NamedFigures:
    """A run's figures with the names of their groups and styles."""

    run: Run
    frame: Row
    figures: Mapping[str, Any]
    labels: Mapping[str, str]  # of styles

    @property
    def groups(self) -> list[str]:
        return list(self.frame.get("groups", []))

    @property
    def styles(self) -> list[str]:
        return list(self.frame.get("styles", []))

    @property
    def level(self) -> int:
        """Level of the intervals in per cent."""
        return round(100 * self.frame.get("level", 0.95))

    @property
    def too_few_topics(self) -> str:
        """Why no figure of this run has an interval, where the topics are too few for any."""
        return too_few_topics(
            (self.run.snapshot.counts if self.run.snapshot else {}).get("questions")
        )

    def style(self, name: str) -> str:
        """Return the label of a style."""
        return self.labels.get(name, name) if name != ALL else gettext("All styles")

    def rows(self, name: str) -> list[Row]:
        """Return the rows of a figure; empty if there is none."""
        return list(self.figures.get(name, []))

    def edges(self, measure: str) -> list[float]:
        """The edges of a measure's bins."""
        return list(self.frame["edges"][measure])

    def cell(self, name: str, group: str, style: str) -> Row | None:
        """The row of a group and style."""
        return next(
            (row for row in self.rows(name) if (row["group"], row["style"]) == (group, style)), None
        )

    def cells(self, name: str) -> list[tuple[str, list[tuple[str, Row]]]]:
        """Return the rows of a figure grouped by style, all styles last."""
        found = []
        for style in [*self.styles, ALL]:
            rows = [(group, self.cell(name, group, style)) for group in self.groups]
            kept = [(group, row) for group, row in rows if row is not None]
            if kept and (style != ALL or len(self.styles) > 1):
                found.append((self.style(style), kept))
        return found


def style_labels(task: Task) -> dict[str, str]:
    """The labels of the styles in the version in force."""
    settings = task.current.settings if task.current is not None else {}
    return {
        str(row["name"]): translate_ready_made(str(row["label"]))
        for row in settings.get("styles", [])
    }


def figures_of(task: Task, run: Run, view: str) -> NamedFigures:
    """The figures that a view needs, in one query."""
    names = (FRAME, "recipe", *VIEWS[view][1])
    rows = RunFigure.objects.filter(run=run, name__in=names)
    figures = translate_figures(dict(rows.values_list("name", "data")))
    return NamedFigures(run, figures.get(FRAME, {}), figures, style_labels(task))


def figure(value: float | None, digits: int) -> str:
    """A number as a table writes it; with one digit (words, grades) the zero before it stays."""
    text = score(value, digits)
    return re.sub(r"^(\D?)\.", r"\g<1>0.", text) if digits == 1 else text


def estimate_in_words(row: Row | None, digits: int = 2, *, share: bool = False) -> EstimateInWords:
    """An ESTIMATE of the method in words; ``share`` writes it as a percentage."""
    if row is None or row.get("value") is None:
        return EstimateInWords("none")
    low, high, why = _bounds(row, "low", "high", row.get("topics"))
    value = percent(row["value"], digits) if share else figure(row["value"], digits)
    if low is None or high is None:
        return EstimateInWords(value, "", why)
    if share:
        return EstimateInWords(value, percent_interval(low, high, digits))
    return EstimateInWords(value, interval(low, high, digits))


def mean_of(row: Row | None, topics: int | None, digits: int = 1) -> EstimateInWords:
    """The mean of a DISTRIBUTION of the method over so many topics."""
    if not row or row.get("mean") is None:
        return EstimateInWords("none")
    low, high, why = _bounds(row, "mean_low", "mean_high", topics)
    value = figure(row["mean"], digits)
    return EstimateInWords(value, interval(low, high, digits) if low is not None else "", why)


def _bounds(
    row: Row, low: str, high: str, topics: int | None
) -> tuple[float | None, float | None, str]:
    """The ends of an interval, or why there is none; of older runs too."""
    if few := too_few_topics(topics):
        return None, None, few
    if row.get(low) is None or row.get(high) is None:
        return None, None, row.get("reason") or gettext("no interval")
    return row[low], row[high], ""


def too_few_topics(topics: int | None) -> str:
    """Why no figure has an interval, where the topics are too few for any; else empty."""
    return "" if topics is None else translate_stored(too_few_units(topics, "topics", RESAMPLED))


def group_label(group: str) -> str:
    """People or models, in the language of the page."""
    return gettext(GROUPS[group])


def legend(kinds: Iterable[str]) -> list[tuple[SafeString, str]]:
    """Return the legend of a chart: signs with their meaning."""
    names = {**GROUPS, charts_writing.SOURCES: gettext_noop("the passages cited")}
    return [(charts_writing.sign(kind), gettext(names[kind]).lower()) for kind in kinds]


def by_style(
    told: NamedFigures,
    name: str,
    title: str,
    heads: Sequence[str],
    cells: Callable[[Row], Sequence[Cell]],
    *,
    classes: str = "data two-line writing",
) -> ResultTable:
    """The groups of each style in a figure; ``cells`` of a row are those under the ``heads``."""
    groups = [
        Group(style, [MatrixRow(bold(group_label(group)), cells(row)) for group, row in rows])
        for style, rows in told.cells(name)
    ]
    corner = gettext("Origin")
    return matrix_table(title, corner, heads, groups, format=Format.NUMBER, classes=classes)


def cells_of(told: NamedFigures, n: int, *found: tuple[EstimateInWords | str, str]) -> list[Cell]:
    """Make cells of a count and of estimates, with labels for narrow screens."""
    made = [Cell(count(n), "num l1r")]
    for one, label in found:
        html = one.html(told.too_few_topics) if isinstance(one, EstimateInWords) else one
        made.append(Cell(html, "num", label))
    return made


def bins(
    title: str,
    first: str,
    edges: Sequence[float],
    columns: Sequence[tuple[str, Sequence[Any]]],
    digits: int = 0,
) -> ResultTable:
    """The table behind panels: a row a bin, a column a curve."""
    rows = []
    for k, (low, high) in enumerate(pairwise(edges)):
        ends = {"low": f"{low:.{digits}f}", "high": f"{high:.{digits}f}"}
        cells = [Cell(values[k], "num") for _, values in columns]
        rows.append(MatrixRow(gettext("%(low)s to %(high)s") % ends, cells))
    heads = [name for name, _ in columns]
    look: dict[str, Any] = {"name_classes": "n nowrap", "classes": "data bins"}
    return matrix_table(title, first, heads, rows, format=Format.NUMBER, **look)


def sentence(run: Run) -> str:
    """Say what data the figures are based on."""
    counts = run.snapshot.counts if run.snapshot else {}
    people, models = counts.get("answers", 0), counts.get("system_answers", 0)
    if people and models:
        said = gettext(
            "%(responses)s of %(workers)s and %(model_responses)s of %(models)s on %(topics)s."
        )
    elif models:
        said = gettext("%(model_responses)s of %(models)s on %(topics)s.")
    else:
        said = gettext("%(responses)s of %(workers)s on %(topics)s.")
    return said % {
        "responses": plural(people, "response"),
        "workers": plural(counts.get("workers", 0), "worker"),
        "model_responses": plural(models, "response"),
        "models": plural(counts.get("systems", 0), "model"),
        "topics": plural(counts.get("questions", 0), "topic"),
    }


def length_findings(told: NamedFigures) -> list[Finding | None]:
    """Whether people and models differ in length, by intervals over topics; or what is missing."""
    verdict = length_verdict(told.rows("general"), told.too_few_topics)
    found = [verdict, short_finding(told.frame)]
    if not told.too_few_topics:
        return found
    url = reverse("task_build", args=[told.run.project_id, told.run.task_id])
    action = Action(_("Add topics"), url, requester=True)
    return [*found, MESSAGES.find("add_topics", action=action)]


def short_finding(frame: Row) -> Finding | None:
    """Say how many responses were too short to be described; None if there were none."""
    words = frame.get("min_words")
    if not words:
        return None
    n = {row["group"]: row["responses"] for row in frame.get("left_out", [])}
    if not sum(n.values()):
        return MESSAGES.find("none_left_out", words=count(words))
    return MESSAGES.find(
        "short_left_out",
        responses=plural(sum(n.values()), "response"),
        words=count(words),
        people=count(n.get(PEOPLE, 0)),
        models=count(n.get(MODELS, 0)),
    )


def length_verdict(general: Sequence[Row], few: str) -> Finding | None:
    """The verdict alone; None where people or models have no interval.

    ``general`` are the rows of the figure, ``few`` says why the topics are too few for any.
    """
    if few:
        return MESSAGES.find("few_topics")
    whole = {row["group"]: row["words"] for row in general if row["style"] == ALL}
    words = [whole[group] for group in (PEOPLE, MODELS) if group in whole]
    if len(words) < 2 or any(one.get("mean_low") is None for one in words):
        return None
    people, models = words
    if people["mean_high"] < models["mean_low"]:
        return MESSAGES.find("people_write_shorter")
    if people["mean_low"] > models["mean_high"]:
        return MESSAGES.find("people_write_longer")
    return MESSAGES.find("length_not_shown")


def first_sentence(first: FirstRun) -> str:
    """Say how many responses are missing until the first run."""
    if first.ready:
        return gettext("The first run starts automatically when no response came for half a minute")
    said = ngettext(
        "%(missing)s more response and the first run starts automatically",
        "%(missing)s more responses and the first run starts automatically",
        first.missing,
    )
    return said % {"missing": word(first.missing).capitalize()}
