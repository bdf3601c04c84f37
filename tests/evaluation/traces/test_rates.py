"""The failure rate from uneven draws: unbiased, with intervals that hold, and honest about few."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.methods.core.base import DataError, Result
from evaluation.methods.traces.method import RATES, Traces, fit
from evaluation.methods.traces.rates import (
    NO_VOTES,
    Draws,
    Population,
    Votes,
    estimate_rates,
    wilson,
)
from evaluation.results.findings import Finding
from evaluation.traces.selectors import findings_of, read_rates
from tests.studies.trace_rates import CROWDS, Crowd, measure, simulate


def draws_of(
    value: list[float],
    inclusion: float | list[float] = 1.0,
    stratum: int | list[int] = 0,
    priority: int | list[int] = 0,
    *,
    votes: Votes = NO_VOTES,
) -> Draws:
    n = len(value)
    whole = [np.broadcast_to(np.array(one, int), n) for one in (stratum, -1, priority)]
    chance = np.broadcast_to(np.array(inclusion, float), n)
    return Draws(np.array(value, float), chance, *whole, votes=votes)


def traces_of(*rows: list[int], outside: int = 0) -> Population:
    return Population(np.array(rows), np.arange(len(rows)), outside)


def test_uneven_draws_are_weighed_back() -> None:
    """900 plain traces of which 1 in 10 is drawn, and 100 with errors that are all drawn."""
    draws = draws_of(
        [0.0] * 90 + [1.0] * 50 + [0.0] * 50, [0.1] * 90 + [1.0] * 100, [0] * 90 + [1] * 100
    )
    rates = estimate_rates(draws, traces_of([900, 0, 0], [100, 0, 0]))
    assert rates.people.estimate == pytest.approx(0.05)
    assert rates.people.low < 0.05 < rates.people.high < 0.1
    assert not rates.agreement.has_interval and rates.judged == 0


def test_a_kind_that_nobody_reviewed_has_no_rate_of_another() -> None:
    """40 of 400 traces with errors are reviewed, and none of 10,000 plain ones."""
    draws = draws_of([1.0, 0.0] * 20, 0.1, 1)
    rates = estimate_rates(draws, traces_of([10_000, 0, 0], [400, 0, 0]))
    assert rates.covered == pytest.approx(400 / 10_400)
    assert (rates.people.reason, rates.both.reason) == ("uncovered", "uncovered")
    assert rates.people.estimate == pytest.approx(0.5)
    draws = draws_of([1.0, 0.0] * 20, 0.1)
    rates = estimate_rates(draws, traces_of([400, 0, 0], [30, 0, 0]))
    assert rates.covered == pytest.approx(400 / 430) and rates.people.has_interval
    assert estimate_rates(draws, traces_of([400, 0, 0], outside=400)).people.reason == "uncovered"


def test_what_the_queue_hands_out_first_counts_no_more_than_the_rest() -> None:
    """50 urgent draws all fail and are reviewed; of 50 others 10 are, and pass."""
    nothing = float("nan")
    draws = draws_of([1.0] * 50 + [0.0] * 10 + [nothing] * 40, 0.1, 0, [30] * 50 + [0] * 50)
    found = estimate_rates(draws, traces_of([1000, 0, 0])).people
    assert found.n == 60 and found.estimate == pytest.approx(0.5)
    waiting = draws_of([1.0, 0.0] * 25 + [nothing] * 50, 0.1, 0, [30] * 50 + [0] * 50)
    rates = estimate_rates(waiting, traces_of([1000, 0, 0]))
    assert rates.covered == pytest.approx(0.5) and rates.people.reason == "uncovered"


def test_reviewers_who_differ_widen_the_interval_and_few_are_named() -> None:
    """Of 6 reviewers with 40 traces each, half call everything a failure."""
    reviewer = np.arange(240) % 6
    value = (reviewer < 3).astype(float)
    own = Votes(np.arange(240), reviewer, value)
    draws = draws_of(list(value), 0.1, votes=own)
    alone = draws_of(list(value), 0.1)
    population = traces_of([2400, 0, 0])
    found, free = (estimate_rates(one, population) for one in (draws, alone))
    assert free.people.high - free.people.low < 0.15
    assert found.people.high - found.people.low > 0.6
    assert (found.reviewers, found.rests_on_few, free.rests_on_few) == (6, False, False)
    pair = Votes(np.arange(240), np.arange(240) % 2, value)
    two = estimate_rates(draws_of(list(value), 0.1, votes=pair), population)
    assert two.rests_on_few and two.people.low == free.people.low
    main = [0.1 if one == 0 else 1.0 for one in reviewer]  # 40 reviews that stand for 2 in 3 traces
    assert estimate_rates(draws_of(list(value), main, votes=own), population).rests_on_few


def test_three_people_who_review_everything_are_three_reviewers() -> None:
    """Whatever the sums of their weights round to."""
    rng = np.random.default_rng(3)
    n = 164
    found = []
    for _ in range(40):
        votes = Votes(np.tile(np.arange(n), 3), np.repeat(np.arange(3), n), np.zeros(3 * n))
        draws = draws_of([0.0] * n, list(rng.uniform(0.1, 1, n)), votes=votes)
        found.append(estimate_rates(draws, traces_of([1000, 0, 0])).rests_on_few)
    assert not any(found)


def test_plain_kinds_with_few_reviews_join_the_smallest_kind() -> None:
    """Kind 3 has 2 reviews: it joins kind 2, the smallest, and not kind 0."""
    value = [0.0] * 40 + [1.0] * 10 + [1.0] * 10 + [0.0] * 2
    draws = draws_of(value, 1.0, [0] * 40 + [1] * 10 + [2] * 10 + [3] * 2)
    rates = estimate_rates(draws, traces_of([4000, 0, 0], [300, 0, 0], [100, 0, 0], [50, 0, 0]))
    assert rates.people.estimate == pytest.approx((300 + 150 * 10 / 12) / 4450)


def test_reviews_of_a_kind_without_traces_say_nothing() -> None:
    found = estimate_rates(draws_of([0.0] * 40, 0.1, 1), traces_of([400, 0, 0], [0, 0, 0])).people
    assert found.reason == "no_reviews" and np.isnan([found.low, found.high]).all()


def test_a_backlog_does_not_bias_the_rate() -> None:
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
    assert found.both_width <= found.people_width * 1.12


def test_a_good_judge_narrows_the_interval_and_a_useless_one_does_not_falsify_it() -> None:
    good, useless = (measure(CROWDS[name], 30) for name in ("good judge", "useless judge"))
    assert good.both_width < 0.9 * good.people_width
    assert abs(useless.bias) < 0.005


def test_few_reviews_and_no_random_draws_give_no_interval_with_the_reason() -> None:
    population = traces_of([50, 0, 0])
    assert estimate_rates(draws_of([]), population).people.reason == "no_reviews"
    assert estimate_rates(draws_of([0.0] * 20, 0.4), population).people.reason == "few_reviews"
    uneven = draws_of([0.0] * 63, [0.001] * 3 + [1.0] * 60)
    assert estimate_rates(uneven, traces_of([4000, 0, 0])).people.reason == "uneven_draws"


def test_probabilities_of_zero_are_refused() -> None:
    with pytest.raises(DataError):
        estimate_rates(draws_of([0.0, 0.0], [0.0, 1.0]), traces_of([2, 0, 0]))


def test_no_failure_among_many_has_an_upper_bound() -> None:
    low, high = wilson(0.0, 100, 0.95)
    assert low == pytest.approx(0) and high == pytest.approx(0.037, abs=0.001)


def finding_of(draws: Draws, population: Population) -> Finding:
    """The verdict that the page says of these draws."""
    week = np.full(len(draws.value), -1)
    result = fit(Traces(draws, population, week), rng=np.random.default_rng(1))
    figures = figures_of(result)
    figures["summary"]["traces"] = population.size
    return next(findings_of(read_rates(figures)))


def figures_of(result: Result) -> dict[str, Any]:
    """Figures of a run without weeks."""
    rows = result.estimates["rate"].rows()
    told = {"left_out": 0, "unsure": 0, **result.diagnostics}
    return {
        "rates": dict(zip(RATES, rows, strict=True)),
        **{name: [] for name in ("weeks", "differences", "agreement")},
        "summary": told,
    }


def test_the_verdict_counts_covered_traces_and_names_few_reviewers() -> None:
    reviewed = [1.0, 0.0] * 20
    missing = finding_of(draws_of(reviewed, 0.1, 1), traces_of([10_000, 0, 0], [400, 0, 0]))
    assert (missing.code, missing.values["missing"]) == ("traces_partly", "96.2%")
    votes = Votes(np.arange(40), np.zeros(40, int), np.array(reviewed))
    population = traces_of([400, 0, 0], [30, 0, 0])
    few = finding_of(draws_of(reviewed, 0.1, votes=votes), population)
    assert few.code == "traces_fail_people_few"
    assert (few.values["traces"], few.values["reviewers"]) == ("400 traces", "1 reviewer")
    assert finding_of(draws_of(reviewed, 0.1), population).code == "traces_fail_people"


def test_doubt_about_other_reviewers_is_told_from_doubt_about_traces() -> None:
    rng = np.random.default_rng(4)
    n, reviewers = 600, 4
    who = np.arange(n) % reviewers
    value = (rng.random(n) < np.array([0.02, 0.05, 0.1, 0.3])[who]).astype(float)
    votes = Votes(np.arange(n), who, value)
    population = traces_of([6_000, 0, 0])
    week = np.full(n, -1)
    data = Traces(draws_of(list(value), 0.1, votes=votes), population, week)
    figures = figures_of(fit(data, rng=np.random.default_rng(1)))
    figures["summary"]["traces"] = population.size
    rates = read_rates(figures)
    codes = [one.code for one in findings_of(rates)]
    assert "traces_reviewers" in codes
    these, people = rates.rates.these, rates.rates.people
    assert these.estimate == people.estimate
    assert people.low < these.low < these.estimate < these.high < people.high
    alike = Traces(draws_of(list(value), 0.1), population, week)
    figures = figures_of(fit(alike, rng=np.random.default_rng(1)))
    figures["summary"]["traces"] = population.size
    assert "traces_reviewers" not in [one.code for one in findings_of(read_rates(figures))]


def test_the_verdict_says_how_much_the_judge_scored() -> None:
    draws = draws_of([1.0, 0.0] * 20, 0.1)
    judged = np.array([1, 0] * 12 + [-1] * 16)
    found = finding_of(replace(draws, verdict=judged), traces_of([160, 120, 120]))
    assert (found.code, found.values["judged"]) == ("traces_fail_both", "60%")
