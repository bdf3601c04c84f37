"""Grades of texts, mean grades by style and origin with tests (Table 7), and Table 8.

Grades come from the rows of a run. A topic's grades add up to a constant, so its texts are not
independent: topics are the units of every interval and of every test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.core.paginator import Paginator
from django.db.models import FloatField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from annotation.models import Candidate
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.numbers import interval, plural, score
from evaluation.charts import agreement as drawn
from evaluation.methods.agreement.significance import wilcoxon_bh
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.pairwise.tables import mean_interval
from evaluation.models import CandidateScore, Run
from evaluation.pairwise.selectors.hard import mean_of
from evaluation.pairwise.selectors.runs import ShownRun
from evaluation.pairwise.selectors.tables.advice import (
    ALL_STYLES,
    NO_STYLE,
    compared,
)
from evaluation.pairwise.selectors.tables.factors import (
    ORIGIN,
    STYLE,
    Factors,
    difference_cell,
    factors,
    grade_cell,
)
from evaluation.results.cells import Cell, note_below
from evaluation.results.columns import Column
from evaluation.results.matrices import MatrixRow, matrix_table
from evaluation.results.tables import Group, ResultTable
from evaluation.runs.selectors.lists import figures_of

TOPICS_A_PAGE = 5
LEVEL = 0.95
MOST_GROUPS = 12  # shown by name; more are not a table any more
EXTRA = ("grade", "grade_low", "grade_high", "of")  # of a row of scores, as numbers


@dataclass(frozen=True)
class Difference:
    """First group - second group on one dimension, tested by topic."""

    value: float | None
    p: float | None  # after Benjamini and Hochberg
    differs: bool
    n: int
    reason: str

    @property
    def cell(self) -> Cell:
        return difference_cell(self.value, self.p, self.reason, differs=self.differs)


@dataclass(frozen=True)
class _Held:
    """Grades (texts, d) with NaN where there is none, and what the texts are."""

    grade: FloatArray
    low: FloatArray
    high: FloatArray
    of: FloatArray
    texts: list[Candidate]
    names: list[str]  # of each text's group: its origin, else its source
    labels: list[str]  # of the dimensions


def grades(
    run: Run,
    asked: Sequence[AskedDimension],
    *,
    first: str = "",
    second: str = "",
    page: str | None = None,
) -> dict[str, Any] | None:
    """Everything on the page but the similarity; None where the run graded nothing."""
    held = _stored_grades(run, asked)
    if held is None:
        return None
    topics = sorted({text.topic for text in held.texts})
    number, kept, left_out = _graded_topics(held, topics)
    cells = _by_topic(held, number, kept, len(topics))
    groups = sorted(set(held.names))
    first, second = _chosen(groups, first, second)
    styles = sorted({text.style for text in held.texts})
    most = float(np.nanmax(held.of))
    blocks = [_block(style, cells, groups, (first, second), most) for style in styles]
    if len(styles) > 1:
        blocks.append(_block(ALL_STYLES, _pooled(cells), groups, (first, second), most))
    alone = _factors(held, number, kept, asked)
    paged = Paginator(topics, TOPICS_A_PAGE).get_page(page)
    # The page.
    return {
        "blocks": blocks,
        "means": _mean_table(blocks, held.labels, (first, second)),
        "factors": alone,
        "dimensions": len(held.labels),
        "is_tested": bool(blocks[0]["differences"]),
        "groups": groups,
        "first": first,
        "second": second,
        "topics": len(topics),
        "left_out": left_out,
        "topic_page": paged,
        "topic_rows": [_topic(held, key) for key in paged.object_list],
        "sentence": _("%(texts)s on %(topics)s.")
        % {"texts": plural(len(held.texts), "text"), "topics": plural(len(topics), "topic")},
        "findings": [
            *compared(run, blocks, held.labels, (first, second)),
            *(alone.findings() if alone else ()),
        ],
    }


def factors_of(run: Run, asked: Sequence[AskedDimension]) -> Factors | None:
    """Return the comparison by single factors for a file; None if there is none."""
    held = _stored_grades(run, asked)
    if held is None:
        return None
    number, kept, _left_out = _graded_topics(held, sorted({text.topic for text in held.texts}))
    return _factors(held, number, kept, asked)


def _factors(
    held: _Held, number: IntArray, kept: FloatArray, asked: Sequence[AskedDimension]
) -> Factors | None:
    values = {STYLE: [text.style for text in held.texts], ORIGIN: held.names}
    labels = {one.name: one.label for one in asked}
    return factors(kept, number, values, labels, most=float(np.nanmax(held.of)))


def _stored_grades(run: Run, asked: Sequence[AskedDimension]) -> _Held | None:
    numbers = {f"_{name}": Cast(KeyTextTransform(name, "extra"), FloatField()) for name in EXTRA}
    names = [one.name for one in asked]
    rows = list(
        CandidateScore.objects.filter(run=run, dimension__in=names, extra__grade__isnull=False)
        .annotate(**numbers)
        .values_list("candidate_id", "dimension", *numbers)
    )
    if not rows:
        return None
    texts = list(
        Candidate.objects.filter(pk__in={row[0] for row in rows})
        .select_related("system")
        .defer("text")
        .order_by("topic", "pk")
    )
    at = {text.pk: k for k, text in enumerate(texts)}
    place = {name: k for k, name in enumerate(names)}
    held = np.full((len(EXTRA), len(texts), len(names)), np.nan)
    where = [at[row[0]] for row in rows], [place[row[1]] for row in rows]
    held[:, where[0], where[1]] = np.array([row[2:] for row in rows], dtype=np.float64).T
    grade, low, high, of = held
    # A published grade comes alone: it is no range, and its texts are those of the topic.
    sizes = Counter(text.topic for text in texts)
    every = np.array([[sizes[text.topic]] for text in texts], dtype=np.float64)
    return _Held(
        grade=grade,
        low=np.where(np.isnan(low), grade, low),
        high=np.where(np.isnan(high), grade, high),
        of=np.where(np.isnan(of) & ~np.isnan(grade), every, of),
        texts=texts,
        names=[text.origin or text.system.name for text in texts],
        labels=[one.label for one in asked],
    )


Cells = dict[tuple[str, str], FloatArray]  # (style, group) -> mean grade (topics, d)


def _graded_topics(held: _Held, topics: Sequence[str]) -> tuple[IntArray, FloatArray, int]:
    """Each text's topic (texts,), and the grades (texts, d) of topics that are graded as a whole.

    Where the texts of a topic are not all linked by gold labels, their grades run over other
    ranges; such topics (by dimension) are counted and left out, as by the method.
    """
    number = np.array([topics.index(text.topic) for text in held.texts])
    wanted = np.bincount(number, minlength=len(topics))
    whole = held.of == wanted[number][:, None]
    kept = np.where(whole, held.grade, np.nan)
    seen, good = (
        np.array([(~np.isnan(values[number == k])).any(axis=0) for k in range(len(topics))])
        for values in (held.grade, kept)
    )
    return number, kept, int((seen & ~good).sum())


def _by_topic(held: _Held, number: IntArray, kept: FloatArray, topics: int) -> Cells:
    """Mean grades by style, group and topic."""
    styles = np.array([text.style for text in held.texts])
    names = np.array(held.names)
    found: Cells = {}
    for style in sorted(set(styles.tolist())):
        for name in sorted(set(held.names)):
            rows = (styles == style) & (names == name)
            if rows.any():
                found[style, name] = _means(kept[rows], number[rows], topics)
    return found


def _means(values: FloatArray, number: Any, size: int) -> FloatArray:
    """Means (size, d) of rows of one number, NaN where there is none."""
    known = ~np.isnan(values)
    total, n = np.zeros((2, size, values.shape[1]))
    np.add.at(total, number, np.where(known, values, 0.0))
    np.add.at(n, number, known)
    found: FloatArray = np.divide(total, n, out=np.full_like(total, np.nan), where=n > 0)
    return found


def _pooled(cells: Cells) -> Cells:
    """Return the mean over a group's styles of what each topic has."""
    found: dict[str, list[FloatArray]] = {}
    for (_style, name), values in cells.items():
        found.setdefault(name, []).append(values)
    return {
        (ALL_STYLES, name): _means(
            np.concatenate(parts), np.tile(np.arange(len(parts[0])), len(parts)), len(parts[0])
        )
        for name, parts in found.items()
    }


