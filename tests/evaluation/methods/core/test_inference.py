"""Clustered inference against clubSandwich, its definition, and simulated uneven crowds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from evaluation.methods.core.inference import (
    Claim,
    Spread,
    bell_mccaffrey,
    cluster_spread,
    effective_clusters,
    t_quantile,
    two_way_spread,
)
from evaluation.methods.core.units import ratio, share
from tests.evaluation.methods.core.regression import cluster_regression

# What clubSandwich 0.5.8 (R) prints for ``rows()``, Satterthwaite tests.
INTERCEPT = {"CR2": (0.231733823185, 3.742184321004), "CR3": (0.271549722985, 3.249611078429)}
SLOPES = {
    "CR2": (
        (0.292617204471, 0.302864222883, 0.202387792708),
        (2.710074343782, 3.770655687019, 3.899084190073),
    ),
    "CR3": (
        (0.367289929382, 0.370743544127, 0.231376296853),
        (2.142695999885, 3.253720074052, 3.313369323012),
    ),
}


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regressors (40, 3), outcomes (40,) and 7 clusters of 14, 9, 6, 4, 3, 2 and 2 rows."""
    i = np.arange(40)
    g = np.repeat(np.arange(1, 8), [14, 9, 6, 4, 3, 2, 2])
    x, z = ((i * 7) % 11) / 10, (i % 3 == 0) * 1.0
    y = 1 + 0.5 * x - 0.3 * z + np.sin(g * 2.3) * 0.6 + np.cos(i * 1.7) * 0.8
    return np.column_stack([np.ones(40), x, z]), y, g


@pytest.mark.parametrize("correction", ["CR2", "CR3"])
def test_regression_has_club_sandwichs_errors_and_degrees_of_freedom(correction) -> None:
    x, y, g = rows()
    found = cluster_regression(x, y, g, correction=correction)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(SLOPES[correction][0], abs=1e-6)
    assert found.freedom == pytest.approx(SLOPES[correction][1], abs=1e-6)


@pytest.mark.parametrize("correction", ["CR2", "CR3"])
def test_spread_of_a_mean_is_club_sandwichs(correction) -> None:
    _, y, g = rows()
    found = cluster_spread((y - y.mean()) / len(y), np.ones(len(y)), g, correction=correction)
    assert found.se == pytest.approx(INTERCEPT[correction][0], abs=1e-6)
    # Degrees of freedom are those of CR2 in both: with them CR3 covers as stated.
    assert found.freedom == pytest.approx(INTERCEPT["CR2"][1], abs=1e-6)


@pytest.mark.parametrize("correction", ["CR2", "CR3"])
def test_spread_of_a_ratio_is_that_of_the_second_implementation(correction) -> None:
    """Through the origin, weights are the square roots of what is counted."""
    _, y, g = rows()
    below = 1.0 + np.arange(40) % 5
    estimate = (below * y).sum() / below.sum()
    spread = cluster_spread(below * (y - estimate) / below.sum(), below, g, correction=correction)
    root = np.sqrt(below)
    second = cluster_regression(root[:, None], root * y, g, correction=correction)
    assert spread.variance == pytest.approx(second.covariance[0, 0], rel=1e-9)


def test_equal_clusters_have_one_degree_of_freedom_less_than_there_are() -> None:
    assert bell_mccaffrey(np.full(12, 1 / 12)) == pytest.approx(11)
    assert effective_clusters(np.full(12, 7)) == pytest.approx(12)
    assert effective_clusters(np.array([8, 1, 1])) == pytest.approx(100 / 66)


def test_two_ways_never_claim_less_variance_than_one_way_or_single_votes() -> None:
    rng = np.random.default_rng(3)
    people, items = rng.integers(0, 9, 200), rng.integers(0, 20, 200)
    pull = rng.standard_normal(200) / 200
    ones = np.ones(200)
    both = two_way_spread(pull, ones, people, items, nouns=("workers", "items"))
    assert both.variance >= cluster_spread(pull, ones, people).variance
    assert both.variance >= cluster_spread(pull, ones, items).variance
    assert both.noun == "workers"
    assert both.freedom == pytest.approx(cluster_spread(pull, ones, people).freedom)


@pytest.mark.parametrize(
    ("workers", "power", "icc"), [(30, 1.0, 0.2), (12, 1.5, 0.05), (100, 1.5, 0.2)]
)
def test_shares_of_uneven_crowds_hold_the_truth_as_often_as_stated(workers, power, icc) -> None:
    """At (workers - 1) degrees of freedom these covered .88, .78 and .77."""
    rng = np.random.default_rng([workers, int(10 * icc)])
    activity = np.arange(1, workers + 1) ** -power
    votes = np.maximum(1, np.round(600 * activity / activity.sum()))
    held, simulations = 0, 600
    for _ in range(simulations):
        own = rng.beta(0.5 * (1 - icc) / icc, 0.5 * (1 - icc) / icc, workers)
        hits = rng.binomial(votes.astype(int), own).astype(float)
        found = ratio(hits, votes, np.arange(workers))
        held += found.low <= 0.5 <= found.high
    assert held / simulations >= 0.925


def test_one_worker_with_most_of_the_votes_gives_no_interval_and_says_why() -> None:
    votes = np.array([80.0] + [20 / 9] * 9)
    found = share(votes / 2, votes, np.arange(10))
    assert math.isnan(found.low)
    assert found.effective == pytest.approx(1.55, abs=0.01)
    assert found.reason == (
        "10 workers, but a few did most of the work: as much as 1.6 equally active ones; "
        "an interval needs 3"
    )


def test_a_claim_is_sure_only_if_it_holds_over_everything_it_is_compared_with() -> None:
    spread = Spread(variance=1.0, freedom=30, clusters=31, effective=31)
    alone = Claim.of_spread("gap", 2.5, spread, n=31)
    assert alone.is_sure
    assert alone.direction == 1
    among = Claim.of_spread("gap", 2.5, spread, n=31, compared_with=30)
    assert among.low < 0 < among.high
    assert not among.is_sure
    assert not Claim("gap", 2.5, 0.5, 4.5, compared_with=30, simultaneous_over=1).is_sure
    few = Claim.of_spread("gap", 9.0, Spread(1.0, 3, 4, 4.0, "topics"), n=4, least=5)
    assert few.reason == "4 topics; an interval needs 5"
    assert not few.is_sure


def test_bounds_follow_students_t() -> None:
    assert t_quantile(0.95, 4.0) == pytest.approx(scipy.stats.t.ppf(0.975, 4.0))
