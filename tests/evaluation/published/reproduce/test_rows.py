"""Which measured figures agree with printed ones, and how many of a command and a paper do."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from evaluation.published.reproduce import REPRODUCTIONS
from evaluation.published.reproduce.rows import Row, count, set_decimals


@pytest.mark.parametrize(
    ("printed", "measured", "decimals", "agrees"),
    [
        (0.41, 0.4149, 2, True),
        (0.41, 0.4151, 2, False),
        (0.4, 0.4149, 2, False),  # printed as .40
        (0.4, 0.4149, 1, True),
        (-0.03421, -0.034208, 5, True),
        (1352, 1352, 0, True),
        (112, 112.67, 0, False),
        (12500, 12549, -2, True),
        (0.5, float("nan"), 1, False),
    ],
)
def test_a_figure_agrees_where_it_rounds_to_the_printed_one(
    printed: float, measured: float, decimals: int, agrees: bool
) -> None:
    row = Row("Table 1", "alpha", "all", printed, measured, decimals=decimals)
    assert row.is_within_rounding is agrees
    assert Row("Table 1", "alpha", "all", None, measured).is_within_rounding is None


def test_a_table_prints_its_decimals_and_a_longer_figure_keeps_its_own() -> None:
    rows = [
        Row("Table 8", "tau-b", "all", 0.5, 0.504),
        Row("Table 8", "tau-b", "incomplete", -0.03421, -0.0343),
        Row("Table 8, corrected", "tau-b", "all", 0.5, 0.5),
        Row("Table 9", "pairs", "all", 28, 28),
        Row("Table 9", "cost", "all", 0.3, 0.3, decimals=2),
    ]
    assert [row.decimals for row in set_decimals(rows, {"Table 8": 4})] == [4, 5, 4, 0, 2]
    assert [row.decimals for row in set_decimals(rows, {"": 3})] == [3, 5, 3, 3, 2]


COMPARED = [
    Row("Table 4", "alpha", "as described", 0.41, 0.412),
    Row("Table 4", "alpha", "another reading", 0.41, 0.6, is_variant=True),
    Row("Table 4, corrected", "alpha", "mended", 0.41, 0.24),
    Row("Table 5", "alpha", "as described", 0.1, 0.2, "differs"),
    Row("order", "drift", "as described", None, 0.2),
]


def test_variants_and_corrections_are_shown_and_not_counted() -> None:
    assert count(COMPARED) == (2, 1)
    assert [row.is_counted for row in COMPARED] == [True, False, False, True, False]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("crowdrag", "alttest"):
        kept = replace(REPRODUCTIONS[name], run=lambda *args, **more: COMPARED)
        monkeypatch.setitem(REPRODUCTIONS, name, kept)


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("reproduce", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_the_command_counts_by_paper_command_and_table(measured: None, tmp_path: Path) -> None:
    found = json.loads(run("crowdrag", "alttest", "--data", str(tmp_path), "--counts"))
    half, all_of, none_of = (
        {"printed": printed, "within_rounding": within}
        for printed, within in ((2, 1), (1, 1), (1, 0))
    )
    assert found["papers"] == {"CrowdRAG": half, "others": half}
    assert found["commands"]["crowdrag"] == {
        **half,
        "tables": {"Table 4": all_of, "Table 5": none_of},
    }
    assert "1 of 2 printed figures within rounding." in run("crowdrag", "--data", str(tmp_path))
    assert len(json.loads(run("crowdrag", "alttest", "--data", str(tmp_path), "--json"))) == 10


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="invalid choice"):
        run("crowdrag", "crowdrug", "--data", str(tmp_path))
