"""A result's table, and how a page writes it: heads that sort, groups of rows, cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from annotation.templatetags.crowdqc import moment
from crowdqc import numbers
from crowdqc.web.terms import Words
from evaluation.results.cells import Cell, Explain, beside, bold, chip, empty_cell, inline, link
from evaluation.results.columns import Column, Format, read

BOARD = "data board two-line"
PLAIN = "data two-line"


@dataclass(frozen=True)
class Head:
    """The head of a column; ``query`` sorts by it, ``aria`` says how it is sorted now."""

    column: Column
    query: str = ""
    aria: str = ""
    content: SafeString | str = ""  # instead of the label
    file_names: str = ""  # of its figures in the file that is made of a page, "|" between


@dataclass(frozen=True)
class Line:
    """The cells of a row, and its class."""

    cells: Sequence[Cell]
    classes: str = ""

    def markup(self, explain: Explain) -> SafeString:
        """Render the line's cells as HTML."""
        return format_html_join("", "{}", ((cell.markup(explain),) for cell in self.cells))


@dataclass(frozen=True)
class Group:
    """Rows that belong together, under a heading where there is one.

    ``id``: of its element; ``detail``: the template of what stands below its rows, as wide as the
    table, of which the first is its ``row``.
    """

    heading: Words | SafeString
    rows: Sequence[Any]
    classes: str = "group"
    id: str = ""
    detail: str = ""
    detail_class: str = ""


def no_class(row: Any) -> str:
    """The class of rows that all look the same."""
    return ""


@dataclass(frozen=True)
class ResultTable:
    """A table of typed rows, as a page and a public page show it.

    Parameters
    ----------
    title, shows_title
        What it says: the caption, which only those see who hear the page, unless it is shown.
    columns
        What it shows of a row, in order.
    groups
        Its rows, in the order shown. A row with ``sure`` false gives its ``why`` in place of the
        columns that need an interval.
    total
        Rows below all others, which they sum up.
    heading, note
        Above it, where a page has several.
    axis, foot, is_long
        Of the column with plots: the scale above, and below where the table is long.
    empty
        What stands there without rows.
    sorts
        By a column's ``sort``: the address that its head leads to, and how it is sorted now.
    classes, row_class
        Of the table and of each row.
    """

    title: Words
    columns: Sequence[Column]
    groups: Sequence[Group]
    total: Sequence[Any] = ()
    heading: Words = ""
    note: Words = ""
    axis: SafeString | str = ""
    foot: SafeString | str = ""
    is_long: bool = False
    empty: Words = ""
    shows_title: bool = False
    sorts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    classes: str = BOARD
    row_class: Callable[[Any], str] = no_class

    @cached_property
    def shown(self) -> list[Column]:
        """Columns shown on pages; the others are for files only."""
        return [one for one in self.columns if one.format is not Format.FILE]

    @property
    def width(self) -> int:
        return len(self.shown)

    def heads(self) -> list[Head]:
        """Heads of the shown columns."""
        return [
            Head(
                one,
                **self.sorts.get(one.sort, {}),
                content=self._axis_head(one),
                file_names="|".join(names),
            )
            for one, names in zip(self.shown, self._file_names(), strict=True)
        ]

    def _file_names(self) -> Iterator[list[str]]:
        """Yield each column's names in files; of several intervals each after its estimate."""
        every = Counter(name for one in self.shown for name in one.file_names)
        estimate = ""
        for column in self.shown:
            names = column.file_names
            if names and column.format is not Format.INTERVAL:
                estimate = str(column.label)
            yield [f"{estimate} {name}".strip() if every[name] > 1 else name for name in names]

    def head_groups(self) -> list[tuple[Words, int]]:
        """The heads above the heads, and how many columns each spans; none without any."""
        spans = [
            (label, len(list(columns)))
            for label, columns in groupby(self.shown, key=lambda one: one.group)
        ]
        return spans if any(label for label, _ in spans) else []

    def body(self) -> Iterator[tuple[Group, list[Line]]]:
        """Yield each group with its lines."""
        for group in self.groups:
            lines = self._lines(group.rows)
            if self.empty and not lines:
                lines = [Line([Cell(str(self.empty), "dim", span=self.width)])]
            yield group, lines

    def total_lines(self) -> list[Line]:
        """Lines of the totals below all groups."""
        return self._lines(self.total)

    def footer(self) -> Line:
        """The scale of the plots below them."""
        at = [one.format for one in self.shown].index(Format.PLOT)
        rest = Cell("", span=self.width - at - 1)
        return Line([*[Cell("")] * at, Cell(self.foot, "plot"), rest])

    def public(self) -> ResultTable:
        """Return the table without columns for members, and without ways into the project."""
        return replace(
            self,
            columns=[one for one in self.columns if one.is_public],
            groups=[
                replace(group, rows=_without_addresses(group.rows), detail="")
                for group in self.groups
            ],
            total=_without_addresses(self.total),
            sorts={},
        )

    def _axis_head(self, column: Column) -> SafeString | str:
        if column.format is not Format.PLOT:
            return ""
        axis = column.axis or self.axis
        return format_html('<span class="hidden">{}</span>{}', column.label, axis)

    def _lines(self, rows: Sequence[Any]) -> list[Line]:
        return [Line(list(self._cells(row)), self.row_class(row)) for row in rows]

    def _cells(self, row: Any) -> Iterator[Cell]:
        is_sure = getattr(row, "sure", True)
        unsure = 0 if is_sure else sum(one.needs_interval for one in self.shown)
        for column in self.shown:
            if not is_sure and column.needs_interval:
                if unsure:  # one reason for all columns that need an interval
                    yield Cell(row.why, "why dim", span=unsure)
                    unsure = 0
                continue
            yield _cell(column, row)


