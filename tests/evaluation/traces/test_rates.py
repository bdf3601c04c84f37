"""The failure rate from uneven draws: unbiased, with intervals that hold, and honest about few."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.core.base import DataError
from evaluation.methods.traces.rates import Population, Reviewed, estimate_rates, wilson
from tests.studies.trace_rates import CROWDS, Crowd, measure, simulate


def test_uneven_draws_are_weighed_back() -> None:
    """900 plain traces of which 1 in 10 is drawn, and 100 with errors that are all drawn."""
    value = np.array([0.0] * 90 + [1.0] * 50 + [0.0] * 50)
    stratum = np.array([0] * 90 + [1] * 100)
    reviewed = Reviewed(
        value, np.where(stratum == 0, 0.1, 1.0), stratum, np.full(190, -1, dtype=np.int64)
    )
    count = np.array([[900, 0, 0], [100, 0, 0]])
    rates = estimate_rates(reviewed, Population(count, np.array([90, 100]), np.array([0, 1])))
    assert rates.people.estimate == pytest.approx(0.05)
    assert rates.people.low < 0.05 < rates.people.high < 0.1
    assert not rates.agreement.has_interval and rates.judged == 0


def test_strata_that_are_reviewed_first_do_not_bias_the_rate() -> None:
    crowd = Crowd(20_000, 0.05, 0.85, 0.95, reviewed=0.3)
    found = [simulate(crowd, np.random.default_rng(seed)) for seed in range(20)]
    assert np.mean([one.both.estimate - truth for one, truth in found]) == pytest.approx(
        0, abs=0.002
    )


@pytest.mark.parametrize("name", CROWDS)
def test_intervals_hold_the_true_rate(name: str) -> None:
    """At 95 of 100 on average; 60 populations each here, 1,000 in the study."""
    found = measure(CROWDS[name], 60)
    assert found.people >= 0.88 and found.both >= 0.88
    assert found.both_width <= found.people_width * 1.08


def test_a_good_judge_narrows_the_interval_and_a_useless_one_does_not_falsify_it() -> None:
    good, useless = (measure(CROWDS[name], 30) for name in ("good judge", "useless judge"))
    assert good.both_width < 0.8 * good.people_width
    assert abs(useless.bias) < 0.005


def test_few_reviews_and_no_random_draws_give_no_interval_with_the_reason() -> None:
    nothing = np.array([], dtype=np.int64)
    population = Population(np.array([[50, 0, 0]]), np.array([20]), np.array([0]))
    empty = Reviewed(np.array([]), np.array([]), nothing, nothing)
    assert estimate_rates(empty, population).people.reason == "no_reviews"
    few = Reviewed(np.zeros(20), np.full(20, 0.4), np.zeros(20, int), np.full(20, -1))
    assert estimate_rates(few, population).people.reason == "few_reviews"
    inclusion = np.array([0.001] * 3 + [1.0] * 60)
    uneven = Reviewed(np.zeros(63), inclusion, np.zeros(63, int), np.full(63, -1))
    wide = Population(np.array([[4000, 0, 0]]), np.array([63]), np.array([0]))
    assert estimate_rates(uneven, wide).people.reason == "uneven_draws"


def test_kinds_that_nobody_reviewed_are_not_covered() -> None:
    reviewed = Reviewed(np.zeros(40), np.full(40, 0.1), np.zeros(40, int), np.full(40, -1))
    count = np.array([[400, 0, 0], [100, 0, 0]])
    rates = estimate_rates(reviewed, Population(count, np.array([40, 0]), np.array([0, 1])))
    assert rates.covered == pytest.approx(0.8)


def test_probabilities_of_zero_are_refused() -> None:
    reviewed = Reviewed(np.zeros(2), np.array([0.0, 1.0]), np.zeros(2, int), np.full(2, -1))
    with pytest.raises(DataError):
        estimate_rates(reviewed, Population(np.array([[2, 0, 0]]), np.array([2]), np.array([0])))


def test_no_failure_among_many_has_an_upper_bound() -> None:
    low, high = wilson(0.0, 100, 0.95)
    assert low == pytest.approx(0) and high == pytest.approx(0.037, abs=0.001)
