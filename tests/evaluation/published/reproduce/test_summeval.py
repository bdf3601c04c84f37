"""Judges of summaries against the reference figures of the data set."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from crowdqc.errors import Invalid
from evaluation.published.reproduce import summeval
from evaluation.published.reproduce.data import data_folder
from evaluation.published.reproduce.rows import Row

PART = "summeval"


@pytest.fixture(scope="module")
def folder() -> Path:
    try:
        found = data_folder()
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")
    if not (found / PART).is_dir():
        pytest.skip(f"there is no {PART} in {found}")
    return found


def measure(folder: Path) -> list[Row]:
    return summeval.reproduce(folder, say=lambda line: None)


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[Row]:
    return measure(folder)


@pytest.mark.data
def test_every_reference_figure_is_met_to_three_decimals(rows: list[Row], folder: Path) -> None:
    measured = {(row.quantity, row.protocol): row.measured for row in rows}
    with (folder / PART / "out_summeval_corr.csv").open() as handle:
        lines = list(csv.DictReader(handle))
    assert len(lines) == 36
    for line in lines:
        who = f"{line['evaluator']} {line['prompt']}, {line['dim']}"
        for column, (name, protocol) in summeval.FIGURES.items():
            found = measured[f"{who}, {name}", protocol]
            assert found == pytest.approx(float(line[column]), abs=5.1e-4), (who, column)


@pytest.mark.data
def test_two_judges_are_compared_on_the_same_texts(rows: list[Row]) -> None:
    table = [row for row in rows if row.table == "-"]
    assert len(table) == 3 * len(summeval.DIMENSIONS)
    for apart, same in zip(table[1::3], table[2::3], strict=True):
        assert apart.measured == same.measured
        assert apart.note != same.note


@pytest.mark.data
def test_another_human_score_changes_what_is_measured_and_the_reference_is_optional(
    rows: list[Row], folder: Path, tmp_path: Path
) -> None:
    judged = "summeval_llm_judge_scores.csv.gz"
    with gzip.open(folder / PART / judged, "rt", newline="") as handle:
        given = list(csv.DictReader(handle))
    own = [
        line
        for line in given
        if (line["evaluator"], line["prompt"]) in summeval.COMPARED
        and line["dimension"] in ("coherence", "fluency")
    ]
    with gzip.open(tmp_path / judged, "wt", newline="") as handle:
        writer = csv.DictWriter(handle, given[0])
        writer.writeheader()
        writer.writerows(own)
    name = "summeval_summaries_human.csv.gz"
    with gzip.open(folder / PART / name, "rt", newline="") as handle:
        lines = list(csv.DictReader(handle))
    for line in lines:
        if line["article_id"] == "A0" and line["summary_id"] == "S13":
            line["coherence"] = "5" if float(line["coherence"]) < 3 else "1"
    with gzip.open(tmp_path / name, "wt", newline="") as handle:
        writer = csv.DictWriter(handle, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    altered = measure(tmp_path)
    assert {row.published for row in altered} == {None}
    before = {(row.quantity, row.protocol): row.measured for row in rows}
    changed, same = [], []
    for row in altered:
        equal = before[row.quantity, row.protocol] == row.measured
        if "gpt-4-0314 rts, coherence" in row.quantity and "without" not in row.quantity:
            changed.append(not equal)
        if ", fluency" in row.quantity:
            same.append(equal)
    assert changed and same
    assert all(changed) and all(same)


def test_a_judgment_of_an_unknown_text_names_its_row(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "summeval_summaries_human.csv.gz", "wt") as handle:
        handle.write("article_id,summary_id,coherence,consistency,fluency,relevance\n")
        handle.write("A0,S0,1,1,1,1\n")
    with gzip.open(tmp_path / "summeval_llm_judge_scores.csv.gz", "wt") as handle:
        handle.write("evaluator,dimension,prompt,article_id,summary_id,score\n")
        handle.write("x,coherence,rts,A0,S0,3\nx,coherence,rts,A0,S1,3\n")
    with pytest.raises(Invalid, match="row 2: no human score"):
        measure(tmp_path)


def test_rows_of_a_tenth_of_the_texts_are_means_over_seeded_samples() -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, 400).astype(float)
    data = summeval.JudgedSummaries(
        tuple((str(k // 8), str(k)) for k in range(400)),
        human + rng.normal(0, 1, 400),
        human,
        np.arange(400) // 8,
    )
    first, again, other = (
        summeval.sample_rows(("judge", "fluency", "plain"), data, seed=seed, draws=draws)
        for seed, draws in ((0, 8), (0, 8), (1, 8))
    )
    assert first == again and first != other
    assert [row.table for row in first] == ["10 % sample", "10 % sample"]
    assert "40 texts" in first[0].protocol and "8 samples" in first[0].protocol
    assert 0.5 < first[1].measured < first[0].measured < 1
