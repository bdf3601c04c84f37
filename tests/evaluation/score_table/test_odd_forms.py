"""Separators, encodings, cells and layouts of other programs: one test for each class of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.score_table.test_odd_files import HEAD, NAMES, ROWS, VOTES, text
from tests.evaluation.score_table.test_odd_tables import read

LABELS = {"yes": 18, "no": 12}


def labels_of(found: Any) -> dict[str, int]:
    """Labels by how often they are given; all of 3 workers and 10 items are there."""
    good = list(found.checked.good)
    assert len({one["worker"] for one in good}) == 3
    assert len({one["item"] for one in good}) == 10
    assert not list(found.checked.problems)
    return dict(found.checked.about["labels"])


@pytest.mark.parametrize("has_header", [True, False])
@pytest.mark.parametrize("delimiter", ["::", "\x01", "~", " | ", " ; "])
def test_rare_separators_are_found_in_the_values(
    delimiter: str, has_header: bool, tmp_path: Path
) -> None:
    rows = [HEAD, *ROWS] if has_header else ROWS
    _, found = read(tmp_path, text(*(row.replace(",", delimiter) for row in rows)), "votes.dat")
    assert labels_of(found) == LABELS


def test_a_separator_of_two_signs_may_stand_in_quotation_marks(tmp_path: Path) -> None:
    rows = (f'{w}::{i}::"{x}::sure"' for w, i, x in VOTES)
    _, found = read(tmp_path, text(HEAD.replace(",", "::"), *rows))
    assert labels_of(found) == {"yes::sure": 18, "no::sure": 12}


@pytest.mark.parametrize("has_bars", [True, False])
def test_tables_of_databases_are_read_without_their_rules(has_bars: bool, tmp_path: Path) -> None:
    ends = ("| ", " |") if has_bars else (" ", "")
    rule = "+----+----+-----+" if has_bars else "----+----+-----"
    rows = [f"{ends[0]}{' | '.join(one)}{ends[1]}" for one in (NAMES, *VOTES)]
    lines = [rule] * has_bars + [rows[0], rule, *rows[1:]] + [rule] * has_bars
    _, found = read(tmp_path, text(*lines), "votes.txt")
    assert labels_of(found) == LABELS
