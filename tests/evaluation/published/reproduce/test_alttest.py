"""The printed pairs of the alternative annotator test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crowdqc.errors import Invalid
from evaluation.published.reproduce import alttest
from evaluation.published.reproduce.data import data_folder


def test_all_42_printed_pairs_come_out_to_their_digits() -> None:
    try:
        folder = data_folder()
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")
    rows = alttest.reproduce(folder, say=lambda line: None)
    assert len(rows) == 84
    missed = [row for row in rows if abs(row.difference or 0) > 0.005 + 1e-9]
    assert not missed, missed


def test_a_set_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"There is no wax/human_annotations\.json"):
        alttest.reproduce(tmp_path, say=lambda line: None)
    (tmp_path / "alttest" / "wax").mkdir(parents=True)
    (tmp_path / "alttest" / "wax" / "human_annotations.json").write_text(json.dumps(["a"]))
    with pytest.raises(Invalid, match="must name labels by annotator and item"):
        alttest.reproduce(tmp_path, say=lambda line: None)