def _chosen(groups: Sequence[str], first: str, second: str) -> tuple[str, str]:
    """The two groups to compare: those asked for, else the first two by name."""
    if first not in groups:
        first = next((name for name in groups if name != second), "")
    if second not in groups or second == first:
        second = next((name for name in groups if name != first), "")
    return first, second


def _block(
    style: str, cells: Cells, groups: Sequence[str], chosen: tuple[str, str], most: float
) -> dict[str, Any]:
    own = {name: cells[style, name] for name in groups if (style, name) in cells}
    pair = [own.get(name) for name in chosen]
    differences = _tested(pair[0], pair[1]) if pair[0] is not None and pair[1] is not None else []
    # One style, or all of them: a line a group, and the difference of the two chosen.
    return {
        "style": _(ALL_STYLES) if style == ALL_STYLES else style or NO_STYLE,
        "groups": [_group(name, values, most) for name, values in list(own.items())[:MOST_GROUPS]],
        "differences": differences,
        "differing": sum(one.differs for one in differences),
    }


@dataclass(frozen=True)
class MeanGrade:
    """A mean grade over topics; ``most``: the highest grade."""

    value: float | None
    low: float | None
    high: float | None
    most: float

    @property
    def cell(self) -> Cell:
        return grade_cell(self.value, self.low, self.high, self.most)


