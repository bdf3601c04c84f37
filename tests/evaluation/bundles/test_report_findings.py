"""A report of pairs says what the result page says: scores, sides, limits and what was left out."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from evaluation.bundles.makers import report_of
from evaluation.bundles.page import page_of
from evaluation.models import Run, WorkerScore
from evaluation.pairwise.selectors import shared
from evaluation.pairwise.selectors.workers import rows_of
from tests.evaluation.score_table.test_pages import drop, run_quickly, score
from tests.support import factories
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
SYSTEMS = ("aurora", "basalt", "cedar", "dune")


def table(*, turned: bool = True) -> str:
    """25 prompts and 4 judges, two of whom guess, one of these always left; a row without winner.

    ``turned``: every two systems occur on both sides.
    """
    rng = np.random.default_rng(7)
    lines = ["judge,prompt_id,system_a,system_b,winner"]
    for k in range(25):
        a, b = sorted(rng.choice(4, 2, replace=False))
        if turned and k % 2:
            a, b = b, a
        for judge in ("ash", "birch", "lefty", "coin"):
            better = "a" if (a < b) == (rng.random() < 0.85) else "b"
            said = {"lefty": "a", "coin": "ab"[rng.integers(2)]}.get(judge, better)
            lines.append(f"{judge},p{k},{SYSTEMS[a]},{SYSTEMS[b]},model_{said}")
    return "\n".join([*lines, "ash,p99,aurora,basalt,perhaps"]) + "\n"


def scored(text: str) -> tuple[Client, Run]:
    client = Client()
    client.force_login(factories.make_user())
    score(client, drop(client, text, "pairs.csv"))
    run = Run.objects.get(method="pairwise")
    run_quickly(run)
    run.refresh_from_db()
    return client, run


def codes(run: Run) -> set[str]:
    return {one.code for one in shared.parts(run, None)["screen"].findings}


def test_a_report_withholds_the_scores_that_the_page_withholds_for_the_same_reason() -> None:
    _, run = scored(table())
    wide = WorkerScore.objects.filter(run=run).values_list("worker", flat=True).first()
    WorkerScore.objects.filter(run=run, worker=wide).update(estimate=0.95, low=0.004, high=0.997)
    row = next(row for row in rows_of(run, {}, "preference") if row.id == wide)
    assert row.n == 25 and row.estimate is None
    assert row.why == "the interval covers nearly the whole scale"
    html = report_of(run)[0]
    assert "0.004" not in html and ">.004<" not in html and ">.997<" not in html
    line = re.search(rf"<th scope=\"row\">{re.escape(row.name)}</th>.*?</tr>", html, re.S)
    assert line and row.why in line[0]


@pytest.mark.parametrize("turned", [True, False])
def test_the_effect_of_sides_is_estimated_where_systems_were_seen_on_both(turned: bool) -> None:
    _, run = scored(table(turned=turned))
    sides = [row for row in run.figures.get(name="shared").data if row["name"] == "side"]
    assert bool(sides) == turned
    expected, other = ("side_estimated", "side_kept") if turned else ("side_kept", "side_estimated")
    assert expected in codes(run) and other not in codes(run)
    assert "and the effect of sides" not in report_of(run)[0]


def test_a_report_carries_the_findings_of_the_page() -> None:
    client, run = scored(table())
    html = unescape(" ".join(report_of(run)[0].split()))
    screen = page_of(run).screen
    assert screen.verdict and screen.verdict.text in html
    warned = [one for one in screen.findings if one.code in {"pair_note", "pair_dimension_note"}]
    assert any("these workers only" in one.text for one in warned)
    assert all(one.text in html for one in screen.findings)
    page = unescape(
        html_of(client.get(reverse("pair_results", args=[run.project_id, run.task_id])))
    )
    assert all(one.text in page for one in warned)
    assert "judges like these" not in html


def test_a_report_counts_the_rows_that_an_import_left_out_with_their_reason() -> None:
    _, run = scored(table())
    html = unescape(" ".join(report_of(run)[0].split()))
    assert "Nothing was left out" not in html
    assert "1 of 101 rows of the file" in html
