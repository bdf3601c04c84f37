"""Accuracy by votes an item: against the binomial, against the truth of a pool, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from evaluation.methods.core.base import BadParameter, BadShape
from evaluation.methods.simulation.planning.redundancy import LabelPool, expected_accuracy, stated

RNG = np.random.default_rng


def alike(right: float, k: int = 2) -> LabelPool:
    """Workers who are all right as often, with nothing unknown about them."""
    rows = np.where(np.eye(k, dtype=bool), right, (1 - right) / (k - 1))
    return LabelPool(np.repeat(rows[None], 5, axis=0), np.full(5, np.inf), np.full(k, 1 / k))


def test_a_majority_of_equals_is_right_as_often_as_the_binomial_says() -> None:
    found = expected_accuracy(
        alike(0.7), items=400, per_worker=40, replicates=40, rng=RNG(1), votes=(1, 2, 3, 5)
    )
    of = found["method"] == 0
    at = dict(zip(found["votes"][of].tolist(), found["accuracy"][of], strict=True))
    for n in (1, 3, 5):
        assert at[n] == pytest.approx(binom.sf(n // 2, n, 0.7), abs=0.012)
    assert at[2] == pytest.approx(0.7, abs=0.012)  # of a level pair either is as good
    low, high = found["low"][of], found["high"][of]
    assert (low < found["accuracy"][of]).all()
    assert high[0] - low[0] == pytest.approx(2 * 1.96 * (0.21 / 400) ** 0.5, rel=0.35)


def test_dawid_skene_gains_where_workers_differ_and_needs_two_votes() -> None:
    mixed = LabelPool(
        np.concatenate([alike(0.95).confusion, alike(0.5).confusion]),
        np.full(10, np.inf),
        np.full(2, 0.5),
    )
    found = expected_accuracy(
        mixed, items=300, per_worker=60, replicates=10, rng=RNG(1), votes=(1, 5)
    )
    one, five = found.rows()[:2], found.rows()[2:]
    assert one[1]["accuracy"] is None
    assert five[1]["accuracy"] > five[0]["accuracy"] + 0.02


def test_a_stated_accuracy_is_the_mean_of_the_workers_and_more_votes_are_better() -> None:
    pool = stated(0.8, 3)
    right = np.diagonal(pool.confusion, axis1=1, axis2=2).mean()
    assert right == pytest.approx(0.8, abs=0.005)
    found = expected_accuracy(
        pool, items=200, per_worker=40, replicates=10, rng=RNG(2), votes=(1, 3, 7)
    )
    majority = found["accuracy"][found["method"] == 0]
    assert (np.diff(majority) > 0).all()


def test_what_cannot_be_planned_is_refused_by_name() -> None:
    with pytest.raises(BadParameter, match="accuracy"):
        stated(0.5, 2)
    with pytest.raises(BadParameter, match="labels"):
        stated(0.9, 1)
    wrong = LabelPool(np.ones((2, 3, 3)), np.ones(2), np.ones(2))
    with pytest.raises(BadShape, match="2 x 2"):
        expected_accuracy(wrong, items=10, per_worker=5, replicates=2, rng=RNG(0))