@dataclass(frozen=True)
class GroupMeans:
    """Texts of one style and origin: mean grade by dimension, and over all."""

    name: str
    dimensions: Sequence[MeanGrade]
    mean: MeanGrade

    @property
    def row(self) -> MatrixRow:
        return MatrixRow(self.name, [one.cell for one in (*self.dimensions, self.mean)])


def _group(name: str, values: FloatArray, most: float) -> GroupMeans:
    known = ~np.isnan(values).any(axis=1)  # topics graded on every dimension
    every = values[known].mean(axis=1) if known.any() else np.zeros(0)
    dimensions = [_mean(values[:, k], most) for k in range(values.shape[1])]
    return GroupMeans(name, dimensions, _mean(every, most))


def _mean(values: FloatArray, most: float) -> MeanGrade:
    found = mean_interval(values, LEVEL)
    value, low, high = (
        None if np.isnan(found[key]) else float(found[key]) for key in ("mean", "low", "high")
    )
    return MeanGrade(value, low, high, most)


def _mean_table(
    blocks: Sequence[dict[str, Any]], labels: Sequence[str], pair: tuple[str, str]
) -> ResultTable:
    first, second = pair
    groups = []
    for block in blocks:
        heading, rows = capfirst(block["style"]), [one.row for one in block["groups"]]
        if differences := block["differences"]:
            heading = _("%(texts)s, %(first)s and %(second)s differ on %(n)s of %(all)s") % {
                "texts": heading,
                "first": first,
                "second": second,
                "n": block["differing"],
                "all": len(labels),
            }
            cells = [*(one.cell for one in differences), Cell("")]
            rows.append(MatrixRow(f"{first} − {second}", cells, "difference"))
        groups.append(Group(heading, rows))
    mean = format_html('<span class="read">{}</span>{}', _("Mean"), _("of all"))
    return matrix_table(
        _("Mean grade of each group of texts, by style and dimension"),
        _("Texts"),
        [*labels, mean],
        groups,
        classes="heat means",
    )


