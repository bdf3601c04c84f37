"""CrowdRAG's grades: the literal recipe, ties, many tables at once, and the published grades."""

from __future__ import annotations

import csv
import gzip
import json
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from crowdqc.errors import Invalid
from evaluation.methods.bradley_terry.grades import rao_kupper_grades
from evaluation.methods.core.base import BadParameter, BadShape, FloatArray, UnknownIndex
from evaluation.methods.core.votes import FIRST, SECOND, TIE
from evaluation.published.reproduce.data import data_folder


def literal_recipe(rows: list[tuple[int, int, int]], players: int) -> FloatArray:
    """Merits as the paper's recipe says them, a term a comparison; BFGS from ones."""

    def log10_win(i: float, j: float, t: float) -> float:
        return float(np.log10(np.exp(i) / (np.exp(i) + np.exp(j) * np.exp(t))))

    def loss(merit: FloatArray) -> float:
        found = 0.0
        for a, b, y in rows:
            i, j = merit[a], merit[b]
            if y == TIE:
                theta = np.exp(0.05)
                found += np.log10(
                    np.exp(i + j)
                    * (theta**2 - 1)
                    / ((np.exp(i) + theta * np.exp(j)) * (np.exp(j) + theta * np.exp(i)))
                )
            else:
                found += log10_win(i, j, 0.05) if y == FIRST else log10_win(j, i, 0.05)
        for i in merit:
            found += 0.2 * (log10_win(i, 1.0, 0.0) + log10_win(1.0, i, 0.0))
        return -found

    return np.asarray(minimize(loss, np.ones(players), method="BFGS", tol=1e-8).x)


def test_merits_are_those_of_the_literal_recipe() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(22):
        a = int(rng.integers(6))
        rows.append((a, int(a + rng.integers(1, 6)) % 6, int(rng.integers(3))))
    theirs = literal_recipe(rows, 6)
    found = rao_kupper_grades(*zip(*rows, strict=True), players=6)
    assert found["player"].tolist() == list(range(6))
    assert found["merit"] == pytest.approx(theirs, abs=1e-5)
    assert found["grade"].tolist() == (np.argsort(np.argsort(theirs)) + 1).tolist()


def test_tables_do_not_touch_each_other_and_absent_candidates_get_no_row() -> None:
    rng = np.random.default_rng(1)
    table, a = rng.integers(0, 9, 90), rng.integers(0, 7, 90)
    b, y = (a + rng.integers(1, 7, 90)) % 7, rng.integers(0, 3, 90)
    found = rao_kupper_grades(a, b, y, table, players=8, tables=10)
    for number in range(10):
        here, at = table == number, found["table"] == number
        if number == 9:
            assert not at.any()
            continue
        alone = rao_kupper_grades(a[here], b[here], y[here], players=8)
        for column in ("player", "merit", "grade", "grade_low", "grade_high"):
            assert found[column][at] == pytest.approx(alone[column], abs=1e-7)


def test_equal_merits_share_a_range_and_the_earlier_candidate_gets_the_lower_grade() -> None:
    found = rao_kupper_grades([0, 2, 1], [1, 1, 3], [FIRST, FIRST, FIRST], players=4)
    assert found["grade"].tolist() == [3, 2, 4, 1]
    assert found["grade_low"].tolist() == [3, 2, 3, 1]
    assert found["grade_high"].tolist() == [4, 2, 4, 1]
    tied = rao_kupper_grades([0, 1], [1, 2], [TIE, TIE], players=3)
    assert tied["merit"] == pytest.approx(1.0)
    assert tied["grade"].tolist() == [1, 2, 3]
    assert tied["grade_low"].tolist() == [1, 1, 1]
    assert tied["grade_high"].tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"first": [9, 0]}, UnknownIndex, "first"),
        ({"table": [0, 5]}, UnknownIndex, "table"),
        ({"table": [0]}, BadShape, "table"),
        ({"second": [0, 1]}, BadShape, "itself"),
        ({"threshold": 0.0}, BadParameter, "threshold"),
        ({"regularisation": float("nan")}, BadParameter, "regularisation"),
    ],
)
def test_bad_comparisons_are_refused_by_name(
    change: dict[str, Any], error: type[Exception], said: str
) -> None:
    good: dict[str, Any] = {
        "first": [0, 0],
        "second": [1, 1],
        "outcome": [FIRST, SECOND],
        "table": [0, 1],
        "players": 2,
        "tables": 2,
    }
    with pytest.raises(error, match=said):
        rao_kupper_grades(**{**good, **change})


@pytest.mark.data
def test_the_published_grades_come_out_but_for_exact_ties() -> None:
    try:
        folder = data_folder() / "crowdrag"
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")
    with gzip.open(folder / "responses.jsonl.gz", "rt") as lines:
        names = [json.loads(line)["response"] for line in lines]
    player = {name: k for k, name in enumerate(names)}
    with gzip.open(folder / "pairwise_gold_published.csv.gz", "rt") as lines:
        rows = list(csv.DictReader(lines))
    keys = sorted({(row["query_id"], row["dimension"]) for row in rows})
    number = {key: k for k, key in enumerate(keys)}
    found = rao_kupper_grades(
        [player[row["response_a"]] for row in rows],
        [player[row["response_b"]] for row in rows],
        ["anb".index(row["gold"]) for row in rows],
        [number[row["query_id"], row["dimension"]] for row in rows],
        players=len(names),
        tables=len(keys),
    )
    published = {}
    with (folder / "grades_published.csv").open() as lines:
        for row in csv.DictReader(lines):
            for dimension in set(row) - {"response", "topic", "style", "origin"}:
                published[row["response"], row["topic"], dimension] = int(row[dimension])
    theirs = np.array([published[names[r["player"]], *keys[r["table"]]] for r in found.rows()])
    assert len(theirs) == 2730
    assert ((found["grade_low"] <= theirs) & (theirs <= found["grade_high"])).all()
    assert (found["grade"] == theirs).mean() >= 0.995
    assert (found["grade_low"] < found["grade_high"]).sum() == 30
