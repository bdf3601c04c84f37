"""The tables of explanation-based rescaling against the published figures and the oracle files."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from crowdqc.errors import Invalid
from evaluation.published.reproduce import rescaling
from evaluation.published.reproduce.data import data_folder
from evaluation.published.reproduce.rows import Row, count, set_decimals

PART = "explanation-rescaling"


@pytest.fixture(scope="module")
def folder() -> Path:
    try:
        found = data_folder()
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")
    if not (found / PART).is_dir():
        pytest.skip(f"there is no {PART} in {found}")
    return found


def measure(folder: Path, repetitions: int = 20) -> list[Row]:
    return rescaling.reproduce(folder, say=lambda line: None, repetitions=repetitions)


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[Row]:
    return measure(folder)


def of(rows: list[Row], table: str, words: str = "") -> list[Row]:
    return [row for row in rows if row.table == table and words in row.protocol]


@pytest.mark.data
@pytest.mark.long
def test_aggregates_equal_the_published_ones_to_four_decimals(rows: list[Row]) -> None:
    for row in of(rows, "Table 8"):
        exact = "no ties" not in row.protocol
        assert row.measured == pytest.approx(row.published, abs=5e-5 if exact else 0.01)
    assert len(of(rows, "Table 8", "no ties")) == 2
    # What the paper does not say: on all data the change is within chance.
    (gain,) = (row for row in of(rows, "Table 8", "all;") if "with " in row.quantity)
    assert "not different from 0" in gain.note


@pytest.mark.data
@pytest.mark.long
def test_changes_of_the_28_pairs_equal_the_published_ones(rows: list[Row], folder: Path) -> None:
    for row in of(rows, "Table 7"):
        assert row.measured == pytest.approx(row.published, abs=5e-4)
    pairs = of(rows, "Table 11")
    assert len(pairs) == 56
    for row in pairs:
        assert row.measured == pytest.approx(row.published, abs=5.1e-5), row.quantity
    measured = {row.quantity: row.measured for row in pairs}
    with (folder / PART / "out_table11.csv").open() as handle:
        for line in csv.DictReader(handle):
            who = f"annotators {line['w1']} and {line['w2']}"
            assert measured[f"{who}, tau-b of raw ratings"] == pytest.approx(float(line["og"]))
            assert measured[f"{who}, change under rescaling"] == pytest.approx(float(line["dl"]))


@pytest.mark.data
@pytest.mark.long
def test_ensembles_lie_within_five_thousandths(rows: list[Row]) -> None:
    known = (0.3644, 0.3715, 0.3734, 0.3747, 0.3780, 0.3655)
    for row, value in zip(of(rows, "Table 10", "all;"), known, strict=True):
        assert row.measured == pytest.approx(value, abs=5e-5)
        assert abs(row.difference or 0) < 0.005
    for row in of(rows, "Table 10", "incomplete"):
        assert abs(row.difference or 0) < 0.01


@pytest.mark.data
@pytest.mark.long
def test_what_does_not_reproduce_says_so(rows: list[Row]) -> None:
    table = of(rows, "Table 6")
    for row, value in zip(table, (0.53, 24.4, 56.0, 88.4), strict=True):
        assert row.measured == pytest.approx(value, abs=0.05)
        assert "does not reproduce" in row.note
    for row in of(rows, "Table 3"):
        assert row.measured == pytest.approx(row.published, abs=0.75)


@pytest.mark.data
@pytest.mark.long
def test_labels_of_annotators_and_one_pair_equal_the_published_ones(rows: list[Row]) -> None:
    for row in (*of(rows, "Table 5", "both splits"), *of(rows, "Section 6.3")):
        assert row.is_within_rounding, row.quantity
    # Printed as of all ratings; it is of one system's answers.
    (tau,) = (row for row in of(rows, "Section 4.3", "text-davinci-003") if "four" in row.quantity)
    assert tau.is_within_rounding
    (kappa,) = (row for row in of(rows, "Section 4.3", "all items"))
    assert kappa.measured == pytest.approx(0.3236, abs=5e-5)


@pytest.mark.data
@pytest.mark.long
def test_every_printed_figure_that_differs_has_a_reason(rows: list[Row]) -> None:
    compared = set_decimals(rows, rescaling.DECIMALS)
    differ = [row for row in compared if row.is_counted and not row.is_within_rounding]
    assert [row.quantity for row in differ if not row.note] == []
    assert count(compared).within_rounding >= 115


@pytest.mark.data
@pytest.mark.long
def test_another_score_in_the_file_changes_what_is_measured(
    rows: list[Row], folder: Path, tmp_path: Path
) -> None:
    for name in ("ebr_items.csv.gz", "ebr_annotations.csv.gz"):
        (tmp_path / name).write_bytes((folder / PART / name).read_bytes())
    path = tmp_path / "ebr_annotations.csv.gz"
    with gzip.open(path, "rt", newline="") as handle:
        lines = list(csv.DictReader(handle))
    lines[0]["ebr_num"] = "95"
    with gzip.open(path, "wt", newline="") as handle:
        writer = csv.DictWriter(handle, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    before, after = (
        of(found, "Table 8", "incomplete")[1].measured
        for found in (rows, measure(tmp_path, repetitions=2))
    )
    assert before != after
    assert before == pytest.approx(after, abs=0.01)


def write(folder: Path, *annotations: str) -> None:
    with gzip.open(folder / "ebr_items.csv.gz", "wt") as handle:
        handle.write("item_id,dataset,system,article_key,question_key,question,answer\n")
        handle.write("a,inq,gpt4,0,0,why?,therefore\n")
    with gzip.open(folder / "ebr_annotations.csv.gz", "wt") as handle:
        handle.write("item_id,worker_id,complete_label,feedback,ebr_num\n")
        handle.write("\n".join(annotations))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("a,0,complete,fine,much", "row 1: ebr_num is 'much'"),
        ("a,0,perfect,fine,5", "complete_label 'perfect'"),
        ("b,0,complete,fine,5", "item 'b' that ebr_items"),
        ("a,0,complete", "line 2: no feedback"),
        ("", "no rows"),
    ],
)
def test_a_bad_file_names_the_line_and_what_is_wrong(line: str, says: str, tmp_path: Path) -> None:
    write(tmp_path, line)
    with pytest.raises(Invalid, match=says):
        measure(tmp_path)
