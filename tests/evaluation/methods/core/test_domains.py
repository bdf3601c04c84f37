"""Standing over tasks: recovery, coverage, and what must not move anybody."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.domains import Board, NotEnough, Part, adjust_scores, pool


def task(rng: np.random.Generator, theta: FloatArray, *, tau: float, keep: float = 0.75) -> Part:
    """One task of 12 questions: some of the people, a level and a scale of its own."""
    who = np.flatnonzero(rng.random(len(theta)) < keep)
    who = who if len(who) > 3 else np.arange(len(theta))
    here = theta + rng.normal(0, tau, len(theta))
    author, question = (grid.ravel() for grid in np.meshgrid(who, np.arange(12)))
    given = rng.random(len(author)) < 0.85
    author, question = author[given], question[given]
    scale = rng.uniform(0.05, 0.3)
    noise = rng.normal(size=len(author)) + rng.normal(size=12)[question]
    return adjust_scores(author, question, rng.normal() + scale * (here[author] + noise))


def boards(rng: np.random.Generator, theta: FloatArray, tau: float, tasks: int = 4) -> list[Board]:
    return pool([task(rng, theta, tau=tau) for _ in range(tasks)], len(theta), rng=rng)


def test_intervals_cover_the_standing_and_comparisons_are_hardly_ever_wrong() -> None:
    covered, wrong = [], 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        theta = rng.normal(0, 0.6, 8)
        [one] = boards(rng, theta, tau=0.35)
        true = theta[one.author] - theta[one.author].mean()
        covered += ((one.low <= true) & (true <= one.high)).tolist()
        better = one.estimate[:, None] > one.estimate[None, :]
        wrong += bool((one.separable & better & (true[:, None] <= true[None, :])).any())
    assert 0.92 < np.mean(covered) < 0.985
    assert wrong <= 4  # of 80: simultaneous at 95 %


def test_the_change_from_task_to_task_is_found_again() -> None:
    rng = np.random.default_rng(4)
    found = [boards(rng, rng.normal(0, 0.6, 12), tau=0.5, tasks=8)[0] for _ in range(12)]
    assert np.mean([one.tau for one in found]) == pytest.approx(0.5, abs=0.08)
    assert np.mean([one.tau_low <= 0.5 <= one.tau_high for one in found]) > 0.7


def test_equal_people_are_not_told_apart() -> None:
    told = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        told += any(one.separable.any() for one in boards(rng, np.zeros(6), tau=0.3))
    assert told <= 6


@settings(max_examples=15, deadline=None)
@given(st.floats(-50, 50), st.floats(0.01, 100), st.integers(0, 10_000))
def test_neither_level_nor_scale_of_one_task_moves_anybody(
    shift: float, scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    author, question = (grid.ravel() for grid in np.meshgrid(np.arange(5), np.arange(8)))
    tasks = [rng.normal(size=40) + 0.3 * author for _ in range(3)]
    moved = [shift + scale * tasks[0], *tasks[1:]]
    plain, other = (
        pool([adjust_scores(author, question, s) for s in given], 5, rng=np.random.default_rng(1))[
            0
        ]
        for given in (tasks, moved)
    )
    assert plain.author.tolist() == other.author.tolist()
    np.testing.assert_allclose(plain.estimate, other.estimate, atol=1e-6)
    np.testing.assert_allclose(plain.low, other.low, atol=1e-6)
    assert abs(plain.estimate.sum()) < 1e-9


def test_with_everybody_everywhere_and_alike_it_is_the_mean_over_tasks() -> None:
    values = np.array([[1.0, 2.0, 4.0], [3.0, 2.0, 5.0]])
    parts = [Part(np.arange(3), row, np.eye(3) * 0.01, np.full(3, 9)) for row in values]
    [one] = pool(parts, 3, rng=np.random.default_rng(0))
    around = values.mean(axis=0) - values.mean()
    np.testing.assert_allclose(one.estimate, np.sort(around)[::-1])
    # Two tasks leave 2 degrees of freedom; the variance is that of the differences between them.
    assert one.freedom == 2
    residual = values - values.mean(axis=1, keepdims=True)
    residual = residual - residual.mean(axis=0)
    assert one.tau**2 + 0.01 == pytest.approx((residual**2).sum() / 2)


def test_people_whom_no_task_connects_stand_on_boards_of_their_own() -> None:
    rng = np.random.default_rng(2)

    def part(who: list[int]) -> Part:
        size = len(who)
        return Part(np.array(who), rng.normal(size=size), np.eye(size) * 0.1, np.full(size, 5))

    parts = [part([0, 1, 2]), part([0, 1, 2]), part([4, 5]), part([4, 5]), part([7, 8])]
    found = pool(parts, 9, rng=rng)
    assert [sorted(one.author.tolist()) for one in found] == [[0, 1, 2], [4, 5]]
    assert [one.parts for one in found] == [(0, 1), (2, 3)]


def test_tasks_joined_by_one_person_only_give_no_interval_but_the_reason() -> None:
    parts = [
        Part(np.array(who), np.array([0.0, 1.0]), np.eye(2), np.full(2, 5))
        for who in ([0, 1], [1, 2])
    ]
    [one] = pool(parts, 3, rng=np.random.default_rng(0))
    assert np.isnan(one.low).all() and "joined by one" in one.reason
    assert not one.separable.any() and not one.group.any()


def test_a_task_that_cannot_enter_says_why() -> None:
    with pytest.raises(NotEnough, match="share too few"):
        adjust_scores([0, 1], [0, 1], np.array([0.1, 0.2]))
    with pytest.raises(NotEnough, match="answers more than"):
        adjust_scores([0, 1, 0, 1], [0, 0, 1, 1], np.array([0.1, 0.2, 0.4, 0.3]))
    author, question = (grid.ravel() for grid in np.meshgrid(np.arange(4), np.arange(8)))
    with pytest.raises(NotEnough, match="do not vary"):
        adjust_scores(author, question, np.ones(32))
