"""What is said of single workers holds for all workers of a page at once."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.labels import method as labels
from evaluation.methods.workers.claims import (
    family_bounds,
    median_claim,
    median_gaps,
    rank_side,
    sure_sides,
)
from tests.studies.coverage.crowds import LabelCrowd, draw_labels

CHANCE = 0.5


def posterior(right: FloatArray | IntArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draws (2000, workers) of competences after ``n`` votes each, ``right`` of them right."""
    return rng.beta(right + 1, n - right + 1, size=(2000, len(right)))


@pytest.mark.parametrize("workers", [10, 30, pytest.param(100, marks=pytest.mark.long)])
def test_equal_workers_are_hardly_ever_called_below_the_median(workers: int) -> None:
    rng, named, own, studies = np.random.default_rng(workers), 0, 0, 100
    part = np.ones(workers, dtype=np.int64)
    for _ in range(studies):
        drawn = posterior(rng.binomial(60, 0.8, workers), 60, rng)
        gaps = median_gaps(drawn, part)
        named += bool((gaps["median_gap_high"] < 0).any())
        own += bool((np.quantile(drawn, 0.975, axis=0) < np.median(np.median(drawn, axis=0))).any())
    assert named <= 0.05 * studies
    assert own > 3 * named  # the rule of before


@pytest.mark.parametrize("workers", [10, 30])
def test_a_worker_at_chance_among_good_ones_is_found(workers: int) -> None:
    rng, found, studies = np.random.default_rng(workers), 0, 50
    truth = np.full(workers, 0.85)
    truth[3] = CHANCE
    for _ in range(studies):
        gaps = median_gaps(
            posterior(rng.binomial(50, truth), 50, rng), np.ones(workers, dtype=np.int64)
        )
        found += bool(gaps["median_gap_high"][3] < 0)
    assert found >= 0.8 * studies


def test_who_is_not_scored_and_small_parts_have_no_gap() -> None:
    rng = np.random.default_rng(0)
    drawn = posterior(np.array([40, 41, 42, 10, 30, 5]), 50, rng)
    gaps = median_gaps(drawn, np.array([1, 1, 1, 0, 2, 2]))
    known = np.isfinite(gaps["median_gap_high"])
    assert known.tolist() == [True, True, True, False, False, False]
    assert gaps["median_gap"][:3] == pytest.approx([0, 0, 0], abs=0.06)


def test_guessers_are_hardly_ever_called_better_and_good_workers_are() -> None:
    rng, wrong, power, studies = np.random.default_rng(5), 0, [], 100
    truth = np.repeat([CHANCE, 0.85], 15)
    for _ in range(studies):
        drawn = posterior(rng.binomial(50, truth), 50, rng)
        side = sure_sides(drawn, np.full(30, CHANCE))
        wrong += bool((side[:15] > 0).any())
        power.append(float((side[15:] > 0).mean()))
    assert wrong <= 0.08 * studies and np.mean(power) > 0.95
    worse = sure_sides(posterior(np.full(5, 5), 50, rng), np.full(5, CHANCE))
    assert worse.tolist() == [-1] * 5
    assert sure_sides(drawn[:, :2], np.array([np.nan, np.nan])).tolist() == [0, 0]


def test_bounds_for_all_workers_lie_outside_each_ones_own() -> None:
    one = np.array([0.6, 0.7]), np.array([0.5, 0.6]), np.array([0.65, 0.9])
    low, high = family_bounds(*one)
    assert low == pytest.approx([0.6 - 0.1 * 1.14362, 0.7 - 0.1 * 1.14362], abs=1e-4)
    assert high == pytest.approx([0.6 + 0.05 * 1.14362, 0.7 + 0.2 * 1.14362], abs=1e-4)
    alone = family_bounds(*(values[:1] for values in one))
    assert [alone[0][0], alone[1][0]] == pytest.approx([0.5, 0.65])


def test_a_claim_about_the_median_needs_what_the_run_compared() -> None:
    gap = {"median_gap": -0.3, "median_gap_low": -0.5, "median_gap_high": -0.1}
    claim = median_claim(gap, family=9)
    assert claim.is_sure and claim.direction == -1 and claim.simultaneous_over == 9
    assert not median_claim({**gap, "median_gap_high": 0.1}, family=9).is_sure
    assert not median_claim({}, family=9).is_sure  # a run of before


def test_ranks_place_a_worker_below_most_where_more_than_half_are_surely_better() -> None:
    assert rank_side(1, 2, 9) == 1
    assert rank_side(6, 9, 9) == -1
    assert rank_side(4, 9, 9) == 0
    assert rank_side(1, 9, 9) == 0


@pytest.mark.parametrize("crowd", [LabelCrowd("30 equals", 30, 180, skill=(0.8, 0.8))])
def test_a_label_study_of_equals_names_nobody(crowd: LabelCrowd) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        row = labels.fit(draw_labels(crowd, rng).data, rng=rng, restarts=2).estimates["worker"]
        assert not (row["median_gap_high"] < 0).any()
        assert (row["median_gap_low"] < row["median_gap"]).all()


@pytest.mark.long
@pytest.mark.parametrize("workers", [10, 30, 100])
def test_studies_of_equals_name_somebody_in_at_most_a_twentieth(workers: int) -> None:
    crowd = LabelCrowd(f"{workers} equals", workers, 6 * workers, skill=(0.8, 0.8))
    named = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        row = labels.fit(draw_labels(crowd, rng).data, rng=rng, restarts=2).estimates["worker"]
        named += bool((row["median_gap_high"] < 0).any())
    assert named <= 8  # 5 and its Monte Carlo error
