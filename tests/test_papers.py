"""The page of the papers: its commands, tables and pages are there, and its counts are theirs."""

from __future__ import annotations

import re

import pytest

from evaluation.published.reproduce import REPRODUCTIONS
from tests.studies.papers import PAPERS, counts_part, measured, paper_part, summary
from tests.support.manual import ROOT

METHODS = ROOT / "docs" / "methods"
ENTRIES = [entry for entries in PAPERS.values() for entry in entries]


def test_the_page_names_every_command_that_measures_a_paper() -> None:
    for paper, entries in PAPERS.items():
        named = {entry.command for entry in entries if entry.command}
        assert named <= set(REPRODUCTIONS)
        assert named >= {name for name, one in REPRODUCTIONS.items() if one.paper == paper}
    assert {one.paper for one in REPRODUCTIONS.values()} - {""} == set(PAPERS)
    text = (METHODS / "papers.md").read_text()
    assert [paper for paper in PAPERS if f"<!-- generated: papers of {paper} -->" not in text] == []


def test_every_table_named_is_measured_and_every_page_is_there() -> None:
    found = measured()
    for entry in ENTRIES:
        assert (METHODS / entry.page).resolve().is_file(), entry.page
        if entry.command:
            assert set(entry.tables) <= set(found[entry.command]["tables"]), entry
            assert entry.tables
        else:
            assert entry.missing or not entry.tables, entry


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_table_has_a_row_an_entry_and_the_figures_that_were_measured(paper: str) -> None:
    lines = paper_part(paper).strip().splitlines()
    assert len(lines) == 2 + len(PAPERS[paper])
    assert len({line.count(" | ") for line in lines[2:]} | {lines[0].count(" | ")}) == 1
    row = re.search(rf"^\| {re.escape(paper)} \| (\d+) \| (\d+) \|", counts_part(), re.MULTILINE)
    assert row and int(row[1]) >= int(row[2]) > 0


def test_a_summary_counts_rows_and_keeps_headlines() -> None:
    row = {"table": "Table 1", "protocol": "p", "published": 1, "measured": 1.0}
    rows = [
        {**row, "quantity": "pairwise judgments of people", "is_within_rounding": True,
         "is_counted": True},
        {**row, "quantity": "other", "is_within_rounding": False, "is_counted": True},
        {**row, "quantity": "other", "is_within_rounding": False, "is_counted": False},
    ]  # fmt: skip
    headed = [entry for entry in ENTRIES if entry.command == "crowdrag" and entry.headline]
    more = [
        {**rows[0], "table": entry.tables[0], "quantity": entry.headline} for entry in headed[1:]
    ]
    found = summary("crowdrag", [*rows, *more])
    assert found["tables"]["Table 1"] == {"rows": 3, "printed": 2, "within_rounding": 1}
    assert len(found["headlines"]) == len(headed)


def test_every_item_of_the_papers_has_a_place_and_few_are_missing() -> None:
    text = (ROOT / "docs" / "reproduce" / "items.md").read_text()
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    items = [row for row in rows if row[0] != "| in the paper"]
    assert {len(row) for row in items} == {3} and all(all(row) for row in items)
    left = [row for row in items if "**In part:**" in row[2] or "**Missing:**" in row[2]]
    assert f"Of {len(items)} items {len(items) - len(left)} are there." in text
    assert len(left) <= 5
    assert {f"## {paper}" for paper in PAPERS} <= set(text.splitlines())
