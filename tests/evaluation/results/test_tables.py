"""A result's table from typed rows: cells, reasons in place of intervals, public columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from django.template.loader import render_to_string

from evaluation.charts.boards import Scale
from evaluation.results.cells import Cell
from evaluation.results.columns import (
    Column,
    Format,
    head_column,
    interval_column,
    score_column,
)
from evaluation.results.estimates import EstimateRow, drawn, estimate_columns
from evaluation.results.tables import Group, ResultTable, plain_table


@dataclass(frozen=True)
class Row:
    name: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    share: float | None = 0.126
    sure: bool = True
    why: str = ""


SURE = Row("Ada & Co", 0.5, 0.25, 0.75, 1200)
COLUMNS = (
    head_column("name", "Worker"),
    score_column("Mean", digits=2),
    interval_column(2),
    Column("n", "Votes", Format.COUNT, short="Votes"),
    Column("share", "Spam", Format.SHARE, missing="not asked", is_public=False),
)


def cells(table: ResultTable) -> list[list[str]]:
    """The text of each cell, by row."""
    page = render_to_string("_includes/results/table.html", {"table": table})
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", page.partition("</thead>")[2], re.DOTALL)
    return [
        [re.sub(r"<[^>]+>", "", one).strip() for one in re.findall(r"<t[dh].*?</t[dh]>", row)]
        for row in rows
    ]


def test_a_row_is_written_by_the_formats_of_its_columns_and_escaped() -> None:
    table = plain_table("Workers", COLUMNS, [SURE])
    assert cells(table) == [["Ada &amp; Co", ".50", ".25–.75", "1,200", "13%"]]


def test_a_row_without_an_interval_gives_one_reason_for_all_that_needs_one() -> None:
    unsure = replace(SURE, low=None, high=None, sure=False, why="only 2 workers")
    page = render_to_string(
        "_includes/results/table.html", {"table": plain_table("Workers", COLUMNS, [unsure])}
    )
    assert '<td class="why dim" colspan="2">only 2 workers</td>' in page
    assert cells(plain_table("Workers", COLUMNS, [unsure])) == [
        ["Ada &amp; Co", "only 2 workers", "1,200", "13%"]
    ]


def test_what_is_missing_is_named_and_never_zero() -> None:
    columns = (
        *COLUMNS[:2],
        interval_column(2, needs_interval=False, reason="why"),
        *COLUMNS[3:],
    )
    rows = [
        replace(SURE, low=None, high=None, why="too few", share=None),
        replace(SURE, low=None, high=None),
    ]
    [first, second] = cells(plain_table("Workers", columns, rows))
    assert first[2:] == ["too few", "1,200", "not asked"]
    assert second[2] == "none"


def test_people_without_an_account_see_public_columns_in_the_same_groups() -> None:
    table = ResultTable("Workers", COLUMNS, [Group("First", [SURE]), Group("Second", [SURE])])
    public = table.public()
    assert [column.key for column in public.columns] == ["name", "estimate", "interval", "n"]
    assert [row[0] for row in cells(public)] == ["First", "Ada &amp; Co", "Second", "Ada &amp; Co"]


def test_names_of_rows_are_heads_and_rows_have_the_class_of_what_they_are() -> None:
    table = plain_table("Workers", COLUMNS, [SURE], row_class=lambda row: "mean")
    page = render_to_string("_includes/results/table.html", {"table": table})
    assert re.search(r'<tr class="mean"><th class="l1" scope="row">Ada &amp; Co</th>', page)


def test_heads_share_a_head_above_them_and_totals_stand_below_all_rows() -> None:
    columns = (
        COLUMNS[0],
        replace(COLUMNS[3], group="Given"),
        replace(COLUMNS[4], group="Given"),
        Column("n", "", Format.HEAT, cell=lambda row: Cell("h", "heat h1", title="of 9")),
    )
    table = plain_table("Workers", columns, [SURE], total=[replace(SURE, name="All")])
    page = render_to_string("_includes/results/table.html", {"table": table})
    assert table.head_groups() == [("", 1), ("Given", 2), ("", 1)]
    assert '<th scope="colgroup" colspan="2" class="c group">Given</th>' in page
    assert re.search(r'<tfoot><tr><th class="l1" scope="row">All</th>', page)
    assert '<td class="heat h1" title="of 9">h</td>' in page


def test_numbers_repeat_their_head_on_narrow_screens_unless_they_are_the_main_one() -> None:
    table = plain_table("Workers", (*COLUMNS[:2], Column("n", "Votes", Format.COUNT)), [SURE])
    page = render_to_string("_includes/results/table.html", {"table": table})
    assert re.findall(r'data-label="(\w+)"', page) == ["Votes"]


def test_a_name_explains_its_term_and_has_a_note_below() -> None:
    name = head_column("name", "Coefficient", format=Format.NAME, note="detail")
    columns = estimate_columns(name, "Value")
    rows = drawn([EstimateRow("Alpha", 0.5, detail="by chance", term="alpha")], Scale.around([0]))
    page = render_to_string(
        "_includes/results/table.html", {"table": plain_table("Agreement", columns, rows)}
    )
    assert re.search(r"<b>Alpha</b> <button.*?</span><small>by chance</small></th>", page)
    assert "Alpha: .500 without an interval" in page


def test_nothing_and_zero_are_paler_and_no_rows_leave_a_sentence() -> None:
    columns = (
        score_column("Mean"),
        Column("n", "Votes", Format.COUNT, fades_zero=True),
    )
    table = plain_table("Workers", columns, [replace(SURE, estimate=None, n=0)])
    page = render_to_string("_includes/results/table.html", {"table": table})
    assert '<td class="num l1r"><span class="dim">none</span></td>' in page
    assert '<td class="num zero" data-label="Votes" data-csv="0">0</td>' in page
    assert cells(plain_table("Workers", columns, [], empty="No vote yet.")) == [["No vote yet."]]


def test_cells_carry_their_figures_with_every_digit_for_the_file_of_a_page() -> None:
    columns = (
        *COLUMNS,
        Column("other", "Grade", Format.SCORE, bounds=("low", "high"), value=lambda row: 2 / 3),
        Column("seconds", "Time", Format.DURATION, value=lambda row: 61.25),
    )
    rows = [replace(SURE, estimate=1 / 3, low=-0.2412), replace(SURE, low=None, high=None)]
    table = plain_table("Workers", columns, rows)
    page = render_to_string("_includes/results/table.html", {"table": table})
    head, _, body = page.partition("</thead>")
    assert re.findall(r'data-csv="([^"]*)"', head) == [
        *("estimate", "Mean low|Mean high", "Votes", "Spam"),
        *("Grade|Grade low|Grade high", "Time (s)"),
    ]
    assert re.findall(r'data-csv="([^"]*)"', body) == [
        *(repr(1 / 3), "-0.2412|0.75", "1200", "0.126", f"{2 / 3!r}|-0.2412|0.75", "61.25"),
        *("0.5", "1200", "0.126", f"{2 / 3!r}||", "61.25"),
    ]
