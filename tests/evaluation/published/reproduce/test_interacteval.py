"""InteractEval's printed tables against each other, and word overlap on SummEval."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crowdqc.errors import Invalid
from evaluation.published.reproduce import interacteval
from evaluation.published.reproduce.data import data_folder
from evaluation.published.reproduce.interacteval import average_rows, fisher_rows, sum_rows
from evaluation.published.reproduce.rows import Row


def differing(rows: list[Row]) -> set[str]:
    return {row.quantity for row in rows if not row.is_within_rounding}


def test_printed_averages_are_told_apart_from_means_of_the_printed_columns() -> None:
    assert differing([*average_rows("Table 3", interacteval.TABLE_3)]) == set()
    wrong = differing([*average_rows("Table 2", interacteval.TABLE_2)])
    assert {name.partition(", average")[0] for name in wrong} == {
        "ROUGE-L",
        "BLEU",
        "METEOR",
        "BERTScore",
        "MoverScore",
        "BARTScore",
        "UniEval",
        "CheckEval, GPT-3.5",
        "InteractEval, GPT-4",
    }


def test_four_z_values_do_not_add_up_with_the_others() -> None:
    rows = [*sum_rows()]
    assert len(rows) == 40
    assert differing(rows) == {
        "z, SL against SH, fluency, Kendall",
        "z, SL against ML, fluency, Kendall",
        "z, SL against SH, relevance, Kendall",
        "z, ML against MH, consistency, Kendall",
    }


def test_fishers_z_comes_from_the_printed_correlations() -> None:
    row = next(iter(fisher_rows()))
    first = np.mean([values[0] for values in interacteval.TABLE_3.values()])
    apart = np.arctanh(0.650) - np.arctanh(first)
    assert row.measured == pytest.approx(apart / np.sqrt(2 / 157))
    assert "119 texts" in row.note


@pytest.mark.data
def test_overlap_with_the_article_is_shown_and_not_counted() -> None:
    try:
        folder = data_folder()
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")
    rows = {row.quantity: row for row in interacteval.overlap_rows(folder)}
    assert len(rows) == 16 and not any(row.is_counted for row in rows.values())
    assert rows["ROUGE-L, relevance, Spearman"].measured == pytest.approx(0.236, abs=0.001)
    assert rows["BLEU, coherence, Kendall"].measured == pytest.approx(0.036, abs=0.001)


def test_missing_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"no summeval_summaries_human\.csv\.gz"):
        [*interacteval.overlap_rows(tmp_path)]
