"""Shares of votes won, with intervals that hold at every look."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.adaptive.anytime import Votes, WinShares, win_shares
from evaluation.methods.core.base import DataError
from tests.studies.live_coverage import CROWDS, measured, truth


def votes(number: int, *, workers: int = 20, seed: int = 0, chance: float = 0.5) -> Votes:
    rng = np.random.default_rng(seed)
    zero = np.zeros(number, np.int64)
    score = (rng.random(number) < chance).astype(np.float64)
    return Votes(zero, zero + 1, score, np.arange(number) % workers, np.arange(number))


def shares(given: Votes, **options: float) -> WinShares:
    return win_shares(given, systems=2, **options)


def test_two_systems_have_one_interval_seen_from_both_sides() -> None:
    found = shares(votes(400, chance=0.7))
    assert found.share.sum() == pytest.approx(1) and found.low[0] == pytest.approx(
        1 - found.high[1]
    )
    assert found.low[0] < found.share[0] < found.high[0]
    assert found.half_width == pytest.approx(found.share[0] - found.low[0])


def test_the_share_of_each_system_is_the_mean_over_its_opponents_and_ties_are_half() -> None:
    first, second = np.array([0, 0, 0, 0, 1, 1] * 6), np.array([1, 1, 1, 2, 2, 2] * 6)
    score = np.array([1, 1, 0.5, 0, 1, 1] * 6)
    given = Votes(first, second, score, np.arange(36), np.arange(36))
    found = win_shares(given, systems=3)
    np.testing.assert_allclose(found.share, [(2.5 / 3 + 0) / 2, (0.5 / 3 + 1) / 2, 0.5])
    assert found.votes.tolist() == [[0, 18, 6], [18, 0, 12], [6, 12, 0]]


def test_votes_of_few_workers_who_differ_tell_less_than_those_of_many() -> None:
    given = votes(600, workers=600)
    lean = np.where(given.worker % 10 < 5, 0.9, 0.1)
    score = (np.random.default_rng(1).random(600) < lean).astype(np.float64)
    alone = Votes(given.first, given.second, score, given.worker, given.prompt)
    together = Votes(given.first, given.second, score, given.worker % 10, given.prompt)
    assert shares(together).half_width > 3 * shares(alone).half_width


def test_votes_that_all_agree_do_not_make_an_interval_of_no_width() -> None:
    found = shares(votes(20, chance=1.0))
    assert found.share[0] == 1 and found.half_width > 0.1


def test_there_is_no_interval_from_too_few_workers_or_without_votes_on_a_pair() -> None:
    few = shares(votes(100, workers=4))
    assert np.isnan(few.half_width) and few.why == "4 workers; an interval needs 5"
    unmet = win_shares(votes(100), systems=3)
    assert "no vote against each other" in unmet.why and np.isnan(unmet.share[2])
    none = shares(votes(0))
    assert np.isnan(none.share).all() and np.isnan(none.low).all()


def test_the_interval_is_wider_than_one_for_a_single_look_but_not_twice_as_wide() -> None:
    found = shares(votes(4000, workers=400), target=0.025)
    once = 1.96 * 0.5 / np.sqrt(4000)
    assert 1.3 * once < found.half_width < 2 * once


@pytest.mark.parametrize("change", ["short", "self", "range"])
def test_votes_that_cannot_be_are_refused(change: str) -> None:
    given = votes(10)
    second = {
        "short": given.second[:5],
        "self": given.first,
        "range": given.second + 1,
    }[change]
    wrong = Votes(given.first, second, given.score, given.worker, given.prompt)
    with pytest.raises(DataError):
        shares(wrong)


def test_intervals_hold_the_truth_where_collecting_stopped() -> None:
    crowd = next(one for one in CROWDS if one.name == "2 systems far apart")
    assert truth(crowd).sum() == pytest.approx(1)
    row = measured(crowd, 60)
    assert row["one"] >= 0.93 and row["narrow"] > 0.9


@pytest.mark.long
def test_an_interval_for_one_look_would_not_hold_at_every_look() -> None:
    """Why the wider interval: one for a single look misses in more than 1 of 20 crowds."""
    missed, kept = 0, 0
    for seed in range(60):
        given = votes(1500, workers=1500, seed=seed)
        looks = range(60, 1500, 60)
        far = [abs(given.score[:end].mean() - 0.5) * 2 * np.sqrt(end) for end in looks]
        missed += max(far) > 1.96
        found = [shares(given.head(end)) for end in looks]
        kept += all(one.low[0] <= 0.5 <= one.high[0] for one in found)
    assert missed > 9 and kept >= 57


def busy(seed: int, workers: int, share: np.ndarray, *, lean: float, number: int = 1200) -> Votes:
    """Votes of two equal systems by workers who lean to one of them, ten at a time."""
    rng = np.random.default_rng([seed, workers])
    worker = np.repeat(rng.choice(workers, number // 10, p=share / share.sum()), 10)
    own = lean * rng.standard_normal(workers)
    score = (rng.random(number) < 1 / (1 + np.exp(-own[worker]))).astype(np.float64)
    zero = np.zeros(number, np.int64)
    return Votes(zero, zero + 1, score, worker, rng.permutation(number))


UNEVEN = {
    "even": (30, np.ones(30)),
    "Zipf 1.5": (30, 1 / np.arange(1.0, 31) ** 1.5),
    "Zipf 2": (30, 1 / np.arange(1.0, 31) ** 2),
    "1 of 10 does 80 %": (10, np.array([36.0, *[1.0] * 9])),
    "2 of 40 do 80 %": (40, np.array([76.0, 76.0, *[1.0] * 38])),
}


def always_held(name: str, paths: int, lean: float) -> float:
    """The share of paths on which every interval of 20 looks holds the truth."""
    workers, share = UNEVEN[name]
    held = 0
    for seed in range(paths):
        given = busy(seed, workers, share, lean=lean)
        looks = [shares(given.head(end), target=0.1) for end in range(60, 1201, 60)]
        held += all(one.why or one.low[0] <= 0.5 <= one.high[0] for one in looks)
    return held / paths


@pytest.mark.parametrize(
    "name",
    [
        "1 of 10 does 80 %",
        *(pytest.param(one, marks=pytest.mark.long) for one in ("Zipf 1.5", "2 of 40 do 80 %")),
    ],
)
def test_intervals_hold_at_every_look_where_a_few_workers_do_most(name: str) -> None:
    assert always_held(name, 60, lean=1.0) >= 0.95


@pytest.mark.long
@pytest.mark.parametrize("lean", [0.0, 1.0])
@pytest.mark.parametrize("name", list(UNEVEN))
def test_intervals_are_what_they_are_defined_to_be_on_2000_paths(name: str, lean: float) -> None:
    """A confidence sequence at .95: on at most a twentieth of all paths it ever misses."""
    assert always_held(name, 2000, lean) >= 0.95


def test_effectively_fewer_than_three_workers_give_no_interval_and_the_reason() -> None:
    given = busy(1, 10, UNEVEN["1 of 10 does 80 %"][1], lean=0.5)
    found = shares(given)
    assert np.isnan(found.half_width) and "a few did most of the work" in found.why
    assert found.share[0] == pytest.approx(given.score.mean())
