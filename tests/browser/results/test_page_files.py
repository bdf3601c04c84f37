"""Files that the browser makes of a page's tables: numbers with every digit, and short names."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.template import Context, Template
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


def downloaded(
    context: BrowserContext, root: str, html: str, folder: Path, name: str = ""
) -> list[dict[str, str]]:
    """The rows of the file that the browser makes of the table in ``html``."""
    page = context.new_page()
    page.goto(f"{root}/login/")
    page.evaluate("html => { document.body.innerHTML = `<main>${html}</main>`; }", html)
    page.evaluate("history.replaceState({}, '', '/projects/2/tasks/16/ratings/?run=3')")
    page.add_script_tag(url=f"{root}{static('js/charts.js')}", type="module")
    page.locator("summary", has_text="Download").click()
    with page.expect_download() as waited:
        page.get_by_role("button", name="CSV").click()
    assert not name or waited.value.suggested_filename == name
    waited.value.save_as(folder / "file.csv")
    return list(csv.DictReader((folder / "file.csv").read_text("utf-8-sig").splitlines()))


def test_the_numbers_of_a_table_are_plain_and_its_file_has_a_short_name(
    context: BrowserContext, live_server: Any, tmp_path: Path
) -> None:
    table = ResultTable("Mean of every text, with 95% CIs", COLUMNS, GROUPS)
    html = render_to_string("_includes/results/table.html", {"table": table})
    name = "task-16-run-3-ratings.csv"
    first, second = downloaded(context, live_server.url, html, tmp_path, name)
    assert first == {
        **{"Group": "First", "rank_low": "1", "rank_high": "2", "System": "aurora"},
        **{"estimate": "0.5", "Score low": "-0.24123", "Score high": "1.36123"},
        **{"Mean grade": "2.97126", "Mean grade low": "-0.24123", "Mean grade high": "1.36123"},
        "n": "1200",
    }
    numbers = {name: value for name, value in second.items() if name not in ("Group", "System")}
    assert numbers == {**dict.fromkeys(numbers, ""), "n": "3"}


WRITTEN = """{% load crowdqc %}<section class="card" id="questions">
<table><caption>Questions</caption>
<thead><tr><th>Question</th><th>People α</th><th>95%</th><th class="plot"></th></tr></thead>
<tbody>{% for name, value, low, high in rows %}<tr><th scope="row">{{ name }}</th>
<td>{{ value|score:2 }}<small>{% if low is not None %}{% interval low high 2 as span %}
{% blocktranslate trimmed %}{{ span }}, yes 40%{% endblocktranslate %}{% else %}yes 10%{% endif %}
</small></td><td>{% interval low high 2 %}</td><td class="plot">{{ svg }}</td></tr>
{% endfor %}</tbody></table></section>"""


def test_an_interval_that_a_template_writes_fills_columns_of_numbers(
    context: BrowserContext, live_server: Any, tmp_path: Path
) -> None:
    rows = [("Is it short?", 0.612, 0.41234, 0.81234), ("Is it true?", -0.1, None, None)]
    html = Template(WRITTEN).render(Context({"rows": rows, "svg": SVG}))
    first, second = downloaded(context, live_server.url, html, tmp_path)
    assert first == {
        **{"Question": "Is it short?", "People α": "0.61", "People α low": "0.41234"},
        **{"People α high": "0.81234", "People α note": "yes 40%"},
        **{"95% low": "0.41234", "95% high": "0.81234", "95%": ""},
    }
    assert second["People α"] == "-0.10"
    assert (second["People α low"], second["People α note"]) == ("", "yes 10%")