def _tested(one: FloatArray, two: FloatArray) -> list[Difference]:
    """Wilcoxon's signed rank test by topic on each dimension, corrected over the dimensions."""
    both = ~(np.isnan(one) | np.isnan(two))
    columns = {
        str(k): (one[both[:, k], k], two[both[:, k], k])
        for k in range(one.shape[1])
        if both[:, k].any()
    }
    rows = {row["name"]: row for row in wilcoxon_bh(columns, level=1 - LEVEL).rows()}
    none = {
        "difference": None,
        "adjusted": None,
        "differs": False,
        "n": 0,
        "reason": _("no topic has both"),
    }
    return [
        Difference(row["difference"], row["adjusted"], row["differs"], row["n"], row["reason"])
        for row in (rows.get(str(k), none) for k in range(one.shape[1]))
    ]


@dataclass(frozen=True)
class TopicGrades:
    """The grades of the texts of one topic, the best on the whole first."""

    key: str
    query: str
    table: ResultTable


def _topic(held: _Held, key: str) -> TopicGrades:
    rows = [k for k, text in enumerate(held.texts) if text.topic == key]
    known = np.nan_to_num(held.grade[rows])
    order = sorted(range(len(rows)), key=lambda at: (-known[at].sum(), held.texts[rows[at]].pk))
    lines = []
    for k in (rows[at] for at in order):
        name = ", ".join(filter(None, (held.names[k], held.texts[k].style)))
        lines.append(MatrixRow(name, [_grade(held, k, d) for d in range(len(held.labels))]))
    table = matrix_table(
        _("Grades on %(topic)s") % {"topic": key},
        _("Text"),
        held.labels,
        lines,
        classes="heat topic-grades",
    )
    return TopicGrades(key, held.texts[rows[0]].query if rows else "", table)


def _grade(held: _Held, k: int, d: int) -> Cell:
    """The grade of a text on a dimension: a range where merits are equal."""
    if np.isnan(held.grade[k, d]):
        return Cell(_("none"), "c zero")
    low, high = int(held.low[k, d]), int(held.high[k, d])
    heat = drawn.heat_between(float(held.grade[k, d]), 1.0, float(held.of[k, d]))
    text = str(low) if low == high else f"{low}–{high}"
    return Cell(text, f"heat {heat}", figures=(low, high), figure_names="low|high")


# Similarity to the best text -------------------------------------------------------------------


def overlap(runs: ShownRun, asked: Sequence[AskedDimension]) -> dict[str, Any] | None:
    """Whether similarity to the best text ranks the others as people do; None while unknown."""
    told = figures_of(runs.checks, "overlap").get("overlap") if runs.checks else None
    if not told:
        return None
    measures = dict.fromkeys((row["scorer"], row["protocol"]) for row in told)
    found: dict[tuple[str, str], Mapping[str, Any]] = {
        (row["scorer"], row["dimension"]): row for row in told
    }
    rows = []
    for one in asked:
        told_of = [found.get((scorer, one.name), {}) for scorer, _protocol in measures]
        rows.append(MatrixRow(one.label, [cell for row in told_of for cell in _rhos(row)]))
    means = []
    for scorer, _protocol in measures:
        own = [row for row in told if row["scorer"] == scorer]
        means += _rhos({key: mean_of([row[key] for row in own]) for key in ("ends", "full")})
    columns = [
        Column.number("", label, group=name)
        for name, _protocol in measures
        for label in (_("Best, worst"), _("All others"))
    ]
    table = matrix_table(
        _("Reference-based measures against the judgments’ ranking"),
        _("Dimension"),
        columns,
        rows,
        total=[MatrixRow(_("Mean"), means)],
        classes="data",
    )
    # Table 8.
    return {
        "table": table,
        "protocols": [protocol for _scorer, protocol in measures],
        # why there is no interval, or ""
        "reason": next(filter(None, (row.get("reason", "") for row in told)), ""),
    }


def _rhos(row: Mapping[str, Any]) -> list[Cell]:
    """Spearman's rho of the best against the worst text and of all others, with intervals."""
    cells = []
    for name in ("ends", "full"):
        low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
        span = "" if low is None else interval(low, high, 2)
        value = row.get(name)
        html = note_below(score(value, 2), span)
        cells.append(Cell(html, "num", figures=(value, low, high), figure_names="|low|high"))
    return cells
