"""Files that the browser makes of a page's tables: numbers with every digit, and short names."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.safestring import mark_safe
from playwright.sync_api import BrowserContext

from evaluation.results.columns import PLOT, RANK, Column, interval_column, name_column
from evaluation.results.columns import score_column as score
from evaluation.results.tables import Group, ResultTable

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SVG = mark_safe('<svg class="chart" viewBox="0 0 9 9"></svg>')


@dataclass(frozen=True)
class Row:
    name: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    best: int | None = 1
    worst: int | None = 2
    grade: float | None = 2.97126
    sure: bool = True
    why: str = ""
    plot: str = SVG

    @property
    def rank(self) -> str:
        return f"{self.best}–{self.worst}"


COLUMNS = (
    *(RANK, name_column("System"), PLOT, score("Score"), interval_column()),
    Column.score("grade", "Mean grade", bounds=("low", "high")),
    Column.count("n", "Votes", exports={"n": "n"}),
)
GROUPS = [
    Group("First", [Row("aurora", 0.5, -0.24123, 1.36123, 1200)]),
    Group("Others", [Row("boreas", None, None, None, 3, None, None, None, False, "too few")]),
]


def test_the_numbers_of_a_table_are_plain_and_its_file_has_a_short_name(
    context: BrowserContext, live_server: Any, tmp_path: Path
) -> None:
    page = context.new_page()
    page.goto(f"{live_server.url}/login/")
    table = ResultTable("Mean of every text, with 95% CIs", COLUMNS, GROUPS)
    html = render_to_string("_includes/results/table.html", {"table": table})
    page.evaluate("html => { document.body.innerHTML = `<main>${html}</main>`; }", html)
    page.evaluate("history.replaceState({}, '', '/projects/2/tasks/16/ratings/?run=3')")
    script = f"{live_server.url}{static('js/charts.js')}"
    page.add_script_tag(url=script, type="module")
    page.locator("summary", has_text="Download").click()
    with page.expect_download() as waited:
        page.get_by_role("button", name="CSV").click()
    assert waited.value.suggested_filename == "task-16-run-3-ratings.csv"
    waited.value.save_as(tmp_path / "file.csv")
    rows = csv.DictReader((tmp_path / "file.csv").read_text("utf-8-sig").splitlines())
    first, second = rows
    assert first == {
        **{"Group": "First", "rank_low": "1", "rank_high": "2", "System": "aurora"},
        **{"estimate": "0.5", "Score low": "-0.24123", "Score high": "1.36123"},
        **{"Mean grade": "2.97126", "Mean grade low": "-0.24123", "Mean grade high": "1.36123"},
        "n": "1200",
    }
    numbers = {name: value for name, value in second.items() if name not in ("Group", "System")}
    assert numbers == {**dict.fromkeys(numbers, ""), "n": "3"}