def _without_addresses(rows: Sequence[Any]) -> list[Any]:
    """The rows with an empty ``url`` where they have one."""
    return [
        replace(row, url="") if "url" in getattr(row, "__dataclass_fields__", ()) else row
        for row in rows
    ]


def plain_table(
    title: Words, columns: Sequence[Column], rows: Sequence[Any], **more: Any
) -> ResultTable:
    """A table of rows in no groups; ``more`` as of a ResultTable."""
    more.setdefault("classes", PLAIN)
    return ResultTable(title, columns, [Group("", rows, classes="")], **more)


CLASSES = {
    Format.TEXT: "",
    Format.NAME: "l1 nowrap",
    Format.RANK: "n dim rank",
    Format.PLOT: "plot",
    Format.INTERVAL: "num dim",
    Format.SIGNED: "num nowrap",
    Format.SHARE: "num nowrap",
    Format.FLAGS: "num nowrap",
    Format.DURATION: "num nowrap",
    Format.MOMENT: "dim nowrap",
    Format.LINK: "act",
}


def _cell(column: Column, row: Any) -> Cell:
    if column.cell is not None:
        return column.cell(row)
    html, classes = _content(column, row)
    known = CLASSES.get(column.format, "num")
    if column.names_row and (column.format is not Format.NAME or column.note):
        known = "l1"
    main = "l1r" if column.is_main else ""
    every = " ".join(part for part in (known, main, column.classes, classes) if part)
    return Cell(
        html,
        every,
        column.narrow_label,
        is_head=column.names_row,
        term=getattr(row, "term", "") if column.names_row else "",
        note=getattr(row, column.note) if column.note else "",
        figures=column.figures(row),
    )


def _content(column: Column, row: Any) -> tuple[SafeString | str, str]:
    """Return what stands in the cell, and the CSS class that follows from it."""
    if column.html is not None:
        return column.html(row), ""
    if column.format is Format.INTERVAL:
        return _interval(column, row)
    if column.format is Format.NAME:
        return _name(row, with_detail=not column.note), ""
    value = column.read(row)
    if column.format is Format.FLAGS:
        return _flags(value), "" if value else "l0"
    if value is None and column.missing:
        return str(column.missing), "zero"
    return _emphasised(column, row, value), "zero" if column.fades_zero and not value else ""


def _interval(column: Column, row: Any) -> tuple[str, str]:
    low, high = (read(row, name) for name in column.bounds or ("low", "high"))
    if low is None:
        return str((column.reason and getattr(row, column.reason)) or column.missing), ""
    return numbers.interval(low, high, column.decimals), "nowrap"


def _emphasised(column: Column, row: Any, value: Any) -> SafeString | str:
    """The value with its own interval, bold as the main one, marked where it stands out."""
    if column.is_main and value is None:
        return empty_cell()
    html: SafeString | str = _written(column, value)
    if column.bounds is not None:
        html = _with_interval(html, *(read(row, name) for name in column.bounds))
    if column.is_main:
        return bold(html)
    if column.is_marked is not None:
        mark = "paste" if column.is_marked(value) else "dim"
        return format_html('<span class="{}">{}</span>', mark, html)
    return html


WRITERS: Mapping[Format, Callable[[Any, int], SafeString | str]] = {
    Format.PLOT: lambda value, _: "" if value is None else value,
    Format.SCORE: numbers.score,
    Format.SIGNED: numbers.format_signed,
    Format.SHARE: numbers.percent,
    Format.COUNT: lambda value, _: numbers.count(value),
    Format.DURATION: lambda value, _: numbers.duration(value),
    Format.MOMENT: lambda value, _: moment(value),
}


def _written(column: Column, value: Any) -> SafeString | str:
    write = WRITERS.get(column.format)
    return str(value) if write is None else write(value, column.decimals)


def _with_interval(text: str, low: float | None, high: float | None) -> SafeString | str:
    """The value with its interval in small type."""
    if low is None:
        return text
    return inline(text, numbers.interval(low, high, 1))


def _name(row: Any, *, with_detail: bool) -> SafeString:
    name = link(getattr(row, "url", ""), row.name)
    detail = getattr(row, "detail", "") if with_detail else ""
    return beside(name, getattr(row, "beside", "") or detail)


def _flags(flags: Sequence[Mapping[str, Any]]) -> SafeString:
    if not flags:
        return empty_cell()
    return format_html_join(" ", "{}", ((chip(one["text"], "warn"),) for one in flags))
