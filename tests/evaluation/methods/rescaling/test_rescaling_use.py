"""How a scale is used: means with intervals over items, histograms, and Table 7 of changes."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.rescaling.data import Annotations
from evaluation.methods.rescaling.use import BINS, by_label, changes, histogram, mean_of, to_percent


def test_the_interval_of_a_mean_counts_repeated_items_once() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(50, 10, 40)
    once = mean_of(values, np.arange(40))
    error = values.std(ddof=1) / np.sqrt(40)
    assert (once.high - once.low) / 2 == pytest.approx(2.0227 * error, rel=0.03)  # t, 39 degrees
    twice = mean_of(np.tile(values, 2), np.tile(np.arange(40), 2))
    assert (twice.value, twice.low) == (pytest.approx(once.value), pytest.approx(once.low))
    assert np.isnan(mean_of(values[:9], np.arange(9)).low)
    assert mean_of(values[:0], np.arange(0)).n == 0


def test_intervals_of_means_hold_the_truth_as_often_as_they_say() -> None:
    rng, hits = np.random.default_rng(1), 0
    item = np.repeat(np.arange(30), 3)
    for _ in range(400):
        values = np.repeat(rng.normal(40, 8, 30), 3) + rng.normal(0, 4, 90)
        found = mean_of(values, item)
        hits += found.low <= 40 <= found.high
    assert 0.92 <= hits / 400 <= 0.98


def test_every_score_lies_in_the_bin_of_its_nearest_multiple_of_five() -> None:
    counted = histogram(np.array([0.0, 2.4, 2.5, 47.6, 100.0]))
    assert len(counted) == BINS and sum(counted) == 5
    assert (counted[0], counted[1], counted[10], counted[20]) == (2, 1, 1, 1)


def test_labels_are_described_by_the_scores_that_they_became() -> None:
    data = Annotations.build(
        [0, 0, 1, 1],
        [0, 1, 0, 1],
        [0, 1, 1, 2],
        [5.0, 40.0, 60.0, 90.0],
        workers=["a", "b"],
        items=["x", "y"],
        labels=["bad", "fair", "good"],
        values=[1, 2, 5],
    )
    rows = by_label(data, data.score)
    assert [(row["label"], row["n"], row["mean"]) for row in rows] == [
        ("bad", 1, 5.0),
        ("fair", 2, 50.0),
        ("good", 1, 90.0),
    ]
    own = by_label(data, data.score, data.worker == 0)
    assert [row["n"] for row in own] == [1, 1, 0] and own[2]["mean"] is None
    assert to_percent(data).tolist() == [0.0, 25.0, 25.0, 100.0]


def test_changes_are_told_by_direction_and_size() -> None:
    found = changes(np.array([0.2, 0.05, 0.0, -0.3, np.nan]))
    assert (found["pairs"], found["undefined"], found["up"], found["down"]) == (4, 1, 2, 1)
    assert (found["mean_up"], found["mean_down"]) == (pytest.approx(0.125), pytest.approx(-0.3))
    assert (found["much_up"], found["much_down"]) == (1, 1)
    assert changes(np.array([]))["mean_up"] == 0.0
