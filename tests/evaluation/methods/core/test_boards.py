"""Intervals, ranges of ranks and groups: what they claim, and how often it holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.methods.core import bootstrap
from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.boards import Draws, Rules, Scores, make_board


def resampled(
    scores: FloatArray, rng: np.random.Generator, resamples: int = 400
) -> tuple[FloatArray, FloatArray]:
    """Means of scores (q, k) and their draws (b, k)."""
    weights = bootstrap.question_weights(rng, resamples, len(scores), complete=True)
    return scores.mean(axis=0), weights @ scores / weights.sum(axis=1, keepdims=True)


def test_intervals_of_a_mean_cover_it_as_often_as_they_claim() -> None:
    rng = np.random.default_rng(0)
    for questions in (6, 16):
        n = np.full(40, questions)
        hits = []
        for _ in range(40):
            _, draws = resampled(rng.normal(0.5, 0.1, (questions, 40)), rng)
            low, high = bootstrap.percentile_interval(draws, n, 0.95, complete=True)
            hits.append((low <= 0.5) & (high >= 0.5))
        assert 0.92 <= np.mean(hits) <= 0.98


def test_equal_workers_are_hardly_ever_separated() -> None:
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(200):
        # A shared difficulty makes scores of one question alike: only the pairing shows that.
        scores = rng.normal(0, 0.1, (16, 8)) + rng.normal(0, 0.3, (16, 1))
        point, draws = resampled(scores, rng)
        n = np.full(8, 16)
        wrong += int(bootstrap.separable(point, draws, n, level=0.95, complete=True).any())
    assert wrong / 200 <= 0.08


@pytest.mark.parametrize(("workers", "questions"), [(30, 20), (10, 6), (100, 20)])
def test_many_equal_workers_on_few_questions_are_hardly_ever_separated(
    workers: int, questions: int
) -> None:
    """A critical value from the resamples separated some in .10, .20 and .17 of these."""
    wrong = 0
    for seed in range(120):
        rng = np.random.default_rng([workers, seed])
        point, draws = resampled(rng.normal(size=(questions, workers)), rng)
        n = np.full(workers, questions)
        wrong += int(bootstrap.separable(point, draws, n, level=0.95, complete=True).any())
    assert wrong / 120 <= 0.1


def test_a_steady_lead_on_every_question_separates_though_intervals_overlap() -> None:
    rng = np.random.default_rng(2)
    difficulty = rng.normal(0, 0.3, (16, 1))
    scores = difficulty + np.array([0.5, 0.4]) + rng.normal(0, 0.02, (16, 2))
    point, draws = resampled(scores, rng)
    n = np.full(2, 16)
    low, high = bootstrap.percentile_interval(draws, n, 0.95, complete=True)
    assert low[0] < high[1]
    assert bootstrap.separable(point, draws, n, level=0.95, complete=True)[0, 1]


@pytest.mark.parametrize("complete", [True, False])
def test_question_weights_have_mean_one_and_only_gaps_forbid_noughts(complete: bool) -> None:
    weights = bootstrap.question_weights(np.random.default_rng(3), 500, 12, complete=complete)
    np.testing.assert_allclose(weights.mean(axis=1), 1)
    assert (weights == 0).any() == complete


def test_ranks_share_the_better_place_on_ties_and_skip_the_unscored() -> None:
    ranks = bootstrap.ranks(np.array([0.5, 0.9, 0.5, np.nan, 0.1]))
    assert ranks.tolist() == [2, 1, 2, 0, 4]


def test_possible_ranks_and_groups_follow_from_what_can_be_separated() -> None:
    point = np.array([0.9, 0.8, 0.7, 0.1])
    apart = np.zeros((4, 4), dtype=bool)
    apart[3, :3] = apart[:3, 3] = True  # the last is surely below all
    apart[0, 2] = apart[2, 0] = True  # the first surely above the third, not above the second
    low, high = bootstrap.rank_ranges(point, apart)
    assert (low.tolist(), high.tolist()) == ([1, 1, 2, 4], [2, 3, 3, 4])
    assert bootstrap.groups(point, apart).tolist() == [1, 1, 2, 3]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), k=st.integers(1, 12))
def test_members_of_a_group_are_neighbours_and_pairwise_inseparable(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    point = rng.random(k)
    apart = rng.random((k, k)) < 0.4
    apart = np.triu(apart, 1)
    apart |= apart.T
    group = bootstrap.groups(point, apart)
    down = group[np.argsort(-point)]
    assert np.all(np.isin(np.diff(down), [0, 1]))
    assert down[0] == 1
    for number in np.unique(group):
        members = np.flatnonzero(group == number)
        assert not apart[np.ix_(members, members)].any()


def test_too_few_answers_give_a_rank_and_the_reason_but_no_interval() -> None:
    rng = np.random.default_rng(4)
    point, draws = resampled(rng.normal([0.9, 0.5, 0.1], 0.05, (16, 3)), rng)
    scores = Scores(np.array([16, 1, 16]), point, point, point, point, "score")
    board = make_board(scores, Draws(draws, draws, complete=True), Rules(400, 0.95, 5))
    assert board.rank.tolist() == [1, 2, 3]
    assert board.intervals.reason == ("", "1 answer; an interval needs 5", "")
    assert np.isnan(board.intervals.low).tolist() == [False, True, False]
    assert board.intervals.group.tolist() == [1, 0, 2]
    # The second may truly stand anywhere, so nobody's worst rank is sure any more.
    assert board.intervals.rank_low.tolist() == [1, 0, 2]
    assert board.intervals.rank_high.tolist() == [2, 0, 3]
